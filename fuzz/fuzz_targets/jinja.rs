//! Any Jinja templates on any data: they compile and render, or fail, within their limits.
#![no_main]

mod input;

use std::collections::HashMap;

use hinagata_jinja::{
    Data, Loader, ParseOptions, Run, Settings, Source, Sources, UndefinedMode, analyze_template, parse,
};
use hinagata_value::{Budget, Calls, Functions, Heap, Keep, Output, Segments};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some(input) = input::read(bytes) else { return };
    let limits = input::limits();
    let named = input.sources.iter().enumerate();
    let sources: HashMap<_, _> =
        named.map(|(number, source)| (format!("t{number}"), source.clone())).collect();
    let options = ParseOptions { generation: true, ..ParseOptions::default() };
    for source in &input.sources {
        if let Ok(tree) = parse("t", source, &options, &Budget::new(limits.clone())) {
            let _ = analyze_template(&tree, &Source::new("t", source.as_str()));
        }
    }
    let loader = Sources::new(sources, options, limits.clone());
    let Ok(Some(template)) = loader.load("t0") else { return };
    // Which settings are used depends on the input, and is the same for the same input.
    let choice = bytes.len();
    let settings = Settings {
        undefined: [UndefinedMode::Empty, UndefinedMode::Jinja, UndefinedMode::Error, UndefinedMode::Debug]
            [choice % 4],
        autoescape: choice % 3 == 0,
        immutable: choice % 5 == 0,
        chat_host: choice % 2 == 0,
        ..Settings::default()
    };
    let budget = Budget::new(limits);
    let (loaded, calls) = (Keep::new(), Calls::new());
    let heap = Heap::new(&budget);
    let run = Run {
        heap: &heap,
        settings: &settings,
        loader: &loader,
        outside: &(),
        functions: Functions::empty(),
        calls: &calls,
        loaded: &loaded,
        number: 0,
    };
    let mut out = Output::<Segments>::new(&budget);
    let _ = run.render(&template, Data::Variables(&input.data), &mut out);
    let written = out.finish();
    if let Some(last) = written.provenance.segments().last() {
        let _ = template.source().line_column(last.site.node);
    }
    assert!(budget.bytes_peak() <= budget.limits().bytes + (256 << 10), "{} bytes", budget.bytes_peak());
});
