//! The entry of a server in the file of a host: written for `install`, read for `doctor`.

use std::{collections::BTreeMap, path::Path};

use serde_json::{Map, Value, json};

use super::hosts::HostSpec;

/// A server as a host starts or reaches it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Server {
    /// A program that the host starts.
    Program {
        command: String,
        arguments: Vec<String>,
        environment: BTreeMap<String, String>,
        /// The directory to start it in, if the entry names one.
        directory: Option<String>,
    },
    /// An address that the host connects to.
    Remote { url: String, headers: BTreeMap<String, String> },
}

impl Server {
    /// The program `command` with `arguments`.
    pub(super) fn from_command(command: String, arguments: Vec<String>) -> Self {
        Self::Program { command, arguments, environment: BTreeMap::new(), directory: None }
    }

    /// Its entry in the file of `host`; `None` if the file cannot name servers by address.
    pub(super) fn to_entry(&self, host: &HostSpec) -> Option<Value> {
        let mut entry = Map::new();
        let mut add_fixed = |fixed: &[(&str, &str)]| {
            entry.extend(fixed.iter().map(|(key, value)| ((*key).to_owned(), json!(value))));
        };
        match self {
            Self::Program { command, arguments, .. } => {
                add_fixed(host.program.fixed);
                if host.program.is_list {
                    let whole: Vec<&String> = std::iter::once(command).chain(arguments).collect();
                    entry.insert("command".to_owned(), json!(whole));
                } else {
                    entry.insert("command".to_owned(), json!(command));
                    entry.insert("args".to_owned(), json!(arguments));
                }
            }
            Self::Remote { url, headers } => {
                let shape = host.remote.as_ref()?;
                add_fixed(shape.fixed);
                entry.insert(shape.url.to_owned(), json!(url));
                if !headers.is_empty() {
                    entry.insert("headers".to_owned(), json!(headers));
                }
            }
        }
        Some(entry.into())
    }

    /// Reads an entry of the file of `host`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn from_entry(entry: &Value, host: &HostSpec) -> Result<Self, String> {
        let url = host.remote.as_ref().and_then(|shape| entry.get(shape.url));
        if let Some(url) = url {
            let url = url.as_str().ok_or("its address is not a string")?;
            return Ok(Self::Remote { url: url.to_owned(), headers: string_map(entry, "headers")? });
        }
        let command =
            entry.get("command").ok_or("it has neither a command nor an address that this host reads")?;
        let mut words = match command {
            Value::String(command) if !host.program.is_list => vec![command.clone()],
            Value::Array(_) if host.program.is_list => string_list(entry, "command")?,
            _ => {
                let expected = if host.program.is_list { "a list of strings" } else { "a string" };
                return Err(format!("its `command` is not {expected}"));
            }
        };
        words.extend(string_list(entry, "args")?);
        let mut words = words.into_iter();
        let command = words.next().filter(|word| !word.is_empty()).ok_or("its `command` is empty")?;
        Ok(Self::Program {
            command,
            arguments: words.collect(),
            environment: string_map(entry, host.program.environment)?,
            directory: entry.get("cwd").and_then(Value::as_str).map(str::to_owned),
        })
    }

    /// Whether it runs this program, whatever the entry is called.
    pub(super) fn is_hina(&self) -> bool {
        match self {
            Self::Program { command, .. } => {
                let is_running = std::env::current_exe().is_ok_and(|running| running == Path::new(command));
                is_running || Path::new(command).file_stem().is_some_and(|name| name == "hina")
            }
            Self::Remote { .. } => false,
        }
    }

    /// What it starts or connects to, in one line. Headers are not shown.
    pub(super) fn display_text(&self) -> String {
        match self {
            Self::Program { command, arguments, .. } => {
                let words: Vec<&str> =
                    std::iter::once(command).chain(arguments).map(String::as_str).collect();
                words.join(" ")
            }
            Self::Remote { url, .. } => url.clone(),
        }
    }

    /// The same with the values of the variables that the host replaces.
    ///
    /// # Errors
    /// The names of variables that are not set.
    pub(super) fn expand_variables(
        &self,
        host: &HostSpec,
        project: &Path,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, Vec<String>> {
        let mut unset = Vec::new();
        let mut expand = |text: &String| expand_text(text, host, project, variable, &mut unset);
        let expanded = match self {
            Self::Program { command, arguments, environment, directory } => Self::Program {
                command: expand(command),
                arguments: arguments.iter().map(&mut expand).collect(),
                environment: environment.iter().map(|(name, value)| (name.clone(), expand(value))).collect(),
                directory: directory.as_ref().map(&mut expand),
            },
            Self::Remote { url, headers } => Self::Remote {
                url: expand(url),
                headers: headers.iter().map(|(name, value)| (name.clone(), expand(value))).collect(),
            },
        };
        if unset.is_empty() { Ok(expanded) } else { Err(unset) }
    }
}

