//! Changing in place: the caller's data never changes, the template's copy takes its place everywhere,
//! and changing what is being read is never a panic.

use std::{cell::Cell, rc::Rc};

use hinagata_value::{
    Budget, ErrorKind, Event, Heap, JsonStyle, Key, LimitKind, Limits, List, Map, Result, Value, is_equal,
    to_json, walk_value, write_json,
};
use proptest::{prelude::*, sample::Index};
use serde_json::{Value as Json, json};

use crate::support::{json as documents, produced::produced};

fn as_list(value: Value<'_>) -> Rc<List<'_>> {
    match value {
        Value::List(list) => list,
        other => unreachable!("a list is expected: {other:?}"),
    }
}

fn as_map(value: Value<'_>) -> Rc<Map<'_>> {
    match value {
        Value::Map(map) => map,
        other => unreachable!("a map is expected: {other:?}"),
    }
}

/// The text of a value as JSON.
fn text<'a>(heap: &Heap<'a>, value: &Value<'a>) -> Result<String> {
    let mut text = heap.text();
    write_json(heap, value, &JsonStyle::default(), &mut text)?;
    Ok(text.into_string())
}

/// A change of the container at the end of a way through a document.
#[derive(Clone, Debug)]
enum Change {
    Add(Json),
    Insert(Index, Json),
    Replace(Index, Json),
    Remove(Index),
    Clear,
    Reverse,
}

fn change() -> impl Strategy<Value = (Vec<Index>, Change)> {
    let change = prop_oneof![
        4 => documents::document().prop_map(Change::Add),
        2 => (any::<Index>(), documents::document()).prop_map(|(at, value)| Change::Insert(at, value)),
        2 => (any::<Index>(), documents::document()).prop_map(|(at, value)| Change::Replace(at, value)),
        2 => any::<Index>().prop_map(Change::Remove),
        1 => Just(Change::Clear),
        1 => Just(Change::Reverse),
    ];
    (prop::collection::vec(any::<Index>(), 0..4), change)
}

/// The places on the way to a container, as far down as there is one.
fn path(mut model: &Json, way: &[Index]) -> Vec<usize> {
    let mut path = Vec::new();
    for step in way {
        let inside: Vec<&Json> = match model {
            Json::Array(items) => items.iter().collect(),
            Json::Object(map) => map.values().collect(),
            _ => break,
        };
        if inside.is_empty() {
            break;
        }
        let at = step.index(inside.len());
        if !(inside[at].is_array() || inside[at].is_object()) {
            break;
        }
        path.push(at);
        model = inside[at];
    }
    path
}

fn model_at<'m>(mut model: &'m mut Json, path: &[usize]) -> &'m mut Json {
    for at in path {
        model = match model {
            Json::Array(items) => &mut items[*at],
            Json::Object(map) => map.values_mut().nth(*at).expect("on the path"),
            _ => unreachable!("on the path are containers"),
        };
    }
    model
}

/// The value at the end of a path, by items and entries or by going over them.
fn value_at<'a>(heap: &Heap<'a>, root: Value<'a>, path: &[usize], by_iter: bool) -> Value<'a> {
    path.iter().fold(root, |value, at| {
        let found = match heap.entries(&value) {
            Some(mut entries) if by_iter => entries.nth(*at).map(|(_, value)| value),
            Some(_) => heap.entry_at(&value, *at).map(|(_, value)| value),
            None if by_iter => heap.iter(&value).and_then(|mut items| items.nth(*at)),
            None => heap.item(&value, *at),
        };
        found.expect("the value is as its model")
    })
}

