//! Adapts `hinagata-module` to recorded cases.

use hinagata_module::{
    CompiledPrompt, Descriptions, Dynamic, DynamicText, Element, Error, Functions, Markers, Order,
    PromptModule, SpecialToken, SpecialTokens, TextOptions, Texts, Yielded,
    answer::{ExtractOptions, extract_json},
    driver::{self, DataRole, RequestOptions},
    elements_text, merge_modules, prompt_text,
    select::{Cost, Criteria, Model, Preferences, select_best, select_models},
};
use serde_json::{Map, Value, json};

use super::workflow;
use crate::kinds::module::{Compiling, ModuleEngine, ModuleQuestion};

/// The module crate of the product.
#[derive(Clone, Copy, Debug)]
pub struct Module;

impl Module {
    /// Whether this build has it.
    pub const READY: bool = true;
}

impl ModuleEngine for Module {
    fn answer_question(&self, question: &ModuleQuestion) -> Result<Value, String> {
        match question {
            ModuleQuestion::Merge(modules) => {
                Ok(merged(modules).map_err(|error| error.to_string())?.to_json())
            }
            ModuleQuestion::Compile { modules, context, compiling, hints } => {
                let modules = Value::Array(modules.clone());
                let prompt =
                    compiled(&modules, context.as_ref(), *compiling).map_err(|error| error.to_string())?;
                let mut answer = prompt.to_json();
                if !hints {
                    remove_hints(&mut answer);
                }
                Ok(answer)
            }
            ModuleQuestion::Text(input) => text(input).map_err(|error| error.to_string()),
            ModuleQuestion::Element(input) => element(input),
            ModuleQuestion::Extract(input) => Ok(extracted(input)),
            ModuleQuestion::Select(input) => Ok(selected(input)),
            ModuleQuestion::Workflow(input) => workflow::run_process(input),
        }
    }
}

/// Merges a list of modules. An inner list is merged first.
fn merged(modules: &Value) -> Result<PromptModule<Value>, Error> {
    let each = |module: &Value| match module {
        Value::Array(_) => merged(module),
        one => PromptModule::from_json_with(one, &StandIns),
    };
    let modules: Result<Vec<_>, _> = modules.as_array().into_iter().flatten().map(each).collect();
    merge_modules(modules?)
}

fn compiled(modules: &Value, context: Option<&Value>, compiling: Compiling) -> Result<CompiledPrompt, Error> {
    let module = merged(modules)?;
    let context = context.cloned().unwrap_or_else(|| module.create_context());
    match compiling {
        Compiling::Standard => module.compile(&context),
        Compiling::Cache => module.compile_in(Order::Cache, &context),
        Compiling::Flat => module.compile_flat(&context),
    }
}

pub(super) fn remove_hints(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(remove_hints),
        Value::Object(fields) => {
            fields.remove("cacheHint");
            fields.values_mut().for_each(remove_hints);
        }
        _ => {}
    }
}

/// The functions that stand-ins of the vectors represent.
pub(super) struct StandIns;

impl Functions for StandIns {
    fn content(&self, value: &Value) -> Option<Dynamic<Value>> {
        let stand_in = StandIn::from_value(value)?;
        let function = move |context: &Value| Yielded::from_json(&stand_in.call(context));
        Some(Dynamic::new(function).with_json_form(value.clone()))
    }

    fn texts(&self, value: &Value) -> Option<DynamicText<Value>> {
        let stand_in = StandIn::from_value(value)?;
        let function = move |context: &Value| Texts::from_json(&stand_in.call(context));
        Some(DynamicText::new(function).with_json_form(value.clone()))
    }
}

/// An object with one key that represents a function.
struct StandIn {
    name: String,
    argument: Value,
}

impl StandIn {
    fn from_value(value: &Value) -> Option<Self> {
        let fields = value.as_object().filter(|fields| fields.len() == 1)?;
        let (name, argument) = fields.iter().next()?;
        ["dynamic", "dynamicPath", "dynamicText", "dynamicIf", "dynamicMap"]
            .contains(&name.as_str())
            .then(|| Self { name: name.clone(), argument: argument.clone() })
    }

