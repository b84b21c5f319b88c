//! Tools by function name.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use hinagata::{
    Diagnostic, Error, Reason,
    ports::{Tool, ToolDocument},
};

use crate::definition::ToolDefinition;

/// The namespace in which Jinja finds tools by module and name.
const NAMESPACE: &str = "tools";

/// Definitions by id, functions by name, and diagnostics.
#[derive(Debug, Default)]
pub(crate) struct NamedTools {
    pub(crate) definitions: HashMap<String, ToolDefinition>,
    pub(crate) functions: BTreeMap<String, Arc<Tool>>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// The ids of replaced tools.
    replaced: HashSet<String>,
}

impl NamedTools {
    /// Reads documents in order. The first document with a name takes precedence.
    pub(crate) fn from_documents<'d>(documents: impl IntoIterator<Item = &'d ToolDocument>) -> Self {
        let mut tools = Self::default();
        let mut order = Vec::new();
        for document in documents {
            match ToolDefinition::from_document(document) {
                Ok(definition) => order.extend(tools.add(document, definition)),
                Err(error) => tools.diagnostics.push(Diagnostic::error(&document.origin, error)),
            }
            tools.diagnostics.extend(unused_headers(document));
        }
        tools.add_aliases(order);
        tools
    }

    fn add(&mut self, document: &ToolDocument, definition: ToolDefinition) -> Option<Arc<Tool>> {
        let name = function_name(&document.id);
        if self.replaced.contains(&document.id) {
            return None;
        }
        let problem = if self.definitions.contains_key(&document.id) {
            Some(format!("a tool with the id `{}` already exists and takes precedence", document.id))
        } else if is_reserved_name(&name) {
            Some(format!("`{name}` is a reserved name in templates"))
        } else {
            self.functions.get(&name).map(|other| {
                format!(
                    "the tool `{}` would have the same function name `{name}` as `{}`",
                    document.id, other.id
                )
            })
        };
        if let Some(message) = problem {
            let error = Error::definition(Reason::ToolName, message)
                .with("tool", document.id.as_str())
                .with_hint("use another key or file name");
            self.diagnostics.push(Diagnostic::error(&document.origin, error));
            return None;
        }
        if document.replaces {
            self.replaced.insert(document.id.clone());
        }
        let tool = Arc::new(definition.tool.clone());
        self.functions.insert(name, Arc::clone(&tool));
        self.definitions.insert(document.id.clone(), definition);
        Some(tool)
    }

    /// Adds the lower-case form of each name as an alias, if it is free.
    fn add_aliases(&mut self, order: Vec<Arc<Tool>>) {
        for tool in order {
            let lower = function_name(&tool.id).to_lowercase();
            if !is_reserved_name(&lower) {
                self.functions.entry(lower).or_insert(tool);
            }
        }
    }
}

/// Warns about headers in a definition, which are ignored: headers come from the settings.
fn unused_headers(document: &ToolDocument) -> Option<Diagnostic> {
    let inner = |key: &str| document.document.get(key).and_then(|inner| inner.get("headers"));
    document.document.get("headers").or_else(|| inner("restful")).or_else(|| inner("grpc"))?;
    let error = Error::definition(Reason::Tool, "the `headers` of a tool are ignored")
        .with("tool", document.id.as_str())
        .with_hint("set `tools.modules.<module>.headers`: secrets come from the settings");
    Some(Diagnostic::warning(&document.origin, error))
}

fn is_reserved_name(name: &str) -> bool {
    name == NAMESPACE || hinagata_template::is_reserved(name)
}

/// The function name of a tool. Characters that are not allowed in identifiers become `_`.
#[must_use]
pub fn function_name(id: &str) -> String {
    let fits = |found: char| found == '_' || found.is_ascii_digit() || found.is_alphabetic();
    let name: String = id.chars().map(|found| if fits(found) { found } else { '_' }).collect();
    if name.starts_with(|first: char| first.is_ascii_digit()) { format!("_{name}") } else { name }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tools_with_ids(ids: &[&str]) -> NamedTools {
        let document = |id: &&str| ToolDocument {
            id: (*id).to_owned(),
            origin: format!("key {id}"),
            document: json!({"url": "/x"}),
            replaces: false,
        };
        NamedTools::from_documents(&ids.iter().map(document).collect::<Vec<_>>())
    }

    #[test]
    fn a_function_has_the_name_of_its_key() {
        assert_eq!(function_name("codebase.lookup_ref"), "codebase_lookup_ref");
        assert_eq!(function_name("mcp:chrome:xx"), "mcp_chrome_xx");
        assert_eq!(function_name("a-b.c d/é.2"), "a_b_c_d_é_2");
        assert_eq!(function_name("2.go"), "_2_go");
    }

    #[test]
    fn the_first_tool_with_a_name_takes_precedence() {
        let found = tools_with_ids(&["a.b_c", "a.b.c", "x"]);
        assert_eq!(found.functions["a_b_c"].id, "a.b_c");
        assert_eq!(found.functions.keys().collect::<Vec<_>>(), ["a_b_c", "x"]);
        assert_eq!(found.diagnostics.len(), 1);
        assert_eq!(found.diagnostics[0].source, "key a.b.c");
    }

    #[test]
    fn the_lower_case_form_is_an_alias_if_it_is_free() {
        let found = tools_with_ids(&["Code.Find", "Code.Look", "code.look", "Range"]);
        let id = |name: &str| found.functions.get(name).map(|tool| tool.id.clone());
        assert_eq!(id("Code_Find"), Some("Code.Find".to_owned()));
        assert_eq!(id("code_find"), Some("Code.Find".to_owned()));
        assert_eq!(id("code_look"), Some("code.look".to_owned()));
        assert_eq!((id("Range"), id("range")), (Some("Range".to_owned()), None));
        assert!(found.diagnostics.is_empty());
    }

    #[test]
    fn a_tool_cannot_have_the_name_of_a_built_in() {
        let found = tools_with_ids(&["range", "printf", "role", "tools", "if", "not", "dict", "fine"]);
        assert_eq!(found.functions.keys().collect::<Vec<_>>(), ["fine"]);
        assert_eq!(found.diagnostics.len(), 7);
        assert!(found.diagnostics.iter().all(|found| found.error.reason() == Some(Reason::ToolName)));
    }

    #[test]
    fn a_replacement_takes_the_name_of_the_replaced_tool() {
        let document = |replaces: bool, url: &str| ToolDocument {
            id: "a.b".to_owned(),
            origin: "here".to_owned(),
            document: json!({"url": url}),
            replaces,
        };
        let found = NamedTools::from_documents(&[document(true, "/new"), document(false, "/old")]);
        assert!(found.diagnostics.is_empty(), "{:?}", found.diagnostics);
        let call = crate::CallKind::Restful { method: "POST".to_owned(), url: "/new".to_owned() };
        assert_eq!((found.functions.len(), &found.definitions["a.b"].call), (1, &call));
    }
}
