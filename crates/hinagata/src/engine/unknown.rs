//! Finds variables of a call that have no effect.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{
    Engine,
    plan::Plan,
    rendered::Warning,
    validate::{RESERVED, UnknownVariable},
};
use crate::{Code, Error};

/// Maximum names in one warning.
const LISTED: usize = 10;

/// The variables of a call that a prepared prompt can use: doors that convert values convert those only.
#[derive(Clone)]
pub struct UsedVariables(Arc<Plan>);

impl UsedVariables {
    /// Whether the value of the variable `name` can have an effect. If in doubt, it can.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        let plan = &*self.0;
        !plan.reads_are_known() || plan.has_aliases || plan.is_known(name) || RESERVED.contains(&name)
    }
}

impl Engine {
    /// The variables that calls of `prompt` can use; `None` if the prompt has not been rendered yet under this name.
    #[must_use]
    pub fn used_variables(&self, prompt: &str) -> Option<UsedVariables> {
        self.current().0.plans.get(prompt).map(UsedVariables)
    }
}

impl Plan {
    /// Whether a variable called `name` is declared or read by a template.
    pub(super) fn is_known(&self, name: &str) -> bool {
        self.reads.can_reach(name) || self.inherited.parameters.get(name).is_some()
    }

    /// Whether the analysis knows every variable that is read. Hooks, and templates that take all variables together, can
    /// read any.
    fn reads_are_known(&self) -> bool {
        !self.reads.anything && !self.inherited.definition.hooks.has_any() && !self.fetches.call
    }

    /// The variables of a call that have no effect. If the analysis does not know all reads, only likely misspellings of
    /// declared names.
    pub(super) fn unknown_variables(&self, call: &Map<String, Value>) -> Vec<UnknownVariable> {
        let known = self.reads_are_known();
        let declared = self.inherited.parameters.iter().map(|parameter| parameter.name.as_str());
        let read = self.reads.roots().filter(|_| known);
        let open: Vec<&str> = declared
            .chain(read)
            .filter(|name| !call.contains_key(*name) && !RESERVED.contains(name))
            .collect();
        let is_unknown =
            |name: &str| !self.reads.roots_contain(name) && self.inherited.parameters.get(name).is_none();
        let names = call.keys().filter(|name| is_unknown(name) && !RESERVED.contains(&name.as_str()));
        let unknown = names.map(|name| UnknownVariable {
            name: name.clone(),
            near: hinagata_value::near_names(name, open.iter().copied()),
        });
        unknown.filter(|unknown| known || !unknown.near.is_empty()).collect()
    }

    /// Warnings about unknown variables: one for each likely misspelling, and one for the others.
    pub(super) fn warn_of_unknown(&self, unknown: &[UnknownVariable]) -> Vec<Warning> {
        let verb = if self.reads_are_known() { "neither declares nor reads" } else { "does not declare" };
        let warning = |about: &str, what: String| {
            Warning::new(about, Error::new(Code::Validation, format!("the prompt {verb} {what}")))
        };
        let (slips, others): (Vec<_>, Vec<_>) = unknown.iter().partition(|unknown| !unknown.near.is_empty());
        let mut all: Vec<Warning> = Vec::new();
        for UnknownVariable { name, near } in slips {
            let mut slip = warning(name, format!("the variable `{name}`"));
            slip.error = slip.error.with_near(near.clone());
            all.push(slip);
        }
        let names: Vec<String> =
            others.iter().take(LISTED).map(|unknown| format!("`{}`", unknown.name)).collect();
        let more = match others.len().saturating_sub(LISTED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        match others.as_slice() {
            [] => {}
            [one] => all.push(warning(&one.name, format!("the variable `{}`", one.name))),
            [first, ..] => {
                all.push(warning(&first.name, format!("the variables {}{more}", names.join(", "))));
            }
        }
        all
    }
}
