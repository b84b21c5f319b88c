//! Every limit holds to the last unit, has a name of its own, and takes any number.
//!
//! The bound on memory: what grows is charged before it is allocated, but for two tables, the index of a
//! map and that of the copies of the caller's data, which tell their size only afterwards. They are
//! smaller than the entries they find, so at no time is more alive than the limit, half of it, and 256
//! bytes; and nothing that needs memory succeeds while more is alive than the limit.
//!
//! `source` and `templates` are limits of loading, which the engines do, and `integer` one of their
//! arithmetic; here they only have their names.

use std::time::Duration;

use hinagata_value::{
    Budget, Calls, Cancel, ErrorKind, Heap, JsonStyle, LimitKind, Limits, Output, Range, Request, Result,
    Site, Text, Value, is_equal, to_json, write_json,
};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use crate::support::{
    json as documents,
    world::{Fill, World, operation, warm_up},
};

fn limit<T>(result: Result<T>) -> Option<LimitKind> {
    result.err().expect("over the limit").limit()
}

/// Makes something of `heap` that takes bytes, and lets it live as long as the heap.
type Making = for<'a> fn(&Heap<'a>) -> Result<Value<'a>>;

const MAKINGS: [(&str, Making); 12] = [
    ("string", |heap| heap.string("some text")),
    ("safe", |heap| heap.safe("some text")),
    ("bytes", |heap| heap.bytes(b"\xff\xfe")),
    ("integer", |heap| heap.int(i128::MAX)),
    ("range", |heap| heap.range(Range::new(0, 10, 1).expect("a step"))),
    ("list", |heap| heap.list_of([Value::Int(1), Value::Int(2)])),
    ("reserved list", |heap| {
        let mut list = heap.list()?;
        list.reserve(100)?;
        Ok(list.finish())
    }),
    ("map", |heap| {
        let mut map = heap.map()?;
        map.insert(Value::Int(1), heap.string("one")?)?;
        Ok(map.finish())
    }),
    ("text", |heap| {
        let mut text = heap.text();
        text.push_str(&"a".repeat(1_000))?;
        Ok(Value::Str(text.into_shared()?))
    }),
    ("capture", |heap| {
        let mut capture: Output<'_> = Output::new_capture(heap.budget());
        capture.write("text", Site::default())?;
        capture.write_bytes(b"\xff", Site::default())?;
        capture.into_value(false)
    }),
    ("stored list", |heap| {
        let Value::List(list) = heap.list()?.finish() else { unreachable!("a list was built") };
        heap.push(&list, Value::List(list.clone()))?;
        Ok(Value::List(list))
    }),
    ("stored map", |heap| {
        let Value::Map(map) = heap.map()?.finish() else { unreachable!("a map was built") };
        heap.insert(&map, Value::Int(1), Value::Map(map.clone()))?;
        Ok(Value::Map(map))
    }),
];

#[test]
fn as_many_bytes_as_the_limit_can_be_alive_and_not_one_more() {
    for (name, make) in MAKINGS {
        let needed = {
            let budget = Budget::new(Limits::default());
            let heap = Heap::new(&budget);
            make(&heap).expect("no limit is near");
            budget.bytes_peak()
        };
        let with = |bytes| {
            let budget = Budget::new(Limits { bytes, ..Limits::default() });
            let heap = Heap::new(&budget);
            let result = make(&heap).map(drop);
            drop(heap);
            assert_eq!(budget.bytes_alive(), 0, "{name}");
            result
        };
        with(needed).unwrap_or_else(|error| panic!("{name} fits {needed} bytes: {error}"));
        for less in [needed - 1, needed / 2, 1, 0] {
            assert_eq!(limit(with(less)), Some(LimitKind::Bytes), "{name} in {less} bytes");
        }
    }
}

#[test]
fn a_document_for_the_outside_is_bounded_by_the_bytes() {
    let document = json!({"items": ["x".repeat(1_000), "y".repeat(1_000)]});
    let with = |bytes| {
        let budget = Budget::new(Limits { bytes, ..Limits::default() });
        let heap = Heap::new(&budget);
        let result = to_json(&heap, &Value::Json(&document));
        assert_eq!(budget.bytes_alive(), 0);
        result
    };
    assert_eq!(with(4_000).expect("fits"), document);
    assert_eq!(limit(with(2_000)), Some(LimitKind::Bytes));
}

