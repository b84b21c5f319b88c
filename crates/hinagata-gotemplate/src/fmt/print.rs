//! Prints values with every verb, containers of any depth included.

use hinagata_value::{Error, Heap, LimitKind, Result, Value};
use serde_json::Value as Json;

use super::{
    sink::{Building, Sink},
    spec::{Base, Spec},
};
use crate::{
    text::{float, float::Layout},
    value::{
        exotic::Nil,
        view::{Integers, View},
    },
};

/// The printed address of a function. Go prints a real one.
const FUNCTION_ADDRESS: i128 = 0x47_b2c0;
/// The printed address of a list or map.
const CONTAINER_ADDRESS: i128 = 0xc0_0001_4000;

const NIL: &str = "<nil>";

/// Prints values into a sink, one after the other.
pub(crate) struct Printer<'p, 'a, S: Sink> {
    pub(crate) sink: &'p mut S,
    pub(crate) heap: &'p Heap<'a>,
    pub(crate) integers: Integers,
    pub(crate) spec: Spec,
}

impl<'p, 'a, S: Sink> Printer<'p, 'a, S> {
    pub(crate) fn new(sink: &'p mut S, heap: &'p Heap<'a>, integers: Integers) -> Self {
        Self { sink, heap, integers, spec: Spec::default() }
    }

