//! Whole sessions over a connection in memory.

use std::{collections::BTreeMap, fs, path::Path, thread, thread::JoinHandle};

use hinagata_lsp::{Encoding, Range, ServerError, ServerOptions, serve_connection};
use lsp_server::{Connection, Message, Notification, Request, RequestId};
use serde_json::{Value, json};

use crate::edits::{Numbers, edit_count, random_edit};

struct Client {
    connection: Connection,
    server: JoinHandle<Result<(), ServerError>>,
    root: tempfile::TempDir,
    diagnostics: BTreeMap<String, Value>,
    /// The versions of documents that the diagnostics are about.
    versions: BTreeMap<String, i64>,
    requests: i32,
}

impl Client {
    fn start(files: &[(&str, &str)]) -> Self {
        Self::start_with(files, &json!({}))
    }

    fn start_with(files: &[(&str, &str)], capabilities: &Value) -> Self {
        let root = tempfile::tempdir().expect("a directory");
        fs::write(root.path().join("hinagata.toml"), "").expect("written");
        for (path, text) in files {
            let file = root.path().join("user_data/shared/prompts").join(path);
            fs::create_dir_all(file.parent().expect("has a parent")).expect("created");
            fs::write(file, text).expect("written");
        }
        let (connection, server) = Connection::memory();
        let environment = hinagata_host::Environment::without_variables();
        let open = hinagata_host::OpenOptions { environment, ..hinagata_host::OpenOptions::default() };
        let options = ServerOptions { open, ..ServerOptions::default() };
        let server = thread::spawn(move || serve_connection(server, options));
        let (diagnostics, versions) = (BTreeMap::new(), BTreeMap::new());
        let mut client = Self { connection, server, root, diagnostics, versions, requests: 0 };
        let folder = uri(client.root.path());
        let folders = json!([{"uri": folder, "name": "w"}]);
        client
            .ask("initialize", json!({"capabilities": capabilities, "workspaceFolders": folders}))
            .expect("the server answers");
        client.tell("initialized", json!({}));
        client
    }

    fn uri(&self, path: &str) -> String {
        uri(&self.root.path().join("user_data/shared/prompts").join(path))
    }

    fn tell(&self, method: &str, params: Value) {
        let notification = Notification { method: method.to_owned(), params };
        self.connection.sender.send(notification.into()).expect("the server runs");
    }

    fn ask(&mut self, method: &str, params: Value) -> Result<Value, String> {
        self.requests += 1;
        let id = RequestId::from(self.requests);
        self.connection
            .sender
            .send(Request { id: id.clone(), method: method.to_owned(), params }.into())
            .expect("the server runs");
        loop {
            match self.connection.receiver.recv().expect("the server answers") {
                Message::Response(response) if response.id == id => {
                    return response.response_result.map_err(|error| error.message);
                }
                Message::Notification(note) => self.note(&note),
                _ => {}
            }
        }
    }

    fn note(&mut self, note: &Notification) {
        if note.method == "textDocument/publishDiagnostics" {
            let uri = note.params["uri"].as_str().unwrap_or_default().to_owned();
            let version = note.params["version"].as_i64().unwrap_or_default();
            self.versions.insert(uri.clone(), version);
            self.diagnostics.insert(uri, note.params["diagnostics"].clone());
        }
    }

    fn open(&self, path: &str, text: &str) {
        let document = json!({"uri": self.uri(path), "languageId": "jinja", "version": 1, "text": text});
        self.tell("textDocument/didOpen", json!({"textDocument": document}));
    }

    fn change(&self, path: &str, version: i64, text: &str) {
        let document = json!({"uri": self.uri(path), "version": version});
        self.tell(
            "textDocument/didChange",
            json!({"textDocument": document, "contentChanges": [{"text": text}]}),
        );
    }

    fn edit(&self, path: &str, version: i64, range: Range, text: &str) {
        let document = json!({"uri": self.uri(path), "version": version});
        let changes = json!([{"range": range, "text": text}]);
        self.tell("textDocument/didChange", json!({"textDocument": document, "contentChanges": changes}));
    }

    /// The findings of a version of a file, once they are there: places and codes.
    fn wait_for_version(&mut self, path: &str, version: i64) -> Vec<(Value, Value)> {
        let uri = self.uri(path);
        while self.versions.get(&uri) != Some(&version) {
            if let Message::Notification(note) = self.connection.receiver.recv().expect("the server runs") {
                self.note(&note);
            }
        }
        let found = self.diagnostics.get(&uri).and_then(Value::as_array).cloned().unwrap_or_default();
        found.iter().map(|item| (item["range"].clone(), item["code"].clone())).collect()
    }

    /// The codes of the findings of a file, once they are these.
    fn wait_for_codes(&mut self, path: &str, expected: &[&str]) {
        let uri = self.uri(path);
        loop {
            let found = self.diagnostics.get(&uri).and_then(Value::as_array).cloned().unwrap_or_default();
            let codes: Vec<&str> = found.iter().filter_map(|item| item["code"].as_str()).collect();
            if codes == expected && self.diagnostics.contains_key(&uri) {
                return;
            }
            match self.connection.receiver.recv().expect("the server runs") {
                Message::Notification(note) => self.note(&note),
                Message::Request(_) | Message::Response(_) => {}
            }
        }
    }