#[test]
fn a_string_shared_a_thousand_times_does_not_fill_the_memory_as_a_document() {
    let budget = Budget::new(Limits::default());
    let heap = Heap::new(&budget);
    let text = heap.string(&"x".repeat(1 << 20)).expect("fits");
    let list = heap.list_of((0..1_000).map(|_| text.clone())).expect("fits");
    assert_eq!(limit(to_json(&heap, &list)), Some(LimitKind::Bytes));
}

#[test]
fn the_output_has_as_many_characters_as_the_limit() {
    for (allowed, text) in [(0, ""), (1, "雛"), (3, "aé🎎"), (100, &"é".repeat(100))] {
        let budget = Budget::new(Limits { output: Some(allowed), ..Limits::default() });
        let mut output: Output<'_> = Output::new(&budget);
        output.write(text, Site::default()).expect("within the limit");
        assert_eq!(limit(output.write("x", Site::default())), Some(LimitKind::Output));
        assert_eq!(limit(output.write_bytes(b"\xff", Site::default())), Some(LimitKind::Output));
        assert_eq!(output.text(), text);
        assert!(output.marks().is_empty());
    }
}

#[test]
fn bytes_that_are_not_utf_8_count_as_characters_of_the_output() {
    let budget = Budget::new(Limits { output: Some(5), ..Limits::default() });
    let mut output: Output<'_> = Output::new(&budget);
    output.write_bytes("é\u{0}".as_bytes(), Site::default()).expect("two characters");
    output.write_bytes(b"a\xff", Site::default()).expect("two more");
    assert_eq!(limit(output.write_bytes(b"\xff\xff", Site::default())), Some(LimitKind::Output));
    output.write("x", Site::default()).expect("the last one");
    assert_eq!(limit(output.write("y", Site::default())), Some(LimitKind::Output));
    assert_eq!(output.finish().into_bytes(), b"\xc3\xa9\0a\xffx");
}

#[test]
fn what_is_cut_off_may_be_written_anew_and_no_more_than_that() {
    let budget = Budget::new(Limits::default());
    let mut text = Text::new(&budget).with_limit(Some(20));
    text.push_str(&"é".repeat(20)).expect("within the limit");
    text.truncate(2);
    assert_eq!(limit(text.push_str(&"a".repeat(20))), Some(LimitKind::Output));
    text.push_str(&"a".repeat(19)).expect("within the limit");
    assert_eq!(limit(text.push_str("a")), Some(LimitKind::Output));
    text.truncate(0);
    text.push_str(&"🎎".repeat(20)).expect("within the limit");
    assert_eq!(limit(text.push_str("a")), Some(LimitKind::Output));
}

#[test]
fn a_limit_below_what_is_there_already_refuses_the_next_character() {
    let budget = Budget::new(Limits::default());
    let mut text = Text::new(&budget);
    text.push_str("abcdef").expect("fits");
    let mut text = text.with_limit(Some(3));
    assert_eq!(limit(text.push_str("g")), Some(LimitKind::Output));
    text.push_str("").expect("nothing is added");
    text.reserve(100).expect("fits");
    assert_eq!(limit(text.push_str("g")), Some(LimitKind::Output));
    assert_eq!(text.as_str(), "abcdef");
}

proptest! {
    #[test]
    fn a_limit_in_characters_holds_whatever_is_pushed_and_cut(
        allowed in 0..40_usize,
        pushes in prop::collection::vec(("[aé雛🎎]{0,12}", 0..6_usize, 0..100_usize), 0..40),
        capacity in 0..100_usize,
    ) {
        let budget = Budget::new(Limits::default());
        let buffer = String::with_capacity(capacity);
        let mut text = Text::with_buffer(&budget, buffer).expect("fits").with_limit(Some(allowed));
        let mut expected = String::new();
        for (piece, times, percent) in pushes {
            let more = piece.repeat(times);
            let fits = expected.chars().count() + more.chars().count() <= allowed;
            prop_assert_eq!(text.push_repeated(&piece, times).is_ok(), fits);
            if fits {
                expected.push_str(&more);
            }
            let fits = expected.chars().count() + piece.chars().count() <= allowed;
            prop_assert_eq!(text.push_str(&piece).is_ok(), fits);
            if fits {
                expected.push_str(&piece);
            }
            prop_assert_eq!(text.as_str(), &expected);
            if percent < 50 {
                let len = expected.floor_char_boundary(expected.len() * percent / 50);
                text.truncate(len);
                expected.truncate(len);
            }
        }
    }
}

