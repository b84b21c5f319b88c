//! The values of templates.

use std::{fmt, rc::Rc, sync::Arc};

use serde_json::Value as Json;

use crate::{CallId, Function, HostObject, List, Map, Metered, Pieces, Range};

/// A value of a running template: 16 bytes, cheap to clone, without a reference count if it is borrowed.
///
/// Data of the caller and constants of the template are borrowed for `'a` and read in place, so unused data
/// costs nothing. Produced values are shared by `Rc` (a render stays on one thread) and charged to the budget.
/// The accessors of [`crate::Heap`] hide the difference between borrowed and produced containers.
#[derive(Clone, Default)]
pub enum Value<'a> {
    /// An undefined value.
    Undefined(Undefined<'a>),
    /// Null: Jinja's `none`, Go's `nil`.
    #[default]
    None,
    /// A boolean.
    Bool(bool),
    /// An integer of 64 bits.
    Int(i64),
    /// An integer that does not fit into 64 bits.
    Big(Rc<Metered<'a, i128>>),
    /// A floating-point number.
    Float(f64),
    /// Data of the caller.
    Json(&'a Json),
    /// A constant of a template, or a key of the caller's data.
    Lit(&'a String),
    /// A produced string.
    Str(Rc<Metered<'a, String>>),
    /// A produced string that is safe to insert without escaping.
    Safe(Rc<Metered<'a, String>>),
    /// A produced string that is not UTF-8: a Go string cut inside a character.
    Bytes(Rc<Metered<'a, Box<[u8]>>>),
    /// A captured piece of output with marks; see [`Pieces`].
    Pieces(Rc<Metered<'a, Pieces<'a>>>),
    /// A produced list.
    List(Rc<List<'a>>),
    /// A produced sequence that cannot be changed and prints as a tuple.
    Tuple(Rc<List<'a>>),
    /// A produced sequence that can be iterated once. It has no length and no access by index.
    Once(Rc<List<'a>>),
    /// The keys, values or items of a map at the time of the call; see [`crate::ListKind`].
    View(Rc<List<'a>>),
    /// A produced map, in insertion order.
    Map(Rc<Map<'a>>),
    /// An object whose attributes a template may set.
    Namespace(Rc<Map<'a>>),
    /// Numbers from a start to an end, not yet a list.
    Range(Rc<Metered<'a, Range>>),
    /// A function of the host.
    Function(&'a Arc<dyn Function>),
    /// An object of the host.
    Host(Rc<Metered<'a, HostObject>>),
    /// An object of the running language: a macro, a loop, a block or a bound method.
    Engine(EngineRef),
    /// The result of a pending call.
    Pending(CallId),
}

const _: () = assert!(size_of::<Value<'_>>() == 16, "a value is 16 bytes");

/// The origin of an undefined value, for the error when it is used.
#[derive(Clone, Copy, Debug, Default)]
pub struct Undefined<'a> {
    /// What was searched.
    pub owner: Owner,
    /// The name that was searched for, if it is a constant of the template.
    pub name: Option<&'a String>,
}

/// What was searched when an undefined value was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Owner {
    /// The variables of the render.
    #[default]
    Variables,
    /// A map.
    Map,
    /// A list or tuple.
    List,
    /// A string.
    Str,
    /// Anything else.
    Other,
    /// An object that the sandbox hides from templates. Using it is a security error.
    Unsafe,
    /// A false condition without an `else`.
    Condition,
    /// Nothing was searched: the value is not set yet.
    Nothing,
}

/// A handle to an object that the language keeps during a render.
///
/// Macros, loops and the like refer to templates and frames. In a table of the language they need no
/// reference counts, cannot form cycles, and take two numbers in a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineRef {
    /// The language's number for the kind of object.
    pub kind: u8,
    /// Its index in the language's table.
    pub index: u32,
}

/// The kind of a value, for languages and host functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// See [`Value::Undefined`].
    Undefined,
    /// See [`Value::None`].
    None,
    /// See [`Value::Bool`].
    Bool,
    /// An integer of any size.
    Int,
    /// See [`Value::Float`].
    Float,
    /// Text, safe or not, borrowed or produced.
    Str,
    /// See [`Value::Bytes`].
    Bytes,
    /// A list, borrowed or produced.
    List,
    /// See [`Value::Tuple`].
    Tuple,
    /// See [`Value::Once`].
    Once,
    /// See [`Value::View`].
    View,
    /// A map, borrowed or produced.
    Map,
    /// See [`Value::Namespace`].
    Namespace,
    /// See [`Value::Range`].
    Range,
    /// See [`Value::Function`].
    Function,
    /// See [`Value::Host`].
    Host,
    /// See [`Value::Engine`].
    Engine,
    /// A pending value: [`Value::Pending`], or a capture that contains one.
    Pending,
}

impl<'a> Value<'a> {
    /// An undefined value without a name.
    pub const UNDEFINED: Self = Self::Undefined(Undefined { owner: Owner::Nothing, name: None });

    /// The kind of this value.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Undefined(_) => Kind::Undefined,
            Self::None | Self::Json(Json::Null) => Kind::None,
            Self::Bool(_) | Self::Json(Json::Bool(_)) => Kind::Bool,
            Self::Int(_) | Self::Big(_) => Kind::Int,
            Self::Float(_) => Kind::Float,
            Self::Json(Json::Number(number)) if number.is_f64() => Kind::Float,
            Self::Json(Json::Number(_)) => Kind::Int,
            Self::Lit(_) | Self::Str(_) | Self::Safe(_) | Self::Json(Json::String(_)) => Kind::Str,
            Self::Bytes(_) => Kind::Bytes,
            Self::List(_) | Self::Json(Json::Array(_)) => Kind::List,
            Self::Tuple(_) => Kind::Tuple,
            Self::Once(_) => Kind::Once,
            Self::View(_) => Kind::View,
            Self::Map(_) | Self::Json(Json::Object(_)) => Kind::Map,
            Self::Namespace(_) => Kind::Namespace,
            Self::Range(_) => Kind::Range,
            Self::Function(_) => Kind::Function,
            Self::Host(_) => Kind::Host,
            Self::Engine(_) => Kind::Engine,
            Self::Pieces(pieces) if !pieces.is_pending() => Kind::Str,
            Self::Pieces(_) | Self::Pending(_) => Kind::Pending,
        }
    }

    /// The text, if this is a string.
    #[inline]
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Json(Json::String(text)) => Some(text),
            Self::Lit(text) => Some(text),
            Self::Str(text) | Self::Safe(text) => Some(text),
            _ => None,
        }
    }

    /// The bytes, if this is a string, UTF-8 or not.
    #[must_use]
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            _ => self.as_str().map(str::as_bytes),
        }
    }

    /// The number, if this is one. A boolean is not.
    #[inline]
    #[must_use]
    pub fn as_number(&self) -> Option<Number> {
        match self {
            Self::Int(int) => Some(Number::Int(i128::from(*int))),
            Self::Big(big) => Some(Number::Int(***big)),
            Self::Float(float) => Some(Number::Float(*float)),
            Self::Json(Json::Number(number)) => Some(Number::from_json(number)),
            _ => None,
        }
    }

    /// The integer, if this is one that fits into 64 bits.
    #[inline]
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Int(int) => Some(*int),
            Self::Json(Json::Number(number)) => number.as_i64(),
            _ => None,
        }
    }

    /// The boolean, if this is one.
    #[inline]
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) | Self::Json(Json::Bool(value)) => Some(*value),
            _ => None,
        }
    }

    /// Whether this is undefined.
    #[inline]
    #[must_use]
    pub fn is_undefined(&self) -> bool {
        matches!(self, Self::Undefined(_))
    }

    /// Whether this is none.
    #[inline]
    #[must_use]
    pub fn is_none(&self) -> bool {
        matches!(self, Self::None | Self::Json(Json::Null))
    }

    /// Whether this is a string marked safe.
    #[inline]
    #[must_use]
    pub fn is_safe(&self) -> bool {
        matches!(self, Self::Safe(_) | Self::Pieces(_))
    }

    /// Whether this waits for a call. Everything except printing and passing it on must wait too.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        self.kind() == Kind::Pending
    }

    /// A number that identifies a container or shared object as long as it lives.
    pub(crate) fn address(&self) -> Option<usize> {
        match self {
            Self::Json(json @ (Json::Array(_) | Json::Object(_))) => Some(std::ptr::from_ref(*json).addr()),
            Self::List(list) | Self::Tuple(list) | Self::Once(list) | Self::View(list) => {
                Some(Rc::as_ptr(list).addr())
            }
            Self::Map(map) | Self::Namespace(map) => Some(Rc::as_ptr(map).addr()),
            _ => None,
        }
    }

    /// Whether both are the same container, not only equal ones.
    #[must_use]
    pub fn is_same_container(&self, other: &Self) -> bool {
        self.address().is_some_and(|address| other.address() == Some(address))
    }
}

