//! The loop that reads messages in order, and keeps documents and workspaces up to date.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    fmt,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    sync::Arc,
};

use hinagata::{Hint, WorkspaceRoot};
use hinagata_check::{Finding, Level, editor::Project};
use hinagata_host::OpenOptions;
use lsp_server::{Connection, Message, Notification, Request, RequestId, Response, ResponseError};
use serde_json::{Value, json};
use url::Url;

use crate::{
    actions,
    documents::Document,
    features::{self, METHODS},
    position::{Encoding, TextLines},
    preview,
    protocol::{
        ChangeParams, DocumentParams, OpenParams, invalid_params, read_params, request_failed, unknown_method,
    },
    snapshot::{Snapshot, file_uri},
    values::PreviewValues,
    workers::Workers,
    workspace::{Workspace, loose_findings},
};

/// The kinds of files whose changes on the disk matter.
const WATCHED: [&str; 4] = [
    "**/*.{md,jinja,j2,jinja2,gotmpl,tmpl,txt}",
    "**/*.{yaml,yml,json,toml}",
    "**/prompt.py",
    "**/user_data/**",
];

/// How the server opens workspaces.
#[derive(Clone)]
pub struct ServerOptions {
    /// The options of every workspace. A root in them is the only workspace.
    pub open: OpenOptions,
    /// How hints are worded.
    pub hint_text: fn(&Hint) -> String,
    /// The version that clients see.
    pub version: String,
}

impl Default for ServerOptions {
    fn default() -> Self {
        let hint_text = |hint: &Hint| hint.to_text(|_| None);
        Self { open: OpenOptions::default(), hint_text, version: env!("CARGO_PKG_VERSION").to_owned() }
    }
}

/// Why the server ended before its client asked it to.
#[derive(Debug)]
pub struct ServerError(String);

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ServerError {}

impl From<lsp_server::ProtocolError> for ServerError {
    fn from(error: lsp_server::ProtocolError) -> Self {
        Self(error.to_string())
    }
}

/// Serves the client at standard input and output until it ends.
///
/// # Errors
/// The client breaks the protocol, or standard input cannot be read.
pub fn serve_stdio(options: ServerOptions) -> Result<(), ServerError> {
    let (connection, threads) = Connection::stdio();
    serve_connection(connection, options)?;
    threads.join().map_err(|error| ServerError(format!("cannot read messages: {error}")))
}

