//! Known differences between the recordings and the document, for vectors without the document's answer.
//!
//! The recorded merge also reorders a section that only one module has, and leaves headings where they are
//! (`one_sided_section_normalised`, `section_elements_not_merged` in the README of the vectors). Most vectors contain
//! the document's answer beside the recorded one. Those whose modules use a newer section contain only the recorded
//! one, and vectors of compiled modules were recorded after a recorded merge. So the document's rule is applied here
//! to the known differences, and to nothing else.

use serde_json::{Map, Value};

/// The recorded answer of a merge, with the document's answer for sections that differ.
pub(super) fn documented_answer(modules: &[Value], recorded: &Value) -> Value {
    let mut answer = recorded.clone();
    let Some(sections) = answer.as_object_mut() else { return answer };
    let modules: Vec<&Value> = modules.iter().flat_map(one_by_one).collect();
    for (name, merged) in sections.iter_mut() {
        let lists: Vec<&Vec<Value>> =
            modules.iter().filter_map(|module| module.get(name)?.as_array()).collect();
        match lists.as_slice() {
            [one] => *merged = Value::Array((*one).clone()),
            many if many.iter().any(|list| list.iter().any(|entry| kind(entry) == "section")) => {
                *merged = Value::Array(merge_lists(many));
            }
            _ => {}
        }
    }
    answer
}

/// The modules as the recorded merge reads them: sections that only one of them has are reordered.
pub(super) fn recorded_order(modules: &[Value]) -> Vec<Value> {
    let holders = |name: &str| modules.iter().filter(|module| module.get(name).is_some()).count();
    let module = |module: &Value| match module.as_object() {
        Some(sections) => Value::Object(
            sections
                .iter()
                .map(|(name, entries)| match entries.as_array() {
                    Some(list) if holders(name) == 1 => (name.clone(), Value::Array(subsections_last(list))),
                    _ => (name.clone(), entries.clone()),
                })
                .collect(),
        ),
        None => module.clone(),
    };
    if modules.len() < 2 { modules.to_vec() } else { modules.iter().map(module).collect() }
}

/// The modules of an inner list, which are merged first.
fn one_by_one(module: &Value) -> &[Value] {
    module.as_array().map_or(std::slice::from_ref(module), Vec::as_slice)
}

fn kind(entry: &Value) -> &str {
    entry.get("type").and_then(Value::as_str).unwrap_or_default()
}

/// The document's merge of one section: plain entries, then sections, then subsections, each title once.
fn merge_lists(lists: &[&Vec<Value>]) -> Vec<Value> {
    let entries = || lists.iter().copied().flatten();
    let mut all: Vec<Value> =
        entries().filter(|entry| !["section", "subsection"].contains(&kind(entry))).cloned().collect();
    for wanted in ["section", "subsection"] {
        let mut found: Vec<Value> = Vec::new();
        for entry in entries().filter(|entry| kind(entry) == wanted) {
            match found.iter_mut().find(|known| known["title"] == entry["title"]) {
                Some(known) => {
                    let items = items_of(&[known, entry]);
                    *known = entry.clone();
                    known["items"] =
                        Value::Array(if wanted == "section" { subsections_last(&items) } else { items });
                }
                None => found.push(entry.clone()),
            }
        }
        all.append(&mut found);
    }
    all
}

/// Other entries in their order, then subsections, each title once.
fn subsections_last(entries: &[Value]) -> Vec<Value> {
    let (subsections, mut all): (Vec<Value>, Vec<Value>) =
        entries.iter().cloned().partition(|entry| kind(entry) == "subsection");
    let mut found: Vec<Map<String, Value>> = Vec::new();
    for entry in &subsections {
        let Some(fields) = entry.as_object() else { continue };
        match found.iter_mut().find(|known| known["title"] == fields["title"]) {
            Some(known) => {
                let items = items_of(&[&Value::Object(known.clone()), entry]);
                *known = fields.clone();
                known.insert("items".to_owned(), Value::Array(items));
            }
            None => found.push(fields.clone()),
        }
    }
    all.extend(found.into_iter().map(Value::Object));
    all
}

fn items_of(entries: &[&Value]) -> Vec<Value> {
    entries.iter().filter_map(|entry| entry["items"].as_array()).flatten().cloned().collect()
}
