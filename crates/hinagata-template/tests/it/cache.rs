//! The cache of compiled templates: never stale, bounded, one compilation for each content.

use std::sync::{Arc, Barrier};

use hinagata_gotemplate::Integers;
use hinagata_jinja::UndefinedMode;
use hinagata_template::{Cache, Language, MemorySources, Options, Render, SourceText, Template};
use hinagata_value::{ErrorKind, Limits};
use serde_json::json;

fn jinja(text: &str) -> SourceText {
    SourceText::new(Language::Jinja, text)
}

#[test]
fn a_changed_include_is_seen_by_the_next_render() {
    let cache = Cache::default();
    let options = Options::default();
    let mut sources = MemorySources::from_iter([("a.gotmpl", "{{template \"b.md\" .}}"), ("b.md", "one")]);
    let main = Template::compile(
        Language::Jinja,
        "main.md",
        "{% include 'a.gotmpl' %}{% include 'b.md' %}",
        &options,
        &Limits::default(),
    )
    .expect("compiles");
    let text = |sources: &MemorySources| {
        Render::new()
            .with_sources(sources)
            .with_cache(&cache)
            .render_text(&main, &json!({}))
            .expect("renders")
    };
    assert_eq!(text(&sources), "oneone");
    assert_eq!(text(&sources), "oneone");
    assert_eq!(cache.compiled_count(), 2, "each include is compiled once");
    sources.insert("b.md", "two");
    assert_eq!(text(&sources), "twotwo");
    assert_eq!(cache.compiled_count(), 3, "only what changed is compiled again");
    sources.insert("b.md", "one");
    assert_eq!(text(&sources), "oneone");
    assert_eq!(cache.compiled_count(), 3, "what was there before is still there");
}

#[test]
fn the_template_used_longest_ago_goes_first() {
    let cache = Cache::new(3);
    let options = Arc::new(Options::default());
    let get = |name: &str| {
        cache.get(name, &jinja(name), &options, &Limits::default()).expect("compiles");
        cache.compiled_count()
    };
    assert_eq!([get("a"), get("b"), get("c")], [1, 2, 3]);
    assert_eq!(get("a"), 3);
    assert_eq!(get("d"), 4, "b goes");
    assert_eq!(cache.len(), 3);
    assert_eq!([get("a"), get("c"), get("d")], [4, 4, 4]);
    assert_eq!(get("b"), 5);
    for number in 0..1000 {
        get(&number.to_string());
        assert!(cache.len() <= 3);
    }
    cache.clear();
    assert!(cache.is_empty());
}

#[test]
fn what_compiling_looks_at_is_part_of_the_key() {
    let cache = Cache::default();
    let base = Options::default();
    let mut trim = Options::default();
    trim.jinja.trim_blocks = true;
    let mut exact = Options::default();
    exact.go.integers = Integers::Exact;
    let strict = Options::default().with_undefined(UndefinedMode::Error);
    let limits = Limits::default();
    let text = |options: &Options, source: &SourceText| {
        let template = cache.get("t", source, &Arc::new(options.clone()), &limits).expect("compiles");
        Render::new().render_text(&template, &json!({"n": 1e6})).map_err(|error| error.kind())
    };
    let source = jinja("{% if true %}\nx{% endif %}{{ missing }}");
    assert_eq!(text(&base, &source).as_deref(), Ok("\nx"));
    assert_eq!(text(&trim, &source).as_deref(), Ok("x"));
    assert_eq!(cache.compiled_count(), 2);
    assert_eq!(
        text(&strict, &source),
        Err(ErrorKind::Undefined),
        "behaviour is that of the options asked for"
    );
    assert_eq!(text(&base, &source).as_deref(), Ok("\nx"));
    assert_eq!(cache.compiled_count(), 2, "what only a run looks at is not part of the key");
    let go = SourceText::new(Language::Go, "{{.n}}{{if true}}\nx{{end}}");
    assert_eq!(text(&base, &go).as_deref(), Ok("1e+06\nx"));
    assert_eq!(text(&exact, &go).as_deref(), Ok("1e+06\nx"));
    assert_eq!(cache.compiled_count(), 4);
}

#[test]
fn an_error_is_not_kept() {
    let cache = Cache::default();
    let options = Arc::new(Options::default());
    for attempt in 1..=3 {
        let error =
            cache.get("t", &jinja("{% if %}"), &options, &Limits::default()).expect_err("no template");
        assert_eq!(error.kind(), ErrorKind::Syntax);
        assert_eq!((cache.compiled_count(), cache.len()), (attempt, 0));
    }
}

#[test]
fn threads_that_ask_at_the_same_time_compile_once() {
    const THREADS: usize = 8;
    let cache = Cache::default();
    let options = Arc::new(Options::default());
    let source = jinja(&"{% if a %}{{ b|upper }}{% endif %}".repeat(500));
    let barrier = Barrier::new(THREADS);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                barrier.wait();
                cache.get("t", &source, &options, &Limits::default()).expect("compiles");
            });
        }
    });
    assert_eq!((cache.compiled_count(), cache.len()), (1, 1));
}

#[test]
fn a_cache_of_nothing_keeps_nothing() {
    let cache = Cache::new(0);
    let options = Arc::new(Options::default());
    for attempt in 1..=2 {
        cache.get("t", &jinja("x"), &options, &Limits::default()).expect("compiles");
        assert_eq!((cache.compiled_count(), cache.len()), (attempt, 0));
    }
}
