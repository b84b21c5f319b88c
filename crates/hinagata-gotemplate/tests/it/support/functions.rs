//! The functions that the recorded cases register, as `tests/vectors/gotemplate/README.md` defines them.
//!
//! They are no part of the product. The conformance runner uses this file too.

use hinagata_gotemplate::{Integers, is_nil, sprint, sprintf, type_name};
use hinagata_value::{
    Arguments, Closure, Error, Functions, Heap, Host, Number, Result, Signature, Type, Value,
};

/// All of them, for data whose numbers are read as `integers` says.
pub(crate) fn functions(integers: Integers) -> Functions {
    use Type::{Any, Bool, Float, Int, List, Map, String as Str};
    let mut functions = Functions::new();
    let mut add = Adder(&mut functions);
    add.typed("upper", &[Str], None, Str, false, |host, args| map_case(host, args, to_upper));
    add.typed("lower", &[Str], None, Str, false, |host, args| map_case(host, args, to_lower));
    add.typed("join", &[List, Str], None, Str, false, move |host, args| join(host, args, integers));
    add.typed("add", &[Int, Int], None, Int, false, |_, args| {
        let int = |at: usize| args.positional[at].as_i64().unwrap_or_default();
        Ok(Value::Int(int(0).wrapping_add(int(1))))
    });
    add.typed("concat", &[], Some(Any), Str, false, move |host, args| {
        let mut bytes = Vec::new();
        for value in args.positional {
            push_sprint(&mut bytes, host.heap, value, integers)?;
        }
        host.heap.bytes(&bytes)
    });
    add.typed("fail", &[Str], None, Str, true, |_, args| {
        let message = args.positional[0].as_bytes().unwrap_or_default();
        Err(Error::runtime(String::from_utf8_lossy(message)))
    });
    add.typed("lookup", &[Str], None, Map, true, lookup);
    add.typed("list", &[], Some(Any), List, false, |host, args| {
        host.heap.list_of(args.positional.iter().cloned())
    });
    add.typed("dict", &[], Some(Any), Map, true, dict);
    add.typed("half", &[Float], None, Float, false, |_, args| {
        let number = args.positional[0].as_number();
        Ok(Value::Float(number.map_or(f64::NAN, Number::as_f64) / 2.0))
    });
    add.typed("yesno", &[Bool], None, Str, false, |host, args| {
        host.heap.string(if args.positional[0].as_bool() == Some(true) { "yes" } else { "no" })
    });
    add.typed("version", &[], None, Str, false, |host, _| host.heap.string("v1.2.3"));
    add.typed("nothing", &[], None, Any, false, |_, _| Ok(Value::None));
    add.typed("echo", &[Any], None, Any, false, |_, args| Ok(args.positional[0].clone()));
    add.typed("boom", &[], None, Str, false, |_, _| Err(Error::runtime("kaboom")));
    add.typed("json", &[Any], None, Str, true, move |host, args| {
        let mut out = String::new();
        marshal(&mut out, host.heap, &args.positional[0], integers)?;
        host.heap.string(&out)
    });
    add.typed("fnval", &[Str], None, Any, true, |host, args| {
        let name = args.positional[0].as_str().unwrap_or_default();
        let known = ["upper", "add", "concat", "fail", "version", "half"].contains(&name);
        Ok(known.then(|| host.function(name)).flatten().unwrap_or_default())
    });
    functions
}

struct Adder<'f>(&'f mut Functions);

impl Adder<'_> {
    fn typed<F>(
        &mut self,
        name: &str,
        parameters: &[Type],
        rest: Option<Type>,
        result: Type,
        fails: bool,
        call: F,
    ) where
        F: for<'a> Fn(&Host<'_, 'a>, &Arguments<'_, 'a>) -> Result<Value<'a>> + Send + Sync + 'static,
    {
        let signature = Signature { parameters: parameters.to_vec(), rest, result, fails };
        self.0.insert(Closure::with_signature(name, signature, call));
    }
}

fn push_sprint<'a>(out: &mut Vec<u8>, heap: &Heap<'a>, value: &Value<'a>, integers: Integers) -> Result<()> {
    let text = sprint(heap, std::slice::from_ref(value), integers)?;
    out.extend_from_slice(text.as_bytes().unwrap_or_default());
    Ok(())
}

fn map_case<'a>(host: &Host<'_, 'a>, args: &Arguments<'_, 'a>, map: fn(char) -> char) -> Result<Value<'a>> {
    let bytes = args.positional[0].as_bytes().unwrap_or_default();
    let text: String = String::from_utf8_lossy(bytes).chars().map(map).collect();
    host.heap.string(&text)
}

/// The simple upper-case mapping: one character for one.
fn to_upper(c: char) -> char {
    match c {
        // Full mappings of these are longer; the simple ones are title-case letters.
        '\u{1f80}'..='\u{1faf}' if u32::from(c) & 8 == 0 => char::from_u32(u32::from(c) + 8).unwrap_or(c),
        '\u{1fb3}' | '\u{1fc3}' | '\u{1ff3}' => char::from_u32(u32::from(c) + 9).unwrap_or(c),
        _ => single(c.to_uppercase(), c),
    }
}