    fn end(mut self) {
        self.ask("shutdown", Value::Null).expect("shuts down");
        self.tell("exit", Value::Null);
        self.server.join().expect("no panic").expect("ends well");
    }
}

fn uri(path: &Path) -> String {
    format!("file://{}", path.canonicalize().unwrap_or_else(|_| path.to_owned()).display())
}

const DECLARED: &str = "---\nparameters:\n  a: {type: string, required: true}\n---\n";

#[test]
fn an_edit_shows_in_every_file_that_it_touches() {
    let files = [
        ("one/template.md", format!("{DECLARED}{{% include 'partials/p.md' %}}{{{{ a }}}}")),
        ("partials/p.md", "{{ a }}".to_owned()),
    ];
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let mut client = Client::start(&files);
    client.open("partials/p.md", "{{ a }}");
    client.wait_for_codes("partials/p.md", &[]);
    client.change("partials/p.md", 2, "{{ b }}");
    client.wait_for_codes("partials/p.md", &["variable.undeclared"]);
    client.open("one/template.md", &format!("{DECLARED}{{% include 'partials/p.md' %}}"));
    client.wait_for_codes("one/template.md", &["variable.unused"]);
    // What was never saved counts no more when its document is closed.
    client.tell("textDocument/didClose", json!({"textDocument": {"uri": client.uri("partials/p.md")}}));
    client.wait_for_codes("one/template.md", &[]);
    client.end();
}

#[test]
fn a_broken_definition_keeps_the_others_working() {
    let mut client =
        Client::start(&[("one/prompt.yaml", "prompt: '{{ a }}'\n"), ("two/template.md", "{{ 1|uper }}")]);
    client.open("one/prompt.yaml", "prompt: [\n");
    client.wait_for_codes("one/prompt.yaml", &["syntax.definition"]);
    client.wait_for_codes("two/template.md", &["name.filter"]);
    client.change("one/prompt.yaml", 2, "prompt: '{{ a|uper }}'\n");
    client.wait_for_codes("one/prompt.yaml", &["name.filter"]);
    client.end();
}

#[test]
fn wrong_requests_are_answered() {
    let mut client = Client::start(&[]);
    let error = client.ask("textDocument/hovr", json!({})).expect_err("is unknown");
    assert_eq!(error, "unknown method `textDocument/hovr`; did you mean `textDocument/hover`?");
    let params = json!({"textDocument": {"uri": "file:///nowhere"}, "position": {"line": 0, "character": 0}});
    assert_eq!(
        client.ask("textDocument/hover", params).expect_err("is not open"),
        "`file:///nowhere` is not open"
    );
    client.open("x/template.md", "{{ a }}");
    let error =
        client.ask("textDocument/hover", json!({"textDocument": {"uri": client.uri("x/template.md")}}));
    assert!(error.expect_err("has no position").contains("position"));
    client.end();
}

/// What clients ask at every step.
const QUESTIONS: [&str; 8] = [
    "completion",
    "hover",
    "definition",
    "references",
    "codeAction",
    "semanticTokens/full",
    "foldingRange",
    "documentSymbol",
];

#[test]
fn random_edits_leave_the_findings_of_the_final_text() {
    for encoding in [Encoding::Utf16, Encoding::Utf8] {
        let files = [("one/template.md", DECLARED), ("two/template.md", DECLARED)];
        let mut client =
            Client::start_with(&files, &json!({"general": {"positionEncodings": [encoding.as_str()]}}));
        files.iter().for_each(|(path, text)| client.open(path, text));
        let mut numbers = Numbers(0x6a09_e667_f3bc_c909);
        let mut text = DECLARED.to_owned();
        let mut version = 1;
        for _ in 0..edit_count(1_200) / 20 {
            for _ in 0..20 {
                version += 1;
                let (range, new) = random_edit(&mut text, 400, &mut numbers, encoding);
                client.edit("one/template.md", version, range, new);
            }
            let place = json!({
                "textDocument": {"uri": client.uri("one/template.md")},
                "position": {"line": numbers.next(9), "character": numbers.next(13)},
                "range": {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}},
                "context": {"includeDeclaration": true, "diagnostics": []},
            });
            let question = format!("textDocument/{}", QUESTIONS[numbers.next(QUESTIONS.len())]);
            client.ask(&question, place).expect("an answer");
            // The text of parts has the findings of the same text as a whole.
            client.change("two/template.md", version, &text);
            let (one, two) = (
                client.wait_for_version("one/template.md", version),
                client.wait_for_version("two/template.md", version),
            );
            assert_eq!(one, two, "{text:?}");
        }
        version += 1;
        client.change("one/template.md", version, &format!("{DECLARED}{{{{ a|uper }}}}"));
        client.wait_for_codes("one/template.md", &["name.filter"]);
        client.end();
    }
}
