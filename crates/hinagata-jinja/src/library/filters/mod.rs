//! The builtin filters, by name.

#![expect(
    clippy::needless_pass_by_value,
    reason = "all filters have one signature, and some keep their value"
)]

mod attribute;
mod entities;
mod foreign;
mod group;
mod html;
mod json;
mod number;
mod pretty;
mod select;
mod sequence;
mod sort;
mod text;
mod url;
mod urlize;
mod value;
mod wrap;

pub(crate) use foreign::js_same;
pub(crate) use html::{strip_tags, unescape_html};
pub(crate) use sort::sort_values;

use hinagata_value::{Arguments, Error, Result, Value, near_names};

use crate::context::Context;

/// A filter: takes the value left of `|` and the arguments.
pub(crate) type Filter = for<'a> fn(&Context<'_, 'a>, Value<'a>, &Arguments<'_, 'a>) -> Result<Value<'a>>;

/// The filters, sorted by name.
const FILTERS: &[(&str, Filter)] = &[
    ("abs", number::abs),
    ("at", foreign::at),
    ("attr", value::attr),
    ("batch", sequence::batch),
    ("capitalize", text::capitalize),
    ("center", text::center),
    ("count", sequence::length),
    ("d", value::default),
    ("default", value::default),
    ("dictsort", sort::dictsort),
    ("e", html::escape),
    ("each", foreign::each),
    ("escape", html::escape),
    ("filesizeformat", number::filesizeformat),
    ("first", sequence::first),
    ("float", number::float),
    ("forceescape", html::forceescape),
    ("format", text::format),
    ("groupby", group::groupby),
    ("html", foreign::html),
    ("indent", text::indent),
    ("int", number::int),
    ("items", sequence::items),
    ("join", sequence::join),
    ("js", foreign::js),
    ("json", foreign::json),
    ("last", sequence::last),
    ("length", sequence::length),
    ("list", sequence::list),
    ("lower", text::lower),
    ("map", select::map),
    ("max", group::max),
    ("min", group::min),
    ("pairs", foreign::pairs),
    ("pprint", pretty::pprint),
    ("prefix", foreign::prefix),
    ("random", sequence::random),
    ("reject", select::reject),
    ("rejectattr", select::rejectattr),
    ("replace", text::replace),
    ("reverse", sequence::reverse),
    ("round", number::round),
    ("safe", html::safe),
    ("section", foreign::section),
    ("select", select::select),
    ("selectattr", select::selectattr),
    ("slice", sequence::slice),
    ("sort", sort::sort),
    ("string", text::string),
    ("striptags", html::striptags),
    ("sum", group::sum),
    ("title", text::title),
    ("tojson", json::tojson),
    ("trim", text::trim),
    ("truncate", text::truncate),
    ("unique", sequence::unique),
    ("up", foreign::up),
    ("upper", text::upper),
    ("urlencode", url::urlencode),
    ("urlize", urlize::urlize),
    ("wordcount", text::wordcount),
    ("words", foreign::words),
    ("wordwrap", wrap::wordwrap),
    ("xmlattr", html::xmlattr),
];

/// The filter with this name.
pub(crate) fn find_filter(name: &str) -> Option<Filter> {
    FILTERS.binary_search_by_key(&name, |(name, _)| name).ok().map(|at| FILTERS[at].1)
}

/// The names of all filters.
pub(crate) fn filter_names() -> impl Iterator<Item = &'static str> {
    FILTERS.iter().map(|(name, _)| *name)
}

/// The error for an unknown filter that was found at run time.
#[cold]
pub(crate) fn unknown_filter(name: &str) -> Error {
    // Names of one or two letters are similar to every short name.
    let proposed = filter_names().filter(|known| known.len() > 2);
    Error::runtime(format!("no filter named '{name}'"))
        .with_reason("unknown_filter")
        .with_near(near_names(name, proposed))
}

/// An argument as a boolean, or `default` if it is missing.
fn flag<'a>(cx: &Context<'_, 'a>, argument: Option<&Value<'a>>, default: bool) -> Result<bool> {
    match argument {
        Some(value) => super::ops::is_true(cx, value),
        None => Ok(default),
    }
}

/// An optional argument, for which `none` means that it is missing.
fn optional_argument<'r, 'a>(argument: Option<&'r Value<'a>>) -> Option<&'r Value<'a>> {
    argument.filter(|value| !value.is_none())
}
