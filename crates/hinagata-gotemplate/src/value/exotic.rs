//! Go values that JSON cannot represent. They are rare, so they are host objects.

use hinagata_value::{Heap, Object, Result, Text, Type, Value};

/// A `complex128`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Complex {
    pub(crate) re: f64,
    pub(crate) im: f64,
}

impl Object for Complex {
    fn type_name(&self) -> &str {
        "complex128"
    }

    fn print(&self, text: &mut Text<'_>) -> Result<()> {
        text.push_fmt(format_args!("({}{:+}i)", self.re, self.im))
    }

    fn is_true(&self) -> bool {
        self.re != 0.0 || self.im != 0.0
    }
}

/// A nil that has a type: unlike the nil without one it prints as an empty map or list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nil {
    /// A nil `map[string]interface {}`.
    Map,
    /// A nil `[]interface {}`.
    List,
}

impl Nil {
    pub(crate) fn type_(self) -> Type {
        match self {
            Self::Map => Type::Map,
            Self::List => Type::List,
        }
    }

    /// The nil as a value.
    pub(crate) fn to_value<'a>(self, heap: &Heap<'a>) -> Result<Value<'a>> {
        heap.host_object(self)
    }
}

impl Object for Nil {
    fn type_name(&self) -> &str {
        super::view::type_name(self.type_())
    }

    fn print(&self, text: &mut Text<'_>) -> Result<()> {
        text.push_str(match self {
            Self::Map => "map[]",
            Self::List => "[]",
        })
    }

    fn is_true(&self) -> bool {
        false
    }
}
