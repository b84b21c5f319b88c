//! The record of origins changes nothing, and tells of every byte where it came from.

use std::sync::Arc;

use hinagata_value::{
    Budget, CallId, Limits, Off, Output, Part, Provenance, Result, Segments, Site, Step, StepKind, Value,
    Written,
};
use proptest::prelude::*;
use serde_json::json;

/// What a template does, as its output sees it. Numbers are nodes of the template.
#[derive(Clone, Debug)]
enum Node {
    Text(String, u32),
    Int(i64, u32),
    /// Several pieces appended by one printer.
    With(Vec<String>, u32),
    Bytes(Vec<u8>, u32),
    Pending(u32),
    Part,
    Loop {
        site: u32,
        turns: u32,
        body: Vec<Node>,
    },
    /// Something rendered apart, with a record of its own that becomes a part of this one.
    Include {
        site: u32,
        body: Vec<Node>,
    },
    /// A capture, printed some times by the node `site`.
    Capture {
        site: u32,
        times: usize,
        body: Vec<Node>,
    },
}

fn node() -> impl Strategy<Value = Node> {
    let site = || 0..4_u32;
    let text = || "[aé雛]{0,3}";
    let leaf = prop_oneof![
        4 => (text(), site()).prop_map(|(text, site)| Node::Text(text, site)),
        1 => (any::<i64>(), site()).prop_map(|(int, site)| Node::Int(int, site)),
        1 => (prop::collection::vec(text(), 0..3), site()).prop_map(|(texts, site)| Node::With(texts, site)),
        1 => (prop::collection::vec(0x70..0x90_u8, 0..3), site()).prop_map(|(raw, site)| Node::Bytes(raw, site)),
        1 => (0..9_u32).prop_map(Node::Pending),
        1 => Just(Node::Part),
    ];
    leaf.prop_recursive(4, 40, 6, move |inner| {
        let body = || prop::collection::vec(inner.clone(), 0..6);
        prop_oneof![
            (site(), 0..4_u32, body()).prop_map(|(site, turns, body)| Node::Loop { site, turns, body }),
            (site(), 0..3_usize, body()).prop_map(|(site, times, body)| Node::Capture { site, times, body }),
            (site(), body()).prop_map(|(site, body)| Node::Include { site, body }),
        ]
    })
}

fn at(node: u32) -> Site {
    Site { template: 1, node }
}

/// Runs the template.
fn run<'a, P: Provenance>(nodes: &[Node], output: &mut Output<'a, P>, budget: &'a Budget) -> Result<()> {
    for node in nodes {
        match node {
            Node::Text(text, site) => output.write(text, at(*site))?,
            Node::Int(int, site) => output.write_int(*int, at(*site))?,
            Node::With(texts, site) => output
                .write_with(at(*site), |target| texts.iter().try_for_each(|text| target.push_str(text)))?,
            Node::Bytes(bytes, site) => output.write_bytes(bytes, at(*site))?,
            Node::Pending(call) => output.write_pending(CallId(*call))?,
            Node::Part => {
                output.write_part(Arc::new(Part { kind: "role".into(), content: json!("user") }))?;
            }
            Node::Loop { site, turns, body } => {
                for turn in 0..*turns {
                    output.provenance().enter_step(StepKind::Turn, at(*site), turn);
                    let result = run(body, output, budget);
                    output.provenance().leave_step();
                    result?;
                }
            }
            Node::Include { site, body } => {
                let mut included: Output<'a, Segments> = Output::new_capture(budget);
                run(body, &mut included, budget)?;
                let Written { text, provenance, .. } = included.finish();
                let offset = output.text().len();
                output.provenance().take_over(offset, &provenance);
                output.write(&text, at(*site))?;
            }
            Node::Capture { site, times, body } => {
                let mut capture: Output<'a, P> = Output::new_capture(budget);
                run(body, &mut capture, budget)?;
                let captured = capture.into_value(false)?;
                for _ in 0..*times {
                    match &captured {
                        Value::Pieces(pieces) => output.write_pieces(pieces, at(*site))?,
                        value => output.write(value.as_str().unwrap_or_default(), at(*site))?,
                    }
                }
            }
        }
    }
    Ok(())
}

/// Where a byte came from: the node, and the loops around it with their turns, innermost first.
type Origin = (u32, Vec<(u32, u32)>);

