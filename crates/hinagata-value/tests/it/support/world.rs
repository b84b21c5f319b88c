//! Random runs of everything that makes, changes and drops values, measured at the allocator.

use std::{fmt, rc::Rc};

use allocation_counter::{AllocationInfo, measure};
use hinagata_value::{
    Budget, CallId, Error, Heap, LimitKind, Limits, List, ListKind, Map, Object, Off, Output, Result, Site,
    Text, Value,
};
use proptest::{prelude::*, sample::Index};
use serde_json::Value as Json;

/// Runs `run` and tells what it allocated.
pub(crate) fn measured<R>(run: impl FnOnce() -> R) -> (R, AllocationInfo) {
    let mut result = None;
    let info = measure(|| result = Some(run()));
    (result.expect("it ran"), info)
}

/// What containers are filled with in a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fill {
    /// What holds no other values: no cycle can come from it.
    Scalars,
    /// Anything, the container itself included.
    Anything,
}

/// One thing that a run does; an index picks among what is there.
#[derive(Clone, Debug)]
pub(crate) enum Operation {
    String(String),
    Bytes(Vec<u8>),
    Int(i128),
    Range(i64),
    Host(usize),
    BuildList(Vec<Index>, u8),
    BuildMap(Vec<(i64, Index)>, bool),
    Own(Index),
    Push(Index, Index),
    Insert(Index, usize, Index),
    Set(Index, usize, Index),
    Remove(Index, usize),
    Clear(Index),
    Reverse(Index),
    Put(Index, i64, Index),
    PutText(Index, String, Index),
    Take(Index, i64),
    Pop(Index),
    StartText(Option<usize>),
    StartBuffer(usize),
    Write(Index, String),
    Repeat(Index, String, usize),
    Reserve(Index, usize),
    Cut(Index, usize),
    EndText(Index, bool),
    StartCapture(bool),
    Capture(Index, String),
    CaptureBytes(Index, Vec<u8>),
    CapturePending(Index),
    CapturePieces(Index, Index),
    EndCapture(Index, bool),
    Drop(Index),
}

/// Any operation.
pub(crate) fn operation() -> impl Strategy<Value = Operation> {
    use Operation::*;
    let index = any::<Index>;
    let place = || 0..12_usize;
    let key = || 0..24_i64;
    let text = || "[aé雛]{0,40}";
    let raw = || prop::collection::vec(0x70..0x90_u8, 0..20);
    prop_oneof![
        1 => text().prop_map(String),
        1 => raw().prop_map(Bytes),
        1 => any::<i128>().prop_map(Int),
        1 => (0..100_i64).prop_map(Range),
        1 => (0..50_usize).prop_map(Host),
        1 => (prop::collection::vec(index(), 0..20), 0..4_u8).prop_map(|(items, kind)| BuildList(items, kind)),
        1 => (prop::collection::vec((key(), index()), 0..20), any::<bool>())
            .prop_map(|(entries, namespace)| BuildMap(entries, namespace)),
        1 => index().prop_map(Own),
        10 => (index(), index()).prop_map(|(list, item)| Push(list, item)),
        4 => (index(), place(), index()).prop_map(|(list, at, item)| Insert(list, at, item)),
        2 => (index(), place(), index()).prop_map(|(list, at, item)| Set(list, at, item)),
        2 => (index(), place()).prop_map(|(list, at)| Remove(list, at)),
        1 => index().prop_map(Clear),
        1 => index().prop_map(Reverse),
        12 => (index(), key(), index()).prop_map(|(map, key, value)| Put(map, key, value)),
        4 => (index(), "[a-d]{1,2}", index()).prop_map(|(map, key, value)| PutText(map, key, value)),
        3 => (index(), key()).prop_map(|(map, key)| Take(map, key)),
        3 => index().prop_map(Pop),
        1 => prop::option::of(0..100_usize).prop_map(StartText),
        1 => (0..100_usize).prop_map(StartBuffer),
        4 => (index(), text()).prop_map(|(at, text)| Write(at, text)),
        1 => (index(), "[ab]{0,3}", 0..40_usize).prop_map(|(at, text, times)| Repeat(at, text, times)),
        1 => (index(), 0..200_usize).prop_map(|(at, more)| Reserve(at, more)),
        1 => (index(), 0..100_usize).prop_map(|(at, percent)| Cut(at, percent)),
        1 => (index(), any::<bool>()).prop_map(|(at, shared)| EndText(at, shared)),
        1 => any::<bool>().prop_map(StartCapture),
        3 => (index(), text()).prop_map(|(at, text)| Capture(at, text)),
        2 => (index(), raw()).prop_map(|(at, bytes)| CaptureBytes(at, bytes)),
        1 => index().prop_map(CapturePending),
        2 => (index(), index()).prop_map(|(at, pieces)| CapturePieces(at, pieces)),
        2 => (index(), any::<bool>()).prop_map(|(at, value)| EndCapture(at, value)),
        6 => index().prop_map(Drop),
    ]
}

struct Tool(Vec<u8>);

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tool")
    }
}

impl Object for Tool {
    fn type_name(&self) -> &str {
        "tool"
    }

