//! A definition as JSON, the same for every door.

use hinagata_document::Error;
use serde_json::{Map, Value, json};

use super::{
    inherit::Inherited,
    limits::RenderLimits,
    model::{Body, Definition, Hook, Message, Role, UndefinedMode},
    parameter::{Parameter, ParameterClass, Proposals},
};
use crate::tool_document::OnError;

impl Inherited {
    /// The declared and inherited definition as JSON; `limits` are its effective limits.
    ///
    /// The default of a secret parameter is left out.
    #[must_use]
    pub fn to_json(&self, limits: &RenderLimits) -> Value {
        let definition = &*self.definition;
        let metadata = &definition.metadata;
        let names = |class: ParameterClass| self.parameters.names(class);
        json!({
            "prompt_id": definition.id.as_str(),
            "source": definition.source,
            "name": metadata.name,
            "label": metadata.label,
            "title": metadata.title,
            "description": metadata.description,
            "type": metadata.kind,
            "version": metadata.version,
            "author": metadata.author,
            "tags": metadata.tags,
            "expose": metadata.expose,
            "extends": metadata.extends,
            "chain": self.chain(),
            "variables": {
                "required": names(ParameterClass::Required),
                "optional": names(ParameterClass::Optional),
                "custom": names(ParameterClass::Custom),
            },
            "parameters": self.parameters.iter().map(parameter).collect::<Vec<_>>(),
            "body": self.body_definition().map_or(Value::Null, |found| body(&found.body)),
            "undefined": definition.undefined.map(UndefinedMode::as_str),
            "on_error": definition.on_error.map(OnError::as_str),
            "permissions": definition.permissions.granted_names().collect::<Vec<_>>(),
            "limits": {
                "max_execution_time": limits.max_execution_time,
                "max_output_size": limits.max_output_size,
            },
            "hooks": hooks(definition),
            "settings": settings(definition),
            "metadata": metadata.more,
            "unknown": definition.unknown,
            "warnings": definition.warnings.iter().map(warning).collect::<Vec<_>>(),
            "files": definition.files.iter().map(|read| &read.file).collect::<Vec<_>>(),
        })
    }
}

/// A warning as JSON.
fn warning(error: &Error) -> Value {
    let place = error.place();
    json!({
        "message": error.message(),
        "near": error.near(),
        "file": place.map(|place| &place.file),
        "line": place.map(|place| place.line),
        "column": place.map(|place| place.column),
    })
}

fn parameter(parameter: &Parameter) -> Value {
    let place = parameter.place.as_ref();
    json!({
        "name": parameter.name,
        "class": parameter.class.as_str(),
        "type": parameter.kind.name(),
        "default": parameter.default.as_ref().filter(|_| !parameter.secret),
        "description": parameter.description,
        "source": parameter.origin.to_json(),
        "from": parameter.from,
        "secret": parameter.secret,
        "schema": parameter.schema,
        "complete": parameter.proposals.as_ref().map(Proposals::to_json),
        "unknown": parameter.unknown,
        "declared": place.map(|place| json!({"file": place.file, "line": place.line, "column": place.column})),
    })
}

fn body(body: &Body) -> Value {
    match body {
        Body::Text(text) => json!({"kind": "text", "engine": text.engine.as_str(), "file": text.file}),
        Body::Messages(messages) => {
            json!({"kind": "messages", "roles": messages.iter().map(Message::role_name).collect::<Vec<_>>()})
        }
        Body::Module(module) => json!({"kind": "module", "uses": module.uses()}),
        Body::Inherited => Value::Null,
        Body::NeedsLoading => json!({"kind": "computed"}),
    }
}

impl Message {
    /// The name of the role; `template` if it comes from data.
    #[must_use]
    pub fn role_name(&self) -> &str {
        match &self.role {
            Role::System => "system",
            Role::Developer => "developer",
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Tool => "tool",
            Role::Template(_) => "template",
            Role::Other(name) => name,
        }
    }
}

impl Hook {
    /// The name of the form.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Async => "async",
            Self::Assigned => "assigned",
        }
    }
}

fn hooks(definition: &Definition) -> Value {
    let hooks = &definition.hooks;
    json!({
        "pre_render": hooks.pre_render.map(Hook::as_str),
        "post_render": hooks.post_render.map(Hook::as_str),
        "computed": hooks.needs_loading.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
    })
}

fn settings(definition: &Definition) -> Value {
    let settings = &definition.settings;
    let mut fields = Map::new();
    let mut add_field =
        |name: &str, value: Option<Value>| fields.extend(value.map(|value| (name.to_owned(), value)));
    add_field("output", settings.output.clone());
    add_field("model", settings.model.clone());
    add_field("config", settings.config.clone());
    add_field("returns", settings.returns.clone());
    add_field("languages", (!settings.languages.is_empty()).then(|| settings.languages.clone().into()));
    add_field("supports", (!settings.supports.is_empty()).then(|| settings.supports.clone().into()));
    add_field("role", settings.role.map(|role| role.name().into()));
    add_field("locked", (!settings.locked.is_empty()).then(|| settings.locked.clone().into()));
    Value::Object(fields)
}

#[cfg(test)]
mod tests {
    use crate::{Catalog, CatalogOptions, Defaults};

    #[test]
    fn a_definition_is_shown_with_all_it_inherits() {
        let catalog = Catalog::open(CatalogOptions::new("no/such/workspace"));
        let found = catalog.definition("coding_system").expect("is built in");
        let shown = found.to_json(&Defaults::default().limits(&found.definition.limits));
        assert_eq!(shown["chain"], serde_json::json!(["coding_system", "general_system"]));
        assert_eq!(shown["variables"]["required"], serde_json::json!(["agent_name", "tools"]));
        assert_eq!(shown["limits"]["max_output_size"], 50_000);
        let parameters = shown["parameters"].as_array().expect("a list");
        let tools = parameters.iter().find(|parameter| parameter["name"] == "tools").expect("is declared");
        assert_eq!((tools["type"].as_str(), tools["class"].as_str()), (Some("list"), Some("required")));
        assert_eq!(tools["declared"]["file"], "ecosystem/default/prompts/coding_system/prompt.py");
        assert_eq!(shown["body"]["kind"], "text");
    }
}