    /// `Print`: writes a space between two operands if neither is a string.
    pub(crate) fn print(&mut self, values: &[Value<'a>]) -> Result<()> {
        let mut after_string = true;
        for value in values {
            let view = View::from_value(value, self.integers)?;
            let is_string = view.bytes().is_some();
            if !after_string && !is_string {
                self.sink.write_text(" ")?;
            }
            self.print_argument(view, 'v')?;
            after_string = is_string;
        }
        Ok(())
    }

    /// `Println`: writes spaces between all operands, and a newline at the end.
    pub(crate) fn println(&mut self, values: &[Value<'a>]) -> Result<()> {
        for (at, value) in values.iter().enumerate() {
            if at > 0 {
                self.sink.write_text(" ")?;
            }
            self.print_argument(View::from_value(value, self.integers)?, 'v')?;
        }
        self.sink.write_text("\n")
    }

    /// Prints one argument with a verb.
    pub(crate) fn print_argument(&mut self, view: View<'_, 'a>, verb: char) -> Result<()> {
        match (view, verb) {
            (View::Nil | View::Invalid, 'T' | 'v') => self.spec.write_padded(self.sink, NIL.as_bytes()),
            (View::Nil | View::Invalid, _) => self.bad_verb(view, verb),
            (_, 'T') => self.spec.write_string(self.sink, view.type_name().as_bytes()),
            (_, 'p') => self.pointer(view, verb),
            (View::List(_) | View::Map(_) | View::TypedNil(_) | View::Func(_), 'w') => {
                self.bad_verb(view, verb)
            }
            _ => self.value(view, verb),
        }
    }

    fn value(&mut self, view: View<'_, 'a>, verb: char) -> Result<()> {
        match view {
            View::List(value) | View::Map(value) => self.container(value, verb),
            _ => self.scalar(view, verb),
        }
    }

    /// Prints a value that contains no other values.
    fn scalar(&mut self, view: View<'_, 'a>, verb: char) -> Result<()> {
        match view {
            View::Str(text) => self.string(view, text.as_bytes(), verb),
            View::Bytes(bytes) => self.string(view, bytes, verb),
            View::Int(int) => self.integer(view, i128::from(int), verb),
            View::Uint8(byte) => self.integer(view, i128::from(byte), verb),
            View::Float(value) => self.float(view, value, verb),
            View::Bool(flag) if matches!(verb, 't' | 'v') => self.spec.write_boolean(self.sink, flag),
            View::Complex(re, im) => self.complex(view, re, im, verb),
            View::TypedNil(nil) => self.typed_nil(nil),
            View::Func(_) => self.pointer(view, verb),
            View::Host(object) => {
                let mut text = self.heap.text();
                object.get().print(&mut text)?;
                self.string(view, text.as_str().as_bytes(), verb)
            }
            View::Opaque => self.string(view, b"<object>", verb),
            _ => self.bad_verb(view, verb),
        }
    }

    fn string(&mut self, view: View<'_, 'a>, text: &[u8], verb: char) -> Result<()> {
        match verb {
            'v' if self.spec.sharp_v => self.spec.write_quoted(self.sink, text),
            'v' | 's' => self.spec.write_string(self.sink, text),
            'x' => self.spec.write_hex_string(self.sink, text, false),
            'X' => self.spec.write_hex_string(self.sink, text, true),
            'q' => self.spec.write_quoted(self.sink, text),
            _ => self.bad_verb(view, verb),
        }
    }

    fn integer(&mut self, view: View<'_, 'a>, value: i128, verb: char) -> Result<()> {
        let base = match verb {
            'v' if self.spec.sharp_v && matches!(view, View::Uint8(_)) => return self.address(value, true),
            'v' | 'd' => Base::Decimal,
            'b' => Base::Binary,
            'o' => Base::Octal,
            'O' => Base::PrefixedOctal,
            'x' => Base::Hex,
            'X' => Base::UpperHex,
            'c' => return self.spec.write_character(self.sink, value as i64),
            'q' => return self.spec.write_quoted_character(self.sink, value as i64),
            'U' => return self.spec.write_unicode(self.sink, value as i64),
            _ => return self.bad_verb(view, verb),
        };
        self.spec.write_integer(self.sink, value, base)
    }

    fn float(&mut self, view: View<'_, 'a>, value: f64, verb: char) -> Result<()> {
        let (layout, decimals) = match verb {
            'v' | 'g' | 'G' => (Layout::General, None),
            'b' => (Layout::Binary, None),
            'x' | 'X' => (Layout::Hex, None),
            'f' | 'F' => (Layout::Fixed, Some(6)),
            'e' | 'E' => (Layout::Exponent, Some(6)),
            _ => return self.bad_verb(view, verb),
        };
        let upper = matches!(verb, 'G' | 'X' | 'E');
        self.spec.write_float(self.sink, value, layout, upper, decimals)
    }

    fn complex(&mut self, view: View<'_, 'a>, re: f64, im: f64, verb: char) -> Result<()> {
        if !matches!(verb, 'v' | 'b' | 'g' | 'G' | 'x' | 'X' | 'f' | 'F' | 'e' | 'E') {
            return self.bad_verb(view, verb);
        }
        let plus = self.spec.plus;
        self.sink.write_text("(")?;
        self.float(View::Float(re), re, verb)?;
        self.spec.plus = true;
        self.float(View::Float(im), im, verb)?;
        self.spec.plus = plus;
        self.sink.write_text("i)")
    }

    fn typed_nil(&mut self, nil: Nil) -> Result<()> {
        if self.spec.sharp_v {
            self.sink.write_text(&View::TypedNil(nil).type_name())?;
            return self.sink.write_text("(nil)");
        }
        self.sink.write_text(match nil {
            Nil::Map => "map[]",
            Nil::List => "[]",
        })
    }

    fn pointer(&mut self, view: View<'_, 'a>, verb: char) -> Result<()> {
        let address = match view {
            View::Func(_) => FUNCTION_ADDRESS,
            View::List(_) | View::Map(_) => CONTAINER_ADDRESS,
            View::TypedNil(_) => 0,
            _ => return self.bad_verb(view, verb),
        };
        match verb {
            'v' if self.spec.sharp_v => {
                self.sink.write_text("(")?;
                self.sink.write_text(&view.type_name())?;
                self.sink.write_text(")(")?;
                self.address(address, true)?;
                self.sink.write_text(")")
            }
            'v' | 'p' => self.address(address, !self.spec.sharp),
            'b' | 'o' | 'd' | 'x' | 'X' => self.integer(View::Invalid, address, verb),
            _ => self.bad_verb(view, verb),
        }
    }

    fn address(&mut self, value: i128, prefix: bool) -> Result<()> {
        Spec { sharp: prefix, ..self.spec }.write_integer(self.sink, value, Base::Hex)
    }

    /// Writes `%!verb(type=value)`.
    fn bad_verb(&mut self, view: View<'_, 'a>, verb: char) -> Result<()> {
        self.sink.write_text("%!")?;
        self.sink.write_text(verb.encode_utf8(&mut [0; 4]))?;
        self.sink.write_text("(")?;
        match view {
            View::Nil | View::Invalid => self.sink.write_text(NIL)?,
            _ => {
                self.sink.write_text(&view.type_name())?;
                self.sink.write_text("=")?;
                self.value(view, 'v')?;
            }
        }
        self.sink.write_text(")")
    }

    /// Prints a list or map with its content, without recursion.
    fn container(&mut self, value: &Value<'a>, verb: char) -> Result<()> {
        let mut open = vec![self.open(value)?];
        loop {
            let Some(frame) = open.last_mut() else { return Ok(()) };
            self.sink.budget().charge_steps(1)?;
            let Some((key, item)) = frame.next(self.heap) else {
                let close = if self.spec.sharp_v { "}" } else { "]" };
                self.sink.write_text(close)?;
                open.pop();
                continue;
            };
            if frame.at > 1 {
                self.sink.write_text(if self.spec.sharp_v { ", " } else { " " })?;
            }
            if let Some(key) = key {
                self.scalar(View::from_value(&key, self.integers)?, verb)?;
                self.sink.write_text(":")?;
            }
            match View::from_value(&item, self.integers)? {
                View::Nil | View::Invalid if self.spec.sharp_v => {
                    self.sink.write_text("interface {}(nil)")?;
                }
                View::Nil | View::Invalid => self.sink.write_text(NIL)?,
                View::List(value) | View::Map(value) => {
                    self.check_depth(open.len())?;
                    open.push(self.open(value)?);
                }
                view => self.scalar(view, verb)?,
            }
        }
    }

    fn check_depth(&self, open: usize) -> Result<()> {
        let limit = self.heap.budget().limits().value_depth;
        if open < limit {
            return Ok(());
        }
        Err(Error::limit_reached(LimitKind::ValueDepth, format!("a value is nested more than {limit} deep")))
    }

    fn open(&mut self, value: &Value<'a>) -> Result<Frame<'a>> {
        let value = self.heap.current_version(value.clone());
        let items = match sorted_entries(self.heap, &value)? {
            Some(entries) => Items::Map(entries.into_iter()),
            None => Items::List(value),
        };
        let is_map = matches!(items, Items::Map(_));
        self.sink.write_text(match (is_map, self.spec.sharp_v) {
            (true, false) => "map[",
            (true, true) => "map[string]interface {}{",
            (false, false) => "[",
            (false, true) => "[]interface {}{",
        })?;
        Ok(Frame { items, at: 0 })
    }
}

/// A container that is being printed.
struct Frame<'a> {
    items: Items<'a>,
    at: usize,
}

enum Items<'a> {
    List(Value<'a>),
    Map(std::vec::IntoIter<(Value<'a>, Value<'a>)>),
}

impl<'a> Frame<'a> {
    fn next(&mut self, heap: &Heap<'a>) -> Option<(Option<Value<'a>>, Value<'a>)> {
        self.at += 1;
        match &mut self.items {
            Items::List(list) => heap.item(list, self.at - 1).map(|item| (None, item)),
            Items::Map(entries) => entries.next().map(|(key, value)| (Some(key), value)),
        }
    }
}

/// The entries of a map, sorted by key. `None` for any other value.
pub(crate) fn sorted_entries<'a>(
    heap: &Heap<'a>,
    map: &Value<'a>,
) -> Result<Option<Vec<(Value<'a>, Value<'a>)>>> {
    let mut entries: Vec<(Value<'a>, Value<'a>)> = match map {
        Value::Json(Json::Object(map)) => {
            heap.budget().charge_steps(map.len() as u64)?;
            map.iter()
                .map(|(key, value)| (Value::Lit(key), heap.current_version(Value::Json(value))))
                .collect()
        }
        _ => match heap.entries(map) {
            None => return Ok(None),
            Some(entries) => {
                heap.budget().charge_steps(heap.len(map).unwrap_or(0) as u64)?;
                entries.collect()
            }
        },
    };
    // Long keys with a common prefix are compared up to their ends.
    let long = entries.iter().map(|(key, _)| key.as_bytes().map_or(0, <[u8]>::len) as u64 >> 6).sum::<u64>();
    heap.budget().charge_steps(long)?;
    let sorted = entries.is_sorted_by(|(a, _), (b, _)| a.as_bytes() <= b.as_bytes());
    if !sorted {
        let rounds = u64::from(entries.len().max(2).ilog2());
        heap.budget().charge_steps((entries.len() as u64 / 2 + long) * rounds)?;
        entries.sort_by(|(a, _), (b, _)| a.as_bytes().cmp(&b.as_bytes()));
    }
    Ok(Some(entries))
}

/// Prints one value as `Print` does, with a fast path for scalars.
#[inline]
pub(crate) fn print_default<'a>(
    sink: &mut impl Sink,
    heap: &Heap<'a>,
    view: View<'_, 'a>,
    integers: Integers,
) -> Result<()> {
    match view {
        View::Str(text) => sink.write_text(text),
        View::Int(int) => sink.write_text(itoa::Buffer::new().format(int)),
        View::Float(value) => print_float(sink, value),
        View::Bool(flag) => sink.write_text(if flag { "true" } else { "false" }),
        _ => Printer::new(sink, heap, integers).print_argument(view, 'v'),
    }
}

fn print_float(sink: &mut impl Sink, value: f64) -> Result<()> {
    if let Some(integer) = float::small_integer(value) {
        return sink.write_text(itoa::Buffer::new().format(integer));
    }
    let mut text = Vec::with_capacity(32);
    float::append_default(&mut text, value);
    sink.write_bytes(&text)
}

/// Formats `value` as `Sprint` does.
pub(crate) fn sprint<'a>(heap: &Heap<'a>, value: &Value<'a>, integers: Integers) -> Result<Building<'a>> {
    let mut building = Building::new(heap);
    let view = View::from_value(value, integers)?;
    print_default(&mut building, heap, view, integers)?;
    Ok(building)
}