/// Makes the change in the value and in its model.
fn apply<'a>(heap: &Heap<'a>, value: &Value<'a>, model: &mut Json, change: &Change) -> Result<()> {
    match (heap.make_owned(value)?, model) {
        (Value::List(list), Json::Array(model)) => match change {
            Change::Add(new) => {
                heap.push(&list, produced(heap, new)?)?;
                model.push(new.clone());
            }
            Change::Insert(at, new) => {
                let at = at.index(model.len() + 1);
                heap.insert_item(&list, at, produced(heap, new)?)?;
                model.insert(at, new.clone());
            }
            Change::Replace(at, new) => {
                let at = at.index(model.len() + 1);
                let replaced = heap.set_item(&list, at, produced(heap, new)?)?;
                assert_eq!(replaced, at < model.len());
                if replaced {
                    model[at] = new.clone();
                }
            }
            Change::Remove(at) => {
                let at = at.index(model.len() + 1);
                let removed = heap.remove_item(&list, at)?;
                assert_eq!(removed.is_some(), at < model.len());
                if removed.is_some() {
                    model.remove(at);
                }
            }
            Change::Clear => {
                heap.clear_list(&list);
                model.clear();
            }
            Change::Reverse => {
                heap.reorder_items(&list, <[_]>::reverse);
                model.reverse();
            }
        },
        (Value::Map(map), Json::Object(model)) => match change {
            Change::Add(new) | Change::Insert(_, new) => {
                let key = format!("key {}", model.len());
                heap.insert(&map, heap.string(&key)?, produced(heap, new)?)?;
                model.insert(key, new.clone());
            }
            Change::Replace(at, new) if !model.is_empty() => {
                let key = model.keys().nth(at.index(model.len())).expect("is there").clone();
                heap.insert(&map, heap.string(&key)?, produced(heap, new)?)?;
                model.insert(key, new.clone());
            }
            Change::Remove(at) if !model.is_empty() => {
                let key = model.keys().nth(at.index(model.len())).expect("is there").clone();
                assert!(heap.remove(&map, &heap.string(&key)?)?.is_some());
                model.shift_remove(&key);
            }
            Change::Reverse => {
                assert_eq!(heap.pop_entry(&map).is_some(), !model.is_empty());
                model.keys().next_back().cloned().and_then(|key| model.shift_remove(&key));
            }
            Change::Clear => {
                heap.clear_map(&map);
                model.clear();
            }
            Change::Replace(..) | Change::Remove(_) => {}
        },
        (_, scalar) => assert!(!scalar.is_array() && !scalar.is_object(), "only scalars have no own version"),
    }
    Ok(())
}

/// Checks that every way to look at the value shows what its model has.
fn assert_shows<'a>(heap: &Heap<'a>, value: &Value<'a>, model: &Json) {
    match model {
        Json::Array(items) => {
            assert_eq!(heap.len(value), Some(items.len()));
            let iterated: Vec<_> = heap.iter(value).expect("a list").collect();
            assert_eq!(iterated.len(), items.len());
            for (at, (item, model)) in iterated.iter().zip(items).enumerate() {
                assert_shows(heap, item, model);
                assert_shows(heap, &heap.item(value, at).expect("is there"), model);
            }
            assert!(heap.item(value, items.len()).is_none());
        }
        Json::Object(map) => {
            assert_eq!(heap.len(value), Some(map.len()));
            let keys: Vec<_> = heap.iter(value).expect("a map").collect();
            assert!(keys.iter().map(|key| key.as_str().expect("text")).eq(map.keys()));
            let entries: Vec<_> = heap.entries(value).expect("a map").collect();
            assert_eq!(entries.len(), map.len());
            for ((key, item), (name, model)) in entries.iter().zip(map) {
                assert_shows(heap, item, model);
                assert_shows(heap, &heap.entry(value, name).expect("is there"), model);
                assert_shows(heap, &heap.attribute(value, &Key::new(name)).expect("is there"), model);
                assert_shows(heap, &heap.lookup(value, key).expect("a key").expect("is there"), model);
            }
            assert!(heap.entry(value, "no such key").is_none());
        }
        scalar => assert_eq!(&to_json(heap, value).expect("a scalar"), scalar),
    }
}

/// Documents small enough to be looked at in every way at every level.
fn small() -> impl Strategy<Value = Json> {
    documents::scalar().prop_recursive(3, 10, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::Array),
            prop::collection::vec(("[a-d]", inner), 0..4).prop_map(|entries| entries.into_iter().collect()),
        ]
    })
}

