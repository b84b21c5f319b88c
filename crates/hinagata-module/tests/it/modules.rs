//! Modules as a program writes them: builder, merge, compile.

use hinagata_module::{
    Attachment, CacheHint, Chunk, Content, ContentWithUsage, CustomSection, Descriptions, Dynamic,
    DynamicText, Element, Error, Functions, JsonElement, Material, Message, Order, Part, Problem,
    PromptModule, Section, SpecialToken, SpecialTokens, TextElement, TextOptions, Texts, Yielded,
    merge_modules, prompt_text, section,
    select::{Criteria, Model, select_best},
    subsection,
};
use serde_json::{Value, json};

#[derive(Clone, Default)]
struct Stream {
    state: ContentWithUsage,
    chunks: Vec<Chunk>,
    rules: Vec<String>,
}

fn stream() -> PromptModule<Stream> {
    PromptModule::new()
        .objective("Work through a stream.")
        .processing(
            section("Passes")
                .item("In order.")
                .subsection(subsection("Algorithm").item(["1. Read.", "2. Write."])),
        )
        .state(|stream: &Stream| format!("{} tokens:\n{}", stream.state.usage, stream.state.content))
        .chunks(|stream: &Stream| stream.chunks.clone())
        .guidelines(subsection("Rules").item("base").item(|stream: &Stream| stream.rules.clone()))
}

fn titles(elements: &[Element]) -> Vec<String> {
    let title = |element: &Element| match element {
        Element::Section(section) => format!("# {}", section.title),
        other => other.kind().to_owned(),
    };
    elements.iter().map(title).collect()
}

#[test]
fn a_module_is_compiled_with_its_context() {
    let context = Stream {
        state: ContentWithUsage::new("so far", 7),
        chunks: vec![
            Chunk::new("log", "one").with_index(0).with_total(2),
            Chunk::new("log", "two").with_index(1).with_total(2),
        ],
        rules: vec!["be brief".into()],
    };
    let prompt = stream().compile(&context).expect("compiles");
    assert_eq!(
        titles(&prompt.instructions),
        ["# Objective and Role", "# Processing Algorithm", "# Passes", "# Guidelines"]
    );
    assert_eq!(titles(&prompt.data), ["# Current State", "# Input Chunks", "chunk", "chunk"]);
    assert_eq!(prompt.to_json()["data"][0]["items"], json!(["7 tokens:\nso far"]));
    assert_eq!(prompt.to_json()["instructions"][3]["items"][0]["items"], json!(["base", "be brief"]));
}

#[test]
fn what_comes_from_the_context_is_marked_as_changing() {
    let prompt = stream().compile(&Stream::default()).expect("compiles");
    let hints: Vec<CacheHint> = prompt.elements().map(Element::cache_hint).collect();
    use CacheHint::{Contextual, Static};
    assert_eq!(hints, [Static, Static, Static, Contextual, Contextual]);
}

#[test]
fn the_order_for_caches_puts_what_changes_least_first() {
    let module = PromptModule::<()>::new().state("s").chunks("c").messages("m").materials("t").inputs("i");
    let standard = module.compile(&()).expect("compiles");
    let cached = module.compile_in(Order::Cache, &()).expect("compiles");
    let flat = module.compile_flat(&()).expect("compiles");
    let names = ["# Current State", "# Input Data", "# Prepared Materials", "# Input Chunks", "# Messages"];
    assert_eq!(titles(&standard.data), names);
    let names = ["# Input Data", "# Prepared Materials", "# Messages", "# Input Chunks", "# Current State"];
    assert_eq!(titles(&cached.data), names);
    let texts: Vec<Value> = flat.data.iter().map(|element| element.to_json()["content"].clone()).collect();
    assert_eq!(texts, ["s", "c", "m", "t", "i"]);
}

#[test]
fn functions_may_give_elements_texts_lists_options_and_failures() {
    let module = PromptModule::new()
        .inputs(|n: &u32| ["a", "b"][*n as usize])
        .inputs(|n: &u32| Some(Material::new("m", "M", n.to_string())))
        .inputs(|n: &u32| (*n > 5).then_some("never"))
        .inputs(|_: &u32| vec![TextElement::new("t")])
        .inputs(|_: &u32| ());
    let prompt = module.compile(&1).expect("compiles");
    assert_eq!(titles(&prompt.data), ["# Input Data", "material", "text"]);

    let failing = module.state(|_: &u32| -> Result<&str, Error> { Err(Problem::new("", "no state").into()) });
    let error = failing.compile(&1).expect_err("fails");
    assert_eq!(error.to_string(), "state[0]: no state");
}

/// Functions that give what stands behind the key `dynamic`.
struct AsWritten;

impl Functions for AsWritten {
    fn content(&self, value: &Value) -> Option<Dynamic<Value>> {
        let given = value.get("dynamic")?.clone();
        Some(Dynamic::new(move |_: &Value| Yielded::from_json(&given)))
    }

