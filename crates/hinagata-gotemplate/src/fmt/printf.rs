//! Parses formats: flags, indexes, widths and verbs, and their errors.

use hinagata_value::{Result, Value};

use super::{print::Printer, sink::Sink};
use crate::{
    text::utf8,
    value::view::{Integers, View},
};

/// Maximum width, precision and argument number.
const LARGEST: i64 = 1_000_000;

/// The arguments of a format, and which one is next.
struct Arguments<'f, 'a> {
    values: &'f [Value<'a>],
    next: usize,
    integers: Integers,
    /// Whether an explicit index was used, so that unused arguments are no error.
    reordered: bool,
    /// Whether the index of the current verb is valid.
    good: bool,
}

/// A number in a format.
enum Counted {
    Absent,
    Present(usize),
    /// A number above the maximum. The rest of the format is skipped.
    Overflow,
}

/// Writes `format` and replaces its verbs by `values`.
pub(crate) fn printf<'a, S: Sink>(
    printer: &mut Printer<'_, 'a, S>,
    format: &[u8],
    values: &[Value<'a>],
) -> Result<()> {
    let mut arguments =
        Arguments { values, next: 0, integers: printer.integers, reordered: false, good: true };
    // Flags and digits are read without writing anything.
    printer.sink.budget().step_bytes(format.len())?;
    let mut rest = format;
    while let Some(percent) = find_percent(rest) {
        if percent > 0 {
            printer.sink.write_bytes(&rest[..percent])?;
        }
        printer.sink.budget().charge_steps(1)?;
        rest = &rest[percent + 1..];
        match directive(printer, &mut arguments, rest)? {
            Some(after) => rest = after,
            None => {
                rest = &[];
                break;
            }
        }
    }
    if !rest.is_empty() {
        printer.sink.write_bytes(rest)?;
    }
    if !arguments.reordered && arguments.next < values.len() {
        extra(printer, &values[arguments.next..])?;
    }
    Ok(())
}

fn find_percent(format: &[u8]) -> Option<usize> {
    format.iter().position(|&byte| byte == b'%')
}

/// Executes the directive after a `%`. Returns the rest, or `None` if the format ends inside the directive.
fn directive<'f, 'a, S: Sink>(
    printer: &mut Printer<'_, 'a, S>,
    arguments: &mut Arguments<'_, 'a>,
    mut rest: &'f [u8],
) -> Result<Option<&'f [u8]>> {
    printer.spec = super::spec::Spec::default();
    arguments.good = true;
    while let Some((&flag, after)) = rest.split_first() {
        let spec = &mut printer.spec;
        match flag {
            b'#' => spec.sharp = true,
            b'0' => spec.zero = true,
            b'+' => spec.plus = true,
            b'-' => spec.minus = true,
            b' ' => spec.space = true,
            // The usual case: a verb right after the flags.
            b'a'..=b'z' if arguments.next < arguments.values.len() => {
                verb(printer, arguments, char::from(flag))?;
                return Ok(Some(after));
            }
            _ => break,
        }
        rest = after;
    }
    let mut after_index = index(printer, arguments, &mut rest)?;
    width(printer, arguments, &mut rest, &mut after_index)?;
    if rest.len() > 1 && rest[0] == b'.' {
        rest = &rest[1..];
        precision(printer, arguments, &mut rest, &mut after_index)?;
    }
    if !after_index {
        index(printer, arguments, &mut rest)?;
    }
    let Some(rune) = utf8::first_rune(rest) else {
        printer.sink.write_text("%!(NOVERB)")?;
        return Ok(None);
    };
    finish(printer, arguments, rune.char())?;
    Ok(Some(&rest[rune.len()..]))
}

fn width<'a, S: Sink>(
    printer: &mut Printer<'_, 'a, S>,
    arguments: &mut Arguments<'_, 'a>,
    rest: &mut &[u8],
    after_index: &mut bool,
) -> Result<()> {
    if let Some(after) = rest.strip_prefix(b"*") {
        *rest = after;
        *after_index = false;
        match arguments.integer()? {
            None => printer.sink.write_text("%!(BADWIDTH)")?,
            Some(width) => {
                printer.spec.width = Some(width.unsigned_abs() as usize);
                if width < 0 {
                    printer.spec.minus = true;
                    printer.spec.zero = false;
                }
            }
        }
        return Ok(());
    }
    if let Counted::Present(width) = number(rest) {
        printer.spec.width = Some(width);
        // `%[3]2d`: the index must be directly before the verb.
        arguments.good &= !*after_index;
    }
    Ok(())
}

