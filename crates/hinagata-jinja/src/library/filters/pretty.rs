//! `pprint`: values on several lines, as Python's pretty printer lays them out.

use hinagata_value::{
    Arguments, Error, Event, Kind, LimitKind, ListBuilder, Result, Shape, Text, Value, walk_value,
};

use super::sort::merge_sort;
use crate::{
    context::Context,
    library::{
        arguments::expect_none,
        methods::whole_lines,
        ops::sort_order,
        print::{print_repr, repr_str},
        textual::finish_text,
        types::{require_settled, type_name},
        unicode::is_space,
    },
};

/// The maximum length of a line in characters.
const WIDTH: usize = 80;

/// `pprint`: the value on as many lines as it needs, with the keys of maps sorted.
pub(super) fn pprint<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    expect_none(arguments, "pprint")?;
    require_settled(&value)?;
    let mut printer = Printer { cx, text: cx.heap.text(), work: Vec::new() };
    printer.work.push(Work::Value(sort_maps(cx, &value)?, Place { indent: 0, allowance: 0, top: true }));
    while let Some(work) = printer.work.pop() {
        cx.heap.budget().charge_steps(1)?;
        match work {
            Work::Text(text) => printer.text.push_str(&text)?,
            Work::Value(value, place) => printer.value(&value, place)?,
            Work::Items { list, next, place } => printer.item(list, next, place)?,
            Work::Entries { map, next, place } => printer.entry(map, next, place)?,
        }
    }
    finish_text(printer.text, false)
}

/// The column where a value starts, and the space needed after it on its last line.
#[derive(Clone, Copy)]
struct Place {
    indent: usize,
    allowance: usize,
    /// Whether it is the top-level value: a long string is then printed in parentheses.
    top: bool,
}

/// Work that remains to be done; the next item is the last.
enum Work<'a> {
    Text(String),
    Value(Value<'a>, Place),
    Items { list: Value<'a>, next: usize, place: Place },
    Entries { map: Value<'a>, next: usize, place: Place },
}

struct Printer<'x, 'c, 'a> {
    cx: &'x Context<'c, 'a>,
    text: Text<'a>,
    work: Vec<Work<'a>>,
}

impl<'a> Printer<'_, '_, 'a> {
    fn value(&mut self, value: &Value<'a>, place: Place) -> Result<()> {
        let room = WIDTH.saturating_sub(place.indent + place.allowance);
        if let Some(short) = print_short(self.cx, value, room)? {
            return self.text.push_str(short.as_str());
        }
        let len = self.cx.heap.len(value).unwrap_or(0);
        let inside =
            |closer: usize| Place { indent: place.indent, allowance: place.allowance + closer, top: false };
        match value.kind() {
            Kind::List => {
                self.text.push_str("[")?;
                self.work.push(Work::Text("]".to_owned()));
                self.work.push(Work::Items { list: value.clone(), next: 0, place: inside(1) });
                Ok(())
            }
            Kind::Tuple => {
                let closer = if len == 1 { ",)" } else { ")" };
                self.text.push_str("(")?;
                self.work.push(Work::Text(closer.to_owned()));
                self.work.push(Work::Items { list: value.clone(), next: 0, place: inside(closer.len()) });
                Ok(())
            }
            Kind::Map => {
                self.text.push_str("{")?;
                self.work.push(Work::Text("}".to_owned()));
                self.work.push(Work::Entries { map: value.clone(), next: 0, place: inside(1) });
                Ok(())
            }
            Kind::Str if !value.is_safe() => self.long_string(value.as_str().unwrap_or_default(), place),
            _ => print_repr(self.cx, value, &mut self.text),
        }
    }

    fn new_line(&mut self, indent: usize) -> Result<()> {
        self.text.push_str("\n")?;
        self.text.push_repeated(" ", indent)
    }

    fn item(&mut self, list: Value<'a>, next: usize, place: Place) -> Result<()> {
        let Some(item) = self.cx.heap.item(&list, next) else { return Ok(()) };
        let indent = place.indent + 1;
        if next > 0 {
            self.text.push_str(",")?;
            self.new_line(indent)?;
        }
        let last = self.cx.heap.len(&list) == Some(next + 1);
        self.work.push(Work::Items { list, next: next + 1, place });
        let allowance = if last { place.allowance } else { 1 };
        self.work.push(Work::Value(item, Place { indent, allowance, top: false }));
        Ok(())
    }

    fn entry(&mut self, map: Value<'a>, next: usize, place: Place) -> Result<()> {
        let Some((key, value)) = self.cx.heap.entry_at(&map, next) else { return Ok(()) };
        let indent = place.indent + 1;
        if next > 0 {
            self.text.push_str(",")?;
            self.new_line(indent)?;
        }
        let mut key_text = self.cx.heap.text();
        print_repr(self.cx, &key, &mut key_text)?;
        self.text.push_str(key_text.as_str())?;
        self.text.push_str(": ")?;
        let indent = indent + key_text.as_str().chars().count() + 2;
        let last = self.cx.heap.len(&map) == Some(next + 1);
        self.work.push(Work::Entries { map, next: next + 1, place });
        let allowance = if last { place.allowance } else { 1 };
        self.work.push(Work::Value(value, Place { indent, allowance, top: false }));
        Ok(())
    }

    /// Prints a string in several pieces: split at line ends, and between words where a line is too long.
    fn long_string(&mut self, string: &str, place: Place) -> Result<()> {
        let (indent, allowance) =
            if place.top { (place.indent + 1, place.allowance + 1) } else { (place.indent, place.allowance) };
        let width = WIDTH.saturating_sub(indent);
        let mut pieces: Vec<&str> = Vec::new();
        let mut lines = whole_lines(string).peekable();
        while let Some(line) = lines.next() {
            let last = lines.peek().is_none();
            let room = if last { width.saturating_sub(allowance) } else { width };
            if quoted_len(self.cx, line)? <= room {
                pieces.push(line);
            } else {
                self.break_line(line, width, if last { allowance } else { 0 }, &mut pieces)?;
            }
        }
        if pieces.len() <= 1 {
            return repr_str(string, &mut self.text, false);
        }
        if place.top {
            self.text.push_str("(")?;
        }
        for (at, piece) in pieces.iter().enumerate() {
            if at > 0 {
                self.new_line(indent)?;
            }
            repr_str(piece, &mut self.text, false)?;
        }
        if place.top { self.text.push_str(")") } else { Ok(()) }
    }

    fn break_line<'t>(
        &self,
        line: &'t str,
        width: usize,
        allowance: usize,
        pieces: &mut Vec<&'t str>,
    ) -> Result<()> {
        let (mut start, mut end) = (0, 0);
        while end < line.len() {
            let next = end + part_len(&line[end..]);
            let room = if next == line.len() { width.saturating_sub(allowance) } else { width };
            if quoted_len(self.cx, &line[start..next])? > room {
                if start < end {
                    pieces.push(&line[start..end]);
                }
                start = end;
            }
            end = next;
        }
        if start < end {
            pieces.push(&line[start..end]);
        }
        Ok(())
    }
}