    fn texts(&self, value: &Value) -> Option<DynamicText<Value>> {
        let given = value.get("dynamic")?.clone();
        Some(DynamicText::new(move |_: &Value| Texts::from_json(&given)))
    }
}

#[test]
fn a_value_that_is_neither_text_nor_element_is_an_error_under_every_heading() {
    for given in [json!(40), json!(true), json!({"no": "type"}), json!({"type": "other"})] {
        let dynamic = json!({"dynamic": given});
        let subsection = json!({"type": "subsection", "title": "Limits", "items": ["max", dynamic]});
        let section =
            json!({"type": "section", "title": "Terms", "category": "instructions", "items": [subsection]});
        for entry in [dynamic.clone(), subsection.clone(), section] {
            let document = json!({"terms": [entry]});
            let module = PromptModule::from_json_with(&document, &AsWritten).expect("is a module");
            let error = module.compile(&json!({})).expect_err("is no text");
            assert!(error.to_string().starts_with("terms[0]"), "{document}: {error}");
            assert!(module.compile_flat(&json!({})).is_err(), "{document}");
        }
    }
    // An element, and what is no text in a list, is left out of a subsection and told.
    for given in [json!({"type": "text", "content": "x"}), json!(["a", 40])] {
        let items = json!(["max", {"dynamic": given}]);
        let document = json!({"terms": [{"type": "subsection", "title": "Limits", "items": items}]});
        let module = PromptModule::from_json_with(&document, &AsWritten).expect("is a module");
        assert_eq!(module.compile(&json!({})).expect("compiles").warnings.len(), 1, "{document}");
    }
}

#[test]
fn markers_that_are_given_win_over_tokens_for_thinking() {
    let pair = SpecialToken::Pair { start: "<think>".to_owned(), end: "</think>".to_owned() };
    let tokens = SpecialTokens([("thinking".to_owned(), pair)].into());
    let given = |start: Option<&str>, end: Option<&str>| {
        let mut options = TextOptions::default();
        options.markers.subsection_start = start.map(str::to_owned);
        options.markers.subsection_end = end.map(str::to_owned);
        let markers = options.for_tokens(tokens.clone()).markers;
        (markers.subsection_start.unwrap_or_default(), markers.subsection_end.unwrap_or_default())
    };
    let markers = |start: &str, end: &str| (start.to_owned(), end.to_owned());
    assert_eq!(given(None, None), markers("<think>", "</think>"));
    assert_eq!(given(None, Some("]]")), markers("<think>", "]]"));
    assert_eq!(given(Some("[["), None), markers("[[", "</think>"));
}

#[test]
fn an_empty_description_of_a_part_is_none() {
    let prompt = PromptModule::new().objective("Do it.").compile(&()).expect("compiles");
    let text = |instructions: Option<&str>| {
        let descriptions =
            Descriptions { instructions: instructions.map(str::to_owned), ..Descriptions::NONE };
        prompt_text(&prompt, &TextOptions { descriptions, ..TextOptions::default() })
    };
    assert_eq!(text(Some("")), text(None));
    assert!(text(Some("Obey.")).contains("Obey."));
}

#[test]
fn reasons_of_a_choice_name_preferences_then_requirements_then_priority() {
    let model = Model {
        model: "m".to_owned(),
        provider: "p".to_owned(),
        capabilities: vec!["tools".to_owned(), "local".to_owned(), "fast".to_owned()],
        max_input_tokens: None,
        max_output_tokens: None,
        cost: None,
        priority: 3,
        disabled: false,
    };
    let criteria =
        Criteria { required: vec!["tools".to_owned()], local: true, fast: true, ..Criteria::default() };
    let models = [model];
    assert_eq!(
        select_best(&models, &criteria).expect("is one").reasons,
        [
            "Local execution preferred",
            "Fast response preferred",
            "Meets all required capabilities: tools",
            "High priority (3)",
        ]
    );
}

#[test]
fn contexts_of_merged_modules_are_made_in_order() {
    let one = PromptModule::<Stream>::new().with_context(|stream| stream.rules = vec!["a".into()]);
    let two = PromptModule::new().with_context(|stream: &mut Stream| {
        stream.state = ContentWithUsage::new("x", 1);
        stream.rules.push("b".into());
    });
    let context = merge_modules([one, two]).expect("merges").create_context();
    assert_eq!((context.rules, context.state.usage), (vec!["a".to_owned(), "b".to_owned()], 1));
}

#[test]
fn a_module_can_be_used_in_a_larger_context() {
    struct Both {
        stream: Stream,
        tone: String,
    }
    let tone = PromptModule::new().persona(|both: &Both| both.tone.clone());
    let module = merge_modules([stream().map_context(|both: &Both| &both.stream), tone]).expect("merges");
    let both = Both { stream: Stream { rules: vec!["r".into()], ..Stream::default() }, tone: "dry".into() };
    let prompt = module.compile(&both).expect("compiles").to_json();
    assert_eq!(prompt["instructions"][1]["items"], json!(["dry"]));
    assert_eq!(prompt["instructions"][4]["items"][0]["items"], json!(["base", "r"]));
}