/// Serves the client of a connection until it ends.
///
/// # Errors
/// The client breaks the protocol.
#[expect(clippy::needless_pass_by_value, reason = "the connection ends with the call")]
pub fn serve_connection(connection: Connection, options: ServerOptions) -> Result<(), ServerError> {
    let (id, params) = match connection.initialize_start() {
        Ok(started) => started,
        // The client ended before it started.
        Err(error) if error.channel_is_disconnected() => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let client = Client::from_params(&params);
    let answer = json!({
        "capabilities": client.server_capabilities(),
        "serverInfo": {"name": "hinagata", "version": options.version},
    });
    connection.initialize_finish(id, answer)?;
    let mut server = Server::new(&connection, client, options);
    server.start();
    server.run()
}

/// What the client can do and wants.
struct Client {
    encoding: Encoding,
    /// The directories that are open.
    folders: Vec<PathBuf>,
    /// Whether it asks for diagnostics itself.
    pulls: bool,
    can_refresh: bool,
    can_watch: bool,
    /// Whether hints are shown.
    hints: bool,
}

impl Client {
    fn from_params(params: &Value) -> Self {
        let capability = |path: &str| params.pointer(&format!("/capabilities{path}"));
        let is_on = |path: &str| capability(path).and_then(Value::as_bool).unwrap_or(false);
        let encodings = capability("/general/positionEncodings").and_then(Value::as_array);
        let encoding =
            encodings.into_iter().flatten().filter_map(Value::as_str).find_map(Encoding::from_name);
        let folders = params.get("workspaceFolders").and_then(Value::as_array);
        let mut uris: Vec<&str> =
            folders.into_iter().flatten().filter_map(|folder| folder.get("uri")?.as_str()).collect();
        if uris.is_empty() {
            uris.extend(params.get("rootUri").and_then(Value::as_str));
        }
        let options = params.get("initializationOptions");
        Self {
            encoding: encoding.unwrap_or_default(),
            folders: uris.into_iter().filter_map(file_path).collect(),
            pulls: capability("/textDocument/diagnostic").is_some(),
            can_refresh: is_on("/workspace/diagnostics/refreshSupport"),
            can_watch: is_on("/workspace/didChangeWatchedFiles/dynamicRegistration"),
            hints: options.and_then(|options| options.get("hints")?.as_bool()).unwrap_or(true),
        }
    }

    fn server_capabilities(&self) -> Value {
        let mut all = json!({
            "positionEncoding": self.encoding.as_str(),
            "textDocumentSync": {"openClose": true, "change": 2, "save": {"includeText": false}},
            "completionProvider": {"triggerCharacters": [".", "|", "\"", "'", "{", "%", " ", "$"]},
            "hoverProvider": true,
            "signatureHelpProvider": {"triggerCharacters": ["(", ","]},
            "definitionProvider": true,
            "referencesProvider": true,
            "documentHighlightProvider": true,
            "documentSymbolProvider": true,
            "workspaceSymbolProvider": true,
            "renameProvider": {"prepareProvider": true},
            "documentFormattingProvider": true,
            "foldingRangeProvider": true,
            "documentLinkProvider": {"resolveProvider": false},
            "inlayHintProvider": true,
            "codeActionProvider": {"codeActionKinds": ["quickfix"]},
            "semanticTokensProvider": {
                "legend": {"tokenTypes": features::TOKEN_TYPES, "tokenModifiers": []},
                "full": true,
                "range": true,
            },
            "workspace": {"workspaceFolders": {"supported": true, "changeNotifications": true}},
            "experimental": {"preview": true},
        });
        if self.pulls {
            all["diagnosticProvider"] = json!({"identifier": "hinagata", "interFileDependencies": true, "workspaceDiagnostics": true});
        }
        all
    }
}

/// The file of an address; `None` for an unsaved document without one.
pub(crate) fn file_path(uri: &str) -> Option<PathBuf> {
    Url::parse(uri).ok()?.to_file_path().ok()
}

struct Server<'c> {
    connection: &'c Connection,
    client: Client,
    options: ServerOptions,
    documents: HashMap<String, Document>,
    workspaces: Vec<Workspace>,
    /// The directories whose workspace could not be opened, which was reported.
    failed: HashSet<PathBuf>,
    workers: Workers,
    /// The addresses for which diagnostics were sent.
    published: HashSet<String>,
    next_request: i32,
}

impl<'c> Server<'c> {
    fn new(connection: &'c Connection, client: Client, options: ServerOptions) -> Self {
        Self {
            connection,
            client,
            options,
            documents: HashMap::new(),
            workspaces: Vec::new(),
            failed: HashSet::new(),
            workers: Workers::new(),
            published: HashSet::new(),
            next_request: 0,
        }
    }

    fn start(&mut self) {
        if self.client.can_watch {
            let watchers: Vec<Value> = WATCHED.iter().map(|glob| json!({"globPattern": glob})).collect();
            let registration = json!({
                "id": "hinagata-files",
                "method": "workspace/didChangeWatchedFiles",
                "registerOptions": {"watchers": watchers},
            });
            self.request("client/registerCapability", json!({"registrations": [registration]}));
        }
        match self.options.open.root.clone() {
            Some(root) => self.open_workspace(&root),
            None => {
                for folder in self.client.folders.clone() {
                    if let Some(root) = find_root(&folder) {
                        self.open_workspace(&root);
                    }
                }
            }
        }
    }

    fn open_workspace(&mut self, root: &Path) {
        let real = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        if self.workspaces.iter().any(|known| known.root == real) || self.failed.contains(&real) {
            return;
        }
        match Workspace::open(&self.options.open, &real) {
            Ok(workspace) => self.workspaces.push(workspace),
            Err(error) => {
                self.failed.insert(real);
                self.show_error(&format!("the workspace `{}` cannot be opened: {error}", root.display()));
            }
        }
    }

