//! The builtin filters, by name.

use hinagata_value::{Arguments, Result, Value};

use crate::context::Context;

/// A filter: what stands left of `|`, and its arguments.
pub(crate) type Filter = for<'a> fn(&Context<'_, 'a>, Value<'a>, &Arguments<'_, 'a>) -> Result<Value<'a>>;

/// The filters in the order of their names.
const FILTERS: &[(&str, Filter)] = &[];

/// The filter called `name`.
pub(crate) fn find(name: &str) -> Option<Filter> {
    FILTERS.binary_search_by_key(&name, |(name, _)| name).ok().map(|at| FILTERS[at].1)
}

/// The names of all filters.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    FILTERS.iter().map(|(name, _)| *name)
}
