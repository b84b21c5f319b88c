//! Checks of the prompts: what is found is kept until the prompts change.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hinagata::{Catalog, Diagnostic, Engine};
use hinagata_check::{Checker, Level};
use hinagata_host::OpenWorkspace;

/// The last check of all prompts.
#[derive(Default)]
pub(crate) struct PromptChecks(Mutex<Option<Checked>>);

struct Checked {
    catalog: Catalog,
    checker: Checker,
    diagnostics: Arc<Vec<Diagnostic>>,
}

impl PromptChecks {
    /// What is wrong with the prompts. It may take long, so it belongs on a blocking thread; callers at the same time
    /// check once.
    pub(crate) fn diagnostics(&self, workspace: &OpenWorkspace, engine: &Engine) -> Arc<Vec<Diagnostic>> {
        let mut known = self.lock();
        Arc::clone(&check(&mut known, workspace, engine).diagnostics)
    }

    /// The sources of the prompts that depend on one of these files.
    pub(crate) fn prompts_using(
        &self,
        workspace: &OpenWorkspace,
        engine: &Engine,
        files: &[String],
    ) -> Vec<String> {
        let mut known = self.lock();
        check(&mut known, workspace, engine).checker.prompts_using(files)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Checked>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn check<'k>(known: &'k mut Option<Checked>, workspace: &OpenWorkspace, engine: &Engine) -> &'k Checked {
    let catalog = engine.catalog().without_reach();
    let checked = match known.take().filter(|checked| checked.catalog.is_same_snapshot(&catalog)) {
        Some(checked) => checked,
        None => {
            let mut options = workspace.check_options(engine);
            options.more.extend(workspace.lock_problems(engine));
            let mut checker = Checker::new(options);
            checker.check_all(&catalog);
            let findings = checker.findings();
            let shown = findings.iter().filter(|finding| finding.level != Level::Hint);
            let diagnostics = Arc::new(shown.map(hinagata_check::Finding::to_diagnostic).collect());
            Checked { catalog, checker, diagnostics }
        }
    };
    known.insert(checked)
}
