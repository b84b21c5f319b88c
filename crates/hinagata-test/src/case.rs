//! Test cases as they are read from a file.

use std::{sync::Arc, time::SystemTime};

use hinagata::Place;
use serde_json::{Map, Value};

use crate::checks::{Assertion, ExpectedError};

/// A file with test cases.
#[derive(Clone, Debug)]
pub struct CaseFile {
    /// The file, as a path from the workspace root.
    pub file: String,
    /// The prompt that its cases render.
    pub prompt: String,
    /// The cases in the order of the file; each matrix is multiplied out. A caller may remove some.
    pub cases: Vec<Case>,
    /// The names of all cases of the file.
    pub names: Vec<String>,
}

/// A test case: one call of a prompt, and what has to hold for its result.
#[derive(Clone, Debug)]
pub struct Case {
    /// The name, unique in its file.
    pub name: String,
    /// Where it is in the file.
    pub place: Place,
    /// The variables of the call.
    pub variables: Map<String, Value>,
    /// The surroundings of the call.
    pub context: CaseContext,
    /// The answers of tools, providers and models.
    pub stubs: Arc<Stubs>,
    /// What has to hold.
    pub assertions: Arc<[Assertion]>,
    /// The error that the render has to end with.
    pub error: Option<ExpectedError>,
    /// The model that answers the prompt.
    pub model: Option<String>,
    /// Options of the model, as OpenAI names them.
    pub options: Map<String, Value>,
    /// How often the model is asked.
    pub repeat: u32,
    /// The share of the weights that has to pass; without it, every assertion has to.
    pub threshold: Option<f64>,
    /// Why the case does not run.
    pub skip: Option<String>,
}

/// The surroundings of a call. Without a value, they are the same on every machine.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseContext {
    /// The time.
    pub now: SystemTime,
    /// The time zone: a name, or an offset.
    pub timezone: String,
    /// The operating system.
    pub os: String,
    /// The context of the call, as the doors read it.
    pub call: Map<String, Value>,
    /// The project directory, relative to the workspace root.
    pub project: Option<String>,
}

/// Answers in place of programs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stubs {
    /// The answers of tools, by id.
    pub tools: Map<String, Value>,
    /// The values of providers, by namespace.
    pub providers: Map<String, Value>,
    /// The answers of models to hooks, in their order.
    pub models: Vec<Value>,
}