proptest! {
    #[test]
    fn changes_show_everywhere_but_in_the_data_of_the_caller(
        document in small().prop_filter("a container", |json| json.is_array() || json.is_object()),
        changes in prop::collection::vec(change(), 1..10),
        by_iter: bool,
    ) {
        let before = document.clone();
        let mut model = document.clone();
        let budget = Budget::new(Limits::default());
        let heap = Heap::new(&budget);
        let root = Value::Json(&document);
        // Another way to the same data, from before anything changed.
        let holder = heap.list_of([root.clone()]).expect("fits");
        for (way, change) in &changes {
            let path = path(&model, way);
            let value = value_at(&heap, root.clone(), &path, by_iter);
            apply(&heap, &value, model_at(&mut model, &path), change).expect("no limit is near");
            prop_assert_eq!(&to_json(&heap, &root).expect("no limit is near"), &model);
        }
        prop_assert_eq!(text(&heap, &root).expect("no limit is near").parse::<Json>().expect("JSON"), model.clone());
        let copy = produced(&heap, &model).expect("fits");
        prop_assert!(is_equal(&heap, &root, &copy).expect("no limit is near"));
        prop_assert!(is_equal(&heap, &copy, &root).expect("no limit is near"));
        let held = heap.list_of([copy]).expect("fits");
        prop_assert!(is_equal(&heap, &holder, &held).expect("no limit is near"));
        prop_assert_eq!(&document, &before, "the caller's data is as it was");
        drop(held);
        drop(holder);
        drop(heap);
        prop_assert_eq!(budget.bytes_alive(), 0);
    }

    #[test]
    fn a_changed_document_shows_its_changes_in_every_way_to_look_at_it(
        document in small().prop_filter("a container", |json| json.is_array() || json.is_object()),
        changes in prop::collection::vec((prop::collection::vec(any::<Index>(), 0..3), small()), 1..4),
    ) {
        let mut model = document.clone();
        let budget = Budget::new(Limits { steps: u64::MAX, ..Limits::default() });
        let heap = Heap::new(&budget);
        let root = Value::Json(&document);
        assert_shows(&heap, &root, &model);
        for (way, new) in changes {
            let path = path(&model, &way);
            let value = value_at(&heap, root.clone(), &path, false);
            apply(&heap, &value, model_at(&mut model, &path), &Change::Add(new)).expect("no limit is near");
        }
        assert_shows(&heap, &root, &model);
    }
}

