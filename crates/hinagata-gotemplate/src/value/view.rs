//! Values as Go sees them.
//!
//! A [`Value`] of the render refers to its data. A [`View`] is the Go value that this data represents: its
//! kind, type and content. Views borrow and are created where they are needed.

use std::{borrow::Cow, rc::Rc, sync::Arc};

use hinagata_value::{Error, Function, HostObject, Kind, Metered, Result, Signature, Type, Value};
use serde_json::Value as Json;

use super::exotic::{Complex, Nil};

/// The type of whole numbers in JSON data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Integers {
    /// Every number is a `float64`, as Go's JSON decoder makes it.
    #[default]
    Float,
    /// A number without fraction and exponent that fits into 64 bits is an `int`.
    Exact,
}

/// A Go value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum View<'v, 'a> {
    /// No value: a missing key, or nil without a type.
    Invalid,
    /// A nil interface.
    Nil,
    Bool(bool),
    Int(i64),
    /// A byte of a string.
    Uint8(u8),
    Float(f64),
    Complex(f64, f64),
    Str(&'v str),
    /// A string that is not UTF-8.
    Bytes(&'v [u8]),
    List(&'v Value<'a>),
    Map(&'v Value<'a>),
    /// A nil map, or a nil slice.
    TypedNil(Nil),
    Func(&'a Arc<dyn Function>),
    /// An object of the host; its entries are looked up by name.
    Host(&'v Rc<Metered<'a, HostObject>>),
    /// An object of another engine.
    Opaque,
}

impl<'v, 'a> View<'v, 'a> {
    /// The Go value that `value` represents.
    ///
    /// # Errors
    /// The value is the result of a call that is still running.
    #[inline]
    pub(crate) fn from_value(value: &'v Value<'a>, integers: Integers) -> Result<Self> {
        Ok(match value {
            Value::Json(json) => Self::from_json(json, value, integers),
            Value::Lit(text) => Self::Str(text),
            Value::Str(text) | Value::Safe(text) => Self::Str(text),
            Value::Int(int) => Self::Int(*int),
            Value::Float(float) => Self::Float(*float),
            Value::Bool(flag) => Self::Bool(*flag),
            Value::None => Self::Nil,
            Value::Undefined(_) => Self::Invalid,
            Value::List(_) => Self::List(value),
            Value::Map(_) => Self::Map(value),
            _ => return Self::of_rare(value),
        })
    }

    #[inline]
    fn from_json(json: &'a Json, value: &'v Value<'a>, integers: Integers) -> Self {
        match json {
            Json::Null => Self::Nil,
            Json::Bool(flag) => Self::Bool(*flag),
            Json::Number(number) => Self::from_number(number, integers),
            Json::String(text) => Self::Str(text),
            Json::Array(_) => Self::List(value),
            Json::Object(_) => Self::Map(value),
        }
    }

    /// The Go number that a JSON number represents.
    #[inline]
    pub(crate) fn from_number(number: &serde_json::Number, integers: Integers) -> Self {
        match number.as_i64() {
            Some(int) if integers == Integers::Exact => Self::Int(int),
            _ => Self::Float(number.as_f64().unwrap_or(f64::NAN)),
        }
    }

    #[cold]
    #[inline(never)]
    fn of_rare(value: &'v Value<'a>) -> Result<Self> {
        Ok(match value {
            Value::Bytes(bytes) => Self::Bytes(bytes),
            Value::Function(function) => Self::Func(function),
            Value::Host(object) => match (object.downcast_ref::<Complex>(), object.downcast_ref::<Nil>()) {
                (Some(complex), _) => Self::Complex(complex.re, complex.im),
                (_, Some(nil)) => Self::TypedNil(*nil),
                _ => Self::Host(object),
            },
            // Integers have 64 bits here. A wide integer with a small value is a byte of a string.
            Value::Big(big) => match u8::try_from(***big) {
                Ok(byte) => Self::Uint8(byte),
                Err(_) => Self::Float(***big as f64),
            },
            Value::Pieces(pieces) if !pieces.is_pending() => Self::Str(pieces.text()),
            Value::Pieces(_) | Value::Pending(_) => return Err(Error::suspended()),
            _ => match value.kind() {
                Kind::Tuple | Kind::Range => Self::List(value),
                Kind::Namespace => Self::Map(value),
                _ => Self::Opaque,
            },
        })
    }

    /// The bytes of a string.
    pub(crate) fn bytes(self) -> Option<&'v [u8]> {
        match self {
            Self::Str(text) => Some(text.as_bytes()),
            Self::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The integer, if this is of an integer type.
    pub(crate) fn int(self) -> Option<i64> {
        match self {
            Self::Int(int) => Some(int),
            Self::Uint8(byte) => Some(i64::from(byte)),
            _ => None,
        }
    }

    /// The name of its type.
    pub(crate) fn type_name(self) -> Cow<'v, str> {
        Cow::Borrowed(match self {
            Self::Invalid => "<nil>",
            Self::Nil => "interface {}",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint8(_) => "uint8",
            Self::Float(_) => "float64",
            Self::Complex(..) => "complex128",
            Self::Str(_) | Self::Bytes(_) => "string",
            Self::List(_) => type_name(Type::List),
            Self::Map(_) => type_name(Type::Map),
            Self::TypedNil(nil) => type_name(nil.type_()),
            Self::Func(function) => return Cow::Owned(function_type(function.signature())),
            Self::Host(object) => return Cow::Owned(object.get().type_name().to_owned()),
            Self::Opaque => "object",
        })
    }
}

/// The Go name of a parameter type.
pub(crate) fn type_name(type_: Type) -> &'static str {
    match type_ {
        Type::Any => "interface {}",
        Type::String => "string",
        Type::Int => "int",
        Type::Float => "float64",
        Type::Bool => "bool",
        Type::List => "[]interface {}",
        Type::Map => "map[string]interface {}",
    }
}

/// The Go type of a function, such as `func(string) (string, error)`.
pub(crate) fn function_type(signature: Option<&Signature>) -> String {
    let untyped = Signature { rest: Some(Type::Any), fails: true, ..Signature::default() };
    let signature = signature.unwrap_or(&untyped);
    let mut parameters: Vec<_> =
        signature.parameters.iter().map(|&type_| type_name(type_).to_owned()).collect();
    parameters.extend(signature.rest.map(|type_| format!("...{}", type_name(type_))));
    let parameters = parameters.join(", ");
    let result = type_name(signature.result);
    if signature.fails {
        format!("func({parameters}) ({result}, error)")
    } else {
        format!("func({parameters}) {result}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn function_types_read_as_go_writes_them() {
        let mut signature = Signature { parameters: vec![Type::String], ..Signature::default() };
        signature.result = Type::Map;
        assert_eq!(function_type(Some(&signature)), "func(string) map[string]interface {}");
        signature.rest = Some(Type::Any);
        signature.fails = true;
        assert_eq!(
            function_type(Some(&signature)),
            "func(string, ...interface {}) (map[string]interface {}, error)"
        );
        assert_eq!(function_type(None), "func(...interface {}) (interface {}, error)");
    }
}