/// What the template should write: bytes with their origins, and marks.
#[derive(Default)]
struct Expected {
    text: String,
    origins: Vec<Origin>,
    marks: Vec<(usize, String)>,
}

impl Expected {
    fn write(&mut self, text: &str, site: u32, turns: &[(u32, u32)]) {
        self.text.push_str(text);
        let turns: Vec<_> = turns.iter().rev().copied().collect();
        self.origins.extend(text.bytes().map(|_| (site, turns.clone())));
    }

    fn mark(&mut self, mark: String) {
        self.marks.push((self.text.len(), mark));
    }

    fn run(&mut self, nodes: &[Node], turns: &mut Vec<(u32, u32)>) {
        for node in nodes {
            match node {
                Node::Text(text, site) => self.write(text, *site, turns),
                Node::Int(int, site) => self.write(&int.to_string(), *site, turns),
                Node::With(texts, site) => self.write(&texts.concat(), *site, turns),
                Node::Bytes(bytes, site) => match std::str::from_utf8(bytes) {
                    Ok(text) => self.write(text, *site, turns),
                    Err(_) => self.mark(format!("Bytes({bytes:?})")),
                },
                Node::Pending(call) => self.mark(format!("Pending(CallId({call}))")),
                Node::Part => self.mark(r#"Part(Part { kind: "role", content: String("user") })"#.into()),
                Node::Loop { site, turns: count, body } => {
                    for turn in 0..*count {
                        turns.push((*site, turn));
                        self.run(body, turns);
                        turns.pop();
                    }
                }
                Node::Include { body, .. } => {
                    // Its text alone: marks are what the outer template makes of them.
                    let marks = std::mem::take(&mut self.marks);
                    self.run(body, turns);
                    self.marks = marks;
                }
                Node::Capture { site, times, body } => {
                    let mut captured = Self::default();
                    captured.run(body, &mut Vec::new());
                    for _ in 0..*times {
                        let offset = self.text.len();
                        self.write(&captured.text, *site, turns);
                        self.marks
                            .extend(captured.marks.iter().map(|(at, mark)| (offset + at, mark.clone())));
                    }
                }
            }
        }
    }
}

fn marks<P>(written: &Written<P>) -> Vec<(usize, String)> {
    written.marks.iter().map(|mark| (mark.offset, format!("{:?}", mark.kind))).collect()
}

/// Checks that the segments cover the text without gaps and in order.
fn assert_covers(record: &Segments, text: &str) {
    let mut end = 0;
    for segment in record.segments() {
        assert!(segment.end > end, "in order, and none is empty");
        assert!(text.is_char_boundary(segment.end as usize));
        end = segment.end;
    }
    assert_eq!(end as usize, text.len(), "to the end");
}

proptest! {
    #[test]
    fn the_output_is_the_same_with_and_without_a_record(nodes in prop::collection::vec(node(), 0..8)) {
        let budget = Budget::new(Limits::default());
        let mut expected = Expected::default();
        expected.run(&nodes, &mut Vec::new());

        let mut plain: Output<'_, Off> = Output::new(&budget);
        run(&nodes, &mut plain, &budget).expect("no limit is near");
        let mut recorded: Output<'_, Segments> = Output::new(&budget);
        run(&nodes, &mut recorded, &budget).expect("no limit is near");
        prop_assert_eq!(plain.text(), recorded.text());
        let (plain, recorded) = (plain.finish(), recorded.finish());
        prop_assert_eq!(&plain.text, &expected.text);
        prop_assert_eq!(marks(&plain), marks(&recorded));
        prop_assert_eq!(marks(&plain), expected.marks);
        prop_assert_eq!(plain.into_bytes(), recorded.into_bytes());
        prop_assert_eq!(budget.bytes_alive(), 0);
    }

    #[test]
    fn every_byte_knows_its_node_and_the_turns_of_the_loops_around_it(nodes in prop::collection::vec(node(), 0..8)) {
        let budget = Budget::new(Limits::default());
        let mut expected = Expected::default();
        expected.run(&nodes, &mut Vec::new());
        let mut output: Output<'_, Segments> = Output::new(&budget);
        run(&nodes, &mut output, &budget).expect("no limit is near");
        let Written { text, provenance: record, .. } = output.finish();
        assert_covers(&record, &text);
        let turn_of = |turn: &Step| (turn.site.node, turn.index);
        for (offset, (node, turns)) in expected.origins.iter().enumerate() {
            let segment = record.segment_at(offset).expect("covered");
            prop_assert_eq!(segment.site, at(*node));
            let found: Vec<_> = record.steps_to(segment.step).map(turn_of).collect();
            prop_assert_eq!(&found, turns);
        }
        prop_assert_eq!(record.segment_at(text.len()), None);
    }

    #[test]
    fn only_turns_that_wrote_something_are_kept(nodes in prop::collection::vec(node(), 0..8)) {
        let budget = Budget::new(Limits::default());
        let mut output: Output<'_, Segments> = Output::new(&budget);
        run(&nodes, &mut output, &budget).expect("no limit is near");
        let record = output.finish().provenance;
        let mut used = vec![false; record.steps().len()];
        for segment in record.segments() {
            let mut next = segment.step;
            while let Some(turn) = next {
                used[turn.index() as usize] = true;
                next = record.steps()[turn.index() as usize].parent;
            }
        }
        prop_assert!(used.iter().all(|used| *used));
    }

    #[test]
    fn a_refused_write_leaves_a_record_of_what_is_there(
        nodes in prop::collection::vec(node(), 1..12),
        output_limit in 0..60_usize,
        bytes in 0..3_000_usize,
    ) {
        let budget = Budget::new(Limits { output: Some(output_limit), bytes, ..Limits::default() });
        let mut output: Output<'_, Segments> = Output::new(&budget);
        for node in &nodes {
            // Errors are not the end here: what comes after them must not put the record in disorder.
            let _ = run(std::slice::from_ref(node), &mut output, &budget);
        }
        let Written { text, marks, provenance, .. } = output.finish();
        assert_covers(&provenance, &text);
        prop_assert!(text.chars().count() <= output_limit);
        prop_assert!(marks.iter().all(|mark| mark.offset <= text.len()));
        prop_assert!(marks.is_sorted_by_key(|mark| mark.offset));
        prop_assert_eq!(budget.bytes_alive(), 0);
    }
}

#[test]
fn a_capture_that_does_not_fit_is_not_written_in_part() {
    let pieces_of = |budget| {
        let mut capture: Output<'_, Segments> = Output::new_capture(budget);
        for _ in 0..100 {
            capture.write("text", at(1)).expect("fits");
            capture.write_bytes(b"\xff", at(1)).expect("fits");
        }
        match capture.into_value(false).expect("fits") {
            Value::Pieces(pieces) => pieces,
            other => unreachable!("it has marks: {other:?}"),
        }
    };
    let source = Budget::new(Limits::default());
    let pieces = pieces_of(&source);
    for limits in [
        Limits { output: Some(450), ..Limits::default() },
        Limits { bytes: 1_000, ..Limits::default() },
        Limits { bytes: 5_000, ..Limits::default() },
        Limits { steps: 50, ..Limits::default() },
    ] {
        let budget = Budget::new(limits.clone());
        let mut output: Output<'_, Segments> = Output::new(&budget);
        output.write("before", at(2)).expect("fits");
        assert!(output.write_pieces(&pieces, at(3)).is_err(), "{limits:?}");
        assert_eq!((output.text(), output.marks().len()), ("before", 0));
        assert_covers(&output.finish().provenance, "before");
    }
}

#[test]
fn text_that_is_cut_again_leaves_no_record() {
    let budget = Budget::new(Limits::default());
    let mut output: Output<'_, Segments> = Output::new(&budget);
    for (node, text) in [(1, "one"), (2, "two"), (3, "three")] {
        output.write(text, at(node)).expect("fits");
    }
    for (len, segments) in [(8, 3), (6, 2), (4, 2), (3, 1), (0, 0)] {
        output
            .write_with(at(9), |text| {
                text.truncate(len);
                Ok(())
            })
            .expect("fits");
        let text = output.text().to_owned();
        assert_covers(output.provenance(), &text);
        assert_eq!(output.provenance().segments().len(), segments);
    }
}

#[test]
fn neighbours_of_one_origin_are_one_piece() {
    let budget = Budget::new(Limits::default());
    let mut output: Output<'_, Segments> = Output::new(&budget);
    for (node, text) in [(1, "a"), (1, "b"), (2, ""), (1, "c"), (2, "d"), (2, ""), (2, "e")] {
        output.write(text, at(node)).expect("fits");
    }
    let ends: Vec<_> = output.provenance().segments().iter().map(|segment| segment.end).collect();
    assert_eq!(ends, [3, 5]);
}