    fn call(&self, context: &Value) -> Value {
        let argument = &self.argument;
        match self.name.as_str() {
            "dynamic" => argument.clone(),
            "dynamicPath" => at_path(context, argument).cloned().unwrap_or_default(),
            "dynamicText" => Value::String(fill_paths(argument.as_str().unwrap_or_default(), context)),
            "dynamicIf" => {
                let chosen = if truthy(at_path(context, &argument["path"])) { "then" } else { "else" };
                argument.get(chosen).cloned().unwrap_or_default()
            }
            _ => mapped(argument, context),
        }
    }
}

fn at_path<'v>(context: &'v Value, path: &Value) -> Option<&'v Value> {
    path.as_str()?.split('.').try_fold(context, |value, step| match value {
        Value::Array(items) => items.get(step.parse::<usize>().ok()?),
        other => other.get(step),
    })
}

fn truthy(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Number(number)) => number.as_f64() != Some(0.0),
        Some(_) => true,
    }
}

fn fill_paths(text: &str, context: &Value) -> String {
    let mut all = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        all.push_str(before);
        let Some((path, after)) = after.split_once('}') else {
            all.push('{');
            rest = after;
            continue;
        };
        match at_path(context, &Value::from(path)) {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) => all.push_str(text),
            Some(other) => all.push_str(&other.to_string()),
        }
        rest = after;
    }
    all + rest
}