#[test]
fn calls_and_nesting_go_as_deep_as_their_limits() {
    let budget = Budget::new(Limits { calls: 3, nesting: 2, ..Limits::default() });
    let calls: Vec<_> = (0..3).map(|_| budget.enter_call().expect("within the limit")).collect();
    let levels: Vec<_> = (0..2).map(|_| budget.enter_level().expect("within the limit")).collect();
    assert_eq!(limit(budget.enter_call()), Some(LimitKind::Calls));
    assert_eq!(limit(budget.enter_level()), Some(LimitKind::Nesting));
    drop((calls, levels));
    budget.enter_call().expect("all levels were given back");
    budget.enter_level().expect("all levels were given back");
}

#[test]
fn containers_go_as_deep_as_their_limit() {
    for depth in [0, 1, 2] {
        let budget = Budget::new(Limits { value_depth: depth, ..Limits::default() });
        let heap = Heap::new(&budget);
        let nested = |levels| {
            (0..levels).try_fold(Value::Int(1), |value, _| heap.list_of([value])).expect("no limit is near")
        };
        let print = |levels| write_json(&heap, &nested(levels), &JsonStyle::default(), &mut heap.text());
        print(depth).expect("allowed");
        assert!(is_equal(&heap, &nested(depth), &nested(depth)).expect("allowed"));
        assert_eq!(limit(print(depth + 1)), Some(LimitKind::ValueDepth));
        let compared = is_equal(&heap, &nested(depth + 1), &nested(depth + 1));
        assert_eq!(limit(compared), Some(LimitKind::ValueDepth));
    }
}

/// Goes down the stack until the budget refuses; gives the bytes used.
fn descend(budget: &Budget, start: usize) -> usize {
    let frame = std::hint::black_box([0_u8; 512]);
    let here = std::ptr::from_ref(&frame).addr();
    match budget.check_stack() {
        Ok(()) => descend(budget, start).max(usize::from(std::hint::black_box(frame[0]))),
        Err(error) => {
            assert_eq!(error.limit(), Some(LimitKind::Stack));
            here.abs_diff(start)
        }
    }
}

#[test]
fn a_run_uses_as_much_stack_as_its_limit_wherever_its_budget_was_made() {
    /// Makes the budget some way further down the stack than it is used.
    fn made_below(levels: u32, limits: &Limits) -> Budget {
        let frame = std::hint::black_box([0_u8; 256]);
        match levels {
            0 => Budget::new(limits.clone()),
            _ => made_below(levels - u32::from(frame[0] == 0), limits),
        }
    }
    for stack in [0, 10_000, 200_000] {
        let limits = Limits { stack, ..Limits::default() };
        let here = 0_u8;
        let start = std::ptr::from_ref(&here).addr();
        for levels in [0, 10] {
            let used = descend(&made_below(levels, &limits), start);
            // A frame or two more, and the way to where the budget was made.
            let slack = 8_192 + levels as usize * 1_024;
            assert!((stack.saturating_sub(slack)..=stack + slack).contains(&used), "{used} of {stack}");
        }
    }
    Budget::new(Limits { stack: usize::MAX, ..Limits::default() }).check_stack().expect("no limit");
}

#[test]
fn ranges_and_fillings_are_as_long_as_their_limits() {
    let limits = Limits { range_items: 10, fill: 10, ..Limits::default() };
    let budget = Budget::new(limits);
    let heap = Heap::new(&budget);
    let range = |stop| heap.range(Range::new(0, stop, 3).expect("a step"));
    range(30).expect("ten items");
    assert_eq!(limit(range(31)), Some(LimitKind::RangeItems));
    assert_eq!(limit(range(i64::MAX)), Some(LimitKind::RangeItems));
    let mut text = heap.text();
    text.push_repeated("ab", 5).expect("ten bytes");
    assert_eq!(limit(text.push_repeated("abc", 4)), Some(LimitKind::Fill));
    assert_eq!(limit(text.push_repeated("abc", usize::MAX)), Some(LimitKind::Fill));
    assert_eq!(text.as_str(), "ababababab");
}

