//! Choosing a model by what it can do.

use std::cmp::Reverse;

/// A model that can be chosen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Model {
    /// Its name.
    pub model: String,
    /// Who serves it.
    pub provider: String,
    /// What it can do, such as `vision`, `tools`, `local`, `fast`.
    pub capabilities: Vec<String>,
    /// Most tokens of a prompt; `None` for no limit.
    pub max_input_tokens: Option<u64>,
    /// Most tokens of an answer; `None` for no limit.
    pub max_output_tokens: Option<u64>,
    /// What it costs.
    pub cost: Option<Cost>,
    /// Higher is chosen first.
    pub priority: i64,
    /// Whether it is switched off; [`select_best`] ignores it then.
    pub disabled: bool,
}

/// What a thousand tokens cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Tokens of a prompt.
    pub input: Option<f64>,
    /// Tokens of an answer.
    pub output: Option<f64>,
}

impl Model {
    /// `provider:model`.
    #[must_use]
    pub fn id(&self) -> String {
        format!("{}:{}", self.provider, self.model)
    }

    fn has_capability(&self, capability: &str) -> bool {
        self.capabilities.iter().any(|known| known == capability)
    }
}

/// What is preferred among models that can do what is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preferences {
    /// Models on this machine.
    pub local: bool,
    /// Fast ones.
    pub fast: bool,
    /// Those of a provider.
    pub provider: Option<String>,
    /// Providers that are not asked.
    pub exclude_providers: Vec<String>,
    /// Whether capabilities are given up, the last one first, when no model has all.
    pub lenient: bool,
}

/// The models that have all of `capabilities`, the preferred ones first.
#[must_use]
pub fn select_models<'m>(
    models: &'m [Model],
    capabilities: &[&str],
    preferences: &Preferences,
) -> Vec<&'m Model> {
    let mut wanted = capabilities;
    loop {
        let mut found: Vec<&Model> = models
            .iter()
            .filter(|model| !preferences.exclude_providers.contains(&model.provider))
            .filter(|model| wanted.iter().all(|capability| model.has_capability(capability)))
            .collect();
        match wanted.split_last() {
            Some((_, fewer)) if found.is_empty() && preferences.lenient => wanted = fewer,
            _ => {
                found.sort_by_key(|model| {
                    Reverse((
                        preferences.local && model.has_capability("local"),
                        preferences.provider.as_ref() == Some(&model.provider),
                        preferences.fast && model.has_capability("fast"),
                        model.priority,
                    ))
                });
                return found;
            }
        }
    }
}

/// What a model must have, should have, and must not have.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Criteria {
    /// Capabilities that it must have.
    pub required: Vec<String>,
    /// Capabilities that count in its favour.
    pub preferred: Vec<String>,
    /// Capabilities that it must not have.
    pub excluded: Vec<String>,
    /// Providers that may be asked; empty for all.
    pub providers: Vec<String>,
    /// Providers that are not asked.
    pub exclude_providers: Vec<String>,
    /// Tokens that a prompt may need.
    pub min_input_tokens: Option<u64>,
    /// Tokens that an answer may need.
    pub min_output_tokens: Option<u64>,
    /// Most that it may cost.
    pub max_cost: Cost,
    /// Whether one on this machine is preferred.
    pub local: bool,
    /// Whether a fast one is preferred.
    pub fast: bool,
}

/// The model that was chosen, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice<'m> {
    /// The model.
    pub model: &'m Model,
    /// How well it fits; more is better.
    pub score: i64,
    /// What counted in its favour.
    pub reasons: Vec<String>,
    /// What it lacks of what is preferred.
    pub warnings: Vec<String>,
}

/// The model that fits best; the first of several that fit equally.
#[must_use]
pub fn select_best<'m>(models: &'m [Model], criteria: &Criteria) -> Option<Choice<'m>> {
    let mut best: Option<Choice<'m>> = None;
    for model in models.iter().filter(|model| criteria.allows_model(model)) {
        let choice = criteria.score_model(model);
        if best.as_ref().is_none_or(|known| choice.score > known.score) {
            best = Some(choice);
        }
    }
    best
}

impl Criteria {
    fn allows_model(&self, model: &Model) -> bool {
        let at_least = |limit: Option<u64>, wanted: Option<u64>| match (limit, wanted) {
            (Some(limit), Some(wanted)) => limit >= wanted,
            _ => true,
        };
        let at_most = |cost: Option<f64>, most: Option<f64>| match (cost, most) {
            (Some(cost), Some(most)) => cost <= most,
            _ => true,
        };
        let cost = model.cost.unwrap_or_default();
        !model.disabled
            && self.required.iter().all(|capability| model.has_capability(capability))
            && !self.excluded.iter().any(|capability| model.has_capability(capability))
            && (self.providers.is_empty() || self.providers.contains(&model.provider))
            && !self.exclude_providers.contains(&model.provider)
            && at_least(model.max_input_tokens, self.min_input_tokens)
            && at_least(model.max_output_tokens, self.min_output_tokens)
            && at_most(cost.input, self.max_cost.input)
            && at_most(cost.output, self.max_cost.output)
    }

    fn score_model<'m>(&self, model: &'m Model) -> Choice<'m> {
        /// What a capability that is required, preferred, local or fast counts.
        const REQUIRED: i64 = 10;
        const PREFERRED: i64 = 5;
        const LOCAL: i64 = 20;
        const FAST: i64 = 15;
        let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        let (missing, present): (Vec<&String>, Vec<&String>) =
            self.preferred.iter().partition(|capability| !model.has_capability(capability));
        let mut score = count(self.required.len()) * REQUIRED + count(present.len()) * PREFERRED;
        let mut reasons = Vec::new();
        if self.local && model.has_capability("local") {
            score += LOCAL;
            reasons.push("Local execution preferred".to_owned());
        }
        if self.fast && model.has_capability("fast") {
            score += FAST;
            reasons.push("Fast response preferred".to_owned());
        }
        if !self.required.is_empty() {
            reasons.push(format!("Meets all required capabilities: {}", self.required.join(", ")));
        }
        score += model.priority;
        if model.priority > 0 {
            reasons.push(format!("High priority ({})", model.priority));
        }
        let warnings = if missing.is_empty() {
            Vec::new()
        } else {
            let missing: Vec<&str> = missing.into_iter().map(String::as_str).collect();
            vec![format!("Missing preferred capabilities: {}", missing.join(", "))]
        };
        Choice { model, score, reasons, warnings }
    }
}