    fn run(&mut self) -> Result<(), ServerError> {
        loop {
            let message = match self.connection.receiver.try_recv() {
                Ok(message) => Some(message),
                // Prompts are checked while no message waits.
                Err(_) if self.check_some() => continue,
                Err(_) => self.connection.receiver.recv().ok(),
            };
            match message {
                // The client is gone.
                None => return Ok(()),
                Some(Message::Request(request)) => {
                    if self.connection.handle_shutdown(&request)? {
                        return Ok(());
                    }
                    self.handle_request(request);
                }
                Some(Message::Notification(notification)) if notification.method == "exit" => return Ok(()),
                Some(Message::Notification(notification)) => self.handle_notification(notification),
                Some(Message::Response(_)) => {}
            }
        }
    }

    /// Checks a prompt that waits, and tells the client what changed; `false` if nothing waits.
    fn check_some(&mut self) -> bool {
        let mut is_checked = false;
        for number in 0..self.workspaces.len() {
            // Several at once: each call of the client costs more than a check.
            for _ in 0..8 {
                is_checked |= self.workspaces[number].check_next();
            }
        }
        self.publish_touched();
        is_checked
    }

    fn handle_notification(&mut self, notification: Notification) {
        let Notification { method, params } = notification;
        let result = match method.as_str() {
            "textDocument/didOpen" => read_params(params).map(|params| self.open_document(&params)),
            "textDocument/didChange" => read_params(params).and_then(|params| self.change_document(&params)),
            "textDocument/didClose" => read_params(params).map(|params| self.close_document(&params)),
            "textDocument/didSave" => read_params(params).map(|params| self.save_document(&params)),
            "workspace/didChangeWatchedFiles" => {
                self.notice_files(&params);
                Ok(())
            }
            "workspace/didChangeWorkspaceFolders" => {
                let added =
                    params.pointer("/event/added").and_then(Value::as_array).cloned().unwrap_or_default();
                for folder in added {
                    let path = folder.get("uri").and_then(Value::as_str).and_then(file_path);
                    if let Some(root) = path.and_then(|path| find_root(&path)) {
                        self.open_workspace(&root);
                    }
                }
                Ok(())
            }
            "$/cancelRequest" => {
                let id =
                    params.get("id").cloned().and_then(|id| serde_json::from_value::<RequestId>(id).ok());
                id.into_iter().for_each(|id| self.workers.cancel_request(id));
                Ok(())
            }
            // Clients send many others, all of which may be ignored.
            _ => Ok(()),
        };
        if let Err(error) = result {
            self.show_error(&format!("`{method}` is ignored: {}", error.message));
        }
    }

    fn open_document(&mut self, params: &OpenParams) {
        let opened = &params.text_document;
        let document = Document::new(&opened.uri, &opened.language_id, opened.version, &opened.text);
        self.documents.insert(opened.uri.clone(), document);
        if self.options.open.root.is_none()
            && let Some(root) = file_path(&opened.uri).and_then(|path| find_root(path.parent()?))
        {
            self.open_workspace(&root);
        }
        self.update_text(&opened.uri);
    }

    fn change_document(&mut self, params: &ChangeParams) -> Result<(), ResponseError> {
        let uri = &params.text_document.uri;
        let Some(document) = self.documents.get_mut(uri) else {
            return Err(invalid_params(format!("`{uri}` is not open")));
        };
        document.apply_changes(params.text_document.version, &params.content_changes, self.client.encoding);
        self.update_text(uri);
        Ok(())
    }

    fn close_document(&mut self, params: &DocumentParams) {
        let uri = &params.text_document.uri;
        self.documents.remove(uri);
        if let Some((number, path)) = self.locate(uri) {
            self.workspaces[number].set_unsaved(&path, None);
        } else {
            self.publish(uri, None, &[]);
        }
        self.publish_touched();
    }

    fn save_document(&mut self, params: &DocumentParams) {
        self.notice_path(&params.text_document.uri);
        self.publish_touched();
    }

    fn notice_files(&mut self, params: &Value) {
        let changes = params.get("changes").and_then(Value::as_array).cloned().unwrap_or_default();
        let uris = changes.iter().filter_map(|change| change.get("uri")?.as_str());
        // Of many files at once, each workspace is read again once.
        let mut seen = BTreeSet::new();
        for uri in uris {
            if let Some((number, path)) = self.locate(uri)
                && seen.insert((number, path.ends_with(".toml")))
            {
                self.notice_path(uri);
            }
        }
    }

