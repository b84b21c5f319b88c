//! A step takes about the same time whatever a template does: work that grows with the data is charged by
//! the data it touches. `bench/run steps` measures the time of a step; these tests count the steps.

use hinagata_jinja::{Data, NoTemplates, ParseOptions, Render, Run, Settings, Template};
use hinagata_value::{Budget, Calls, Functions, Heap, Keep, Limits, Off, Output};
use serde_json::{Map, Value as Json, json};

/// The length of the long texts in bytes.
const BYTES: usize = 1 << 17;

/// The number of keys of the wide map.
const KEYS: usize = 20_000;

fn data() -> Json {
    let text = "ab ".repeat(BYTES / 3);
    let schemes: Vec<_> = (0..500).map(|number| format!("scheme{number}:")).collect();
    let map: Map<String, Json> = (0..KEYS).map(|number| (format!("k{number}"), json!(number))).collect();
    json!({
        "text": text, "other": text.clone(), "digits": "1".repeat(BYTES), "spaces": " ".repeat(BYTES),
        "hyphens": "-".repeat(BYTES), "schemes": schemes, "map": map, "list": vec![text.clone(); 20],
    })
}

/// The steps that a template takes on the data.
fn steps(source: &str, data: &Json) -> u64 {
    let limits = Limits { steps: u64::MAX >> 8, bytes: 1 << 30, fill: 1 << 28, ..Limits::default() };
    let template = Template::compile("t", source, &ParseOptions::default(), &limits).expect("compiles");
    let (settings, calls, loaded, budget) =
        (Settings::default(), Calls::new(), Keep::new(), Budget::new(limits));
    {
        let heap = Heap::new(&budget);
        let run = Run {
            heap: &heap,
            settings: &settings,
            loader: &NoTemplates,
            outside: &(),
            functions: Functions::empty(),
            calls: &calls,
            loaded: &loaded,
            number: 0,
        };
        let mut out = Output::<Off>::with_capacity(&budget, 0).expect("fits");
        run.render(&template, Data::Variables(data), &mut out)
            .unwrap_or_else(|error| panic!("{source}: {error}"));
    }
    budget.steps_used()
}

#[test]
fn what_goes_over_a_text_is_charged_by_its_bytes() {
    let data = data();
    for source in [
        "{{ text is sameas(other) }}",
        "{{ text == other }}",
        "{{ text is eq other }}",
        "{{ text < other }}",
        "{{ text|tojson|length }}",
        "{{ text.find('x') }}",
        "{{ text.rfind('x') }}",
        "{{ text.count('x') }}",
        "{{ text.partition('x')|length }}",
        "{{ text.rpartition('x')|length }}",
        "{{ text.removeprefix(other)|length }}",
        "{{ text.removesuffix(other)|length }}",
        "{{ text.startswith(other) }}",
        "{{ 'x' in text }}",
        "{{ text in list }}",
        "{{ digits|float }}",
        "{{ digits|int(base=99, default=1) }}",
        "{{ spaces|trim }}",
        "{{ 'x'|trim(text) }}",
        "{{ text.strip(other)|length }}",
        "{{ list|sort|length }}",
        "{{ list|unique|list|length }}",
        "{{ list|groupby(0)|length }}",
        "{{ hyphens|wordwrap(70)|length }}",
        "{{ map[text] }}",
        "{{ text in map }}",
        "{{ map.get(text) }}",
    ] {
        let taken = steps(source, &data);
        assert!(taken >= BYTES as u64 / 64, "{source} takes {taken} steps for {BYTES} bytes");
    }
}

#[test]
fn what_goes_over_items_is_charged_by_their_number() {
    let data = data();
    let macros = "{% macro f() %}{{ kwargs|length }}{% endmacro %}";
    let params: String = (0..3_000).map(|number| format!("a{number}=1, ")).collect();
    let targets: String = (0..3_000).map(|number| format!("a{number}, ")).collect();
    for (source, items) in [
        ("{{ dict(**map)|length }}".to_owned(), KEYS),
        ("{% set x = namespace(**map) %}".to_owned(), KEYS),
        ("{% set d = {} %}{% do d.update(**map) %}".to_owned(), KEYS),
        (format!("{macros}{{{{ f(**map) }}}}"), KEYS),
        ("{{ '{k1}{k19999}'.format(**map) }}".to_owned(), KEYS),
        ("{{ map == map.copy() }}".to_owned(), KEYS),
        ("{{ 5 in map.values() }}{{ 'x' in map.values() }}".to_owned(), KEYS),
        ("{{ ('ab scheme:x ' * 100)|urlize(extra_schemes=schemes)|length }}".to_owned(), 500 * 100),
        (format!("{{% macro g({params}z=1) %}}{{% endmacro %}}{{{{ g() }}}}"), 1_000),
        (format!("{{% set {targets} z = range(3001) %}}"), 3_000),
        ("{{ 1e300|round(300) }}".to_owned(), 50),
        ("{{ '%.1000f' % 1.5 }}".to_owned(), 100),
    ] {
        let taken = steps(&source, &data);
        assert!(
            taken >= items as u64,
            "{} takes {taken} steps for {items} items",
            &source[..source.len().min(60)]
        );
    }
}

/// With quadratic time this would not end in a reasonable time.
#[test]
fn named_arguments_of_a_wide_map_are_gone_over_once() {
    let source = "{% macro f() %}{{ kwargs|length }}{% endmacro %}{% for _ in range(5) %}\
        {% set a = dict(**map) %}{% set b = namespace(**map) %}{% do a.update(**map) %}{% set c = f(**map) %}\
        {% set d = '{k1}{k2}{k19999}'.format(**map) %}{% endfor %}done";
    let template =
        Template::compile("t", source, &ParseOptions::default(), &Limits::default()).expect("compiles");
    assert_eq!(Render::new().render_text(&template, &data()).expect("within the limits"), "done");
}

/// Includes share the visible names, so many includes with many names do not take quadratic memory.
#[test]
fn many_includes_beside_many_names_stay_small() {
    let names: String = (0..6_000).map(|number| format!("{{% set a{number} = 1 %}}")).collect();
    let includes = "{% for x in [] %}{% include 'u' %}{% endfor %}".repeat(2_500);
    let source = names + &includes;
    let compiled = allocation_counter::measure(|| {
        let template = Template::compile("t", &source, &ParseOptions::default(), &Limits::default());
        assert!(template.is_ok());
    });
    assert!(compiled.bytes_max < 400 * source.len() as u64, "{} bytes at once", compiled.bytes_max);
}
