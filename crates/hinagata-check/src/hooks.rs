//! Python of prompts and packs: what it imports, and which permissions it uses. Nothing runs.

use std::collections::BTreeSet;

use hinagata_document::python::tokens::{self, Kind, Line};

use crate::codes::{CodeSpec, HOOK_IMPORT, HOOK_PERMISSION, HOOK_UNUSED_PERMISSION, SYNTAX_PYTHON};

/// The entries of `context` that need a permission of the same name.
const GUARDED: [&str; 4] = ["read_file", "http_request", "llm_call", "session_state"];
/// The other entries of `context`.
const FREE: [&str; 4] = ["session", "render_template", "get_variable", "workspace_path"];
/// Modules that open connections. The sandbox denies it.
const NETWORK: [&str; 17] = [
    "socket",
    "ssl",
    "urllib.request",
    "http.client",
    "ftplib",
    "smtplib",
    "poplib",
    "imaplib",
    "telnetlib",
    "xmlrpc.client",
    "socketserver",
    "http.server",
    "requests",
    "httpx",
    "aiohttp",
    "urllib3",
    "websockets",
];
/// Modules that start programs. The sandbox denies it without the permission `subprocess`.
const PROCESSES: [&str; 3] = ["subprocess", "multiprocessing", "pty"];
/// Names that may start programs.
const STARTERS: [&str; 5] = ["subprocess", "os", "asyncio", "pty", "multiprocessing"];

/// Words that start a statement with a block.
const COMPOUND: [&str; 11] =
    ["class", "def", "elif", "else", "except", "finally", "for", "if", "try", "while", "with"];

/// A finding in the text of a Python file.
pub(crate) struct PythonFound {
    pub(crate) code: &'static CodeSpec,
    /// The first byte of the place and the byte behind it.
    pub(crate) span: (usize, usize),
    pub(crate) message: String,
    pub(crate) near: Vec<String>,
    pub(crate) help: Option<String>,
}

/// What the Python may do.
pub(crate) struct Granted<'g> {
    /// Whether it has the permission with this name.
    pub(crate) allows: &'g dyn Fn(&str) -> bool,
    /// The permissions that its author declared.
    pub(crate) declared: Vec<&'g str>,
    /// Where permissions are declared.
    pub(crate) declaration: &'static str,
}

/// Checks the Python of a prompt or provider. A text that cannot be split into tokens has no findings: it is reported
/// as a syntax error.
pub(crate) fn check_python(text: &str, granted: &Granted<'_>) -> Vec<PythonFound> {
    let Ok(lines) = tokens::split_lines(text) else { return Vec::new() };
    let contexts = context_names(text, &lines);
    let mut found = Vec::new();
    let mut used = BTreeSet::new();
    for line in &lines {
        for (module, span) in imported_modules(text, line) {
            found.extend(check_import(&module, span, granted));
        }
        let declares = line.tokens.first().is_some_and(|token| token.text(text) == "PERMISSIONS");
        for token in line.tokens.iter().filter(|_| !declares) {
            let word = token.text(text);
            match token.kind {
                Kind::Name if STARTERS.contains(&word) => drop(used.insert("subprocess")),
                Kind::String => used.extend(GUARDED.into_iter().filter(|name| word.contains(name))),
                _ => {}
            }
        }
        let tested = tested_entries(text, line, &contexts);
        for window in line.tokens.windows(4) {
            let [base, open, key, close] = window else { continue };
            let is_entry = base.kind == Kind::Name
                && contexts.contains(base.text(text))
                && open.text(text) == "["
                && key.kind == Kind::String
                && close.text(text) == "]";
            let Some(entry) = plain_string(key.text(text)).filter(|_| is_entry) else { continue };
            if !tested.contains(entry) && !is_set(text, line, close.end) {
                found.extend(check_entry(entry, (key.start, key.end), granted));
            }
        }
    }
    // A test somewhere else guards the entry.
    let tested: BTreeSet<&str> =
        lines.iter().flat_map(|line| tested_entries(text, line, &contexts)).collect();
    found.retain(|one| {
        one.code.code != "hook.permission" || {
            let entry = text.get(one.span.0..one.span.1).and_then(plain_string);
            entry.is_none_or(|entry| !tested.contains(entry))
        }
    });
    found.extend(unused_permissions(&used, granted));
    found
}