fn mapped(argument: &Value, context: &Value) -> Value {
    let Some(Value::Array(rows)) = at_path(context, &argument["path"]) else { return Value::Null };
    let bound = |index: usize, otherwise: usize| {
        let place = at_path(context, &argument["slice"][index]).and_then(Value::as_u64);
        place.map_or(otherwise, |place| usize::try_from(place).unwrap_or(usize::MAX)).min(rows.len())
    };
    let (start, end) = (bound(0, 0), bound(1, rows.len()));
    let fields: Vec<&str> =
        argument["fields"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let row = |row: &Value| {
        let mut element = Map::new();
        element.insert("type".to_owned(), argument["type"].clone());
        element.extend(argument["constants"].as_object().cloned().unwrap_or_default());
        for field in &fields {
            if let Some(value) = row.get(*field) {
                element.insert((*field).to_owned(), value.clone());
            }
        }
        Value::Object(element)
    };
    rows.get(start..end.max(start)).unwrap_or_default().iter().map(row).collect()
}

fn text(input: &Map<String, Value>) -> Result<Value, Error> {
    let options = options(input);
    let text = match (input.get("prompt"), input.get("element"), input.get("elements")) {
        (Some(prompt), ..) => prompt_text(&CompiledPrompt::from_json(prompt)?, &options),
        (_, Some(element), _) => elements_text(&[Element::from_json(element)?], &options),
        (.., elements) => {
            let elements = elements.and_then(Value::as_array).into_iter().flatten().map(Element::from_json);
            elements_text(&elements.collect::<Result<Vec<_>, _>>()?, &options)
        }
    };
    Ok(Value::String(text))
}

fn options(input: &Map<String, Value>) -> TextOptions {
    let given = input.get("options").cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let mut options = TextOptions::default();
    if let Some(preamble) = text(&given["preamble"]) {
        options.preamble = preamble;
    }
    if let Some(line_break) = text(&given["lineBreak"]) {
        options.line_break = line_break;
    }
    if let Some(always) = given["alwaysIncludeOutputHeader"].as_bool() {
        options.always_output_header = always;
    }
    if let Some(descriptions) = given.get("sectionDescriptions") {
        options.descriptions = Descriptions {
            instructions: text(&descriptions["instructions"]),
            data: text(&descriptions["data"]),
            output: text(&descriptions["output"]),
        };
    }
    let markers = &given["markers"];
    options.markers = Markers {
        message_role: text(&markers["messageRole"]),
        message_content: text(&markers["messageContent"]),
        chunk_start: text(&markers["chunkStart"]),
        chunk_end: text(&markers["chunkEnd"]),
        subsection_start: text(&markers["subsectionStart"]),
        subsection_end: text(&markers["subsectionEnd"]),
    };
    options.special_tokens = tokens(&given["specialTokens"]);
    match input.get("setSpecialTokens") {
        Some(later) => options.for_tokens(tokens(later)),
        None => options,
    }
}

fn tokens(given: &Value) -> SpecialTokens {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let token = |value: &Value| match value.get("start") {
        Some(start) => SpecialToken::Pair { start: text(&start["text"]), end: text(&value["end"]["text"]) },
        None => SpecialToken::Single(text(&value["text"])),
    };
    let all = given.as_object().into_iter().flatten();
    SpecialTokens(all.map(|(name, value)| (name.clone(), token(value))).collect())
}

/// The message that a driver makes from an element, or the text for Claude's tags.
fn element(input: &Map<String, Value>) -> Result<Value, String> {
    let element = input.get("element").ok_or("no element")?;
    let element = Element::from_json(element).map_err(|error| error.to_string())?;
    let prompt = CompiledPrompt { data: vec![element], ..CompiledPrompt::default() };
    let options = RequestOptions { data_role: DataRole::System, ..RequestOptions::default() };
    if input.get("driver").and_then(Value::as_str) == Some("claude") {
        let body = driver::anthropic(&prompt, &options).map_err(|error| error.to_string())?.to_value();
        return Ok(body["messages"][0]["content"][0]["text"].clone());
    }
    let body = driver::openai(&prompt, &options).map_err(|error| error.to_string())?.to_value();
    Ok(body["messages"][0].clone())
}

fn extracted(input: &Map<String, Value>) -> Value {
    let option = |name: &str, usual: bool| {
        input.get("options").and_then(|options| options[name].as_bool()).unwrap_or(usual)
    };
    let options = ExtractOptions { repair: option("repair", true), multiple: option("multiple", false) };
    let text = input.get("text").and_then(Value::as_str).unwrap_or_default();
    let found = extract_json(text, options);
    let none = found.values.is_empty();
    let data = if options.multiple {
        Value::Array(found.values)
    } else {
        found.values.into_iter().next().unwrap_or_default()
    };
    let mut answer = json!({"data": data, "repaired": found.repaired, "source": found.source.name()});
    if none {
        answer["error"] = "No valid JSON found in text".into();
    }
    answer
}

fn selected(input: &Map<String, Value>) -> Value {
    let models: Vec<Model> =
        input.get("models").and_then(Value::as_array).into_iter().flatten().map(model).collect();
    let field = |name: &str| input.get(name).cloned().unwrap_or_default();
    if field("api") == "service" {
        let capabilities = texts(&field("capabilities"));
        let capabilities: Vec<&str> = capabilities.iter().map(String::as_str).collect();
        let found = select_models(&models, &capabilities, &preferences(&field("options")));
        return found.into_iter().map(|model| Value::String(model.id())).collect();
    }
    let Some(choice) = select_best(&models, &criteria(&field("criteria"))) else { return Value::Null };
    let mut answer =
        json!({"model": choice.model.id(), "score": choice.score, "reason": choice.reasons.join("; ")});
    if !choice.warnings.is_empty() {
        answer["warnings"] = choice.warnings.into();
    }
    answer
}

fn model(value: &Value) -> Model {
    let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
    Model {
        model: text("model"),
        provider: text("provider"),
        capabilities: texts(&value["capabilities"]),
        max_input_tokens: value["maxInputTokens"].as_u64(),
        max_output_tokens: value["maxOutputTokens"].as_u64(),
        cost: value.get("cost").map(cost),
        priority: value["priority"].as_i64().unwrap_or_default(),
        disabled: value["enabled"] == Value::Bool(false),
    }
}

fn cost(value: &Value) -> Cost {
    Cost { input: value["input"].as_f64(), output: value["output"].as_f64() }
}

fn preferences(value: &Value) -> Preferences {
    let flag = |name: &str| value[name].as_bool().unwrap_or_default();
    Preferences {
        local: flag("preferLocal"),
        fast: flag("preferFast"),
        provider: value["preferProvider"].as_str().map(str::to_owned),
        exclude_providers: texts(&value["excludeProviders"]),
        lenient: flag("lenient"),
    }
}

fn criteria(value: &Value) -> Criteria {
    let flag = |name: &str| value[name].as_bool().unwrap_or_default();
    Criteria {
        required: texts(&value["requiredCapabilities"]),
        preferred: texts(&value["preferredCapabilities"]),
        excluded: texts(&value["excludeCapabilities"]),
        providers: texts(&value["providers"]),
        exclude_providers: texts(&value["excludeProviders"]),
        min_input_tokens: value["minInputTokens"].as_u64(),
        min_output_tokens: value["minOutputTokens"].as_u64(),
        max_cost: cost(&value["maxCost"]),
        local: flag("preferLocal"),
        fast: flag("preferFast"),
    }
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}