    /// A file changed on the disk.
    fn notice_path(&mut self, uri: &str) {
        let Some((number, path)) = self.locate(uri) else { return };
        match path.ends_with("hinagata.toml") || path.ends_with("settings.json") {
            true => self.workspaces[number].reload_settings(),
            false => self.workspaces[number].reload_files(),
        }
    }

    /// Takes the text of a document into its workspace, and shows what it changes there.
    fn update_text(&mut self, uri: &str) {
        let Some(text) = self.documents.get(uri).map(|document| Arc::clone(&document.text)) else { return };
        match self.locate(uri) {
            Some((number, path)) => {
                self.workspaces[number].set_unsaved(&path, Some(text));
                // Of many changes at once, the last one is shown.
                if self.connection.receiver.is_empty() {
                    self.publish_touched();
                }
            }
            None => self.publish_loose(uri),
        }
    }

    /// The workspace of a document and its path there.
    fn locate(&self, uri: &str) -> Option<(usize, String)> {
        let file = file_path(uri)?;
        let found = self.workspaces.iter().enumerate().filter_map(|(number, workspace)| {
            let path = workspace.path_of(&file)?;
            Some((workspace.root.as_os_str().len(), number, path))
        });
        // Of nested workspaces, the inner one has the file.
        found.max().map(|(_, number, path)| (number, path))
    }

    /// The address of a path of a workspace, as the client writes it if the file is open.
    fn uri_of(&self, number: usize, path: &str) -> String {
        let file = self.workspaces[number].file_of(path);
        let open = self
            .documents
            .keys()
            .find(|uri| self.locate(uri).is_some_and(|(of, known)| of == number && known == path));
        open.cloned().unwrap_or_else(|| file_uri(&file))
    }

    fn publish_touched(&mut self) {
        for number in 0..self.workspaces.len() {
            self.workspaces[number].check_edited();
            let touched = self.workspaces[number].take_touched();
            if touched.is_empty() {
                continue;
            }
            if self.client.pulls {
                let is_open = |path: &String| self.documents.contains_key(&self.uri_of(number, path));
                if self.client.can_refresh && !touched.iter().all(is_open) {
                    self.request("workspace/diagnostic/refresh", Value::Null);
                }
                continue;
            }
            for path in touched {
                let uri = self.uri_of(number, &path);
                let items = self.diagnostics_of(number, &path, &uri);
                let version = self.documents.get(&uri).map(|document| document.version);
                self.publish(&uri, version, &items);
            }
        }
    }

    fn publish_loose(&mut self, uri: &str) {
        if self.client.pulls {
            return;
        }
        let Some(document) = self.documents.get(uri) else { return };
        let (version, items) = (document.version, self.loose_diagnostics(document));
        self.publish(uri, Some(version), &items);
    }

    fn publish(&mut self, uri: &str, version: Option<i64>, items: &[Value]) {
        if self.client.pulls {
            return;
        }
        // An empty list is news only where there was another one, or where the client waits for an answer.
        if items.is_empty() && version.is_none() && !self.published.remove(uri) {
            return;
        }
        if !items.is_empty() {
            self.published.insert(uri.to_owned());
        }
        let mut params = json!({"uri": uri, "diagnostics": items});
        if let Some(version) = version {
            params["version"] = version.into();
        }
        self.notify("textDocument/publishDiagnostics", params);
    }

    fn diagnostics_of(&self, number: usize, path: &str, uri: &str) -> Vec<Value> {
        let workspace = &self.workspaces[number];
        let document = self.documents.get(uri);
        let findings = workspace.findings_of(path, document);
        let read;
        let (text, lines) = match document {
            Some(document) => (&*document.text, Arc::clone(&document.lines)),
            None => {
                read = workspace.project().file_text(path).unwrap_or_default();
                (&*read, Arc::new(TextLines::new(&read)))
            }
        };
        self.to_diagnostics(&findings, text, &lines)
    }

    fn loose_diagnostics(&self, document: &Document) -> Vec<Value> {
        let name = file_path(&document.uri).map(|path| path.to_string_lossy().into_owned());
        let path = name.unwrap_or_else(|| document.uri.clone());
        let findings = loose_findings(&path, &document.text, &Project::default());
        self.to_diagnostics(&findings, &document.text, &document.lines)
    }

