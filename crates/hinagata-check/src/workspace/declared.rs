//! What declarations say about values.

use hinagata_catalog::definition::{Origin, Parameter, ParameterClass, ValueType};
use serde_json::Value as Json;

use crate::shape::{Field, Kinds, Shape};

/// What a value of this shape is, in words.
pub(super) fn expected_noun(shape: &Shape) -> String {
    match &shape.values {
        Some(values) => values.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(" or "),
        None => shape.kinds.and(Kinds::JSON).to_noun(),
    }
}

/// The shape of a parameter as it is declared.
pub(super) fn declared_shape(parameter: &Parameter) -> Shape {
    let of_type = match parameter.kind {
        ValueType::String | ValueType::File => Kinds::STRING,
        ValueType::Integer => Kinds::INT,
        ValueType::Number => Kinds::INT | Kinds::FLOAT,
        ValueType::Boolean => Kinds::BOOL,
        ValueType::List => Kinds::LIST,
        ValueType::Object => Kinds::MAP,
        ValueType::Any | ValueType::Null => Kinds::JSON,
    };
    let mut shape = match &parameter.schema {
        Some(schema) => {
            let described = Shape::from_schema(schema);
            match described.kinds.overlaps(of_type) {
                true => described.only(of_type),
                false => Shape::of_kinds(of_type),
            }
        }
        None => Shape::of_kinds(of_type),
    };
    shape.declared = parameter.kind != ValueType::Any || parameter.schema.is_some();
    shape
}

/// The shape of a parameter as templates see it.
pub(super) fn parameter_field(parameter: &Parameter) -> Field {
    let shape = declared_shape(parameter);
    let shape = match parameter.origin {
        Origin::Default | Origin::Conversation(_) => shape,
        // What a provider of values returns is not checked against the declaration.
        Origin::System | Origin::Environ | Origin::Project(_) => Shape::ANY,
    };
    let default = parameter.default.as_ref().filter(|_| parameter.class != ParameterClass::Required);
    let shape = match default {
        Some(value) => {
            let declared = shape.declared;
            let of_default = Shape { values: None, ..Shape::of_value(value.clone()) };
            // A default that does not fit is reported on its own.
            let joined = if shape.kinds.contains(of_default.kinds) { shape } else { shape.join(&of_default) };
            Shape { declared, ..joined }
        }
        None if parameter.class == ParameterClass::Required => shape,
        None => {
            let declared = shape.declared;
            Shape { declared, ..shape.join(&Shape::of_value(Json::Null)).join(&Shape::UNDEFINED) }
        }
    };
    Field { shape, required: true }
}