#[test]
fn nothing_can_be_repeated_without_end_at_once() {
    let budget = Budget::new(Limits { steps: 10, ..Limits::default() });
    let mut text = Text::new(&budget);
    text.push_repeated("", usize::MAX).expect("nothing is little");
    text.push_repeated("ab", 0).expect("nothing is little");
    assert!(text.is_empty());
}

#[test]
fn a_repetition_that_is_refused_leaves_nothing() {
    for limits in [
        Limits { output: Some(5), ..Limits::default() },
        Limits { bytes: 5, ..Limits::default() },
        Limits { steps: 1, ..Limits::default() },
    ] {
        let budget = Budget::new(limits);
        let mut text = Text::new(&budget).with_limit(budget.limits().output);
        assert!(text.push_repeated("ab", 100).is_err());
        assert_eq!(text.as_str(), "");
    }
}

#[test]
fn passes_and_requests_are_as_many_as_their_limits() {
    let limits = Limits { passes: 2, requests: 3, ..Limits::default() };
    let calls = Calls::new();
    let request = |n: i64, pure| Request { function: "f".into(), arguments: json!([n]), pure };
    calls.begin_pass(&limits).expect("the first");
    for n in 0..3 {
        calls.start_call(Site::default(), request(n, n > 0), &limits).expect("within the limit");
    }
    calls.start_call(Site::default(), request(1, true), &limits).expect("the same call again");
    assert_eq!(
        limit(calls.start_call(Site::default(), request(3, true), &limits)),
        Some(LimitKind::Requests)
    );
    assert_eq!(
        limit(calls.start_call(Site::default(), request(0, false), &limits)),
        Some(LimitKind::Requests)
    );
    calls.begin_pass(&limits).expect("the second");
    assert_eq!(limit(calls.begin_pass(&limits)), Some(LimitKind::Passes));
    assert_eq!((calls.passes(), calls.iter().count()), (2, 3));
}

#[test]
fn the_arguments_of_all_calls_together_are_bounded_by_the_bytes() {
    let limits = Limits { bytes: 10_000, ..Limits::default() };
    let calls = Calls::new();
    let start = |pure| {
        let arguments = json!(["x".repeat(1_000), calls.iter().count()]);
        calls.start_call(Site::default(), Request { function: "f".into(), arguments, pure }, &limits)
    };
    let (_, error) =
        (0..20).map(|n| (n, start(n % 2 == 0))).find(|(_, result)| result.is_err()).expect("too many");
    assert_eq!(limit(error), Some(LimitKind::Bytes));
    assert!((7..10).contains(&calls.iter().count()));
}

#[test]
fn the_deadline_and_the_caller_end_a_run_within_some_thousand_steps() {
    let deadline = Limits { deadline: Some(Duration::ZERO), ..Limits::default() };
    let cancel = Cancel::default();
    let budgets = [
        (ErrorKind::Deadline, Budget::new(deadline)),
        (ErrorKind::Cancelled, Budget::new(Limits::default()).with_cancel(cancel.clone())),
    ];
    cancel.cancel();
    for (kind, budget) in budgets {
        let heap = Heap::new(&budget);
        let (steps, error) =
            (1..).find_map(|n| heap.string("a").err().map(|error| (n, error))).expect("ends");
        assert_eq!((error.kind(), error.limit()), (kind, None));
        assert!(steps <= 4_097);
        assert!(budget.check_outside().is_err(), "it stays so");
    }
}

#[test]
fn steps_that_are_owed_are_refused_next() {
    let budget = Budget::new(Limits { steps: 10, ..Limits::default() });
    budget.owe_steps(9);
    budget.charge_steps(1).expect("the last one");
    budget.owe_steps(1);
    assert_eq!(limit(budget.charge_steps(1)), Some(LimitKind::Steps));
}

#[test]
fn a_long_key_costs_its_length_each_time() {
    let long = "k".repeat(64 << 10);
    let document = Json::Object([(long.clone(), json!(1))].into_iter().collect());
    let budget = Budget::new(Limits { steps: 100_000, ..Limits::default() });
    let heap = Heap::new(&budget);
    let mut map = heap.map().expect("no limit is near");
    let key = heap.string(&long).expect("no limit is near");
    map.insert(key.clone(), Value::Int(1)).expect("no limit is near");
    let map = map.finish();
    let cost = |look: &dyn Fn() -> bool| {
        let before = budget.steps_used();
        assert!(look());
        budget.steps_used() - before
    };
    let name = hinagata_value::Key::new(long.clone());
    let borrowed = Value::Json(&document);
    for value in [&map, &borrowed] {
        assert!(cost(&|| heap.entry(value, &long).is_some()) >= 1_024);
        assert!(cost(&|| heap.attribute(value, &name).is_some()) >= 1_024);
        assert!(cost(&|| heap.lookup(value, &key).expect("a key").is_some()) >= 1_024);
    }
    let error = (0..1_000).find_map(|_| heap.lookup(&map, &key).err()).expect("ends");
    assert_eq!(error.limit(), Some(LimitKind::Steps));
}