/// Replaces the project directory and the references to environment variables, as `host` does.
fn expand_text(
    text: &str,
    host: &HostSpec,
    project: &Path,
    variable: &dyn Fn(&str) -> Option<String>,
    unset: &mut Vec<String>,
) -> String {
    let text = match host.project_directory {
        Some(directory) => text.replace(directory, &project.display().to_string()),
        None => text.to_owned(),
    };
    let Some((before, after)) = host.remote.as_ref().and_then(|shape| shape.reference) else { return text };
    let (mut expanded, mut rest) = (String::new(), text.as_str());
    while let Some((left, right)) = rest.split_once(before) {
        let Some((name, right)) = right.split_once(after) else { break };
        let (name, default) = match name.split_once(":-") {
            Some((name, default)) => (name, Some(default.to_owned())),
            None => (name, None),
        };
        let value = variable(name).or(default).unwrap_or_else(|| {
            unset.push(name.to_owned());
            String::new()
        });
        expanded.push_str(left);
        expanded.push_str(&value);
        rest = right;
    }
    expanded + rest
}

fn string_list(entry: &Value, key: &str) -> Result<Vec<String>, String> {
    let list = match entry.get(key) {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(list) => list.as_array().ok_or_else(|| format!("its `{key}` is not a list"))?,
    };
    let text = |item: &Value| item.as_str().map(str::to_owned);
    list.iter()
        .map(text)
        .collect::<Option<_>>()
        .ok_or_else(|| format!("its `{key}` contains more than strings"))
}

fn string_map(entry: &Value, key: &str) -> Result<BTreeMap<String, String>, String> {
    let map = match entry.get(key) {
        None | Some(Value::Null) => return Ok(BTreeMap::new()),
        Some(map) => map.as_object().ok_or_else(|| format!("its `{key}` is not an object"))?,
    };
    let pair = |(name, value): (&String, &Value)| Some((name.clone(), value.as_str()?.to_owned()));
    map.iter()
        .map(pair)
        .collect::<Option<_>>()
        .ok_or_else(|| format!("its `{key}` contains more than strings"))
}

#[cfg(test)]
mod tests {
    use super::{super::hosts::HOSTS, *};

    fn host(name: &str) -> &'static HostSpec {
        HostSpec::from_name(name).expect("a host")
    }

    #[test]
    fn every_host_reads_what_is_written_for_it() {
        let program = Server::from_command("hina".to_owned(), vec!["mcp".to_owned(), "--tools".to_owned()]);
        let headers = BTreeMap::from([("Authorization".to_owned(), "Bearer x".to_owned())]);
        let remote = Server::Remote { url: "http://127.0.0.1:8700/mcp".to_owned(), headers };
        for host in &HOSTS {
            let entry = program.to_entry(host).expect("every host starts programs");
            assert_eq!(Server::from_entry(&entry, host).as_ref(), Ok(&program), "{}", host.name);
            match remote.to_entry(host) {
                Some(entry) => {
                    assert_eq!(Server::from_entry(&entry, host).as_ref(), Ok(&remote), "{}", host.name);
                }
                None => assert_eq!(host.name, "claude-desktop"),
            }
        }
    }

    #[test]
    fn entries_have_the_shape_of_their_host() {
        let program = Server::from_command("hina".to_owned(), vec!["mcp".to_owned()]);
        let entry = |name: &str| program.to_entry(host(name)).expect("an entry");
        assert_eq!(entry("claude-code"), json!({"type": "stdio", "command": "hina", "args": ["mcp"]}));
        assert_eq!(entry("gemini-cli"), json!({"command": "hina", "args": ["mcp"]}));
        assert_eq!(entry("opencode"), json!({"type": "local", "command": ["hina", "mcp"]}));
        assert_eq!(entry("zed"), json!({"source": "custom", "command": "hina", "args": ["mcp"]}));
    }

    #[test]
    fn variables_are_replaced_as_the_host_does() {
        let variable = |name: &str| (name == "KEY").then(|| "secret".to_owned());
        let expanded = |name: &str, text: &str| {
            let mut unset = Vec::new();
            (expand_text(text, host(name), Path::new("/p"), &variable, &mut unset), unset)
        };
        for (name, text) in [
            ("claude-code", "Bearer ${KEY}"),
            ("cursor", "Bearer ${env:KEY}"),
            ("opencode", "Bearer {env:KEY}"),
        ] {
            assert_eq!(expanded(name, text), ("Bearer secret".to_owned(), vec![]), "{name}");
        }
        assert_eq!(expanded("zed", "Bearer ${KEY}").0, "Bearer ${KEY}");
        assert_eq!(expanded("claude-code", "${NONE:-x} ${NONE}"), ("x ".to_owned(), vec!["NONE".to_owned()]));
        assert_eq!(expanded("vscode", "${workspaceFolder}/a").0, "/p/a");
        assert_eq!(expanded("claude-code", "${open").0, "${open");
    }

    #[test]
    fn broken_entries_say_what_is_wrong() {
        let problem =
            |entry: Value, name: &str| Server::from_entry(&entry, host(name)).expect_err("is broken");
        assert!(problem(json!({}), "claude-code").contains("neither a command"));
        assert!(problem(json!({"command": ["hina"]}), "cursor").contains("is not a string"));
        assert!(problem(json!({"command": "hina"}), "opencode").contains("is not a list of strings"));
        assert!(problem(json!({"command": "hina", "args": [1]}), "zed").contains("more than strings"));
        assert!(problem(json!({"url": "http://x/mcp"}), "claude-desktop").contains("neither"));
    }
}
