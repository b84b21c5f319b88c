//! Filters that aggregate items: `groupby`, `sum`, `min`, `max`.

use hinagata_value::{Arguments, Error, Kind, Result, Value};

use super::{
    attribute::Getter,
    flag,
    sequence::missing_item,
    sort::{places_by_keys, reorder_items},
};
use crate::{
    context::Context,
    library::{
        arguments::bind_arguments,
        ops::{Order, add, collect_items, compare_values, iterate_value, values_equal},
    },
};

/// `groupby`: groups of items with the same attribute, sorted by that attribute.
pub(super) fn groupby<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let [attribute, default, case_sensitive] =
        bind_arguments(arguments, "groupby", ["attribute", "default", "case_sensitive"], 1)?;
    let case_sensitive = flag(cx, case_sensitive, false)?;
    let getter = Getter::new(cx, attribute)?.or(default).ignoring_case(!case_sensitive);
    let group_label = Getter::new(cx, attribute)?.or(default);
    let items = collect_items(cx, &value)?.finish();
    let mut keys = cx.heap.list()?;
    for item in iterate_value(cx, &items)? {
        keys.push(getter.get(cx, &item)?)?;
    }
    let keys = keys.finish();
    let places = places_by_keys(cx, &keys, 1, false, false)?;
    let key = |place: usize| cx.heap.item(&keys, place).unwrap_or_default();
    let mut groups = cx.heap.list()?;
    let mut start = 0;
    while start < places.len() {
        let first = key(places[start]);
        let mut end = start + 1;
        while end < places.len() && values_equal(cx, &first, &key(places[end]))? {
            end += 1;
        }
        let members = reorder_items(cx, &items, &places[start..end])?;
        let grouper = match cx.heap.item(&members, 0) {
            Some(member) if !case_sensitive => group_label.get(cx, &member)?,
            _ => first,
        };
        let mut group = cx.heap.list()?;
        group.reserve(2)?;
        group.push(grouper)?;
        group.push(members)?;
        groups.push(group.finish_group())?;
        start = end;
    }
    Ok(groups.finish())
}

/// `sum`: the sum of the items, or of an attribute of them.
pub(super) fn sum<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let [attribute, start] = bind_arguments(arguments, "sum", ["attribute", "start"], 0)?;
    let getter = Getter::new(cx, attribute)?;
    let mut sum = start.cloned().unwrap_or(Value::Int(0));
    if matches!(sum.kind(), Kind::Str | Kind::Bytes) {
        return Err(Error::runtime("`sum` does not add strings").with_hint("`join` puts strings together"));
    }
    for item in iterate_value(cx, &value)? {
        cx.heap.budget().charge_steps(1)?;
        sum = add(cx, &sum, &getter.get(cx, &item)?)?;
    }
    Ok(sum)
}

/// `min`: the smallest item; undefined for an empty sequence.
pub(super) fn min<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    extreme(cx, &value, arguments, "min", Order::Less)
}

/// `max`: the largest item; undefined for an empty sequence.
pub(super) fn max<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    extreme(cx, &value, arguments, "max", Order::Greater)
}

fn extreme<'a>(
    cx: &Context<'_, 'a>,
    value: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
    name: &str,
    better: Order,
) -> Result<Value<'a>> {
    let [case_sensitive, attribute] = bind_arguments(arguments, name, ["case_sensitive", "attribute"], 0)?;
    let getter = Getter::new(cx, attribute)?.ignoring_case(!flag(cx, case_sensitive, false)?);
    let mut items = iterate_value(cx, value)?;
    let Some(mut best) = items.next() else { return Ok(missing_item(value)) };
    let mut best_key = getter.get(cx, &best)?;
    for item in items {
        cx.heap.budget().charge_steps(1)?;
        let key = getter.get(cx, &item)?;
        if compare_values(cx, better, &key, &best_key)? {
            (best, best_key) = (item, key);
        }
    }
    Ok(best)
}
