//! The bytes of the budget are the bytes of the allocator.
//!
//! | object | `bytes_alive` is |
//! |---|---|
//! | strings, bytes, integers beyond 64 bits, ranges, host objects and what they say they own | exact |
//! | texts and captures, in every state of their growth | exact |
//! | lists, tuples and maps with their index, built or changed | exact |
//! | copies of the caller's data, and the table that finds them | exact |
//! | raw bytes in captures | exact; each capture that shares them pays for them |
//! | the record of origins | exact after each write |
//! | a container that another one was stored into | higher by the size of its own head |
//! | a list or map that is not finished yet | higher by the size of its head |
//! | parts in captures | higher: their documents are measured with room to spare |
//! | a document made for the outside | not below while it is made, 0 when it is handed over |
//!
//! Not counted are the work lists of walking, comparing and dropping, and errors: they last as long as
//! one operation.

use std::sync::Arc;

use hinagata_value::{
    Budget, Heap, Limits, Output, Part, Provenance, Range, Result, Segments, Site, StepKind, Value, to_json,
};
use proptest::prelude::*;
use serde_json::json;

use crate::support::{
    json as documents, produced,
    world::{Fill, World, measured, operation, warm_up},
};

fn no_limits() -> Limits {
    Limits { steps: u64::MAX, bytes: usize::MAX, ..Limits::default() }
}

proptest! {
    #[test]
    fn what_is_charged_is_what_is_allocated(
        operations in prop::collection::vec(operation(), 1..120),
        documents in prop::collection::vec(documents::document(), 1..6),
        heap_first: bool,
    ) {
        warm_up();
        let budget = Budget::new(no_limits());
        let mut world = World::new(&budget, &documents, Fill::Scalars);
        for operation in &operations {
            prop_assert_eq!(world.run(operation), None, "nothing has a limit here");
            prop_assert_eq!(world.charged(), world.allocated, "after {:?}", operation);
        }
        prop_assert_eq!(world.end(heap_first), 0, "nothing leaks");
        prop_assert_eq!(budget.bytes_alive(), 0);
    }

    #[test]
    fn what_may_contain_itself_is_charged_a_little_more_and_freed_all_the_same(
        operations in prop::collection::vec(operation(), 1..120),
        documents in prop::collection::vec(documents::document(), 1..6),
        heap_first: bool,
    ) {
        warm_up();
        let budget = Budget::new(no_limits());
        let mut world = World::new(&budget, &documents, Fill::Anything);
        for operation in &operations {
            prop_assert_eq!(world.run(operation), None, "nothing has a limit here");
            prop_assert!(world.charged() >= world.allocated, "after {operation:?}");
            world.read();
            prop_assert!(world.charged() <= 3 * world.allocated + 20_000, "after {operation:?}");
        }
        prop_assert_eq!(world.end(heap_first), 0, "nothing leaks");
        prop_assert_eq!(budget.bytes_alive(), 0);
    }

    #[test]
    fn a_document_is_charged_while_it_is_made(document in documents::document()) {
        let budget = Budget::new(no_limits());
        let heap = Heap::new(&budget);
        for value in [Value::Json(&document), produced::produced(&heap, &document).expect("no limit")] {
            let before = budget.bytes_alive();
            let fresh = Budget::new(no_limits());
            let other = Heap::new(&fresh);
            let (copy, info) = measured(|| to_json(&other, &Value::Json(&document)));
            prop_assert!(fresh.bytes_peak() as i64 >= info.bytes_current);
            prop_assert_eq!(fresh.bytes_alive(), 0);
            prop_assert_eq!(&copy.expect("no limit"), &document);
            prop_assert_eq!(&to_json(&heap, &value).expect("no limit"), &document);
            prop_assert_eq!(budget.bytes_alive(), before);
        }
    }
}

/// A run of stores that closes cycles of every kind.
fn cycles<'a>(heap: &Heap<'a>) -> Result<()> {
    let Value::List(list) = heap.list()?.finish() else { unreachable!("a list was built") };
    heap.push(&list, Value::List(list.clone()))?;
    heap.push(&list, heap.tuple_of([Value::List(list.clone())])?)?;

    let Value::Namespace(namespace) = heap.map()?.finish_namespace() else { unreachable!("one was built") };
    let Value::Map(map) = heap.map()?.finish() else { unreachable!("a map was built") };
    heap.insert(&namespace, heap.string("map")?, Value::Map(map.clone()))?;
    heap.insert(&map, heap.string("namespace")?, Value::Namespace(namespace.clone()))?;
    heap.insert(&map, heap.string("list")?, Value::List(list.clone()))?;

    let mut once = heap.list()?;
    once.push(Value::List(list.clone()))?;
    heap.set_item(&list, 0, once.finish_once())?;
    Ok(())
}

#[test]
fn cycles_end_with_the_heap() {
    let budget = Budget::new(no_limits());
    let (result, info) = measured(|| {
        let heap = Heap::new(&budget);
        (0..100).try_for_each(|_| cycles(&heap))
    });
    result.expect("no limit");
    assert_eq!((info.bytes_current, info.count_current), (0, 0));
    assert_eq!(budget.bytes_alive(), 0);
}

