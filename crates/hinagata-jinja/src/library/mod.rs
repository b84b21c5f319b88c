//! Operations on values: operators, filters, tests, methods, formatting, printing.
//!
//! They behave as in Python 3.11 and Jinja2 3.1.6, on the values of `hinagata-value` and within its budget:
//! work is charged before it is done, and no function recurses over a value. [`crate::context::Context`]
//! gives access to the running template. Calls of macros, functions and bound methods are in
//! [`crate::run`].
//!
//! | part | what it holds |
//! |---|---|
//! | [`mod@print`] | `str`, `repr` and HTML escaping |
//! | [`ops`] | operators, truth, comparison, attributes and items, iteration |
//! | [`filters`], [`tests`] | the builtin ones, by name |
//! | [`methods`] | Python's methods of strings, lists, maps and numbers |
//! | [`mod@format`] | `%` formatting and `str.format` |
//! | [`globals`] | functions every template can call |

mod arguments;
pub(crate) mod filters;
pub(crate) mod format;
pub(crate) mod globals;
pub(crate) mod methods;
mod moment;
mod number;
pub(crate) mod ops;
pub(crate) mod print;
pub(crate) mod tests;
pub(crate) mod textual;
pub(crate) mod types;
mod unicode;

#[cfg(test)]
mod testing;
