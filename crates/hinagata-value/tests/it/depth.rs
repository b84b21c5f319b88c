//! Nothing recurses over a value: not dropping, comparing, hashing, printing or walking.
//!
//! Each test runs on a thread of 2 MiB, in the profile of the tests. `serde_json` itself recurses when
//! a document is dropped, so deep documents are taken apart by hand here.

use std::{cell::Cell, cmp::Ordering, mem::ManuallyDrop, sync::LazyLock};

use hinagata_value::{
    Budget, Error, Event, Heap, JsonStyle, LimitKind, Limits, ListKind, Result, Value, is_equal,
    order_values, to_json, walk_value, write_json,
};
use serde_json::Value as Json;

const DEEP: usize = 1_000_000;

/// Still many times what a thread of 2 MiB could bear if anything recursed: some 20 000 levels.
const RATHER_DEEP: usize = 100_000;

/// Runs `test` on a thread with the stack that Rust gives its threads.
fn on_a_small_stack(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(test).expect("a thread starts");
    thread.join().expect("no panic");
}

/// Limits that no test here reaches.
fn no_limits() -> Limits {
    Limits { steps: u64::MAX, bytes: usize::MAX, value_depth: usize::MAX, ..Limits::default() }
}

/// How one level is put around a value.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Layer {
    List,
    Tuple,
    Once,
    View,
    Map,
    Namespace,
    /// A list that the value is appended to afterwards: one that could be part of a cycle.
    Appended,
    /// A map that the value is put into afterwards.
    Stored,
}

use Layer::*;

const ALL: [Layer; 8] = [List, Tuple, Once, View, Map, Namespace, Appended, Stored];

/// Those that JSON can show.
const PRINTED: [Layer; 5] = [List, Tuple, Map, Appended, Stored];

static KEY: LazyLock<String> = LazyLock::new(|| "k".to_owned());

fn wrap<'a>(heap: &Heap<'a>, layer: Layer, value: Value<'a>) -> Result<Value<'a>> {
    let key = Value::Lit(&KEY);
    match layer {
        Appended => {
            let Value::List(list) = heap.list()?.finish() else { unreachable!("a list was built") };
            heap.push(&list, value)?;
            Ok(Value::List(list))
        }
        Stored => {
            let Value::Map(map) = heap.map()?.finish() else { unreachable!("a map was built") };
            heap.insert(&map, key, value)?;
            Ok(Value::Map(map))
        }
        Map | Namespace => {
            let mut map = heap.map()?;
            map.insert(key, value)?;
            Ok(if layer == Map { map.finish() } else { map.finish_namespace() })
        }
        List | Tuple | Once | View => {
            let mut list = heap.list()?;
            list.push(value)?;
            Ok(match layer {
                Tuple => list.finish_tuple(),
                Once => list.finish_once(),
                View => list.finish_view(ListKind::Values),
                _ => list.finish(),
            })
        }
    }
}

/// `depth` containers around a 1, their kinds in turn as in `layers`.
fn nested<'a>(heap: &Heap<'a>, depth: usize, layers: &[Layer]) -> Result<Value<'a>> {
    let mut value = Value::Int(1);
    for level in (0..depth).rev() {
        value = wrap(heap, layers[level % layers.len()], value)?;
    }
    Ok(value)
}

/// A document that may be deep: dropping it takes it apart without recursion.
struct Document(ManuallyDrop<Json>);

impl Document {
    /// `depth` containers around a 1, in turn lists and maps as `layers` says.
    fn nested(depth: usize, layers: &[Layer]) -> Self {
        let mut json = Json::from(1);
        for level in (0..depth).rev() {
            json = match layers[level % layers.len()] {
                Map | Stored => Json::Object(serde_json::Map::from_iter([("k".to_owned(), json)])),
                _ => Json::Array(vec![json]),
            };
        }
        Self(ManuallyDrop::new(json))
    }
}

impl Drop for Document {
    fn drop(&mut self) {
        let mut work = vec![std::mem::take(&mut *self.0)];
        while let Some(json) = work.pop() {
            match json {
                Json::Array(items) => work.extend(items),
                Json::Object(map) => work.extend(map.into_iter().map(|(_, value)| value)),
                _ => {}
            }
        }
    }
}

/// The length of the value as JSON.
fn printed<'a>(heap: &Heap<'a>, value: &Value<'a>, style: &JsonStyle<'_>) -> Result<usize> {
    let mut text = heap.text();
    write_json(heap, value, style, &mut text)?;
    Ok(text.len())
}

