//! Filters that apply a filter or a test to every item.

use hinagata_value::{Arguments, Error, Result, Value, near_names};

use super::{attribute::Getter, find_filter, unknown_filter};
use crate::{
    context::Context,
    library::{
        ops::{is_true, iterate_value},
        tests::{self, Test},
        types::type_error,
    },
};

/// `map`: applies a filter to every item, or reads an attribute of it.
pub(super) fn map<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let mut mapped = cx.heap.list()?;
    // As in Jinja2, a false value gives an empty result, even if it is not iterable.
    if !is_true(cx, &value)? {
        return Ok(mapped.finish_once());
    }
    let by_attribute = arguments.positional.is_empty() && keyword_argument(arguments, "attribute").is_some();
    if by_attribute {
        if let Some((name, _)) =
            arguments.named.iter().find(|(name, _)| !matches!(*name, "attribute" | "default"))
        {
            return Err(Error::runtime(format!("`map` has no argument called `{name}`"))
                .with_near(near_names(name, ["attribute", "default"])));
        }
        let getter = Getter::new(cx, keyword_argument(arguments, "attribute"))?
            .or(keyword_argument(arguments, "default"));
        for item in iterate_value(cx, &value)? {
            mapped.push(getter.get(cx, &item)?)?;
        }
        return Ok(mapped.finish_once());
    }
    let Some((name, rest)) = arguments.positional.split_first() else {
        return Err(Error::runtime("`map` needs the name of a filter, or `attribute`"));
    };
    let name = expect_name(cx, name, "filter")?;
    let filter = find_filter(name).ok_or_else(|| unknown_filter(name))?;
    let rest = Arguments { positional: rest, named: arguments.named };
    for item in iterate_value(cx, &value)? {
        mapped.push(filter(cx, item, &rest)?)?;
    }
    Ok(mapped.finish_once())
}

fn keyword_argument<'r, 'a>(arguments: &Arguments<'r, 'a>, keyword: &str) -> Option<&'r Value<'a>> {
    arguments.named.iter().find(|(name, _)| *name == keyword).map(|(_, value)| value)
}

fn expect_name<'r, 'a>(cx: &Context<'_, 'a>, name: &'r Value<'a>, what: &str) -> Result<&'r str> {
    cx.check_use(name)?;
    name.as_str()
        .ok_or_else(|| type_error(cx, name, |kind| format!("the name of a {what} is a string, not {kind}")))
}

pub(super) fn select<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    filter_items(cx, &value, arguments, true, false)
}

pub(super) fn reject<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    filter_items(cx, &value, arguments, false, false)
}

pub(super) fn selectattr<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    filter_items(cx, &value, arguments, true, true)
}

pub(super) fn rejectattr<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    filter_items(cx, &value, arguments, false, true)
}

/// Selects the items for which a test of the item or of an attribute returns `expected_result`.
fn filter_items<'a>(
    cx: &Context<'_, 'a>,
    value: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
    expected_result: bool,
    by_attribute: bool,
) -> Result<Value<'a>> {
    let mut selected_items = cx.heap.list()?;
    if !is_true(cx, value)? {
        return Ok(selected_items.finish_once());
    }
    let mut positional = arguments.positional;
    let mut getter = Getter::new(cx, None)?;
    if by_attribute {
        let Some((attribute, rest)) = positional.split_first() else {
            return Err(Error::runtime("the name of an attribute is needed"));
        };
        getter = Getter::new(cx, Some(attribute))?;
        positional = rest;
    }
    let (test, positional): (Test, _) = match positional.split_first() {
        None => (truth, positional),
        Some((name, rest)) => {
            let name = expect_name(cx, name, "test")?;
            (tests::find_test(name).ok_or_else(|| tests::unknown_test(name))?, rest)
        }
    };
    let arguments = Arguments { positional, named: arguments.named };
    for item in iterate_value(cx, value)? {
        cx.heap.budget().charge_steps(1)?;
        if test(cx, &getter.get(cx, &item)?, &arguments)? == expected_result {
            selected_items.push(item)?;
        }
    }
    Ok(selected_items.finish_once())
}

/// The default test: whether the value is true.
fn truth<'a>(cx: &Context<'_, 'a>, value: &Value<'a>, _: &Arguments<'_, 'a>) -> Result<bool> {
    is_true(cx, value)
}
