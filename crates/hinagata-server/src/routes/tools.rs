//! Trying a tool without a prompt.

use std::time::Instant;

use hinagata::ports::Tool;
use serde_json::{Map, Value, json};

use crate::{
    answer,
    call::{Answer, Call},
    fields::Fields,
    problem::Problem,
};

/// `POST /api/tools/{id}/call`
pub(super) async fn call_tool(mut call: Call) -> Answer {
    // Tools contain addresses and headers, and belong to no prompt.
    call.require_unrestricted()?;
    let id = call.path_param("id")?.to_owned();
    let mut fields = Fields::new(call.read_object().await?);
    let arguments = fields.take_value("arguments");
    fields.check_unknown()?;
    let set = call.engine().tool_set();
    let found = set.as_ref().and_then(|set| set.tools().iter().find(|(_, tool)| tool.id == id));
    let (Some(set), Some((function, tool))) = (&set, found) else {
        let ids: Vec<&str> =
            set.iter().flat_map(|set| set.tools().values()).map(|tool| tool.id.as_str()).collect();
        let near = hinagata_value::near_names(&id, ids);
        let short_id: String = id.chars().take(80).collect();
        return Err(Problem::not_found(format!(
            "tool `{short_id}` not found, or its definition is not valid"
        ))
        .with_member("near", near)
        .with_hint("`GET /api/diagnostics` lists what is wrong with tools"));
    };
    let arguments = check_arguments(tool, arguments)?;
    let started = Instant::now();
    let result = set.call_tool(function, arguments).await?;
    let milliseconds = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    answer::json_response(&json!({"tool": id, "result": result, "milliseconds": milliseconds}))
}

/// The arguments as the tool takes them: an object, or a list if it declares none.
fn check_arguments(tool: &Tool, arguments: Option<Value>) -> Result<Value, Problem> {
    let takes_object = tool.parameters.as_ref().is_some_and(|schema| {
        schema.get("type").map_or_else(|| schema.get("properties").is_some(), |kind| kind == "object")
    });
    match arguments {
        None if takes_object => Ok(Value::Object(Map::new())),
        None => Ok(Value::Array(Vec::new())),
        Some(arguments @ (Value::Object(_) | Value::Array(_))) => Ok(arguments),
        Some(_) => {
            Err(Problem::bad_request("`arguments` must be an object, or a list for a tool without names"))
        }
    }
}