fn compare_numbers(a: &Value<'_>, b: &Value<'_>) -> Result<Ordering> {
    match (a.as_i64(), b.as_i64()) {
        (Some(a), Some(b)) => Ok(a.cmp(&b)),
        _ => Err(Error::runtime("no order")),
    }
}

fn limit_of<T: std::fmt::Debug>(result: Result<T>) -> Option<LimitKind> {
    result.expect_err("too deep").limit()
}

/// The kinds one by one, and all of them in turn; the latter with a million levels.
fn deep(layers: &[Layer]) -> impl Iterator<Item = (usize, &[Layer])> {
    each_and_mixed(layers).map(|layers| (if layers.len() == 1 { RATHER_DEEP } else { DEEP }, layers))
}

fn each_and_mixed(layers: &[Layer]) -> impl Iterator<Item = &[Layer]> {
    layers.iter().map(std::slice::from_ref).chain([layers])
}

#[test]
fn a_deep_value_is_dropped() {
    on_a_small_stack(|| {
        let budget = Budget::new(no_limits());
        for (depth, layers) in deep(&ALL) {
            let heap = Heap::new(&budget);
            drop(nested(&heap, depth, layers).expect("no limit is near"));
            drop(heap);
            assert_eq!(budget.bytes_alive(), 0, "{layers:?}");
        }
    });
}

#[test]
fn a_deep_value_that_contains_itself_is_freed_with_its_heap() {
    on_a_small_stack(|| {
        let budget = Budget::new(no_limits());
        let heap = Heap::new(&budget);
        let bottom = heap.list().expect("no limit is near").finish();
        let mut value = bottom.clone();
        for level in 0..RATHER_DEEP {
            value = wrap(&heap, ALL[level % ALL.len()], value).expect("no limit is near");
        }
        let Value::List(bottom) = bottom else { unreachable!("a list was built") };
        heap.push(&bottom, value).expect("no limit is near");
        drop(bottom);
        drop(heap);
        assert_eq!(budget.bytes_alive(), 0);
    });
}

#[test]
fn deep_values_are_compared_and_written_as_json() {
    on_a_small_stack(|| {
        // What else there is has no contents for comparing, and no JSON form.
        for (depth, layers) in deep(&PRINTED) {
            let budget = Budget::new(no_limits());
            let heap = Heap::new(&budget);
            let [a, b] = [(); 2].map(|()| nested(&heap, depth, layers).expect("no limit is near"));
            assert!(is_equal(&heap, &a, &b).expect("no limit is near"), "{layers:?}");
            drop(b);
            let is_list = |level: &usize| !matches!(layers[level % layers.len()], Map | Stored);
            let lists = (0..depth).filter(is_list).count();
            let expected = lists * "[]".len() + (depth - lists) * r#"{"k":}"#.len() + "1".len();
            let style = JsonStyle { sort_keys: layers.len() > 1, ..JsonStyle::default() };
            let length = printed(&heap, &a, &style).expect("no limit is near");
            assert_eq!(length, expected, "{layers:?}");
        }
    });
}

#[test]
fn a_deep_document_of_the_caller_is_compared_with_a_produced_value() {
    on_a_small_stack(|| {
        let layers = [List, List, List, Map];
        let document = Document::nested(RATHER_DEEP, &layers);
        let budget = Budget::new(no_limits());
        let heap = Heap::new(&budget);
        let borrowed = Value::Json(&document.0);
        let produced = nested(&heap, RATHER_DEEP, &layers).expect("no limit is near");
        assert!(is_equal(&heap, &borrowed, &produced).expect("no limit is near"));
        assert!(is_equal(&heap, &produced, &borrowed).expect("no limit is near"));
    });
}

#[test]
fn deep_lists_are_put_in_order_by_their_innermost_item() {
    on_a_small_stack(|| {
        let budget = Budget::new(no_limits());
        let heap = Heap::new(&budget);
        let layers = [List, Tuple, Appended];
        let deep = |innermost: i64| {
            let wrap = |value, level: usize| wrap(&heap, layers[level % layers.len()], value);
            (0..RATHER_DEEP).try_fold(Value::Int(innermost), wrap).expect("no limit is near")
        };
        let [one, two] = [1, 2].map(deep);
        let order = |a, b| order_values(&heap, a, b, &mut compare_numbers).expect("no limit is near");
        assert_eq!(order(&one, &two), Ordering::Less);
    });
}

