// The preview: the rendered prompt beside its source, rendered again while typing.

const vscode = require('vscode');

/** How long to wait for the next key before rendering, in milliseconds. */
const PAUSE = 150;

let panel;
let shown;
let values = {};

/** Opens the preview of the active document. */
exports.openPreview = (getClient) => {
  const editor = vscode.window.activeTextEditor;
  if (!editor) {
    return;
  }
  shown = editor.document;
  if (panel) {
    panel.reveal(vscode.ViewColumn.Beside, true);
  } else {
    createPanel(getClient);
  }
  return render(getClient);
};

function createPanel(getClient) {
  panel = vscode.window.createWebviewPanel(
    'hinagata.preview', 'Prompt', { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true }, { enableScripts: true });
  panel.webview.html = page(panel.webview);
  let timer;
  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(() => render(getClient), PAUSE);
  };
  const watchers = [
    vscode.workspace.onDidChangeTextDocument(later),
    vscode.window.onDidChangeActiveTextEditor((editor) => {
      if (editor && editor.document.uri.scheme === 'file') {
        shown = editor.document;
        later();
      }
    }),
    panel.webview.onDidReceiveMessage(async (message) => {
      if (message.ready) {
        await render(getClient);
      } else if (message.values) {
        values[message.prompt] = message.values;
        later();
      } else if (message.open) {
        await openPlace(message.open);
      }
    }),
  ];
  panel.onDidDispose(() => {
    clearTimeout(timer);
    watchers.forEach((watcher) => watcher.dispose());
    panel = undefined;
  });
}

async function render(getClient) {
  const client = getClient();
  if (!panel || !client || !shown) {
    return;
  }
  const params = { textDocument: { uri: shown.uri.toString() } };
  let answer;
  try {
    // The prompt of the document is known from its first answer.
    const known = panel.prompt && panel.uri === params.textDocument.uri ? values[panel.prompt] : undefined;
    answer = await client.sendRequest('hina/preview', { ...params, variables: known || {} });
  } catch (error) {
    answer = { error: { message: error.message } };
  }
  if (!panel) {
    return;
  }
  [panel.prompt, panel.uri] = [answer.prompt, params.textDocument.uri];
  panel.title = answer.prompt ? `Preview: ${answer.prompt}` : 'Preview';
  await panel.webview.postMessage(answer);
}

/** Shows the place of a piece of the text: `FILE:LINE:COLUMN`, from the workspace root. */
async function openPlace({ file, line, column }) {
  const folders = vscode.workspace.workspaceFolders || [];
  const roots = folders.map((folder) => folder.uri);
  for (const root of roots) {
    const uri = file.startsWith('/') ? vscode.Uri.file(file) : vscode.Uri.joinPath(root, file);
    try {
      const place = new vscode.Position(Math.max(0, line - 1), Math.max(0, column - 1));
      const options = { selection: new vscode.Range(place, place), viewColumn: vscode.ViewColumn.One };
      await vscode.window.showTextDocument(uri, options);
      return;
    } catch {
      // Of several folders, another one has the file.
    }
  }
}

function page(webview) {
  const nonce = Array.from({ length: 32 }, () => Math.floor(Math.random() * 36).toString(36)).join('');
  const policy = `default-src 'none'; style-src 'nonce-${nonce}'; script-src 'nonce-${nonce}'`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<style nonce="${nonce}">
body { font: var(--vscode-font-size) var(--vscode-font-family); }
pre { white-space: pre-wrap; font-family: var(--vscode-editor-font-family); }
.error { color: var(--vscode-errorForeground); }
.role { font-weight: bold; }
label { display: block; margin: 0.3em 0; }
input { width: 60%; color: var(--vscode-input-foreground); background: var(--vscode-input-background); border: 1px solid var(--vscode-input-border, transparent); }
</style>
</head>
<body>
<form id="values"></form>
<div id="text"></div>
<script nonce="${nonce}">
const api = acquireVsCodeApi();
const form = document.getElementById('values');
const text = document.getElementById('text');
let prompt, typed = {};
function element(name, content, kind) {
  const made = document.createElement(name);
  made.textContent = content;
  if (kind) made.className = kind;
  return made;
}
function send() {
  const values = {};
  for (const [name, value] of Object.entries(typed)) {
    if (value === '') continue;
    try { values[name] = JSON.parse(value); } catch { values[name] = value; }
  }
  api.postMessage({ prompt, values });
}
function showForm(parameters) {
  const names = parameters.map((parameter) => parameter.name).join(' ');
  if (form.dataset.names === prompt + ' ' + names) return;
  form.dataset.names = prompt + ' ' + names;
  form.replaceChildren();
  for (const parameter of parameters) {
    const label = element('label', parameter.name + (parameter.required ? '* ' : ' '));
    const input = document.createElement('input');
    input.type = parameter.secret ? 'password' : 'text';
    input.placeholder = parameter.default == null ? parameter.type : JSON.stringify(parameter.default);
    input.title = parameter.description || '';
    input.value = typed[parameter.name] || '';
    input.addEventListener('input', () => { typed[parameter.name] = input.value; send(); });
    label.append(input);
    form.append(label);
  }
}
form.addEventListener('submit', (event) => event.preventDefault());
window.addEventListener('message', ({ data }) => {
  if (data.prompt !== prompt) { prompt = data.prompt; typed = {}; }
  showForm(data.parameters || []);
  text.replaceChildren();
  if (data.error) {
    text.append(element('p', data.error.message, 'error'));
    if (data.error.hint) text.append(element('p', data.error.hint));
    return;
  }
  const messages = Array.isArray(data.body) ? data.body : [{ content: data.body }];
  for (const message of messages) {
    if (message.role) text.append(element('div', message.role, 'role'));
    const content = typeof message.content === 'string' ? message.content : JSON.stringify(message.content, null, 2);
    text.append(element('pre', content));
  }
});
api.postMessage({ ready: true });
</script>
</body>
</html>`;
}
