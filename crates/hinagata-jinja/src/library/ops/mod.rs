//! Operators: arithmetic, concatenation, comparison, attributes and items, truth and iteration.
//!
//! Undefined values follow the mode of the template, values that are not there yet stop the pass, and
//! whatever produces much is charged before it is made.

mod access;
mod arithmetic;
mod attributes;
mod compare;
mod sequence;
mod slice;

pub(crate) use access::{attribute, item, own_attribute};
pub(crate) use arithmetic::{
    add, concat, divide, floor_divide, multiply, negate, positive, power, remainder, subtract,
};
pub(crate) use compare::{Order, compare, contains, equals, sort_order};
pub(crate) use sequence::{characters, collect, is_true, iterate, length};
pub(crate) use slice::{slice, slice_literal};
