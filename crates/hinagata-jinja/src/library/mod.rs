//! What templates can do with values: operators, filters, tests, methods, formatting, printing.
//!
//! All of it behaves as Python 3.11 and Jinja2 3.1.6 do, on the values of `hinagata-value` and under
//! their budget: work is charged before it is done, and nothing here recurses over a value. A running
//! template is seen through [`crate::context::Context`]; calling (macros, functions, bound methods)
//! belongs to the machine that runs it.
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
