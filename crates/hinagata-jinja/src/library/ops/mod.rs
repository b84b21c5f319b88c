//! Operators: arithmetic, concatenation, comparison, attributes and items, truth and iteration.
//!
//! Undefined values follow the mode of the template, pending values stop the pass, and large results are
//! charged before they are created.

mod access;
mod arithmetic;
mod attributes;
mod compare;
mod sequence;
mod slice;

pub(crate) use access::{get_attribute, get_item, own_attribute};
pub(crate) use arithmetic::{
    add, concat_values, divide, floor_divide, multiply, negate, positive, power, remainder, subtract,
};
pub(crate) use compare::{Order, compare_values, contains_value, sort_order, values_equal};
pub(crate) use sequence::{collect_items, is_true, iterate_value, list_characters, value_length};
pub(crate) use slice::{slice_literal, slice_value};
