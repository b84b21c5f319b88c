//! Tools as functions of templates: calling one starts a call to the outside.

use std::{collections::BTreeMap, sync::Arc};

use hinagata_template::structure_functions;
use hinagata_value::{Arguments, Closure, Error, Functions, Host, Request, Result, Value as Data, to_json};
use serde_json::{Map, Value};

use crate::ports::Tool;

/// The tools of one moment, by the name of their function.
pub(super) type ToolSet = BTreeMap<String, Tool>;

/// The functions of templates: those that make structure, and the tools.
pub(super) fn functions(tools: &Arc<ToolSet>) -> Functions {
    let mut functions = structure_functions();
    for name in tools.keys() {
        let (tools, own) = (Arc::clone(tools), name.clone());
        functions
            .add(Closure::new(name.as_str(), move |host, arguments| start(&tools, &own, host, arguments)));
    }
    functions
}

fn start<'a>(
    tools: &ToolSet,
    name: &str,
    host: &Host<'_, 'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Data<'a>> {
    let tool = tools.get(name).ok_or_else(|| Error::runtime(format!("there is no tool `{name}`")))?;
    let arguments = document(tool, name, host, arguments)?;
    host.start(Request { function: name.to_owned(), arguments, pure: tool.pure })
}

/// The arguments as what is sent: an object where the tool declares one, else a list.
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
                Err(Error::runtime(format!("`{name}` takes no argument by name, such as `{key}`")))
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
            return Err(Error::runtime(format!("`{name}` gets its argument `{key}` twice")));
        }
        all.insert((*key).to_owned(), to_json(host.heap, value)?);
    }
    Ok(Value::Object(all))
}

/// The names of the arguments in their order, where the tool declares an object.
fn properties(tool: &Tool) -> Option<Vec<&str>> {
    let schema = tool.parameters.as_ref()?.as_object()?;
    let is_object = schema.get("type").is_none_or(|kind| kind == "object");
    let properties = schema.get("properties")?.as_object()?;
    is_object.then(|| properties.keys().map(String::as_str).collect())
}
