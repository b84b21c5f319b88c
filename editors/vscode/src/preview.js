// The preview: the rendered prompt beside its source, rendered again while typing. media/preview.js is its page.

const vscode = require('vscode');

/** How long to wait for the next key before rendering, in milliseconds. */
const PAUSE = 150;

let panel;
let shown;
let values = {};

/** Opens the preview of the active document. */
exports.openPreview = (getClient, extension) => {
  const editor = vscode.window.activeTextEditor;
  if (!editor) {
    return;
  }
  shown = editor.document;
  if (panel) {
    panel.reveal(vscode.ViewColumn.Beside, true);
  } else {
    createPanel(getClient, vscode.Uri.joinPath(extension, 'media'));
  }
  return render(getClient);
};

function createPanel(getClient, media) {
  panel = vscode.window.createWebviewPanel(
    'hinagata.preview', 'Prompt', { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true },
    { enableScripts: true, localResourceRoots: [media] });
  panel.webview.html = page(panel.webview, media);
  let timer;
  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(() => render(getClient), PAUSE);
  };
  const watchers = [
    vscode.workspace.onDidChangeTextDocument(later),
    vscode.window.onDidChangeTextEditorSelection(({ textEditor }) => showCursor(textEditor)),
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
  panel.root = answer.root ? vscode.Uri.parse(answer.root) : undefined;
  panel.title = answer.prompt ? `Preview: ${answer.prompt}` : 'Preview';
  await panel.webview.postMessage(answer);
  await showCursor(vscode.window.activeTextEditor);
}

/** Tells the page where the cursor is, so that it marks what this line wrote. */
async function showCursor(editor) {
  if (panel && panel.root && editor && editor.document.uri.scheme === 'file') {
    // Places in files of the workspace start at its root.
    const [root, path] = [`${panel.root.path}/`, editor.document.uri.path];
    const file = path.startsWith(root) ? path.slice(root.length) : path;
    await panel.webview.postMessage({ cursor: { file, line: editor.selection.active.line + 1 } });
  }
}

/** Shows the place of a piece of the text: a file from the workspace root, line and column. */
async function openPlace({ file, line, column }) {
  const isAbsolute = /^([a-z]:)?[\\/]/i.test(file);
  const uri = isAbsolute ? vscode.Uri.file(file) : vscode.Uri.joinPath(panel.root, file);
  const place = new vscode.Position(Math.max(0, line - 1), Math.max(0, column - 1));
  try {
    const options = { selection: new vscode.Range(place, place), viewColumn: vscode.ViewColumn.One };
    await vscode.window.showTextDocument(uri, options);
  } catch (error) {
    // What is compiled in has no file.
    vscode.window.showWarningMessage(`\`${file}\` cannot be opened: ${error.message}`);
  }
}

function page(webview, media) {
  const address = (name) => webview.asWebviewUri(vscode.Uri.joinPath(media, name));
  const policy = `default-src 'none'; style-src ${webview.cspSource}; script-src ${webview.cspSource}`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<link rel="stylesheet" href="${address('preview.css')}">
</head>
<body>
<form id="values"></form>
<div id="text"></div>
<script src="${address('preview.js')}"></script>
</body>
</html>`;
}