/// The length of a word including the spaces after it.
fn part_len(text: &str) -> usize {
    let word = text.find(is_space).unwrap_or(text.len());
    text[word..].find(|next| !is_space(next)).map_or(text.len(), |spaces| word + spaces)
}

fn quoted_len(cx: &Context<'_, '_>, text: &str) -> Result<usize> {
    let mut quoted = cx.heap.text();
    repr_str(text, &mut quoted, false)?;
    Ok(quoted.as_str().chars().count())
}

/// The value on one line, if it fits into `room` characters.
fn print_short<'a>(cx: &Context<'_, 'a>, value: &Value<'a>, room: usize) -> Result<Option<Text<'a>>> {
    let mut text = cx.heap.text().with_limit(Some(room));
    match print_repr(cx, value, &mut text) {
        Ok(()) => Ok(Some(text)),
        Err(error) if error.limit() == Some(LimitKind::Output) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Copies a value with the keys of all maps sorted.
fn sort_maps<'a>(cx: &Context<'_, 'a>, value: &Value<'a>) -> Result<Value<'a>> {
    let mut open: Vec<(Vec<Value<'a>>, Vec<Value<'a>>)> = Vec::new();
    let mut result = Value::None;
    let mut place = |open: &mut Vec<(Vec<Value<'a>>, Vec<Value<'a>>)>, value: Value<'a>| match open.last_mut()
    {
        Some((_, values)) => values.push(value),
        None => result = value,
    };
    walk_value(cx.heap, value, &mut |event| {
        match event {
            Event::Start(..) => open.push((Vec::new(), Vec::new())),
            Event::Next => {}
            Event::Key(key) => {
                if let Some((keys, _)) = open.last_mut() {
                    keys.push(key);
                }
            }
            Event::Scalar(value) => place(&mut open, value),
            Event::End(shape, _) => {
                let (keys, values) = open.pop().unwrap_or_default();
                let copy = copy_container(cx, shape, keys, values)?;
                place(&mut open, copy);
            }
            Event::Cycle(_) => {
                return Err(Error::runtime("`pprint` cannot show a value that contains itself"));
            }
        }
        Ok(())
    })?;
    Ok(result)
}

fn copy_container<'a>(
    cx: &Context<'_, 'a>,
    shape: Shape,
    keys: Vec<Value<'a>>,
    values: Vec<Value<'a>>,
) -> Result<Value<'a>> {
    let list = |values: Vec<Value<'a>>| {
        let mut list = cx.heap.list()?;
        values.into_iter().try_for_each(|value| list.push(value))?;
        Ok(list)
    };
    match shape {
        Shape::List => list(values).map(ListBuilder::finish),
        Shape::Tuple => list(values).map(ListBuilder::finish_tuple),
        Shape::View(role) => list(values).map(|list| list.finish_view(role)),
        Shape::Map | Shape::Namespace => {
            let mut entries: Vec<_> = keys.into_iter().zip(values).collect();
            if shape == Shape::Map {
                super::sort::charge(cx, entries.len())?;
                merge_sort(&mut entries, |(a, _), (b, _)| key_before(cx, b, a))?;
            }
            let mut map = cx.heap.map()?;
            for (key, value) in entries {
                map.insert(key, value)?;
            }
            Ok(if shape == Shape::Map { map.finish() } else { map.finish_namespace() })
        }
    }
}

/// Whether key `a` comes before `b`. Keys that cannot be compared are ordered by the names of their types.
fn key_before<'a>(cx: &Context<'_, 'a>, a: &Value<'a>, b: &Value<'a>) -> Result<bool> {
    match sort_order(cx, a, b) {
        Ok(order) => Ok(order.is_lt()),
        Err(error) if error.limit().is_some() => Err(error),
        Err(_) => Ok(type_name(cx, a) < type_name(cx, b)),
    }
}
