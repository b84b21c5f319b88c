//! The method `encode` of strings, and the methods of bytes.

use hinagata_value::{Arguments, Error, Metered, Result, Value};

use super::{Table, string::text};
use crate::{
    context::Context,
    library::{
        arguments::{bind_arguments, expect_none, expect_string},
        textual::finish_text,
    },
};

/// The methods of bytes.
pub(super) const METHODS: Table = &[("decode", decode), ("hex", hex)];

/// The supported encodings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Utf8,
    Ascii,
    Latin1,
}

/// What to do with text that the encoding cannot represent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Faults {
    Fail,
    Leave,
    Replace,
}

fn options<'a>(
    cx: &Context<'_, 'a>,
    arguments: &Arguments<'_, 'a>,
    method: &str,
) -> Result<(Encoding, Faults)> {
    let [encoding, errors] = bind_arguments(arguments, method, ["encoding", "errors"], 0)?;
    let encoding = match encoding {
        None => Encoding::Utf8,
        Some(name) => {
            let name = expect_string(cx, method, name)?.to_ascii_lowercase().replace(['-', '_', ' '], "");
            match name.as_str() {
                "utf8" | "u8" => Encoding::Utf8,
                "ascii" | "usascii" | "646" => Encoding::Ascii,
                "latin1" | "iso88591" | "l1" | "88591" => Encoding::Latin1,
                _ => {
                    return Err(Error::runtime("unknown encoding").with_hint("use utf-8, ascii or latin-1"));
                }
            }
        }
    };
    let faults = match errors.map(|errors| expect_string(cx, method, errors)).transpose()? {
        None | Some("strict") => Faults::Fail,
        Some("ignore") => Faults::Leave,
        Some("replace") => Faults::Replace,
        Some(_) => {
            return Err(Error::runtime("unknown error handler").with_hint("use strict, ignore or replace"));
        }
    };
    Ok((encoding, faults))
}

pub(super) fn encode<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let (encoding, faults) = options(cx, arguments, "encode")?;
    let text = text(receiver);
    let budget = cx.heap.budget();
    budget.step_bytes(text.len())?;
    let limit = match encoding {
        Encoding::Utf8 => return Ok(Value::Bytes(Metered::new(budget, text.as_bytes().into())?)),
        Encoding::Ascii => 0x7f,
        Encoding::Latin1 => 0xff,
    };
    let mut bytes = Vec::with_capacity(text.len());
    for character in text.chars() {
        match (u8::try_from(u32::from(character)), faults) {
            (Ok(byte), _) if byte <= limit => bytes.push(byte),
            (_, Faults::Leave) => {}
            (_, Faults::Replace) => bytes.push(b'?'),
            (_, Faults::Fail) => {
                return Err(Error::runtime(format!("the encoding has no character {character:?}")));
            }
        }
    }
    Ok(Value::Bytes(Metered::new(budget, bytes.into_boxed_slice())?))
}

/// `decode`: the string that the bytes encode.
fn decode<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let (encoding, faults) = options(cx, arguments, "decode")?;
    let bytes = receiver.as_bytes().unwrap_or_default();
    let mut text = cx.heap.text();
    if encoding == Encoding::Latin1 {
        bytes.iter().try_for_each(|byte| text.push(char::from(*byte)))?;
        return finish_text(text, false);
    }
    for chunk in bytes.utf8_chunks() {
        if encoding == Encoding::Ascii && !chunk.valid().is_ascii() && faults == Faults::Fail {
            return Err(malformed_error());
        }
        for character in chunk.valid().chars() {
            match (encoding, faults) {
                (Encoding::Ascii, Faults::Leave) if !character.is_ascii() => {}
                (Encoding::Ascii, _) if !character.is_ascii() => {
                    text.push_repeated("\u{fffd}", character.len_utf8())?;
                }
                _ => text.push(character)?,
            }
        }
        match faults {
            _ if chunk.invalid().is_empty() => {}
            Faults::Fail => return Err(malformed_error()),
            Faults::Leave => {}
            Faults::Replace => text.push('\u{fffd}')?,
        }
    }
    finish_text(text, false)
}

#[cold]
fn malformed_error() -> Error {
    Error::runtime("the bytes are not valid in that encoding")
}

fn hex<'a>(cx: &Context<'_, 'a>, receiver: &Value<'a>, arguments: &Arguments<'_, 'a>) -> Result<Value<'a>> {
    expect_none(arguments, "hex")?;
    let mut text = cx.heap.text();
    for byte in receiver.as_bytes().unwrap_or_default() {
        text.push_fmt(format_args!("{byte:02x}"))?;
    }
    finish_text(text, false)
}
