//! Values, budget and output: the base of both template languages.
//!
//! | part | what it is for |
//! |---|---|
//! | [`Value`] | the values of a template: borrowed data and constants, produced values |
//! | [`Heap`] | creates, reads and changes values; frees them all at the end |
//! | [`Budget`], [`Limits`] | what a run may use: steps, bytes, depth, time |
//! | [`Output`], [`Text`] | the output of a run, with marks for parts that are not text |
//! | [`Provenance`] | the origin of each piece of the output, on request |
//! | [`Function`], [`Object`], [`Calls`] | the host: functions, objects, results that arrive later |
//! | [`analysis`] | what a template reads, uses and defines, for both languages |
//! | [`walk_value`], [`is_equal`], [`order_values`], [`write_json`] | printing, comparing and serialising at any depth |
//!
//! The guarantees of this crate, each tested by a file of `tests/`:
//!
//! - `depth`: nothing recurses over a value. Dropping has no limit, everything else `value_depth`.
//! - `accounting`: the bytes of the budget are those of the allocator, exactly or a little more, and
//!   nothing is left when the heap is dropped, cycles included.
//! - `limits`: every limit holds to the last unit and takes any number; an error leaves everything usable.
//! - `changes`: the caller's data never changes, and its copy replaces it everywhere.
//! - `calls`: running again with results has the same output as one run with all results.
//! - `provenance`: recording origins does not change the output, and every byte has an origin.
//! - `values`, `maps`, `json`: equality, order, keys and texts follow their laws.
//!
//! A pending result ([`Value::Pending`]) has no value yet: an operation that needs the value fails with
//! [`ErrorKind::Suspended`], an error that must not become a value.
//!
//! ```
//! use hinagata_value::{Budget, Heap, JsonStyle, Key, Limits, Value, write_json};
//!
//! let data = serde_json::json!({"user": {"name": "Rumi"}});
//! let budget = Budget::new(Limits::default());
//! let heap = Heap::new(&budget);
//! let user = heap.attribute(&Value::Json(&data), &Key::new("user")).expect("is there");
//! let list = heap.list_of([user, Value::Int(3)])?;
//!
//! let mut text = heap.text();
//! write_json(&heap, &list, &JsonStyle::default(), &mut text)?;
//! assert_eq!(text.as_str(), r#"[{"name":"Rumi"},3]"#);
//! # Ok::<(), hinagata_value::Error>(())
//! ```

pub mod analysis;
mod bounded_cache;
mod budget;
mod calls;
mod compare;
mod document;
pub mod encoding;
mod error;
mod function;
mod heap;
mod highlight;
mod inputs;
mod iter;
mod json;
mod keep;
mod limits;
mod list;
mod map;
mod metered;
mod near;
mod number;
mod output;
mod provenance;
mod range;
mod role;
mod run_timer;
mod short_text;
mod text;
mod trace;
mod value;
mod value_type;
mod variables;
mod walk;

pub use bounded_cache::BoundedCache;
pub use budget::{Budget, Cancel, CancelOnDrop, Level};
pub use calls::{Call, CallId, Calls, Pass, Request};
pub use compare::{is_equal, order_numbers, order_values};
pub use document::{has_long_number, to_json};
pub use error::{Error, ErrorKind, LimitKind, Place, Result};
pub use function::{Arguments, Closure, Function, Functions, Host, HostObject, Object, Signature, Type};
pub use heap::{Entries, Heap, Key, ListBuilder, MapBuilder};
pub use highlight::{HighlightKind, HighlightToken};
pub use inputs::{Input, InputsId, SlotInputs, SlotRecord};
pub use iter::Iter;
pub use json::{JsonStyle, write_json};
pub use keep::Keep;
pub use limits::Limits;
pub use list::{List, ListKind};
pub use map::Map;
pub use metered::{Extent, Metered};
pub use near::{close_names, near_names, near_sorted_names};
pub use number::{Digits, write_float_repr};
pub use output::{Mark, MarkKind, Output, Part, PartCheck, Pieces, Written};
pub use provenance::{
    Absent, AbsentReason, Off, Provenance, Segment, Segments, Site, Source, Step, StepId, StepKind,
};
pub use range::Range;
pub use role::Role;
pub use run_timer::thread_cpu_time;
pub use short_text::ShortText;
pub use text::Text;
pub use trace::{Reads, Trace};
pub use value::{EngineRef, Kind, Number, Owner, Undefined, Value};
pub use value_type::ValueType;
pub use variables::Variables;
pub use walk::{Event, Shape, walk_value};
