//! Length is never depth: every production of Go's grammar, at every length, is compiled, analysed, rendered with
//! its origins, cut into messages and dropped on a thread of the usual size.

#[path = "../../../hinagata-gotemplate/tests/it/support/productions.rs"]
mod productions;

use hinagata_template::{Language, Options, Render, Template};
use hinagata_value::{Error, Limits};
use productions::{PRODUCTIONS, data};

/// The size that Rust gives its threads.
const STACK: usize = 2 << 20;

fn go_through(source: &str) -> Result<(), Error> {
    let limits = Limits { steps: 500_000, ..Limits::default() };
    let template = Template::compile(Language::Go, "main.gotmpl", source, &Options::default(), &limits)?;
    drop(template.analysis().clone());
    let (data, render) = (data(), Render::new().with_limits(limits));
    render.render_messages(&template, &data)?;
    let mapped = render.render_mapped(&template, &data)?;
    let end = mapped.map.spans.last().map_or(0, |span| span.end);
    assert_eq!(end, mapped.written.text.len(), "every piece has an origin");
    Ok(())
}

#[test]
fn no_production_of_go_overflows_the_stack_at_any_length() {
    for production in PRODUCTIONS {
        for bytes in [300, 20_000, Limits::default().source] {
            let source = production.source(bytes);
            let work = move || go_through(&source).map_err(|error| error.message().len());
            let thread = std::thread::Builder::new().stack_size(STACK).spawn(work).expect("a thread starts");
            let result = thread.join().unwrap_or_else(|_| panic!("{} panicked", production.name));
            assert!(result.is_ok() || result.is_err_and(|message| message > 0), "{}", production.name);
        }
    }
}
