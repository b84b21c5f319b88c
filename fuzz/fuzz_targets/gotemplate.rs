//! Any Go templates on any data: they parse and execute, or fail, within their limits.
#![no_main]

mod input;

use hinagata_gotemplate::{Context, Integers, MissingKey, Options, Set};
use hinagata_value::{Budget, Calls, Functions, Heap, Output, Segments};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some(input) = input::read(bytes) else { return };
    // Which options are used depends on the input, and is the same for the same input.
    let choice = bytes.len();
    let options = Options {
        missing_key: [MissingKey::Invalid, MissingKey::Zero, MissingKey::Error][choice % 3],
        integers: if choice % 2 == 0 { Integers::Exact } else { Integers::Float },
        ..Options::default()
    };
    let functions = Functions::empty();
    let budget = Budget::new(input::limits());
    let mut set = Set::new(options, functions);
    for (number, source) in input.sources.iter().enumerate() {
        if set.parse(&format!("t{number}"), source, &budget).is_err() {
            return;
        }
    }
    let _ = set.analyze_template("t0");
    let calls = Calls::new();
    let heap = Heap::new(&budget);
    let mut out = Output::<Segments>::new(&budget);
    let context = Context { heap: &heap, functions, calls: &calls, templates: &(), first_template: 0 };
    let _ = set.execute("t0", &input.data, &context, &mut out);
    let written = out.finish();
    if let Some(last) = written.provenance.segments().last() {
        let _ = (set.place(last.site, 0), set.shown(last.site, 0));
    }
    assert!(budget.bytes_peak() <= budget.limits().bytes + (256 << 10), "{} bytes", budget.bytes_peak());
});