/// The first syntax error that the lines of a Python file show: tokens, colons and indentation. The grammar of expressions
/// is left to Python.
pub(crate) fn find_syntax_error(text: &str) -> Option<PythonFound> {
    let error = |span: (usize, usize), message: String| PythonFound {
        code: &SYNTAX_PYTHON,
        span,
        message: format!("not valid Python: {message}"),
        near: Vec::new(),
        help: None,
    };
    let lines = match tokens::split_lines(text) {
        Ok(lines) => lines,
        Err(problem) => return Some(error((problem.offset, problem.offset), problem.message)),
    };
    let mut opened: Option<&Line> = None;
    let mut before = 0;
    for line in lines.iter().filter(|line| !line.tokens.is_empty()) {
        let span = line.tokens.first().map_or((0, 0), |token| (token.start, token.end));
        match opened {
            Some(opener) if line.indent <= opener.indent => {
                return Some(error(span, "expected an indented block".to_owned()));
            }
            None if line.indent > before => {
                return Some(error(span, "unexpected indentation".to_owned()));
            }
            _ => {}
        }
        if let Some(word) = compound_word(text, line)
            && !has_colon(text, line)
        {
            return Some(error(span, format!("expected `:` behind `{word}`")));
        }
        let ends_open = line.tokens.last().is_some_and(|token| token.text(text) == ":");
        opened = ends_open.then_some(line);
        before = line.indent;
    }
    let opener = opened?.tokens.last()?;
    Some(error((opener.start, opener.end), "expected an indented block".to_owned()))
}

/// The word that starts a statement with a block.
fn compound_word<'t>(text: &'t str, line: &Line) -> Option<&'t str> {
    let mut names = line.tokens.iter().map(|token| (token.kind, token.text(text)));
    let first = match names.next()? {
        (Kind::Name, "async") => names.next()?,
        first => first,
    };
    (first.0 == Kind::Name && COMPOUND.contains(&first.1)).then_some(first.1)
}

/// Whether a line has a colon outside of brackets.
fn has_colon(text: &str, line: &Line) -> bool {
    let mut depth = 0_i32;
    line.tokens.iter().any(|token| {
        match token.text(text) {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        depth == 0 && token.text(text) == ":"
    })
}

/// The names of the parameter `context`, as the hooks call it.
fn context_names<'t>(text: &'t str, lines: &[Line]) -> BTreeSet<&'t str> {
    let mut names = BTreeSet::from(["context"]);
    for line in lines {
        let words: Vec<&str> = line.tokens.iter().map(|token| token.text(text)).collect();
        let Some(def) = words.iter().position(|word| *word == "def") else { continue };
        let place = match words.get(def + 1) {
            Some(&"pre_render") => 1,
            Some(&"post_render") => 2,
            Some(&"provide") => 0,
            _ => continue,
        };
        let inside = words.get(def + 3..).unwrap_or_default();
        let mut depth = 0;
        let mut parameters = vec![Vec::new()];
        for word in inside {
            match *word {
                ")" if depth == 0 => break,
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth -= 1,
                "," if depth == 0 => {
                    parameters.push(Vec::new());
                    continue;
                }
                _ => {}
            }
            if let Some(last) = parameters.last_mut() {
                last.push(*word);
            }
        }
        names.extend(parameters.get(place).and_then(|words| words.first()).copied());
    }
    names
}

/// The text of a string literal without prefix, escapes or formats.
fn plain_string(literal: &str) -> Option<&str> {
    let quote = literal.chars().next().filter(|first| matches!(first, '"' | '\''))?;
    let inner = literal.strip_prefix(quote)?.strip_suffix(quote)?;
    (!inner.contains(['\\', quote])).then_some(inner)
}