#[test]
fn a_copy_is_made_once_and_stands_for_the_data_however_it_is_reached() {
    let document = json!({"a": {"items": [1]}, "b": 2});
    let budget = Budget::new(Limits::default());
    let heap = Heap::new(&budget);
    let root = Value::Json(&document);
    let (a, items) = (Value::Json(&document["a"]), Value::Json(&document["a"]["items"]));
    assert!(!heap.has_copies() && !heap.has_changes());
    let copy = as_list(heap.make_owned(&items).expect("fits"));
    assert!(Rc::ptr_eq(&copy, &as_list(heap.make_owned(&items).expect("fits"))));
    assert!(Rc::ptr_eq(&copy, &as_list(heap.make_owned(&Value::List(copy.clone())).expect("fits"))));
    heap.push(&copy, Value::Int(2)).expect("fits");
    assert_eq!(text(&heap, &root).expect("fits"), r#"{"a":{"items":[1,2]},"b":2}"#);
    // The map around it gets a copy of its own later, and still shows the copy inside.
    let map = as_map(heap.make_owned(&a).expect("fits"));
    heap.insert(&map, heap.string("more").expect("fits"), items.clone()).expect("fits");
    heap.push(&copy, Value::Int(3)).expect("fits");
    assert_eq!(text(&heap, &root).expect("fits"), r#"{"a":{"items":[1,2,3],"more":[1,2,3]},"b":2}"#);
    assert!(items.is_same_container(&Value::Json(&document["a"]["items"])));
    assert!(is_equal(&heap, &items, &Value::List(copy)).expect("fits"));
    assert_eq!(document, json!({"a": {"items": [1]}, "b": 2}));
}

#[test]
fn appending_to_a_list_while_going_over_it_ends_by_a_limit() {
    for (limits, kind) in [
        (Limits { bytes: 10_000, ..Limits::default() }, LimitKind::Bytes),
        (Limits { steps: 10_000, ..Limits::default() }, LimitKind::Steps),
    ] {
        let budget = Budget::new(limits);
        let heap = Heap::new(&budget);
        let list = as_list(heap.list_of([Value::Int(1)]).expect("fits"));
        let mut items = heap.iter(&Value::List(list.clone())).expect("a list");
        let error = items.find_map(|item| heap.push(&list, item).err()).expect("ends");
        assert_eq!(error.limit(), Some(kind));
        // The list is whole, and what went over it is at its end.
        assert!(list.len() > 10);
        assert_eq!(list.get(list.len() - 1).and_then(|item| item.as_i64()), Some(1));
        assert!(items.next().is_none());
    }
}

#[test]
fn putting_entries_into_a_map_while_going_over_it_ends_by_a_limit() {
    let budget = Budget::new(Limits { bytes: 10_000, ..Limits::default() });
    let heap = Heap::new(&budget);
    let mut map = heap.map().expect("fits");
    map.insert(Value::Int(0), Value::None).expect("fits");
    let map = as_map(map.finish());
    let insert = |key: i64| heap.insert(&map, Value::Int(key), Value::None);
    let value = Value::Map(map.clone());
    let mut keys = heap.iter(&value).expect("a map");
    let error = keys.find_map(|key| insert(key.as_i64().expect("a number") + 1).err()).expect("ends");
    assert_eq!(error.limit(), Some(LimitKind::Bytes));
    let len = map.len() as i64;
    assert!((0..len).all(|key| map.get(&Value::Int(key)).expect("a key").is_some()), "all are found");
    let mut entries = heap.entries(&value).expect("a map");
    assert!(entries.any(|(key, _)| insert(key.as_i64().expect("a number") + len).is_err()));
}

#[test]
fn taking_things_out_while_going_over_them_skips_what_moved() {
    let budget = Budget::new(Limits::default());
    let heap = Heap::new(&budget);
    let list = as_list(heap.list_of((0..10).map(Value::Int)).expect("fits"));
    let mut seen = Vec::new();
    for item in heap.iter(&Value::List(list.clone())).expect("a list") {
        seen.push(item.as_i64().expect("a number"));
        heap.remove_item(&list, 0).expect("fits");
    }
    assert_eq!(seen, [0, 2, 4, 6, 8]);
    assert_eq!(list.len(), 5);

    let list = Value::List(list);
    let mut items = heap.iter(&list).expect("a list");
    assert!(items.next().is_some());
    heap.clear_list(&as_list(list.clone()));
    assert_eq!((items.next().is_none(), items.size_hint()), (true, (0, Some(0))));
}

#[test]
fn the_callers_list_is_gone_over_as_it_was_when_that_began() {
    let document = json!([1, 2, 3]);
    let budget = Budget::new(Limits::default());
    let heap = Heap::new(&budget);
    let value = Value::Json(&document);
    let mut seen = 0;
    for item in heap.iter(&value).expect("a list") {
        heap.push(&as_list(heap.make_owned(&value).expect("fits")), item).expect("fits");
        seen += 1;
    }
    assert_eq!((seen, heap.len(&value)), (3, Some(6)));
    assert_eq!(document, json!([1, 2, 3]));
}

#[test]
fn what_sorts_a_list_may_come_across_the_list_itself() {
    let budget = Budget::new(Limits::default());
    let heap = Heap::new(&budget);
    let list = as_list(heap.list_of((0..3).map(Value::Int)).expect("fits"));
    heap.push(&list, Value::List(list.clone())).expect("fits");
    heap.push(&list, heap.tuple_of([Value::List(list.clone())]).expect("fits")).expect("fits");
    let value = Value::List(list.clone());
    let before = budget.bytes_alive();
    heap.reorder_items(&list, |items| {
        items.sort_by(|a, b| {
            is_equal(&heap, a, b).expect("no limit is near");
            heap.clear_list(&list);
            assert_eq!(heap.len(&value), Some(0), "to the outside the list is empty meanwhile");
            assert_eq!(text(&heap, &value).expect("no limit is near"), "[]");
            assert_eq!(format!("{list:?} {value:?}"), "List of 0 List");
            // What is put in meanwhile is lost, and not charged for ever.
            heap.push(&list, a.clone()).expect("fits");
            a.as_i64().cmp(&b.as_i64())
        });
    });
    assert_eq!(list.len(), 5);
    assert_eq!(budget.bytes_alive(), before);
    assert_eq!(list.get(4).and_then(|item| item.as_i64()), Some(2));
}

#[test]
fn a_list_can_be_read_while_it_is_looked_at() {
    let budget = Budget::new(Limits::default());
    let heap = Heap::new(&budget);
    let list = as_list(heap.list_of((0..3).map(Value::Int)).expect("fits"));
    heap.push(&list, Value::List(list.clone())).expect("fits");
    let value = Value::List(list.clone());
    list.with_items(|items| {
        assert_eq!(heap.len(&value), Some(items.len()));
        assert!(items.iter().all(|item| is_equal(&heap, item, item).expect("no limit is near")));
        assert!(text(&heap, &value).is_err(), "it contains itself");
        assert_eq!(heap.iter(&value).expect("a list").count(), 4);
        list.with_items(|again| assert_eq!(again.len(), items.len()));
    });
}

#[test]
fn a_container_that_is_dropped_by_a_change_of_another_takes_nothing_with_it() {
    let budget = Budget::new(Limits::default());
    let heap = Heap::new(&budget);
    // A list and a map hold each other and themselves; each change drops what held the other one.
    let list = as_list(heap.list().expect("fits").finish());
    let map = as_map(heap.map().expect("fits").finish());
    let key = || heap.string("key").expect("fits");
    let both = || heap.list_of([Value::List(list.clone()), Value::Map(map.clone())]).expect("fits");
    for _ in 0..3 {
        heap.push(&list, both()).expect("fits");
        heap.insert(&map, key(), both()).expect("fits");
        assert!(heap.set_item(&list, 0, both()).expect("fits"));
        heap.insert(&map, key(), both()).expect("replaces the older one");
        drop(heap.remove_item(&list, 0).expect("fits"));
        drop(heap.remove(&map, &key()).expect("fits"));
        heap.insert(&map, key(), both()).expect("fits");
        drop(heap.pop_entry(&map));
        heap.push(&list, both()).expect("fits");
        heap.insert(&map, key(), both()).expect("fits");
        heap.clear_list(&list);
        heap.clear_map(&map);
    }
    drop((list, map));
    drop(heap);
    assert_eq!(budget.bytes_alive(), 0);
}

#[test]
fn what_contains_itself_is_printed_with_a_mark_and_not_compared_for_ever() {
    let document = json!({"self": []});
    let budget = Budget::new(Limits::default());
    let heap = Heap::new(&budget);
    let make = || {
        let list = as_list(heap.list_of([Value::Int(1)]).expect("fits"));
        heap.push(&list, heap.tuple_of([Value::List(list.clone())]).expect("fits")).expect("fits");
        Value::List(list)
    };
    let (a, b) = (make(), make());
    // Data of the caller that was put into its own copy contains itself as well.
    let inner = Value::Json(&document["self"]);
    heap.push(&as_list(heap.make_owned(&inner).expect("fits")), inner.clone()).expect("fits");
    for value in [&a, &b, &inner, &Value::Json(&document)] {
        let cycles = Cell::new(0);
        let mut count = |event: Event<'_>| {
            cycles.set(cycles.get() + u32::from(matches!(event, Event::Cycle(_))));
            Ok(())
        };
        walk_value(&heap, value, &mut count).expect("ends");
        assert_eq!(cycles.get(), 1);
        assert_eq!(text(&heap, value).expect_err("no JSON").kind(), ErrorKind::Runtime);
        assert_eq!(to_json(&heap, value).expect_err("no JSON").kind(), ErrorKind::Runtime);
    }
    assert_eq!(is_equal(&heap, &a, &b).expect_err("never ends").limit(), Some(LimitKind::ValueDepth));
    assert!(is_equal(&heap, &a, &a).expect("the same"));
    // A container that is there twice, but not inside itself, is no cycle.
    let twice = heap.list_of([Value::Int(1)]).expect("fits");
    let twice = heap.list_of([twice.clone(), twice]).expect("fits");
    assert_eq!(text(&heap, &twice).expect("fits"), "[[1],[1]]");
}

#[test]
fn a_copy_that_does_not_fit_leaves_the_data_as_it_was() {
    let document = json!([[1, 2, 3], {"a": 1}]);
    for bytes in 0..600 {
        let budget = Budget::new(Limits { bytes, ..Limits::default() });
        let heap = Heap::new(&budget);
        for at in 0..2 {
            let value = Value::Json(&document[at]);
            let before = heap.len(&value);
            match heap.make_owned(&value) {
                Ok(copy) => assert_eq!(heap.len(&copy), before),
                Err(error) => assert_eq!(error.limit(), Some(LimitKind::Bytes)),
            }
            assert_eq!(heap.len(&value), before);
        }
        drop(heap);
        assert_eq!(budget.bytes_alive(), 0);
    }
}