#[test]
fn a_deep_document_of_the_caller_is_written_as_json() {
    on_a_small_stack(|| {
        let document = Document::nested(RATHER_DEEP, &[Map, List, List, List]);
        let budget = Budget::new(no_limits());
        let heap = Heap::new(&budget);
        let value = Value::Json(&document.0);
        assert_eq!(
            printed(&heap, &value, &JsonStyle::default()).expect("no limit is near"),
            3 * RATHER_DEEP + 1
        );
        // Also when a part of it was changed, and the copy has to be found on the way.
        let Value::Map(copy) = heap.make_owned(&value).expect("no limit is near") else {
            unreachable!("a map")
        };
        heap.insert(&copy, heap.string("l").expect("no limit is near"), value.clone())
            .expect("no limit is near");
        let error = printed(&heap, &value, &JsonStyle::default()).expect_err("it contains itself");
        assert_eq!(error.message(), "a value that contains itself has no JSON form");
    });
}

#[test]
fn every_kind_of_container_is_walked_through_at_any_depth() {
    on_a_small_stack(|| {
        let layers = [List, Tuple, View, Map, Namespace, Appended, Stored];
        let budget = Budget::new(no_limits());
        let heap = Heap::new(&budget);
        let value = nested(&heap, DEEP, &layers).expect("no limit is near");
        let (started, ended) = (Cell::new(0), Cell::new(0));
        let mut visit = |event: Event<'_>| {
            match event {
                Event::Start(..) => started.set(started.get() + 1),
                Event::End(..) => ended.set(ended.get() + 1),
                Event::Cycle(_) => panic!("there is no cycle"),
                _ => {}
            }
            Ok(())
        };
        walk_value(&heap, &value, &mut visit).expect("no limit is near");
        assert_eq!((started.get(), ended.get()), (DEEP, DEEP));
    });
}

#[test]
fn a_deep_tuple_can_be_a_key() {
    on_a_small_stack(|| {
        let budget = Budget::new(no_limits());
        let heap = Heap::new(&budget);
        let [key, equal_key] =
            [(); 2].map(|()| nested(&heap, RATHER_DEEP, &[Tuple]).expect("no limit is near"));
        let mut map = heap.map().expect("no limit is near");
        map.insert(key, Value::Int(7)).expect("no limit is near");
        assert_eq!(map.get(&equal_key).expect("is a key").and_then(|value| value.as_i64()), Some(7));
        let list = heap.list().expect("no limit is near").finish();
        let unhashable = (0..RATHER_DEEP / 4).try_fold(list, |value, _| wrap(&heap, Tuple, value));
        let error = map.get(&unhashable.expect("no limit is near")).expect_err("a list is in it");
        assert_eq!(error.message(), "a list cannot be a key");
    });
}

#[test]
fn a_document_is_never_so_deep_that_dropping_it_could_overflow_the_stack() {
    on_a_small_stack(|| {
        for layers in each_and_mixed(&PRINTED) {
            let budget = Budget::new(no_limits());
            let heap = Heap::new(&budget);
            let deepest = nested(&heap, 1_000, layers).expect("no limit is near");
            let document = to_json(&heap, &deepest).expect("just within the limit");
            let copy = document.clone();
            assert_eq!(document, copy);
            drop((document, copy));
            for depth in [1_001, RATHER_DEEP / 4] {
                let deeper = nested(&heap, depth, layers).expect("no limit is near");
                assert_eq!(limit_of(to_json(&heap, &deeper)), Some(LimitKind::ValueDepth), "{layers:?}");
            }
        }
    });
}