impl From<bool> for Value<'_> {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Value<'_> {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<f64> for Value<'_> {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl<'a> From<&'a Json> for Value<'a> {
    fn from(value: &'a Json) -> Self {
        Self::Json(value)
    }
}

impl<'a> From<&'a String> for Value<'a> {
    fn from(value: &'a String) -> Self {
        Self::Lit(value)
    }
}

/// Shows the kind and scalars, but not the content of containers, which may be deep or cyclic.
impl fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.as_bool(), self.as_number(), self.as_str()) {
            (Some(value), _, _) => value.fmt(f),
            (_, Some(Number::Int(value)), _) => value.fmt(f),
            (_, Some(Number::Float(value)), _) => value.fmt(f),
            (_, _, Some(text)) => text.fmt(f),
            _ => write!(f, "{:?}", self.kind()),
        }
    }
}

/// A number as arithmetic sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// An integer of up to 128 bits.
    Int(i128),
    /// A floating-point number.
    Float(f64),
}

impl Number {
    /// The number of a JSON document.
    #[inline]
    #[must_use]
    pub fn from_json(number: &serde_json::Number) -> Self {
        if let Some(int) = number.as_i64() {
            Self::Int(i128::from(int))
        } else if let Some(int) = number.as_u64() {
            Self::Int(i128::from(int))
        } else {
            // Without arbitrary precision, every number is one of the three.
            Self::Float(number.as_f64().unwrap_or(f64::NAN))
        }
    }

    /// The nearest floating-point number.
    #[inline]
    #[must_use]
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Int(int) => int as f64,
            Self::Float(float) => float,
        }
    }
}
