// The extension: it starts `hina lsp`, and shows the preview. Everything else is the server's.

const vscode = require('vscode');
const { LanguageClient } = require('vscode-languageclient/node');
const { openPreview } = require('./preview');

/** The files that the server is told of; it ignores those that are none of its own. */
const DOCUMENTS = [
  { scheme: 'file', language: 'jinja' },
  { scheme: 'file', language: 'gotmpl' },
  { scheme: 'file', pattern: '**/{template.md,prompt.yaml,prompt.yml,prompt.json,prompt.py}' },
  { scheme: 'file', pattern: '**/{module.yaml,module.yml,module.json,module.toml,pack.json,agent.json}' },
  { scheme: 'file', pattern: '**/{vocab.json,vocab.txt,hinagata.toml,defaults.json}' },
  { scheme: 'file', pattern: '**/partials/**' },
];

let client;

/** Starts the server that the user's own settings name. */
async function startServer() {
  // The setting has the scope `machine`: a workspace cannot choose the program.
  const settings = vscode.workspace.getConfiguration('hinagata');
  const found = settings.inspect('path');
  const command = found.globalValue || found.defaultValue;
  const options = {
    documentSelector: DOCUMENTS,
    initializationOptions: { hints: settings.get('hints') },
    outputChannelName: 'Hinagata',
  };
  client = new LanguageClient('hinagata', 'Hinagata', { command, args: ['lsp'] }, options);
  try {
    await client.start();
  } catch (error) {
    const choice = await vscode.window.showErrorMessage(
      `\`${command}\` cannot be started: ${error.message}. Install hina, or set where it is.`, 'Open Settings');
    if (choice) {
      await vscode.commands.executeCommand('workbench.action.openSettings', 'hinagata.path');
    }
  }
}

async function stopServer() {
  const running = client;
  client = undefined;
  if (running && running.needsStop()) {
    await running.stop();
  }
}

exports.activate = async (context) => {
  context.subscriptions.push(
    vscode.commands.registerCommand('hinagata.restart', async () => {
      await stopServer();
      await startServer();
    }),
    vscode.commands.registerCommand('hinagata.preview', () => openPreview(() => client, context.extensionUri)),
    vscode.workspace.onDidChangeConfiguration(async (event) => {
      if (event.affectsConfiguration('hinagata')) {
        await stopServer();
        await startServer();
      }
    }),
  );
  await startServer();
};

exports.deactivate = stopServer;
