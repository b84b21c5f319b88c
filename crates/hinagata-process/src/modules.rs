//! The prompt modules of the processes, which precede those of the caller.

use hinagata::module::{Attachment, Error, Material, PromptModule};
use serde_json::Value;

type Module = PromptModule<Value>;

/// The text at a pointer in the context, unless it is empty.
fn text(context: &Value, pointer: &str) -> Option<String> {
    context.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// Adds the state of the conversation.
pub(crate) fn state_module() -> Module {
    Module::new()
        .terms("Current State: what is known about the conversation beyond its messages.")
        .state(|context: &Value| text(context, "/state/content"))
}

/// Adds the materials of the conversation.
pub(crate) fn materials_module() -> Module {
    let material = |material: &Value| {
        let field = |name: &str| match &material[name] {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            other => other.to_string(),
        };
        let plain = Material::new(field("id"), field("title"), field("content"));
        let attached = Attachment::read_list(&material["attachments"])?;
        Ok(attached.into_iter().fold(plain, Material::with_attachment))
    };
    Module::new().terms("Prepared Materials: texts that the answer can rely on.").materials(
        move |context: &Value| {
            let all = context["materials"].as_array().into_iter().flatten();
            all.map(material).collect::<Result<Vec<_>, Error>>()
        },
    )
}

/// Requests the note that prepares the answer.
pub(crate) fn preparation_module() -> Module {
    Module::new()
        .terms("Preparation note: what you write for yourself before you answer; nobody else reads it.")
        .instructions([
            "Do not answer yet: write the preparation note for the answer to the last message.",
            "Say what the message asks for, what of the conversation matters for it, and what the answer has to hold.",
        ])
        .guidelines(["Write notes, not prose.", "Name what is not known instead of guessing it."])
        .cue("The preparation note:")
}

/// Requests the prepared answer.
pub(crate) fn prepared_answer_module() -> Module {
    Module::new()
        .terms("Preparation note: what you wrote for yourself before you answer; nobody else reads it.")
        .instructions(["Answer the last message.", "Follow the preparation note, and do not speak of it."])
        .preparation_note(|context: &Value| text(context, "/preparationNote/content"))
}

/// The common part of analysis and summary: chunks as materials, and the state between calls.
fn in_passes(state: &'static str) -> Module {
    Module::new()
        .terms(["Prepared Materials: the parts of the text that are looked at in this pass.", state])
        .methodology([
            "The text comes in parts, a few of them in each pass, in order.",
            "Each pass takes over the current state and brings it up to date with the parts that it sees.",
            "What a pass does not take over is lost to the passes after it.",
        ])
        .guidelines("Say only what the text says.")
        .state(|context: &Value| text(context, "/state/content"))
        .materials(parts)
}

/// The chunks of a call as materials.
fn parts(context: &Value) -> Result<Vec<Material>, Error> {
    let place = |name: &str| context["range"][name].as_u64().and_then(|at| usize::try_from(at).ok());
    let (start, end) = (place("start").unwrap_or(0), place("end").unwrap_or(usize::MAX));
    let chunks = context["chunks"].as_array().into_iter().flatten().enumerate();
    let part = |(at, chunk): (usize, &Value)| {
        let text = |name: &str| chunk[name].as_str().unwrap_or_default();
        let material = Material::new(format!("part-{}", at + 1), text("partOf"), text("content"));
        let attached = Attachment::read_list(&chunk["attachments"])?;
        Ok(attached.into_iter().fold(material, Material::with_attachment))
    };
    chunks.skip(start).take(end.saturating_sub(start)).map(part).collect()
}

/// Requests the analysis.
pub(crate) fn analysis_module() -> Module {
    in_passes("Current State: the analysis of the parts before.")
        .objective("Analyse a text, so that a summary of it can be written.")
        .instructions([
            "List what the text is about, what it states, and what of it matters most.",
            "Name people, figures and terms as the text does.",
        ])
        .cue("The analysis of everything so far:")
}

/// Requests the summary.
pub(crate) fn summary_module() -> Module {
    in_passes("Current State: the summary of the parts before.")
        .objective("Summarise a text.")
        .instructions("Write a summary of the text so far that can be read without it.")
        .guidelines(|context: &Value| {
            let tokens = context["targetTokens"].as_u64()?;
            Some(format!("Keep the summary to about {tokens} tokens."))
        })
        .preparation_note(|context: &Value| {
            let report = text(context, "/preparationNote/content")?;
            Some(["An analysis of the whole text found this; follow it in what matters:".to_owned(), report])
        })
        .cue("The summary of everything so far:")
}