/// The entries that a line tests: `"x" in context`, `context.get("x")`.
fn tested_entries<'t>(text: &'t str, line: &Line, contexts: &BTreeSet<&str>) -> BTreeSet<&'t str> {
    let mut tested = BTreeSet::new();
    for window in line.tokens.windows(3) {
        let [key, word, base] = window else { continue };
        if word.text(text) == "in" && contexts.contains(base.text(text)) {
            tested.extend(plain_string(key.text(text)));
        }
    }
    for window in line.tokens.windows(5) {
        let [base, dot, get, open, key] = window else { continue };
        let words = [dot.text(text), get.text(text), open.text(text)];
        if contexts.contains(base.text(text)) && words == [".", "get", "("] {
            tested.extend(plain_string(key.text(text)));
        }
    }
    tested
}

/// Whether the line assigns to what ends at `end`.
fn is_set(text: &str, line: &Line, end: usize) -> bool {
    let next = line.tokens.iter().find(|token| token.start >= end);
    next.is_some_and(|token| token.text(text) == "=")
}

fn check_entry(entry: &str, span: (usize, usize), granted: &Granted<'_>) -> Option<PythonFound> {
    if FREE.contains(&entry) {
        return None;
    }
    if !GUARDED.contains(&entry) {
        let near = hinagata_value::near_names(entry, GUARDED.into_iter().chain(FREE));
        let message = format!("`context` has no entry `{entry}`");
        return Some(PythonFound { code: &HOOK_PERMISSION, span, message, near, help: None });
    }
    let message = format!("`context[\"{entry}\"]` needs the permission `{entry}`, which is not declared");
    let help = Some(format!("declare it in {}", granted.declaration));
    (!(granted.allows)(entry)).then(|| PythonFound {
        code: &HOOK_PERMISSION,
        span,
        message,
        near: Vec::new(),
        help,
    })
}

/// The modules that a line imports.
fn imported_modules(text: &str, line: &Line) -> Vec<(String, (usize, usize))> {
    let words: Vec<&str> = line.tokens.iter().map(|token| token.text(text)).collect();
    let dotted = |start: usize| {
        let is_part =
            |word: &&&str| **word == "." || word.starts_with(|c: char| c.is_alphabetic() || c == '_');
        let mut end = start;
        let mut expects_name = true;
        while let Some(word) = words.get(end).filter(is_part) {
            if (*word == ".") == expects_name {
                break;
            }
            expects_name = !expects_name;
            end += 1;
        }
        let span = (line.tokens.get(start)?.start, line.tokens.get(end.checked_sub(1)?)?.end);
        (end > start).then(|| (words[start..end].concat(), span, end))
    };
    let mut modules = Vec::new();
    match words.first() {
        Some(&"import") => {
            let mut at = 1;
            while let Some((module, span, end)) = dotted(at) {
                modules.push((module, span));
                let Some(comma) = words[end..].iter().position(|word| *word == ",") else { break };
                at = end + comma + 1;
            }
        }
        Some(&"from") => {
            if let Some((module, span, end)) = dotted(1) {
                // `from urllib import request` imports the module, too.
                let names = words.get(end + 1..).unwrap_or_default().iter();
                let names: Vec<String> = names.map(|name| format!("{module}.{name}")).collect();
                let is_known = |name: &String| NETWORK.contains(&name.as_str());
                let inner = names.into_iter().find(is_known);
                modules.push((inner.unwrap_or(module), span));
            }
        }
        _ => {}
    }
    modules
}

fn check_import(module: &str, span: (usize, usize), granted: &Granted<'_>) -> Option<PythonFound> {
    let is_of = |list: &[&str]| {
        list.iter().any(|known| {
            module == *known || module.strip_prefix(known).is_some_and(|rest| rest.starts_with('.'))
        })
    };
    let (message, help) = if is_of(&NETWORK) {
        let message = format!("`{module}` opens connections, which the sandbox denies");
        (message, "use `context[\"http_request\"]` with the permission `http_request`")
    } else if is_of(&PROCESSES) && !(granted.allows)("subprocess") {
        let message = format!("`{module}` starts programs, which the sandbox denies");
        (message, "declare the permission `subprocess`, or do without")
    } else {
        return None;
    };
    Some(PythonFound { code: &HOOK_IMPORT, span, message, near: Vec::new(), help: Some(help.to_owned()) })
}

