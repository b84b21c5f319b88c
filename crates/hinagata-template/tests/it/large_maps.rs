//! Source maps of large and hostile renders take memory and work in proportion.

use hinagata_template::{Language, Options, Render, SourceMap, SpanKind, Template};
use hinagata_value::Limits;
use serde_json::{Value, json};

fn template(source: &str) -> Template {
    Template::compile(Language::Jinja, "t", source, &Options::default(), &Limits::default())
        .expect("compiles")
}

/// Checks that the spans cover the text without gaps and in order.
fn assert_covers(map: &SourceMap, text: &str) {
    let mut end = 0;
    for span in &map.spans {
        assert!(span.end > end && text.is_char_boundary(span.end), "in order, and none is empty");
        end = span.end;
    }
    assert_eq!(end, text.len());
}

/// The most bytes in use while a text of `count` values is rendered and mapped.
fn peak(count: usize) -> u64 {
    let template =
        template("{% for part in parts %}{{ part }}, which is followed by some text.\n{% endfor %}");
    let parts: Vec<String> = (0..count).map(|number| format!("{number:>70}")).collect();
    let data = json!({ "parts": parts });
    let info = allocation_counter::measure(|| {
        let recorded = Render::new().render_recorded(&template, &data).expect("renders");
        let (map, text) = (recorded.source_map(), &recorded.written.text);
        assert_eq!(map.spans.len(), 2 * count);
        assert!(map.is_complete && text.len() > 100 * count);
        assert_covers(&map, text);
    });
    info.bytes_max
}

#[test]
fn twenty_thousand_spans_of_a_megabyte_take_memory_in_proportion() {
    let (half, whole) = (peak(5_000), peak(10_000));
    assert!(whole < 16 << 20, "{whole} bytes for a text of a megabyte");
    assert!(whole * 10 < half * 23, "{whole} bytes, and {half} for half of it");
}

fn mapped(source: &str, data: &Value) -> SourceMap {
    let (template, render) = (template(source), Render::new());
    let recorded = render.render_recorded(&template, data).expect("renders");
    let map = recorded.source_map();
    assert_covers(&map, &recorded.written.text);
    map
}

#[test]
fn the_search_for_pieces_ends_and_says_so() {
    let data = json!({"big": "abcd".repeat(16 << 10), "x": "unchanged"});
    let source = "{% for turn in range(100000) %}{{ x ~ (1 if big else 2) }} {% endfor %}";
    let map = mapped(source, &data);
    assert!(!map.is_complete, "the rest was not searched");
    let found = map.spans.iter().filter(|span| matches!(span.kind, SpanKind::Value { .. })).count();
    assert!((1..10_000).contains(&found), "{found} pieces");
    let few = mapped("{% for turn in range(100) %}{{ x ~ (1 if big else 2) }} {% endfor %}", &data);
    assert!(few.is_complete);
}

#[test]
fn a_variable_that_grows_in_every_turn_keeps_its_inputs_small() {
    let numbers: Vec<usize> = (0..50_000).collect();
    let source = "{% set sum = namespace(value=0) %}{% for n in numbers %}{% set sum.value = sum.value + n %}\
                  {{ sum.value }} {% endfor %}";
    let map = mapped(source, &json!({ "numbers": numbers }));
    let members: usize = map.inputs.iter().map(Vec::len).sum();
    assert!(members <= 1 << 20, "{members}");
}
