//! What the templates are measured on: long texts, long lists, wide maps, deep ones.

use serde_json::{Map, Value, json};

const LETTERS: usize = 100_000;
const ITEMS: usize = 10_000;
const KEYS: usize = 8_000;

/// The variables of every case, in both languages.
pub(crate) fn sample_data() -> Value {
    let mut data = Map::new();
    for part in [scalars(), plain_texts(), marked_texts(), containers()] {
        if let Value::Object(entries) = part {
            data.extend(entries);
        }
    }
    Value::Object(data)
}

fn scalars() -> Value {
    json!({
        "i": 12_345, "f": 1234.5625, "tiny": 5e-324, "huge": 1.7e308, "big": 170_141_183_460_469_i64,
        "yes": true, "nothing": null, "short": "a short text",
    })
}

fn plain_texts() -> Value {
    json!({
        "t": "The quick brown fox jumps over the lazy dog.\n".repeat(LETTERS / 45),
        "u": "Zażółć gęślą jaźń 日本語テキスト 🦀 ÅÉÎ\n".repeat(LETTERS / 32),
        "one": "a".repeat(LETTERS), "other": "a".repeat(LETTERS), "uone": "é".repeat(LETTERS),
        "upper": "A".repeat(LETTERS), "title": "Aa ".repeat(LETTERS / 3),
        "digits": "1".repeat(LETTERS), "zeros": "0".repeat(LETTERS), "spaces": " ".repeat(LETTERS),
        "tabs": "\t".repeat(LETTERS / 10), "lines": "\n".repeat(LETTERS), "quotes": "'\"\\".repeat(LETTERS / 3),
        "control": "\u{1}".repeat(LETTERS), "astral": "\u{e0001}".repeat(LETTERS / 4),
    })
}

fn marked_texts() -> Value {
    json!({
        "html": "<b a='1'>x</b> &amp; &lt; \"q\" ".repeat(LETTERS / 30), "amps": "&".repeat(LETTERS),
        "open": "<".repeat(LETTERS), "entities": "&amp;".repeat(LETTERS / 5), "half_entities": "&a".repeat(LETTERS / 2),
        "urls": "see http://example.com/a?b=c and mail a@b.co (www.x.org) ".repeat(LETTERS / 58),
        "one_url": format!("http://example.com/{}", "a".repeat(LETTERS)),
        "parens": format!("http://example.com/{}", "(".repeat(LETTERS / 10)),
        "schemes": (0..1_000).map(|at| format!("scheme{at}:")).collect::<Vec<_>>(),
        "braces": "{0}".repeat(ITEMS), "named": "{k1}".repeat(ITEMS), "percents": "%(k1)s".repeat(ITEMS),
        "escaped_percents": "%%".repeat(ITEMS), "brackets": "%[".repeat(ITEMS),
        "flags": format!("%{}d", "0".repeat(LETTERS)), "stars": "%*".repeat(ITEMS), "days": "%Y-%m-%d ".repeat(ITEMS),
    })
}

fn containers() -> Value {
    let shuffled = |at: usize| (at * 7_919) % ITEMS;
    let numbers: Vec<usize> = (0..ITEMS).map(shuffled).collect();
    let floats: Vec<f64> = numbers.iter().map(|number| *number as f64 + 0.25).collect();
    let words: Vec<String> = numbers.iter().map(|number| format!("word {number}")).collect();
    let record =
        |number: &usize| json!({"k": format!("key{number}"), "n": number, "sub": {"x": number % 10}});
    let records: Vec<Value> = numbers.iter().map(record).collect();
    let pairs: Vec<Value> = words.iter().map(|word| json!([word, 1])).collect();
    let map: Value = (0..KEYS).map(|at| (format!("k{at}"), Value::from(shuffled(at)))).collect();
    // Equal up to their last item or letter: comparing them takes all of it.
    let lists: Vec<Value> = (0..200).map(|at| same_start(vec![json!(7); 500], json!(at))).collect();
    let longs: Vec<String> = (0..200).map(|at| format!("{}{at}", "x".repeat(10_000))).collect();
    let long_keys: Value = (0..300).map(|at| (format!("{}{at}", "y".repeat(1_000)), json!(at))).collect();
    json!({
        "l": numbers, "fl": floats, "ls": words, "lm": records, "pairs": pairs, "ll": lists, "longs": longs,
        "same": vec!["a"; ITEMS], "m": map, "long_keys": long_keys, "deep": nested(400),
        "wide": {"a": records_of(1_000), "b": records_of(1_000)},
    })
}

fn same_start(mut items: Vec<Value>, last: Value) -> Value {
    items.push(last);
    Value::Array(items)
}

fn nested(depth: usize) -> Value {
    (0..depth).fold(json!("inside"), |inner, _| json!([inner]))
}

fn records_of(count: usize) -> Vec<Value> {
    (0..count)
        .map(|at| json!({"id": at, "text": "some text \"quoted\"", "flag": true, "none": null}))
        .collect()
}