#[test]
fn a_thousand_levels_are_allowed_and_one_more_is_refused() {
    on_a_small_stack(|| {
        let budget = Budget::new(Limits::default());
        let heap = Heap::new(&budget);
        for layers in each_and_mixed(&PRINTED) {
            let [a, b] = [(); 2].map(|()| nested(&heap, 1_000, layers).expect("no limit is near"));
            assert!(is_equal(&heap, &a, &b).expect("allowed"));
            printed(&heap, &a, &JsonStyle::default()).expect("allowed");
            to_json(&heap, &a).expect("allowed");

            let [a, b] = [(); 2].map(|()| nested(&heap, 1_001, layers).expect("no limit is near"));
            let depth = Some(LimitKind::ValueDepth);
            assert_eq!(limit_of(is_equal(&heap, &a, &b)), depth, "{layers:?}");
            assert_eq!(limit_of(printed(&heap, &a, &JsonStyle::default())), depth, "{layers:?}");
            assert_eq!(limit_of(to_json(&heap, &a)), depth, "{layers:?}");
        }
        for layer in [List, Tuple, Appended] {
            let [a, b] = [(); 2].map(|()| nested(&heap, 1_000, &[layer]).expect("no limit is near"));
            let ordering = order_values(&heap, &a, &b, &mut compare_numbers).expect("allowed");
            assert_eq!(ordering, Ordering::Equal);
            let [a, b] = [(); 2].map(|()| nested(&heap, 1_001, &[layer]).expect("no limit is near"));
            assert_eq!(
                limit_of(order_values(&heap, &a, &b, &mut compare_numbers)),
                Some(LimitKind::ValueDepth)
            );
        }
        for layers in each_and_mixed(&[View, Namespace]) {
            let mut nothing = |_: Event<'_>| Ok(());
            let value = nested(&heap, 1_000, layers).expect("no limit is near");
            walk_value(&heap, &value, &mut nothing).expect("allowed");
            let value = nested(&heap, 1_001, layers).expect("no limit is near");
            assert_eq!(limit_of(walk_value(&heap, &value, &mut nothing)), Some(LimitKind::ValueDepth));
        }
    });
}

#[test]
fn a_document_of_the_caller_has_the_same_limit() {
    on_a_small_stack(|| {
        for layers in each_and_mixed(&[List, Map]) {
            let allowed = [(); 2].map(|()| Document::nested(1_000, layers));
            let refused = [(); 2].map(|()| Document::nested(1_001, layers));
            let budget = Budget::new(Limits::default());
            let heap = Heap::new(&budget);
            let [a, b] = [&allowed[0], &allowed[1]].map(|document| Value::Json(&document.0));
            assert!(is_equal(&heap, &a, &b).expect("allowed"));
            printed(&heap, &a, &JsonStyle::default()).expect("allowed");
            to_json(&heap, &a).expect("allowed");
            let [a, b] = [&refused[0], &refused[1]].map(|document| Value::Json(&document.0));
            let depth = Some(LimitKind::ValueDepth);
            assert_eq!(limit_of(is_equal(&heap, &a, &b)), depth);
            assert_eq!(limit_of(printed(&heap, &a, &JsonStyle::default())), depth);
            assert_eq!(limit_of(to_json(&heap, &a)), depth);
        }
    });
}

/// Sixty levels, each holding the one below twice: 2^60 ways to the 1 at the bottom.
fn doubled<'a>(heap: &Heap<'a>, layer: Layer) -> Result<Value<'a>> {
    (0..60).try_fold(Value::Int(1), |value, _| match layer {
        Map => {
            let mut map = heap.map()?;
            map.insert(Value::Int(0), value.clone())?;
            map.insert(Value::Int(1), value)?;
            Ok(map.finish())
        }
        Tuple => heap.tuple_of([value.clone(), value]),
        _ => heap.list_of([value.clone(), value]),
    })
}

#[test]
fn going_into_shared_parts_again_and_again_ends_by_the_steps() {
    type Operation = for<'a> fn(&Heap<'a>, Value<'a>, Value<'a>) -> Result<()>;
    let operations: [Operation; 6] = [
        |heap, a, _| printed(heap, &a, &JsonStyle::default()).map(drop),
        |heap, a, _| printed(heap, &a, &JsonStyle { sort_keys: true, ..JsonStyle::default() }).map(drop),
        |heap, a, _| to_json(heap, &a).map(drop),
        |heap, a, b| is_equal(heap, &a, &b).map(drop),
        |heap, a, b| order_values(heap, &a, &b, &mut compare_numbers).map(drop),
        |heap, a, _| heap.map()?.insert(a, Value::None),
    ];
    // Each fits some kinds only: maps have no order, and only tuples can be keys.
    let layers: [&[Layer]; 6] =
        [&[List, Tuple, Map], &[Map], &[List, Map], &[List, Tuple, Map], &[List, Tuple], &[Tuple]];
    for (operation, layers) in operations.into_iter().zip(layers) {
        for layer in layers {
            let budget = Budget::new(Limits { steps: 100_000, ..Limits::default() });
            let heap = Heap::new(&budget);
            let [a, b] = [(); 2].map(|()| doubled(&heap, *layer).expect("no limit is near"));
            let result = operation(&heap, a, b);
            assert_eq!(limit_of(result), Some(LimitKind::Steps), "{layer:?}");
            drop(heap);
            assert_eq!(budget.bytes_alive(), 0, "shared parts are dropped once: {layer:?}");
        }
    }
}