#[test]
fn every_limit_has_the_name_of_its_setting() {
    let settings = format!("{:?}", Limits::default());
    for kind in [
        LimitKind::Steps,
        LimitKind::Bytes,
        LimitKind::Output,
        LimitKind::Calls,
        LimitKind::Nesting,
        LimitKind::ValueDepth,
        LimitKind::Stack,
        LimitKind::RangeItems,
        LimitKind::Fill,
        LimitKind::Source,
        LimitKind::Templates,
        LimitKind::Passes,
        LimitKind::Requests,
    ] {
        assert!(settings.contains(&format!(" {}: ", kind.as_str())), "{kind:?}");
    }
}

/// Numbers that limits are set to by mistake, and some that they are reached with.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(1), Just(u64::MAX), Just(u64::MAX / 2), 2..5_000_u64]
}

fn limits() -> impl Strategy<Value = Limits> {
    let counts = (number(), number(), number(), number(), number(), number());
    let others = (number(), number(), number(), number(), prop::option::of(number()));
    (counts, others).prop_map(|((steps, bytes, calls, nesting, depth, stack), others)| {
        let (range_items, fill, passes, requests, output) = others;
        let size = |number| usize::try_from(number).unwrap_or(usize::MAX);
        let small = |number| u32::try_from(number).unwrap_or(u32::MAX);
        Limits {
            steps,
            bytes: size(bytes),
            output: output.map(size),
            calls: small(calls),
            nesting: small(nesting),
            value_depth: size(depth),
            stack: size(stack),
            range_items,
            fill: size(fill),
            passes: small(passes),
            requests: size(requests),
            ..Limits::default()
        }
    })
}

proptest! {
    #[test]
    fn whatever_the_limits_are_nothing_panics_and_the_memory_stays_within_the_bound(
        limits in limits(),
        operations in prop::collection::vec(operation(), 1..150),
        documents in prop::collection::vec(documents::document(), 1..6),
        fill in prop_oneof![Just(Fill::Scalars), Just(Fill::Anything)],
        heap_first: bool,
    ) {
        warm_up();
        let budget = Budget::new(limits.clone());
        let bound = limits.bytes.saturating_add(limits.bytes / 2).saturating_add(256);
        let mut world = World::new(&budget, &documents, fill);
        for operation in &operations {
            let reached = world.run(operation);
            prop_assert!(budget.bytes_alive() <= bound, "{} after {:?}", budget.bytes_alive(), operation);
            match fill {
                Fill::Scalars => prop_assert_eq!(world.charged(), world.allocated, "after {:?}", operation),
                Fill::Anything => prop_assert!(world.charged() >= world.allocated, "after {operation:?}"),
            }
            let known = [LimitKind::Steps, LimitKind::Bytes, LimitKind::Output, LimitKind::Fill, LimitKind::RangeItems];
            prop_assert!(reached.is_none_or(|limit| known.contains(&limit)));
        }
        prop_assert!(budget.steps_used() <= limits.steps);
        prop_assert_eq!(world.end(heap_first), 0, "nothing leaks");
        prop_assert_eq!(budget.bytes_alive(), 0);
    }

    #[test]
    fn after_an_error_everything_can_still_be_read_and_freed(
        bytes in 1_000..20_000_usize,
        operations in prop::collection::vec(operation(), 1..150),
        documents in prop::collection::vec(documents::document(), 1..6),
    ) {
        let budget = Budget::new(Limits { bytes, ..Limits::default() });
        let mut world = World::new(&budget, &documents, Fill::Anything);
        for operation in &operations {
            world.run(operation);
            world.read();
        }
        world.end(false);
        let heap = Heap::new(&budget);
        heap.string(&"x".repeat(bytes - 100)).expect("all bytes are free again");
    }
}
