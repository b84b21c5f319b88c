//! Adapts the product's Go template engine to recorded cases, under Go's own limits.

use hinagata_gotemplate::{Context, Integers, MissingKey, Options, Set, go_limits};
use hinagata_value::{Budget, Calls, Functions, Heap, Output};

use crate::kinds::gotemplate::{self, GoCase, GoEngine, GoOutcome};

// The functions that the cases register are not part of the product. Its tests need them too.
#[path = "../../../hinagata-gotemplate/tests/it/support/functions.rs"]
mod functions;

/// The engine as the product ships it.
#[derive(Clone, Copy, Debug, Default)]
pub struct GoTemplate;

impl GoTemplate {
    /// Whether this build has the engine.
    pub const READY: bool = true;
}

/// The stack available to a run. Go's own limits are reached first.
const STACK: usize = gotemplate::BOUNDS.stack - (16 << 20);

/// How the templates of a case are parsed and behave, and the functions that they call.
pub fn go_options(case: &GoCase) -> (Options, Functions) {
    let integers = if case.ints { Integers::Exact } else { Integers::Float };
    let (left, right) = case.delimiters.clone().unwrap_or_default();
    let missing_key = match case.missing_key {
        gotemplate::MissingKey::Default | gotemplate::MissingKey::Invalid => MissingKey::Invalid,
        gotemplate::MissingKey::Zero => MissingKey::Zero,
        gotemplate::MissingKey::Error => MissingKey::Error,
    };
    (Options { left, right, missing_key, integers }, functions::functions(integers))
}

impl GoEngine for GoTemplate {
    fn render_case(&self, case: &GoCase) -> GoOutcome {
        let (options, functions) = go_options(case);
        let budget = Budget::new(go_limits(STACK));
        let mut set = Set::new(options, &functions);
        for (name, source) in &case.sources {
            if let Err(error) = set.parse(name, source, &budget) {
                return GoOutcome::ParseError(error.message().to_owned());
            }
        }
        let calls = Calls::new();
        let heap = Heap::new(&budget);
        let mut output: Output<'_> = Output::new(&budget);
        let context =
            Context { heap: &heap, functions: &functions, calls: &calls, templates: &(), first_template: 0 };
        let result = set.execute(&case.entry, &case.data, &context, &mut output);
        let written = output.finish().into_bytes();
        match result {
            Ok(()) => GoOutcome::Output(written),
            Err(error) => GoOutcome::ExecError { message: error.message().to_owned(), partial: written },
        }
    }
}
