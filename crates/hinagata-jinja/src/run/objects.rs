//! Run-time objects: macros, loops, blocks, imported templates, bound methods.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
};

use hinagata_value::{Budget, EngineRef, Error, Functions, InputsId, Result, Value};

use super::{loops::LoopState, names::BlockNames};
use crate::{
    code::{For, LoopField, MacroCode},
    context::Objects,
};

/// A run-time object, which values refer to by an [`EngineRef`].
pub(super) enum Object<'a> {
    Macro(Macro<'a>),
    /// An imported template: its exported names, with what their values are made of, and its output.
    Module {
        exports: BTreeMap<&'a str, (Value<'a>, InputsId)>,
        body: Value<'a>,
    },
    Loop(LoopObject<'a>),
    /// A block of a context, as `super` or `self.name`.
    Block {
        context: usize,
        name: &'a str,
        depth: usize,
    },
    /// `self`.
    Template {
        context: usize,
        blocks: BlockNames<'a>,
    },
    Cycler {
        items: Vec<Value<'a>>,
        position: usize,
    },
    Joiner {
        separator: Value<'a>,
        used: bool,
    },
    /// A bound method of a value.
    Method {
        receiver: Value<'a>,
        name: &'static str,
    },
    /// The host functions whose names start with this prefix and a dot, such as `tools.files`.
    Functions(&'a str),
    /// A bound method of a run-time object.
    OwnMethod {
        receiver: EngineRef,
        name: &'static str,
    },
}

#[derive(Clone, Copy)]
pub(super) struct Macro<'a> {
    pub(super) code: &'a MacroCode,
    pub(super) template: u32,
    pub(super) context: usize,
    /// The frame that it was created in.
    pub(super) base: usize,
    pub(super) autoescape: bool,
    /// Whether that frame still exists. The body of a call block is valid only during the call.
    pub(super) alive: bool,
}

pub(super) struct LoopObject<'a> {
    pub(super) code: &'a For,
    pub(super) base: usize,
    pub(super) state: LoopPlace<'a>,
}

/// Where the state of a loop is.
pub(super) enum LoopPlace<'a> {
    /// The index of a running loop among the running loops.
    Running(usize),
    Ended(Box<LoopState<'a>>),
}

impl LoopPlace<'_> {
    /// Its index among the running loops, while it runs.
    pub(super) fn running(&self) -> Option<usize> {
        match self {
            Self::Running(place) => Some(*place),
            Self::Ended(_) => None,
        }
    }
}

/// The kinds of [`EngineRef`].
pub(super) const OBJECT: u8 = 0;
pub(super) const GLOBAL: u8 = 1;

/// The functions that every template has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Global {
    Range,
    Dict,
    Lipsum,
    Cycler,
    Joiner,
    Namespace,
    RaiseException,
    StrftimeNow,
}

const GLOBALS: [(&str, Global); 8] = [
    ("range", Global::Range),
    ("dict", Global::Dict),
    ("lipsum", Global::Lipsum),
    ("cycler", Global::Cycler),
    ("joiner", Global::Joiner),
    ("namespace", Global::Namespace),
    ("raise_exception", Global::RaiseException),
    ("strftime_now", Global::StrftimeNow),
];

/// Names with a meaning in every template, or in parts of it.
const WORDS: [&str; 19] = [
    "and", "caller", "else", "false", "False", "if", "in", "is", "kwargs", "loop", "none", "None", "not",
    "or", "self", "super", "true", "True", "varargs",
];

/// Whether `name` has a meaning in Jinja itself, so that no function should use it.
#[must_use]
pub fn is_reserved(name: &str) -> bool {
    WORDS.contains(&name) || GLOBALS.iter().any(|(known, _)| *known == name)
}

/// The names of all globals.
pub(crate) fn global_names() -> impl Iterator<Item = &'static str> {
    GLOBALS.iter().map(|(name, _)| *name)
}

/// The global `name`; the last two exist in chat templates only.
pub(super) fn global<'a>(name: &str, chat_host: bool) -> Option<Value<'a>> {
    let count = if chat_host { GLOBALS.len() } else { GLOBALS.len() - 2 };
    let index = GLOBALS[..count].iter().position(|(known, _)| *known == name)?;
    Some(Value::Engine(EngineRef { kind: GLOBAL, index: index as u32 }))
}

/// The global that a handle refers to.
pub(super) fn global_of(handle: EngineRef) -> Option<Global> {
    (handle.kind == GLOBAL).then(|| GLOBALS.get(handle.index as usize).map(|(_, global)| *global)).flatten()
}

