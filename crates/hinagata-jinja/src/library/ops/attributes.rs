//! The special attributes of Python's types, which the sandbox blocks.
//!
//! The sandbox refuses a name only on types that have it. On other types the attribute is missing, and a
//! map may contain it as a key.

use hinagata_value::{Kind, Value};

/// Attributes of every object.
#[rustfmt::skip]
const OBJECT: &[&str] = &[
    "__class__", "__delattr__", "__dir__", "__doc__", "__eq__", "__format__", "__ge__", "__getattribute__",
    "__getstate__", "__gt__", "__hash__", "__init__", "__init_subclass__", "__le__", "__lt__", "__ne__",
    "__new__", "__reduce__", "__reduce_ex__", "__repr__", "__setattr__", "__sizeof__", "__str__",
    "__subclasshook__",
];
#[rustfmt::skip]
const SEQUENCE: &[&str] = &[
    "__add__", "__class_getitem__", "__contains__", "__delitem__", "__getitem__", "__getnewargs__", "__iadd__",
    "__imul__", "__iter__", "__len__", "__mod__", "__mul__", "__reversed__", "__rmod__", "__rmul__",
    "__setitem__",
];
#[rustfmt::skip]
const MAP: &[&str] = &[
    "__class_getitem__", "__contains__", "__delitem__", "__getitem__", "__ior__", "__iter__", "__len__",
    "__or__", "__reversed__", "__ror__", "__setitem__",
];
#[rustfmt::skip]
const NUMBER: &[&str] = &[
    "__abs__", "__add__", "__and__", "__bool__", "__ceil__", "__divmod__", "__float__", "__floor__",
    "__floordiv__", "__getnewargs__", "__index__", "__int__", "__invert__", "__lshift__", "__mod__", "__mul__",
    "__neg__", "__or__", "__pos__", "__pow__", "__radd__", "__rand__", "__rdivmod__", "__rfloordiv__",
    "__rlshift__", "__rmod__", "__rmul__", "__ror__", "__round__", "__rpow__", "__rrshift__", "__rshift__",
    "__rsub__", "__rtruediv__", "__rxor__", "__sub__", "__truediv__", "__trunc__", "__xor__",
];
#[rustfmt::skip]
const UNDEFINED: &[&str] = &[
    "__add__", "__aiter__", "__bool__", "__call__", "__complex__", "__div__", "__float__", "__floordiv__",
    "__getattr__", "__getitem__", "__int__", "__iter__", "__len__", "__mod__", "__module__", "__mul__",
    "__neg__", "__pos__", "__pow__", "__radd__", "__rdiv__", "__rfloordiv__", "__rmod__", "__rmul__",
    "__rpow__", "__rsub__", "__rtruediv__", "__slots__", "__sub__", "__truediv__",
];

/// Whether the sandbox blocks the attribute `name` of this value.
pub(super) fn is_blocked_attribute(value: &Value<'_>, name: &str) -> bool {
    if !name.starts_with('_') {
        return matches!(
            (value.kind(), name),
            (Kind::Once, "gi_frame" | "gi_code") | (Kind::Function, "mro")
        );
    }
    if OBJECT.contains(&name) {
        return true;
    }
    match value.kind() {
        Kind::Map => MAP.contains(&name),
        Kind::Str | Kind::Bytes | Kind::List | Kind::Tuple | Kind::Range | Kind::View => {
            SEQUENCE.contains(&name)
        }
        Kind::Int | Kind::Float | Kind::Bool => NUMBER.contains(&name),
        Kind::Undefined => UNDEFINED.contains(&name),
        // Templates see no private attribute of objects that the engine or the host implements.
        Kind::Function | Kind::Engine | Kind::Once | Kind::Host => true,
        Kind::None => name == "__bool__",
        Kind::Namespace | Kind::Pending => false,
    }
}

/// Whether the sandbox blocks the attribute `name` of an imported template. Other private names are
/// missing, even if the template sets them.
pub(super) fn is_blocked_module_attribute(name: &str) -> bool {
    OBJECT.contains(&name)
        || matches!(
            name,
            "_body_stream" | "__dict__" | "__html__" | "__module__" | "__name__" | "__weakref__"
        )
}