#[test]
fn processing_and_methodology_are_one_section_under_the_first_name() {
    let (first, second) = (PromptModule::<()>::new().methodology("a"), PromptModule::new().processing("b"));
    let merged = merge_modules([first, second]).expect("merges");
    assert_eq!(Value::Object(merged.sections_to_json()), json!({"methodology": ["a", "b"]}));
    let prompt = merged.compile(&()).expect("compiles");
    assert_eq!(titles(&prompt.instructions), ["# Processing Methodology"]);
}

#[test]
fn own_sections_follow_the_standard_ones_of_their_part() {
    let limits = CustomSection { name: "limits".into(), part: Part::Instructions, title: "Limits".into() };
    let one = PromptModule::<()>::new().add_entry(limits.clone(), "No jokes.").guidelines("g").cue("c");
    let two = PromptModule::new().add_entry(limits.clone(), "No puns.");
    let merged = merge_modules([one.clone(), two]).expect("merges");
    let prompt = merged.compile(&()).expect("compiles");
    assert_eq!(titles(&prompt.instructions), ["# Guidelines", "# Limits"]);
    assert_eq!(merged.get("limits").map(<[_]>::len), Some(2));

    let other = CustomSection { title: "Bounds".into(), ..limits };
    let error =
        merge_modules([one, PromptModule::new().add_entry(other, "x")]).expect_err("the titles differ");
    assert!(error.to_string().contains("declared twice"), "{error}");
}

#[test]
fn further_schemas_are_told_about() {
    let module = PromptModule::<()>::new()
        .schema(JsonElement::new(json!({"a": 1})))
        .schema(JsonElement::text("{\"b\": 2}"));
    let prompt = module.compile(&()).expect("compiles");
    assert_eq!(prompt.schema(), Some(&json!({"a": 1})));
    assert_eq!((prompt.output.len(), prompt.warnings.len()), (0, 1));
    let broken = PromptModule::<()>::new().schema(JsonElement::text("{nope"));
    let error = broken.compile(&()).expect_err("not JSON").to_string();
    assert!(error.contains("invalid JSON in the schema"), "{error}");
}

#[test]
fn every_problem_of_a_document_is_told_with_its_path() {
    let document = json!({
        "objectve": ["x"], "footer": [],
        "materials": ["ok", 5, {"type": "material", "id": "a"}, {"type": "materal"}],
        "messages": [{"type": "message", "role": "robot", "content": "x"},
            {"type": "message", "role": "user", "content": [{"type": "image_url", "image_url": {}}]}],
        "terms": "text",
        "guidelines": [{"type": "subsection", "title": "T", "items": ["a", {"type": "subsection"}]}],
    });
    let problems: Vec<String> = PromptModule::validate(&document).iter().map(ToString::to_string).collect();
    assert_eq!(
        problems,
        [
            "objectve: unknown section `objectve` (did you mean `objective`?)",
            "footer: unknown section `footer`",
            "materials[1]: must be a string or an element with `type`, not a number",
            "materials[2]: `title` is missing",
            "materials[3]: unknown element type `materal` (did you mean `material`?)",
            "messages[0].role: unknown role `robot`",
            "messages[1].content[0].image_url: `url` is missing",
            "terms: must be a list, not a string",
            "guidelines[0].items[1]: must be a string, not an object with an unknown `type`",
        ]
    );
    assert!(PromptModule::validate(&json!({"objective": ["x"], "createContext": {"a": 1}})).is_empty());
}

#[test]
fn a_document_comes_back_as_it_was() {
    let document = json!({
        "createContext": {"n": 1},
        "objective": ["o", {"type": "subsection", "title": "S", "items": ["x"], "tone": "dry"}],
        "materials": [{"type": "material", "id": "m", "title": "M", "content": [{"type": "text", "text": "t"},
            {"type": "file", "file": {"path": "a.pdf", "mime_type": "application/pdf"}}], "usage": 3, "lang": "ja"}],
        "messages": [{"type": "message", "role": "assistant", "content": "", "toolCalls":
            [{"id": "1", "name": "f", "arguments": {"a": 1}}]},
            {"type": "message", "role": "tool", "toolCallId": "1", "name": "f", "kind": "error", "value": "no"}],
    });
    let module = PromptModule::from_json(&document).expect("is a module");
    assert_eq!(module.to_json(), document);
}

#[test]
fn attachments_are_added_to_what_is_there() {
    let material = Material::new("m", "M", "text").with_attachment(Attachment::image("https://e.test/a.png"));
    let Content::Parts(parts) = &material.content else { panic!("holds parts") };
    assert_eq!(parts.len(), 2);
    let module = PromptModule::<()>::new().add_entry(
        Section::Messages,
        [Message::user(Content::default().with_attachment(Attachment::image("https://e.test/b.png")))],
    );
    let prompt = module.compile(&()).expect("compiles").to_json();
    assert_eq!(
        prompt["data"][1]["content"],
        json!([{"type": "image_url", "image_url": {"url": "https://e.test/b.png"}}])
    );
}
