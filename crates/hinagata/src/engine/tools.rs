//! Tools as functions of templates.

use std::sync::Arc;

use hinagata_template::{Options, structure_functions};
use hinagata_value::{Arguments, Closure, Error, Functions, Host, Request, Result, Value as Data, to_json};
use serde_json::{Map, Value};

use super::{Engine, snapshot::Snapshot};
use crate::{
    definition::Parameters,
    ports::{Tool, ToolSet},
    store::StoreSnapshot,
};

/// The namespace of tools in Jinja, such as `tools.files.search`.
pub(super) const SPACE: &str = "tools";

/// A set of tools, with the functions and options that plans share.
pub(super) struct KnownTools {
    pub(super) set: Arc<dyn ToolSet>,
    /// The functions of templates: structure and tools.
    pub(super) functions: Arc<Functions>,
    /// Options that know these functions.
    pub(super) options: Options,
}

impl KnownTools {
    fn new(set: Arc<dyn ToolSet>) -> Self {
        let functions = functions(&*set);
        Self::with_functions(set, functions)
    }

    fn with_functions(set: Arc<dyn ToolSet>, functions: Functions) -> Self {
        let options = Options::default().with_functions(&functions);
        Self { set, functions: Arc::new(functions), options }
    }

    /// The tools of a prompt with these parameters. In a prompt that declares `tools`, the name is that variable also
    /// without a value, so the namespace is left out.
    pub(super) fn for_parameters(self: &Arc<Self>, parameters: &Parameters) -> Arc<Self> {
        if !parameters.iter().any(|parameter| parameter.name == SPACE) {
            return Arc::clone(self);
        }
        let mut functions = Functions::new();
        let space = format!("{SPACE}.");
        for name in self.functions.names().filter(|name| !name.starts_with(&space)) {
            if let Some(function) = self.functions.get(name) {
                functions.insert_shared(Arc::clone(function));
            }
        }
        Arc::new(Self::with_functions(Arc::clone(&self.set), functions))
    }
}

impl Engine {
    /// The tools of a render in these snapshots; `None` if there are none.
    pub(super) fn tools(
        &self,
        snapshot: &Snapshot,
        store: Option<&StoreSnapshot>,
    ) -> Option<Arc<KnownTools>> {
        self.known_tools(snapshot, store).filter(|known| !known.set.tools().is_empty())
    }

    /// The same, also if all definitions are invalid.
    pub(super) fn known_tools(
        &self,
        snapshot: &Snapshot,
        store: Option<&StoreSnapshot>,
    ) -> Option<Arc<KnownTools>> {
        let port = self.0.ports.tools.as_ref()?;
        let of_packs = snapshot.catalog.pack_tools();
        let (first, last) = (Arc::clone(&of_packs.replacing), Arc::clone(&of_packs.own));
        let set = match store {
            Some(store) => port.tool_set(&[first, Arc::clone(&store.tool_documents), last]),
            None => port.tool_set(&[first, last]),
        };
        let known = self.0.tools.load_full().filter(|known| Arc::ptr_eq(&known.set, &set));
        Some(known.unwrap_or_else(|| {
            let known = Arc::new(KnownTools::new(set));
            self.0.tools.store(Some(Arc::clone(&known)));
            known
        }))
    }
}

fn functions(set: &dyn ToolSet) -> Functions {
    let mut functions = structure_functions();
    for (name, tool) in set.tools() {
        add(&mut functions, name, name, tool);
        if let Some(module) = &tool.module {
            let long = format!("{SPACE}.{}.{}", identifier(module), identifier(&tool.name));
            // If two tools have the same name, the first one wins.
            if functions.get(&long).is_none() {
                add(&mut functions, &long, name, tool);
            }
        }
    }
    functions
}

fn add(functions: &mut Functions, known_as: &str, name: &str, tool: &Arc<Tool>) {
    let (tool, own) = (Arc::clone(tool), name.to_owned());
    functions.insert(Closure::new(known_as, move |host, arguments| start(&tool, &own, host, arguments)));
}

/// The name with `_` for every character that an identifier cannot contain.
fn identifier(name: &str) -> String {
    name.chars().map(|found| if found.is_ascii_alphanumeric() { found } else { '_' }).collect()
}

fn start<'a>(
    tool: &Tool,
    name: &str,
    host: &Host<'_, 'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Data<'a>> {
    let arguments = document(tool, name, host, arguments)?;
    host.start_call(Request { function: name.to_owned(), arguments, pure: tool.pure })
}

/// The arguments as JSON: an object if the tool declares one, else a list.
fn document<'a>(
    tool: &Tool,
    name: &str,
    host: &Host<'_, 'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value> {
    let positional: Result<Vec<Value>> =
        arguments.positional.iter().map(|value| to_json(host.heap, value)).collect();
    let positional = positional?;
    let Some(properties) = properties(tool) else {
        return match arguments.named.first() {
            None => Ok(Value::Array(positional)),
            Some((key, _)) => {
                Err(Error::runtime(format!("`{name}` does not take named arguments, such as `{key}`"))
                    .with_hint("declare its parameters as an object"))
            }
        };
    };
    if positional.len() > properties.len() {
        return Err(Error::runtime(format!(
            "`{name}` takes at most {} arguments, not {}",
            properties.len(),
            positional.len()
        )));
    }
    let mut all: Map<String, Value> =
        properties.iter().map(|key| (*key).to_owned()).zip(positional).collect();
    for (key, value) in arguments.named {
        if all.contains_key(*key) {
            return Err(Error::runtime(format!("`{name}` got multiple values for the argument `{key}`")));
        }
        all.insert((*key).to_owned(), to_json(host.heap, value)?);
    }
    Ok(Value::Object(all))
}

/// The names of the arguments in their order, if the tool declares an object.
fn properties(tool: &Tool) -> Option<Vec<&str>> {
    let schema = tool.parameters.as_ref()?.as_object()?;
    let declared = schema.get("properties").and_then(Value::as_object);
    let is_object = match schema.get("type") {
        Some(kind) => kind == "object",
        None => declared.is_some(),
    };
    let names = || declared.into_iter().flat_map(Map::keys).map(String::as_str).collect();
    is_object.then(names)
}