fn precision<'a, S: Sink>(
    printer: &mut Printer<'_, 'a, S>,
    arguments: &mut Arguments<'_, 'a>,
    rest: &mut &[u8],
    after_index: &mut bool,
) -> Result<()> {
    arguments.good &= !*after_index;
    *after_index = index(printer, arguments, rest)?;
    if let Some(after) = rest.strip_prefix(b"*") {
        *rest = after;
        *after_index = false;
        match arguments.integer()?.and_then(|precision| usize::try_from(precision).ok()) {
            None => printer.sink.write_text("%!(BADPREC)")?,
            precision => printer.spec.precision = precision,
        }
        return Ok(());
    }
    printer.spec.precision = match number(rest) {
        Counted::Present(precision) => Some(precision),
        Counted::Absent | Counted::Overflow => Some(0),
    };
    Ok(())
}

fn finish<'a, S: Sink>(
    printer: &mut Printer<'_, 'a, S>,
    arguments: &mut Arguments<'_, 'a>,
    verb_: char,
) -> Result<()> {
    if verb_ == '%' {
        return printer.sink.write_text("%");
    }
    let complaint = if !arguments.good {
        "(BADINDEX)"
    } else if arguments.next >= arguments.values.len() {
        "(MISSING)"
    } else {
        return verb(printer, arguments, verb_);
    };
    printer.sink.write_text("%!")?;
    printer.sink.write_text(verb_.encode_utf8(&mut [0; 4]))?;
    printer.sink.write_text(complaint)
}

fn verb<'a, S: Sink>(
    printer: &mut Printer<'_, 'a, S>,
    arguments: &mut Arguments<'_, 'a>,
    verb: char,
) -> Result<()> {
    if matches!(verb, 'v' | 'w') {
        printer.spec.use_default_verb();
    }
    let view = View::from_value(&arguments.values[arguments.next], arguments.integers)?;
    arguments.next += 1;
    printer.print_argument(view, verb)
}

/// Writes `%!(EXTRA type=value, …)`.
fn extra<'a, S: Sink>(printer: &mut Printer<'_, 'a, S>, values: &[Value<'a>]) -> Result<()> {
    printer.spec = super::spec::Spec::default();
    printer.sink.write_text("%!(EXTRA ")?;
    for (at, value) in values.iter().enumerate() {
        if at > 0 {
            printer.sink.write_text(", ")?;
        }
        let view = View::from_value(value, printer.integers)?;
        if !matches!(view, View::Nil | View::Invalid) {
            printer.sink.write_text(&view.type_name())?;
            printer.sink.write_text("=")?;
        }
        printer.print_argument(view, 'v')?;
    }
    printer.sink.write_text(")")
}

/// Takes a number from the front of `rest`.
fn number(rest: &mut &[u8]) -> Counted {
    let mut value = 0_i64;
    let mut digits = 0;
    for &byte in rest.iter().take_while(|byte| byte.is_ascii_digit()) {
        if value > LARGEST {
            *rest = &[];
            return Counted::Overflow;
        }
        value = value * 10 + i64::from(byte - b'0');
        digits += 1;
    }
    *rest = &rest[digits..];
    match digits {
        0 => Counted::Absent,
        _ => Counted::Present(value as usize),
    }
}

/// Takes an explicit index such as `[2]` from the front of `rest`. Returns whether it found one.
fn index<'a, S: Sink>(
    printer: &Printer<'_, 'a, S>,
    arguments: &mut Arguments<'_, 'a>,
    rest: &mut &[u8],
) -> Result<bool> {
    if rest.first() != Some(&b'[') {
        return Ok(false);
    }
    let before = rest.len();
    let found = arguments.index(rest);
    // Without a `]`, the whole rest was searched, and every further `[` searches it again.
    let searched = if found || arguments.good { before - rest.len() } else { before };
    printer.sink.budget().charge_steps(searched as u64 >> 5)?;
    Ok(found)
}

impl Arguments<'_, '_> {
    /// Takes an explicit index from the front of `rest`, which starts with `[`. Returns whether it is valid
    /// syntax.
    fn index(&mut self, rest: &mut &[u8]) -> bool {
        self.reordered = true;
        let close = if rest.len() < 3 { None } else { rest.iter().position(|&byte| byte == b']') };
        let Some(close) = close else {
            *rest = &rest[1..];
            self.good = false;
            return false;
        };
        let mut inside = &rest[1..close];
        *rest = &rest[close + 1..];
        let index = match number(&mut inside) {
            Counted::Present(index) if inside.is_empty() => index,
            _ => {
                self.good = false;
                return false;
            }
        };
        if (1..=self.values.len()).contains(&index) {
            self.next = index - 1;
        } else {
            self.good = false;
        }
        true
    }

    /// The next argument as a width or precision.
    fn integer(&mut self) -> Result<Option<i64>> {
        let Some(value) = self.values.get(self.next) else { return Ok(None) };
        self.next += 1;
        let integer = View::from_value(value, self.integers)?.int();
        Ok(integer.filter(|integer| (-LARGEST..=LARGEST).contains(integer)))
    }
}