    fn to_diagnostics(&self, findings: &[Finding], text: &str, lines: &TextLines) -> Vec<Value> {
        let is_shown = |finding: &&Finding| self.client.hints || finding.level != Level::Hint;
        findings
            .iter()
            .filter(is_shown)
            .map(|finding| {
                actions::to_diagnostic(finding, text, lines, self.client.encoding, self.options.hint_text)
            })
            .collect()
    }

    fn handle_request(&mut self, request: Request) {
        let Request { id, method, params } = request;
        match method.as_str() {
            "textDocument/diagnostic" => {
                let result = read_params(params).map(|params: DocumentParams| self.pull_document(&params));
                self.respond(id, result);
            }
            "workspace/diagnostic" => {
                let report = self.pull_workspace(&params);
                self.respond(id, Ok(report));
            }
            "hina/preview" => {
                let result = self.preview_request(params);
                match result {
                    Ok(work) => self.run_beside(id, work),
                    Err(error) => self.respond(id, Err(error)),
                }
            }
            "workspace/symbol" => {
                let snapshots: Vec<Snapshot> =
                    (0..self.workspaces.len()).map(|number| self.snapshot_of(number)).collect();
                let query = params.get("query").and_then(Value::as_str).unwrap_or_default().to_owned();
                self.run_beside(id, move || Ok(features::workspace_symbols(&snapshots, &query)));
            }
            method if METHODS.contains(&method) => {
                let method = method.to_owned();
                let uri = params.pointer("/textDocument/uri").and_then(Value::as_str).unwrap_or_default();
                let Some(document) = self.documents.get(uri).cloned() else {
                    let error = invalid_params(format!("`{uri}` is not open"));
                    return self.respond(id, Err(error));
                };
                self.find_users(uri, &method);
                let snapshot = self.snapshot_for(&document);
                self.run_beside(id, move || features::answer_request(&snapshot, &document, &method, params));
            }
            _ => self.respond(id, Err(unknown_method(&method, &METHODS))),
        }
    }

    /// Checks what still waits if the answer depends on all prompts that use a file, which only their checks tell.
    fn find_users(&mut self, uri: &str, method: &str) {
        let Some((number, path)) = self.locate(uri) else { return };
        let workspace = &mut self.workspaces[number];
        let of_all = ["textDocument/references", "textDocument/prepareRename", "textDocument/rename"];
        let of_shared = ["textDocument/definition", "textDocument/hover", "textDocument/completion"];
        let is_shared = workspace.project().owner_of(&path).is_none();
        if of_all.contains(&method) || (is_shared && of_shared.contains(&method)) {
            workspace.check_all();
        }
    }

    fn run_beside(
        &self,
        id: RequestId,
        work: impl FnOnce() -> Result<Value, ResponseError> + Send + 'static,
    ) {
        let sender = self.connection.sender.clone();
        // A client that is gone needs no answer.
        let send = move |response: Response| drop(sender.send(response.into()));
        self.workers.answer_request(id, send, move |id| to_response(id, work()));
    }

    fn snapshot_for(&self, document: &Document) -> Snapshot {
        if let Some((number, path)) = self.locate(&document.uri) {
            let findings = self.workspaces[number].findings_of(&path, Some(document));
            return Snapshot { findings, path, ..self.snapshot_of(number) };
        }
        let name = file_path(&document.uri).map(|path| path.to_string_lossy().into_owned());
        let path = name.unwrap_or_else(|| document.uri.clone());
        let project = Project::default();
        Snapshot {
            findings: loose_findings(&path, &document.text, &project),
            project,
            root: None,
            path,
            encoding: self.client.encoding,
            uris: HashMap::new(),
            previews: PreviewValues::default(),
            hint_text: self.options.hint_text,
        }
    }

    fn snapshot_of(&self, number: usize) -> Snapshot {
        let workspace = &self.workspaces[number];
        let uris = self.documents.keys().filter_map(|uri| {
            let (of, path) = self.locate(uri)?;
            (of == number).then(|| (path, uri.clone()))
        });
        Snapshot {
            project: workspace.project(),
            root: Some(workspace.root.clone()),
            path: String::new(),
            encoding: self.client.encoding,
            uris: uris.collect(),
            findings: Vec::new(),
            previews: workspace.previews.clone(),
            hint_text: self.options.hint_text,
        }
    }