    fn extent(&self) -> usize {
        self.0.capacity()
    }
}

/// Everything that is alive in a run of operations.
pub(crate) struct World<'a> {
    heap: Heap<'a>,
    fill: Fill,
    documents: &'a [Json],
    values: Vec<Value<'a>>,
    texts: Vec<Text<'a>>,
    captures: Vec<Output<'a, Off>>,
    /// Bytes that the allocator handed out and did not get back.
    pub(crate) allocated: i64,
}

impl<'a> World<'a> {
    /// Nothing yet; what runs may take from the caller's `documents`.
    pub(crate) fn new(budget: &'a Budget, documents: &'a [Json], fill: Fill) -> Self {
        // Rooms of our own are made beforehand, so that they are not measured.
        let room = 256;
        Self {
            heap: Heap::new(budget),
            fill,
            documents,
            values: Vec::with_capacity(room),
            texts: Vec::with_capacity(room),
            captures: Vec::with_capacity(room),
            allocated: 0,
        }
    }

    /// A value to put into a container.
    fn pick(&self, index: &Index) -> Value<'a> {
        match self.fill {
            Fill::Anything => self.pick_any(index),
            Fill::Scalars => match self.pick_any(index) {
                value if self.heap.iter(&value).is_some() => Value::Int(1),
                value => value,
            },
        }
    }

    fn pick_any(&self, index: &Index) -> Value<'a> {
        if self.values.is_empty() { Value::Int(1) } else { index.get(&self.values).clone() }
    }

    fn list(&self, index: &Index) -> Option<Rc<List<'a>>> {
        let lists = self.values.iter().filter_map(|value| match value {
            Value::List(list) => Some(list.clone()),
            _ => None,
        });
        let lists: Vec<_> = lists.collect();
        (!lists.is_empty()).then(|| index.get(&lists).clone())
    }

    fn map(&self, index: &Index) -> Option<Rc<Map<'a>>> {
        let maps = self.values.iter().filter_map(|value| match value {
            Value::Map(map) | Value::Namespace(map) => Some(map.clone()),
            _ => None,
        });
        let maps: Vec<_> = maps.collect();
        (!maps.is_empty()).then(|| index.get(&maps).clone())
    }

    /// Runs an operation, and tells the limit that it reached.
    pub(crate) fn run(&mut self, operation: &Operation) -> Option<LimitKind> {
        // An error takes memory too: it is looked at and dropped while that is measured.
        let failure = |error: Error| error.limit().expect("nothing else can go wrong");
        let (result, info) = measured(|| self.try_to(operation).map_err(failure));
        self.allocated += info.bytes_current;
        match result {
            Ok(value) => {
                self.values.extend(value);
                None
            }
            Err(limit) => Some(limit),
        }
    }

    fn try_to(&mut self, operation: &Operation) -> Result<Option<Value<'a>>> {
        use Operation::*;
        let heap = &self.heap;
        let site = Site::default();
        Ok(match operation {
            String(text) => Some(heap.string(text)?),
            Bytes(bytes) => Some(heap.bytes(bytes)?),
            Int(int) => Some(heap.int(*int)?),
            Range(stop) => Some(heap.range(hinagata_value::Range::new(0, *stop, 1).expect("a step"))?),
            Host(size) => Some(heap.host_object(Tool(vec![0; *size]))?),
            BuildList(items, kind) => {
                let mut list = heap.list()?;
                list.reserve(items.len() / 2)?;
                for item in items {
                    list.push(self.pick_any(item))?;
                }
                Some(match kind {
                    0 => list.finish_tuple(),
                    1 => list.finish_once(),
                    2 => list.finish_view(ListKind::Values),
                    _ => list.finish(),
                })
            }
            BuildMap(entries, namespace) => {
                let mut map = heap.map()?;
                for (key, value) in entries {
                    map.insert(Value::Int(*key), self.pick_any(value))?;
                }
                Some(if *namespace { map.finish_namespace() } else { map.finish() })
            }
            Own(document) => Some(heap.make_owned(&Value::Json(document.get(self.documents)))?),
            Push(list, item) => {
                if let Some(list) = self.list(list) {
                    heap.push(&list, self.pick(item))?;
                }
                None
            }
            Insert(list, at, item) => {
                if let Some(list) = self.list(list) {
                    heap.insert_item(&list, *at, self.pick(item))?;
                }
                None
            }
            Set(list, at, item) => {
                if let Some(list) = self.list(list) {
                    heap.set_item(&list, *at, self.pick(item))?;
                }
                None
            }
            Remove(list, at) => {
                if let Some(list) = self.list(list) {
                    heap.remove_item(&list, *at)?;
                }
                None
            }
            Clear(index) => {
                if let Some(list) = self.list(index) {
                    heap.clear_list(&list);
                }
                if let Some(map) = self.map(index) {
                    heap.clear_map(&map);
                }
                None
            }
            Reverse(list) => {
                if let Some(list) = self.list(list) {
                    heap.reorder_items(&list, <[_]>::reverse);
                }
                None
            }
            Put(map, key, value) => {
                if let Some(map) = self.map(map) {
                    heap.insert(&map, Value::Int(*key), self.pick(value))?;
                }
                None
            }
            PutText(map, key, value) => {
                if let Some(map) = self.map(map) {
                    heap.insert(&map, heap.string(key)?, self.pick(value))?;
                }
                None
            }
            Take(map, key) => {
                if let Some(map) = self.map(map) {
                    heap.remove(&map, &Value::Int(*key))?;
                }
                None
            }
            Pop(map) => {
                if let Some(map) = self.map(map) {
                    heap.pop_entry(&map);
                }
                None
            }
            StartText(capacity) => {
                let text = match capacity {
                    Some(capacity) => Text::with_capacity(heap.budget(), *capacity)?,
                    None => heap.text(),
                };
                self.texts.push(text);
                None
            }
            StartBuffer(capacity) => {
                let buffer = std::string::String::with_capacity(*capacity);
                self.texts.push(Text::with_buffer(heap.budget(), buffer)?);
                None
            }
            Write(at, text) => {
                at_index(&mut self.texts, at, |target| target.push_str(text))?;
                None
            }
            Repeat(at, text, times) => {
                at_index(&mut self.texts, at, |target| target.push_repeated(text, *times))?;
                None
            }
            Reserve(at, more) => {
                at_index(&mut self.texts, at, |target| target.reserve(*more))?;
                None
            }
            Cut(at, percent) => {
                at_index(&mut self.texts, at, |target| {
                    target.truncate(target.as_str().floor_char_boundary(target.len() * percent / 100));
                    Ok(())
                })?;
                None
            }
            EndText(at, shared) => match take_at(&mut self.texts, at) {
                Some(text) if *shared => Some(Value::Str(text.into_shared()?)),
                Some(text) => {
                    drop(text.into_string());
                    None
                }
                None => None,
            },
            StartCapture(whole) => {
                let budget = heap.budget();
                self.captures.push(if *whole { Output::new(budget) } else { Output::new_capture(budget) });
                None
            }
            Capture(at, text) => {
                at_index(&mut self.captures, at, |target| target.write(text, site))?;
                None
            }
            CaptureBytes(at, bytes) => {
                at_index(&mut self.captures, at, |target| target.write_bytes(bytes, site))?;
                None
            }
            CapturePending(at) => {
                at_index(&mut self.captures, at, |target| target.write_pending(CallId(0)))?;
                None
            }
            CapturePieces(at, pieces) => {
                // What is shared by two captures is paid for by each: not where it must be exact.
                if let Value::Pieces(pieces) = self.pick_any(pieces)
                    && self.fill == Fill::Anything
                {
                    at_index(&mut self.captures, at, |target| target.write_pieces(&pieces, site))?;
                }
                None
            }
            EndCapture(at, value) => match take_at(&mut self.captures, at) {
                Some(capture) if *value => Some(capture.into_value(false)?),
                Some(capture) => {
                    drop(capture.finish());
                    None
                }
                None => None,
            },
            Drop(at) => {
                take_at(&mut self.values, at);
                None
            }
        })
    }

    /// Reads whatever can be read, to find a container that an operation left in disorder.
    pub(crate) fn read(&self) {
        for value in &self.values {
            let items = self.heap.iter(value).map(Iterator::count);
            let is_found = |(key, _)| matches!(self.heap.lookup(value, &key), Ok(Some(_)));
            let entries = self.heap.entries(value).map(|entries| match value {
                Value::Map(_) => entries.filter(|entry| is_found(entry.clone())).count(),
                _ => entries.count(),
            });
            let len = self.heap.len(value);
            assert!(matches!(value, Value::Once(_)) || items == len, "all items are there");
            assert!(entries.is_none_or(|entries| Some(entries) == len), "all entries are there");
        }
    }

    /// Bytes that the budget counts.
    pub(crate) fn charged(&self) -> i64 {
        self.heap.budget().bytes_alive() as i64
    }

    /// Drops everything, the heap last or first, and gives what the allocator did not get back.
    pub(crate) fn end(mut self, heap_first: bool) -> i64 {
        let (heap, mut values) = (self.heap, self.values);
        let (_, info) = measured(|| {
            if heap_first {
                drop(heap);
                values.clear();
            } else {
                values.clear();
                drop(heap);
            }
            self.texts.clear();
            self.captures.clear();
        });
        self.allocated + info.bytes_current
    }
}

fn at_index<T>(items: &mut [T], at: &Index, change: impl FnOnce(&mut T) -> Result<()>) -> Result<()> {
    if items.is_empty() { Ok(()) } else { change(at.get_mut(items)) }
}

fn take_at<T>(items: &mut Vec<T>, at: &Index) -> Option<T> {
    (!items.is_empty()).then(|| items.swap_remove(at.index(items.len())))
}

/// What the process makes once, made before anything is measured.
pub(crate) fn warm_up() {
    let budget = Budget::new(Limits::default());
    let heap = Heap::new(&budget);
    let mut map = heap.map().expect("no limit");
    for key in 0..20 {
        map.insert(Value::Int(key), Value::None).expect("no limit");
    }
}
