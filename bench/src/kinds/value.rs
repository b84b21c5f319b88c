//! The ground of both languages: what values, lookups, text and the budget cost.
//!
//! Peers are what the same work costs without limits, in plain Rust.

use std::hint::black_box;
use std::rc::Rc;

use anyhow::{Context, Result};
use hinagata_value::{Budget, Heap, JsonStyle, Key, Limits, Text, Value, write_json};
use serde_json::Value as Json;

use crate::install::Installer;
use crate::measure::{Contest, Peer};
use crate::row::Goal;
use crate::side::Entrant;
use crate::workload::{self, JinjaWorkload};

const KIND: &str = "value";
/// Strings and items made by one iteration.
const MADE: usize = 1_000;
/// A string as templates make them: part of a line.
const PIECE: &str = "a piece of a prompt, as templates make it";

pub(crate) fn contests(installer: &Installer) -> Result<Vec<Contest>> {
    let work: JinjaWorkload = workload::load(&workload::path(&installer.home, "jinja", "large"))?;
    // The sides live as long as the process, and so may what they read.
    let data: &'static Json = Box::leak(Box::new(work.data));
    let items = data["items"].as_array().context("the large workload has a list of items")?;
    Ok(vec![json(data), lookup(items), strings(), list(), text(), step(items)])
}

fn versus(name: &str, must: f64, ours: Entrant, peer: &'static str, theirs: Entrant) -> Contest {
    let peers = vec![Peer { name: peer, goal: Some(Goal { must, stretch: None }), entrant: theirs }];
    Contest { kind: KIND, name: name.to_owned(), expected: None, ours, peers }
}

/// No limit that this work could reach, so that one budget serves a whole turn.
fn wide() -> Limits {
    Limits { steps: u64::MAX >> 1, ..Limits::default() }
}

fn json(data: &'static Json) -> Contest {
    let ours = move || -> hinagata_value::Result<String> {
        let budget = Budget::new(Limits::default());
        let heap = Heap::new(&budget);
        let mut text = heap.text();
        write_json(&heap, &Value::Json(data), &JsonStyle::default(), &mut text)?;
        Ok(text.into_string())
    };
    let theirs = move || serde_json::to_string(data);
    versus(
        "write JSON",
        1.5,
        Entrant::local("", move || Ok(ours()?.into_bytes()), move || drop(black_box(ours()))),
        "serde_json",
        Entrant::local("", move || Ok(theirs()?.into_bytes()), move || drop(black_box(theirs()))),
    )
}

/// Three names of each item, as a loop body reads them.
const NAMES: [&str; 3] = ["title", "priority", "owner"];

fn lookup(items: &'static [Json]) -> Contest {
    let ours = move || {
        let budget = Budget::new(Limits::default());
        let heap = Heap::new(&budget);
        let keys = NAMES.map(Key::new);
        let found = |item, key| heap.attribute(&Value::Json(item), key).is_some();
        items.iter().map(|item| keys.iter().filter(|key| found(black_box(item), key)).count()).sum::<usize>()
    };
    let theirs = move || {
        let found = |item: &Json, name: &str| item.as_object().is_some_and(|map| map.get(name).is_some());
        items
            .iter()
            .map(|item| NAMES.iter().filter(|name| found(black_box(item), name)).count())
            .sum::<usize>()
    };
    versus("attribute by hint", 0.7, counted(ours), "serde_json::Map::get", counted(theirs))
}

fn strings() -> Contest {
    let ours = || {
        let budget = Budget::new(wide());
        let heap = Heap::new(&budget);
        let made =
            |_| heap.string(black_box(PIECE)).ok().and_then(|value| black_box(value).as_str().map(str::len));
        (0..MADE).filter_map(made).sum::<usize>()
    };
    let theirs = || (0..MADE).map(|_| black_box(Rc::<str>::from(black_box(PIECE))).len()).sum::<usize>();
    versus("make and drop strings", 2.5, counted(ours), "Rc<str>", counted(theirs))
}

fn list() -> Contest {
    let ours = || {
        let budget = Budget::new(wide());
        let heap = Heap::new(&budget);
        let list = heap.list_of((0..MADE as i64).map(|number| Value::Int(black_box(number))));
        list.ok().and_then(|list| heap.len(&black_box(list))).unwrap_or_default()
    };
    let theirs = || {
        let mut list = Vec::new();
        for number in 0..MADE as i64 {
            list.push(Value::Int(black_box(number)));
        }
        black_box(Rc::new(list)).len()
    };
    versus("make and drop a list", 2.5, counted(ours), "Rc<Vec>", counted(theirs))
}

fn text() -> Contest {
    let ours = || {
        let budget = Budget::new(wide());
        let mut text = Text::new(&budget);
        for _ in 0..MADE {
            if text.push_str(black_box(PIECE)).is_err() {
                break;
            }
        }
        black_box(text.into_string()).len()
    };
    let theirs = || {
        let mut text = String::new();
        for _ in 0..MADE {
            text.push_str(black_box(PIECE));
        }
        black_box(text).len()
    };
    versus("append to text", 1.5, counted(ours), "String", counted(theirs))
}

fn step(items: &'static [Json]) -> Contest {
    let read = |charge: bool| {
        move || {
            let budget = Budget::new(wide());
            let heap = Heap::new(&budget);
            let key = Key::new(NAMES[0]);
            let mut found = 0;
            for item in items {
                if charge && budget.charge_steps(1).is_err() {
                    break;
                }
                found += usize::from(heap.attribute(&Value::Json(black_box(item)), &key).is_some());
            }
            found
        }
    };
    versus("a step for each item", 1.3, counted(read(true)), "the same without", counted(read(false)))
}

/// A side whose output is the number that `work` counts.
fn counted(work: impl Fn() -> usize + Copy + 'static) -> Entrant {
    Entrant::local(
        "",
        move || Ok(work().to_string().into_bytes()),
        move || {
            black_box(work());
        },
    )
}