/// All run-time objects of one run. Each exists until the run ends, so their memory is charged.
pub(super) struct ObjectTable<'a> {
    budget: &'a Budget,
    functions: &'a Functions,
    objects: RefCell<Vec<Object<'a>>>,
    /// The charged bytes that objects own on the heap.
    extra_bytes: Cell<usize>,
    /// The running loops that use `loop`, innermost last.
    pub(super) loops: RefCell<Vec<LoopState<'a>>>,
}

impl<'a> ObjectTable<'a> {
    pub(super) fn new(budget: &'a Budget, functions: &'a Functions) -> Self {
        Self {
            budget,
            functions,
            objects: RefCell::default(),
            extra_bytes: Cell::new(0),
            loops: RefCell::default(),
        }
    }

    /// The host function `name`, or the group of functions whose names start with `name` and a dot.
    pub(super) fn function(&self, name: &str) -> Option<Value<'a>> {
        if let Some(function) = self.functions.get(name) {
            return Some(Value::Function(function));
        }
        let known = self.functions.first_with(&format!("{name}."))?;
        self.add(Object::Functions(&known[..name.len()])).ok()
    }

    pub(super) fn add(&self, object: Object<'a>) -> Result<Value<'a>> {
        let mut objects = self.objects.borrow_mut();
        if objects.len() == objects.capacity() {
            let more = objects.capacity().max(4);
            self.budget.charge_bytes(more * size_of::<Object<'_>>())?;
            objects.reserve_exact(more);
        }
        objects.push(object);
        Ok(Value::Engine(EngineRef { kind: OBJECT, index: objects.len() as u32 - 1 }))
    }

    /// Charges for memory that an object owns on the heap, until the run ends.
    pub(super) fn charge(&self, bytes: usize) -> Result<()> {
        self.budget.charge_bytes(bytes)?;
        self.extra_bytes.set(self.extra_bytes.get() + bytes);
        Ok(())
    }

    /// What the exported name of an imported template is made of.
    pub(super) fn export_inputs(&self, module: EngineRef, name: &str) -> InputsId {
        let inputs = self.with_object(module, |object| match object {
            Object::Module { exports, .. } => exports.get(name).map(|(_, inputs)| *inputs),
            _ => None,
        });
        inputs.flatten().unwrap_or_default()
    }

    /// The output of an imported template.
    pub(super) fn module_output(&self, module: EngineRef) -> Option<Value<'a>> {
        self.with_object(module, |object| match object {
            Object::Module { body, .. } => Some(body.clone()),
            _ => None,
        })?
    }

    /// Reads or changes an object. `look` must not run template code.
    pub(super) fn with_object<R>(
        &self,
        handle: EngineRef,
        look: impl FnOnce(&mut Object<'a>) -> R,
    ) -> Option<R> {
        if handle.kind != OBJECT {
            return None;
        }
        self.objects.borrow_mut().get_mut(handle.index as usize).map(look)
    }
}

impl Drop for ObjectTable<'_> {
    fn drop(&mut self) {
        let table = self.objects.get_mut().capacity() * size_of::<Object<'_>>();
        self.budget.release_bytes(table + self.extra_bytes.get());
    }
}