#[test]
fn a_copy_of_the_callers_data_that_contains_itself_ends_with_the_heap() {
    let document = json!({"items": [1, 2]});
    let budget = Budget::new(no_limits());
    let ((), info) = measured(|| {
        let heap = Heap::new(&budget);
        let items = heap.entry(&Value::Json(&document), "items").expect("is there");
        let Value::List(copy) = heap.make_owned(&items).expect("no limit") else { unreachable!("a list") };
        heap.push(&copy, Value::List(copy.clone())).expect("no limit");
        heap.push(&copy, items).expect("no limit");
    });
    assert_eq!((info.bytes_current, budget.bytes_alive()), (0, 0));
}

#[test]
fn notes_of_containers_that_have_ended_do_not_pile_up() {
    let budget = Budget::new(no_limits());
    let heap = Heap::new(&budget);
    let store = || {
        let Value::List(list) = heap.list().expect("no limit").finish() else { unreachable!("a list") };
        heap.push(&list, heap.list().expect("no limit").finish()).expect("no limit");
    };
    let ((), info) = measured(|| (0..10_000).for_each(|_| store()));
    assert!(info.bytes_current < 1_000, "{info:?}");
    assert!(budget.bytes_alive() < 1_000);
}

#[test]
fn a_map_that_shrinks_and_grows_around_its_index_does_not_grow_on_and_on() {
    let budget = Budget::new(no_limits());
    let heap = Heap::new(&budget);
    let Value::Map(map) = heap.map().expect("no limit").finish() else { unreachable!("a map") };
    for key in 0..8 {
        heap.insert(&map, Value::Int(key), Value::None).expect("no limit");
    }
    let grow_and_shrink = || {
        heap.insert(&map, Value::Int(8), Value::None).expect("no limit");
        heap.pop_entry(&map).expect("is there");
    };
    grow_and_shrink();
    let before = budget.bytes_alive();
    (0..1_000).for_each(|_| grow_and_shrink());
    assert_eq!(budget.bytes_alive(), before);
}

#[test]
fn a_container_is_charged_in_full_before_it_is_finished() {
    let budget = Budget::new(no_limits());
    let heap = Heap::new(&budget);
    let (list, info) = measured(|| heap.list().expect("no limit"));
    assert_eq!(info.bytes_current, 0);
    let head = budget.bytes_alive() as i64;
    let (list, info) = measured(|| list.finish());
    assert_eq!(info.bytes_current, head);
    drop(list);
    assert_eq!(budget.bytes_alive(), 0);
}

#[test]
fn parts_and_shared_bytes_are_charged_to_every_output_that_holds_them() {
    let budget = Budget::new(no_limits());
    let part =
        || Part { kind: "media".to_owned(), content: json!({"data": "x".repeat(1_000), "sizes": [1, 2]}) };
    let ((outer, captured), info) = measured(|| {
        let mut capture: Output<'_> = Output::new_capture(&budget);
        capture.write_part(Arc::new(part())).expect("no limit");
        capture.write_bytes(b"\xff", Site::default()).expect("no limit");
        let Value::Pieces(captured) = capture.into_value(false).expect("no limit") else {
            unreachable!("it has marks")
        };
        let mut outer: Output<'_> = Output::new(&budget);
        for _ in 0..10 {
            outer.write_pieces(&captured, Site::default()).expect("no limit");
        }
        (outer, captured)
    });
    assert!(budget.bytes_alive() as i64 >= info.bytes_current);
    assert!(budget.bytes_alive() > 11 * 1_000);
    drop(captured);
    assert!(budget.bytes_alive() > 10 * 1_000, "the output still holds them");
    drop(outer);
    assert_eq!(budget.bytes_alive(), 0);
}

#[test]
fn a_record_of_origins_is_not_charged() {
    // A render must not fail because it is recorded.
    let budget = Budget::new(no_limits());
    let mut output: Output<'_, Segments> = Output::new(&budget);
    for turn in 0..100 {
        output.provenance().enter_step(StepKind::Turn, Site { template: 0, node: 1 }, turn);
        output.write("a", Site { template: 0, node: 2 }).expect("no limit");
        output.write("b", Site { template: 0, node: 3 }).expect("no limit");
        output.provenance().leave_step();
    }
    let mut plain: Output<'_> = Output::new(&budget);
    let recorded = budget.bytes_alive();
    plain.write(&"ab".repeat(100), Site::default()).expect("no limit");
    assert!(recorded <= 2 * (budget.bytes_alive() - recorded), "only the text is charged");
    assert_eq!(output.finish().provenance.steps().len(), 100);
}

#[test]
fn turns_that_write_nothing_take_nothing() {
    let budget = Budget::new(no_limits());
    let mut output: Output<'_, Segments> = Output::new(&budget);
    let ((), info) = measured(|| {
        for turn in 0..100_000 {
            output.provenance().enter_step(StepKind::Turn, Site::default(), turn);
            output.provenance().enter_step(StepKind::Turn, Site::default(), 0);
            output.write("", Site::default()).expect("no limit");
            output.provenance().leave_step();
            output.provenance().leave_step();
        }
    });
    assert!(info.bytes_max < 1_000, "{info:?}");
}

#[test]
fn a_range_takes_the_same_whatever_its_length() {
    let budget = Budget::new(no_limits());
    let heap = Heap::new(&budget);
    let make = |stop| heap.range(Range::new(0, stop, 1).expect("a step")).expect("no limit");
    let (_short, short) = measured(|| make(1));
    let (_long, long) = measured(|| make(100_000));
    assert_eq!(short.bytes_current, long.bytes_current);
    assert_eq!(budget.bytes_alive() as i64, short.bytes_current + long.bytes_current);
}
