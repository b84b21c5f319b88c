//! Finds undefined variables before a template runs.

use std::sync::Arc;

use hinagata_template::{PathPart, Usage, VariableUse};
use serde_json::{Value, json};

use super::{
    explain::{graphs, read_at},
    layers::Layers,
    pipeline::Call,
    trace::ReadAt,
};
use crate::{Code, Error, Reason, Result};

impl Call<'_> {
    /// Reports all undefined variables at once, for the mode `error`.
    pub(super) fn refuse_missing(&self, layers: &Layers<'_>) -> Result<()> {
        let missing = missing(self, layers);
        let Some(first) = missing.first() else { return Ok(()) };
        let names: Vec<String> = missing.iter().map(|found| found.name.clone()).collect();
        let names_count = names.len();
        let listed = format!("`{}`", names.join("`, `"));
        let message = match names_count {
            1 => format!("undefined variable {listed}"),
            _ => format!("undefined variables {listed}"),
        };
        let details: Vec<Value> =
            missing.iter().map(|found| json!({"name": found.name, "read_at": found.read_at})).collect();
        let known = hinagata_value::Variables::names(layers);
        let near = hinagata_value::near_names(&first.name, known);
        let mut error = Error::new(Code::RenderUndefined, message)
            .with_reason(Reason::Undefined)
            .with("missing", names)
            .with("missing_details", details)
            .with_near(near)
            .with_hint(match names_count {
                1 => "pass it, declare a default, or set `undefined` to another mode than `error`",
                _ => "pass them, declare defaults, or set `undefined` to another mode than `error`",
            });
        if let Some(place) = first.read_at.first() {
            error = error.at(crate::Place {
                file: place.file.clone(),
                line: place.line,
                column: place.column,
                excerpt: self.excerpt(&place.file, place.line),
            });
        }
        Err(error)
    }

    /// A line of a file of the prompt.
    fn excerpt(&self, file: &str, line: u32) -> Option<String> {
        let read = self.plan.about.files.iter().find(|read| read.file == file)?;
        crate::Place::at_line(file, &read.text, line, 1).excerpt
    }

    /// Whether a path is the name of a function, or leads to one through `tools`. A variable of that name takes precedence.
    pub(super) fn is_function(&self, layers: &Layers<'_>, variable: &VariableUse) -> bool {
        let Some(tools) = &self.plan.tools else { return false };
        let mut name = variable.path.root.to_string();
        if layers.get(&name).is_some() {
            return false;
        }
        for part in variable.path.parts.iter() {
            match part {
                PathPart::Key(key) if tools.functions.get(&name).is_none() => name = format!("{name}.{key}"),
                _ => break,
            }
        }
        // The analysis reads a call through `tools` up to its module.
        tools.functions.get(&name).is_some() || tools.functions.first_with(&format!("{name}.")).is_some()
    }
}

/// A path that leads to no value, with its reads.
struct Missing {
    name: String,
    read_at: Vec<ReadAt>,
}

/// Every path that a template prints or uses, and that leads to no value.
fn missing(call: &Call<'_>, layers: &Layers<'_>) -> Vec<Missing> {
    let mut all: Vec<Missing> = Vec::new();
    for (origin, graph) in graphs(call) {
        for item in graph.variables.iter().filter(|item| item.variable.usage == Usage::Value) {
            let Some(name) = undefined_path(layers, &item.variable) else { continue };
            if call.is_function(layers, &item.variable) {
                continue;
            }
            let place = read_at(call, (origin, graph), &item.template, &item.variable);
            match all.iter_mut().find(|known| known.name == name) {
                Some(known) => known.read_at.push(place),
                None => all.push(Missing { name, read_at: vec![place] }),
            }
        }
    }
    all
}

/// The undefined part of a path; `None` if it leads to a value or depends on the run.
fn undefined_path(layers: &Layers<'_>, variable: &VariableUse) -> Option<String> {
    let root: &Arc<str> = &variable.path.root;
    if &**root == "." {
        return None;
    }
    let Some(mut value) = layers.get(root) else { return Some(root.to_string()) };
    for (index, part) in variable.path.parts.iter().enumerate() {
        let PathPart::Key(key) = part else { return None };
        // Methods and attributes of strings and lists are not data.
        let Value::Object(map) = value else { return None };
        match map.get(&**key) {
            Some(next) => value = next,
            None => return Some(joined_path(root, &variable.path.parts[..=index])),
        }
    }
    None
}

/// The path through `keys`, as a template writes it.
fn joined_path(root: &str, keys: &[PathPart]) -> String {
    let mut path = root.to_owned();
    for key in keys {
        if let PathPart::Key(key) = key {
            path.push('.');
            path.push_str(key);
        }
    }
    path
}