/// The simple lower-case mapping.
fn to_lower(c: char) -> char {
    if c == '\u{130}' { 'i' } else { single(c.to_lowercase(), c) }
}

fn single(mut mapped: impl Iterator<Item = char>, otherwise: char) -> char {
    match (mapped.next(), mapped.next()) {
        (Some(only), None) => only,
        _ => otherwise,
    }
}

fn join<'a>(host: &Host<'_, 'a>, args: &Arguments<'_, 'a>, integers: Integers) -> Result<Value<'a>> {
    let separator = args.positional[1].as_bytes().unwrap_or_default();
    let mut bytes = Vec::new();
    for (at, item) in host.heap.iter(&args.positional[0]).into_iter().flatten().enumerate() {
        if at > 0 {
            bytes.extend_from_slice(separator);
        }
        push_sprint(&mut bytes, host.heap, &item, integers)?;
    }
    host.heap.bytes(&bytes)
}

fn lookup<'a>(host: &Host<'_, 'a>, args: &Arguments<'_, 'a>) -> Result<Value<'a>> {
    let heap = host.heap;
    let text = |text: &str| heap.string(text);
    let map = |entries: Vec<(&str, Value<'a>)>| {
        let mut map = heap.map()?;
        for (key, value) in entries {
            map.insert(heap.string(key)?, value)?;
        }
        Ok(map.finish())
    };
    match args.positional[0].as_str() {
        Some("alice") => map(vec![
            ("name", text("Alice")?),
            ("age", Value::Int(30)),
            ("langs", heap.list_of([text("en")?, text("fr")?])?),
        ]),
        Some("bob") => map(vec![
            ("name", text("Bob")?),
            ("age", Value::Int(41)),
            ("langs", heap.list_of([])?),
            ("boss", map(vec![("name", text("Alice")?)])?),
        ]),
        Some("empty") => map(Vec::new()),
        Some("nil") => Ok(Value::None),
        _ => {
            let text = sprintf(heap, b"lookup: unknown name %q", args.positional, Integers::Float)?;
            Err(Error::runtime(text.as_str().unwrap_or_default()))
        }
    }
}

fn dict<'a>(host: &Host<'_, 'a>, args: &Arguments<'_, 'a>) -> Result<Value<'a>> {
    if !args.positional.len().is_multiple_of(2) {
        return Err(Error::runtime("dict: odd number of arguments"));
    }
    let mut map = host.heap.map()?;
    for (at, pair) in args.positional.chunks(2).enumerate() {
        if pair[0].as_bytes().is_none() {
            return Err(Error::runtime(format!("dict: key {at} is not a string")));
        }
        map.insert(pair[0].clone(), pair[1].clone())?;
    }
    Ok(map.finish())
}

/// Go's `json.Marshal`. Recursive: cases nest a little.
fn marshal<'a>(out: &mut String, heap: &Heap<'a>, value: &Value<'a>, integers: Integers) -> Result<()> {
    if is_nil(value) {
        out.push_str("null");
    } else if let Some(bytes) = value.as_bytes() {
        marshal_string(out, &String::from_utf8_lossy(bytes));
    } else if let Some(flag) = value.as_bool() {
        out.push_str(if flag { "true" } else { "false" });
    } else if let Some(number) = value.as_number() {
        match type_name(value, integers)?.as_ref() {
            "float64" => marshal_float(out, number.as_f64()),
            _ => out.push_str(&value.as_i64().unwrap_or(number.as_f64() as i64).to_string()),
        }
    } else if let Some(entries) = heap.entries(value) {
        let mut entries: Vec<_> = entries.collect();
        entries.sort_by(|(a, _), (b, _)| a.as_bytes().cmp(&b.as_bytes()));
        for (at, (key, value)) in entries.iter().enumerate() {
            out.push(if at == 0 { '{' } else { ',' });
            marshal_string(out, &String::from_utf8_lossy(key.as_bytes().unwrap_or_default()));
            out.push(':');
            marshal(out, heap, value, integers)?;
        }
        out.push_str(if entries.is_empty() { "{}" } else { "}" });
    } else if let Some(items) = heap.iter(value) {
        out.push('[');
        for (at, item) in items.enumerate() {
            if at > 0 {
                out.push(',');
            }
            marshal(out, heap, &item, integers)?;
        }
        out.push(']');
    } else {
        return Err(Error::runtime(format!("json: unsupported type: {}", type_name(value, integers)?)));
    }
    Ok(())
}

fn marshal_string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\x08' => out.push_str("\\b"),
            '\x0c' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\x1f' => {
                out.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

fn marshal_float(out: &mut String, value: f64) {
    let size = value.abs();
    if size != 0.0 && !(1e-6..1e21).contains(&size) {
        let text = format!("{value:e}");
        let plus = if text.contains("e-") { "e" } else { "e+" };
        out.push_str(&text.replace('e', plus));
    } else {
        out.push_str(&format!("{value}"));
    }
}