    fn pull_document(&mut self, params: &DocumentParams) -> Value {
        let uri = &params.text_document.uri;
        let items = match self.locate(uri) {
            Some((number, path)) => {
                self.workspaces[number].check_file(&path);
                self.diagnostics_of(number, &path, uri)
            }
            None => {
                self.documents.get(uri).map(|document| self.loose_diagnostics(document)).unwrap_or_default()
            }
        };
        json!({"kind": "full", "resultId": result_id(&items), "items": items})
    }

    fn pull_workspace(&mut self, params: &Value) -> Value {
        let previous = params.get("previousResultIds").and_then(Value::as_array).cloned().unwrap_or_default();
        let known: HashMap<&str, &str> = previous
            .iter()
            .filter_map(|entry| Some((entry.get("uri")?.as_str()?, entry.get("value")?.as_str()?)))
            .collect();
        let mut items = Vec::new();
        let mut told = HashSet::new();
        for number in 0..self.workspaces.len() {
            self.workspaces[number].check_all();
            for path in self.workspaces[number].files_with_findings() {
                let uri = self.uri_of(number, &path);
                let found = self.diagnostics_of(number, &path, &uri);
                let id = result_id(&found);
                let version = self.documents.get(&uri).map(|document| document.version);
                told.insert(uri.clone());
                items.push(match known.get(uri.as_str()) == Some(&id.as_str()) {
                    true => json!({"kind": "unchanged", "uri": uri, "version": version, "resultId": id}),
                    false => json!({"kind": "full", "uri": uri, "version": version, "resultId": id, "items": found}),
                });
            }
        }
        // What had findings before and has none now.
        for uri in known.keys().filter(|uri| !told.contains(**uri)) {
            items.push(json!({"kind": "full", "uri": uri, "version": null, "items": []}));
        }
        json!({"items": items})
    }

    fn preview_request(
        &self,
        params: Value,
    ) -> Result<impl FnOnce() -> Result<Value, ResponseError> + Send + use<>, ResponseError> {
        let params: preview::PreviewParams = read_params(params)?;
        let uri = &params.text_document.uri;
        let Some((number, path)) = self.locate(uri) else {
            return Err(request_failed(format!(
                "`{uri}` is in no workspace, so there is no prompt to render"
            )));
        };
        let workspace = &self.workspaces[number];
        let (engine, previews) = (workspace.preview_engine(), workspace.previews.clone());
        let root = file_uri(&workspace.root);
        let (project, hint_text, encoding) =
            (workspace.project(), self.options.hint_text, self.client.encoding);
        Ok(move || {
            let mut answer = preview::render_preview(&engine, &project, &path, params, encoding, hint_text)?;
            previews.keep_values(&answer);
            answer["root"] = root.into();
            Ok(answer)
        })
    }

    fn respond(&self, id: RequestId, result: Result<Value, ResponseError>) {
        self.send(to_response(id, result).into());
    }

    fn request(&mut self, method: &str, params: Value) {
        self.next_request += 1;
        let id = RequestId::from(format!("hinagata-{}", self.next_request));
        self.send(Request { id, method: method.to_owned(), params }.into());
    }

    fn notify(&self, method: &str, params: Value) {
        self.send(Notification { method: method.to_owned(), params }.into());
    }

    fn show_error(&self, message: &str) {
        self.notify("window/showMessage", json!({"type": 1, "message": message}));
    }

    fn send(&self, message: Message) {
        // A client that is gone needs no message; reading ends the loop.
        drop(self.connection.sender.send(message));
    }
}

/// The workspace around a directory, if there is one.
fn find_root(directory: &Path) -> Option<PathBuf> {
    let found = WorkspaceRoot::find(None, None, directory);
    (found.found != hinagata::RootFound::Current).then_some(found.path)
}

fn to_response(id: RequestId, result: Result<Value, ResponseError>) -> Response {
    Response { id, response_result: result }
}

/// A name of a list of diagnostics that changes with it.
fn result_id(items: &[Value]) -> String {
    let mut hasher = DefaultHasher::new();
    for item in items {
        item.to_string().hash(&mut hasher);
    }
    format!("{:x}", hasher.finish())
}
