//! Length is never depth: every production of the grammar, up to the longest source, goes through every stage on
//! a thread of the usual size and ends in a result or an error. In any build: frames are larger without
//! optimisation.

use crate::support::{
    productions::{PRODUCTIONS, data},
    run::on_stack,
};
use hinagata_gotemplate::{Context, Options, Set};
use hinagata_value::{Budget, Calls, Error, Functions, Heap, Limits, Output, Segments};

/// The size that Rust gives its threads.
const STACK: usize = 2 << 20;

/// The longest source, and shorter ones: what is refused at once when it is long may be read when it is not.
fn sizes() -> [usize; 4] {
    [300, 6_000, 60_000, Limits::default().source]
}

/// Enough for one turn of everything, so that no case takes long.
fn limits() -> Limits {
    Limits { steps: 500_000, ..Limits::default() }
}

/// Parses, analyses, runs with a record of origins, looks up places, and drops.
fn go_through(source: &str) -> Result<String, Error> {
    let functions = Functions::new();
    let mut set = Set::new(Options::default(), &functions);
    set.parse("main", source, &Budget::new(limits()))?;
    assert!(set.analyze_template("main").is_some(), "a template that was parsed can be analysed");
    let (data, calls) = (data(), Calls::new());
    let budget = Budget::new(limits());
    let heap = Heap::new(&budget);
    let mut output: Output<'_, Segments> = Output::new(&budget);
    let context =
        Context { heap: &heap, functions: &functions, calls: &calls, templates: &(), first_template: 0 };
    let result = set.execute("main", &data, &context, &mut output);
    let written = output.finish();
    let segments = written.provenance.segments();
    for segment in segments.iter().take(3).chain(segments.iter().rev().take(3)) {
        assert!(set.place(segment.site, 0).is_some() && set.excerpt_at(segment.site, 0).is_some());
    }
    result.and_then(|()| written.into_text())
}

#[test]
fn no_production_of_any_length_overflows_the_stack() {
    for production in PRODUCTIONS {
        for bytes in sizes() {
            let source = production.source(bytes);
            assert!(source.len() <= bytes.max(300), "{}: {} bytes", production.name, source.len());
            let result = on_stack(STACK, move || go_through(&source));
            if let Err(error) = result {
                assert!(
                    !error.message().is_empty() && error.message().len() < 3 * bytes,
                    "{}",
                    production.name
                );
            }
        }
    }
}

#[test]
fn what_stands_in_a_row_is_read_at_every_length() {
    for name in
        ["actions", "else if", "else with", "fields", "arguments", "stages", "declarations", "comments"]
    {
        let production = PRODUCTIONS.iter().find(|production| production.name == name).expect("is one");
        let source = production.source(Limits::default().source);
        let mut set = Set::new(Options::default(), &Functions::new());
        set.parse("main", &source, &Budget::new(Limits { steps: 200_000_000, ..Limits::default() }))
            .unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}