impl<'a> Objects<'a> for ObjectTable<'a> {
    fn repr(&self, object: EngineRef) -> String {
        if let Some(global) = global_of(object) {
            return format!("<{global:?}>").to_ascii_lowercase();
        }
        self.with_object(object, |object| match object {
            Object::Macro(object) if object.code.name == "caller" => "<Macro anonymous>".to_owned(),
            Object::Macro(object) => format!("<Macro '{}'>", object.code.name),
            // An imported template prints its output.
            Object::Module { body, .. } => body.as_str().unwrap_or_default().to_owned(),
            Object::Loop(object) => match &object.state {
                LoopPlace::Ended(state) => format!("<LoopContext {}/{}>", state.index + 1, state.len),
                LoopPlace::Running(place) => match self.loops.borrow().get(*place) {
                    Some(state) => format!("<LoopContext {}/{}>", state.index + 1, state.len),
                    None => String::new(),
                },
            },
            Object::Block { name, .. } => format!("<Block '{name}'>"),
            Object::Template { .. } => "<TemplateReference>".to_owned(),
            Object::Cycler { .. } => "<Cycler>".to_owned(),
            Object::Joiner { .. } => "<Joiner>".to_owned(),
            Object::Method { name, .. } => format!("<built-in method {name}>"),
            Object::Functions(name) => format!("<functions of {name}>"),
            Object::OwnMethod { .. } => "<bound method>".to_owned(),
        })
        .unwrap_or_default()
    }

    fn type_name(&self, object: EngineRef) -> &'static str {
        if object.kind == GLOBAL {
            return "function";
        }
        self.with_object(object, |object| match object {
            Object::Macro(_) => "Macro",
            Object::Module { .. } => "TemplateModule",
            Object::Loop(_) => "LoopContext",
            Object::Block { .. } => "BlockReference",
            Object::Template { .. } => "TemplateReference",
            Object::Cycler { .. } => "Cycler",
            Object::Joiner { .. } => "Joiner",
            Object::Method { .. } => "builtin_function_or_method",
            Object::Functions(_) => "functions",
            Object::OwnMethod { .. } => "method",
        })
        .unwrap_or("object")
    }

    fn is_module(&self, object: EngineRef) -> bool {
        object.kind != GLOBAL
            && self.with_object(object, |object| matches!(object, Object::Module { .. })).unwrap_or(false)
    }

    fn is_callable(&self, object: EngineRef) -> bool {
        object.kind == GLOBAL
            || self
                .with_object(object, |object| {
                    !matches!(
                        object,
                        Object::Module { .. }
                            | Object::Template { .. }
                            | Object::Cycler { .. }
                            | Object::Functions(_)
                    )
                })
                .unwrap_or(false)
    }

    fn attribute(&self, handle: EngineRef, name: &str) -> Option<Value<'a>> {
        enum FoundAttribute<'a> {
            Value(Value<'a>),
            New(Object<'a>),
            Arguments(&'a MacroCode),
            Function(String),
        }
        let found = self.with_object(handle, |object| match object {
            Object::Macro(object) => match name {
                "name" => Some(FoundAttribute::Value(Value::Lit(&object.code.name))),
                "arguments" => Some(FoundAttribute::Arguments(object.code)),
                "catch_kwargs" => Some(FoundAttribute::Value(Value::Bool(object.code.kwargs.is_some()))),
                "catch_varargs" => Some(FoundAttribute::Value(Value::Bool(object.code.varargs.is_some()))),
                "caller" => Some(FoundAttribute::Value(Value::Bool(object.code.caller.is_some()))),
                _ => None,
            },
            Object::Module { exports, .. } => {
                exports.get(name).map(|(value, _)| FoundAttribute::Value(value.clone()))
            }
            Object::Template { context, blocks } => blocks
                .borrow()
                .get(name)
                .map(|name| FoundAttribute::New(Object::Block { context: *context, name, depth: 0 })),
            Object::Block { context, name: block, depth } if name == "super" => {
                Some(FoundAttribute::New(Object::Block { context: *context, name: block, depth: *depth + 1 }))
            }
            Object::Functions(start) => Some(FoundAttribute::Function(format!("{start}.{name}"))),
            Object::Cycler { items, position } => match name {
                "current" => items.get(*position).cloned().map(FoundAttribute::Value),
                "next" => Some(FoundAttribute::New(Object::OwnMethod { receiver: handle, name: "next" })),
                "reset" => Some(FoundAttribute::New(Object::OwnMethod { receiver: handle, name: "reset" })),
                _ => None,
            },
            Object::Loop(object) => match (&object.state, name) {
                (_, "cycle") => {
                    Some(FoundAttribute::New(Object::OwnMethod { receiver: handle, name: "cycle" }))
                }
                (_, "changed") => {
                    Some(FoundAttribute::New(Object::OwnMethod { receiver: handle, name: "changed" }))
                }
                (LoopPlace::Ended(state), _) => {
                    LoopField::from_name(name).map(|field| FoundAttribute::Value(state.field(field)))
                }
                (LoopPlace::Running(place), _) => {
                    let field = LoopField::from_name(name)?;
                    self.loops.borrow().get(*place).map(|state| FoundAttribute::Value(state.field(field)))
                }
            },
            _ => None,
        })??;
        match found {
            FoundAttribute::Value(value) => Some(value),
            FoundAttribute::New(object) => self.add(object).ok(),
            FoundAttribute::Function(name) => self.function(&name),
            FoundAttribute::Arguments(code) => {
                let heap = hinagata_value::Heap::new(self.budget);
                heap.tuple_of(code.params.iter().map(|param| Value::Lit(&param.name))).ok()
            }
        }
    }

    fn method(&self, receiver: Value<'a>, name: &'static str) -> Result<Value<'a>> {
        self.add(Object::Method { receiver, name })
    }
}

/// The error for a call of a value that is not callable.
#[cold]
pub(super) fn not_callable(type_name: &str) -> Error {
    Error::runtime(format!("'{type_name}' object is not callable"))
}