fn unused_permissions(used: &BTreeSet<&str>, granted: &Granted<'_>) -> Vec<PythonFound> {
    let unused = granted.declared.iter().filter(|name| (granted.allows)(name) && !used.contains(**name));
    unused
        .map(|name| PythonFound {
            code: &HOOK_UNUSED_PERMISSION,
            span: (0, 0),
            message: format!("the permission `{name}` is declared and not used"),
            near: Vec::new(),
            help: Some(format!("remove it from {}", granted.declaration)),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(text: &str, allowed: &[&str]) -> Vec<String> {
        let granted = Granted {
            allows: &|name| allowed.contains(&name),
            declared: allowed.to_vec(),
            declaration: "`PERMISSIONS`",
        };
        check_python(text, &granted).into_iter().map(|one| one.message).collect()
    }

    #[test]
    fn an_entry_without_its_permission_is_found_unless_it_is_tested() {
        let needs = "async def pre_render(variables, ctx):\n    return await ctx['read_file']('a')\n";
        assert_eq!(
            messages(needs, &[]),
            ["`context[\"read_file\"]` needs the permission `read_file`, which is not declared"]
        );
        assert_eq!(messages(needs, &["read_file"]), [""; 0]);
        let tested =
            "def pre_render(v, context):\n    if 'read_file' in context:\n        context['read_file']\n";
        assert_eq!(messages(tested, &[]), [""; 0]);
        let typo = "def pre_render(v, context):\n    return context['raed_file']\n";
        assert_eq!(messages(typo, &[]), ["`context` has no entry `raed_file`"]);
        let set = "def pre_render(v, context):\n    context['mine'] = 1\n    # context['other']\n";
        assert_eq!(messages(set, &[]), [""; 0]);
    }

    #[test]
    fn imports_of_the_network_and_of_processes_are_found() {
        let text = "import os, socket\nfrom urllib import request\nimport urllib.parse\nfrom subprocess import run\n";
        assert_eq!(
            messages(text, &[]),
            [
                "`socket` opens connections, which the sandbox denies",
                "`urllib.request` opens connections, which the sandbox denies",
                "`subprocess` starts programs, which the sandbox denies",
            ]
        );
        assert_eq!(messages("import subprocess\n", &["subprocess"]), [""; 0]);
        assert_eq!(messages("import socketio\nimport httplib2\n", &[]), [""; 0]);
    }

    #[test]
    fn lines_without_their_colon_or_block_are_syntax_errors() {
        let message = |text: &str| find_syntax_error(text).map(|found| found.message);
        for text in [
            "def f(a):\n    if a: return 1\n    else:\n        return {1: 2}\n\nx = [\n  1,\n]\n",
            "async def f(\n    a,\n):\n    \"\"\"x\n  y\"\"\"\n    async with a as b: pass\n",
            "class A: pass\n# x\nx = 1 if 2 else 3; y = 2\nmatch x:\n    case 1:\n        pass\n",
            "if a:\n\tb\n\n# c\nelse:\n\td\ntry:\n    pass\nexcept (A, B):\n    pass\nfinally:\n    pass\n",
        ] {
            assert_eq!(message(text), None, "{text}");
        }
        for (text, expected) in [
            ("def f(a)\n    return 1\n", "expected `:` behind `def`"),
            ("def f(a):\nreturn 1\n", "expected an indented block"),
            ("def f(a):\n", "expected an indented block"),
            ("x = 1\n  y = 2\n", "unexpected indentation"),
        ] {
            assert_eq!(message(text), Some(format!("not valid Python: {expected}")), "{text}");
        }
    }

    #[test]
    fn a_permission_without_a_use_is_found() {
        assert_eq!(
            messages("def pre_render(v, c):\n    return None\n", &["llm_call"]),
            ["the permission `llm_call` is declared and not used"]
        );
    }
}
