//! Providers that dynamically included templates reach.
//!
//! A template whose name is known only during the run is analysed when the run reaches it, with every template that it
//! uses. If it needs providers, the pass stops, the providers run concurrently, and the next pass takes the same path
//! and continues. Providers of templates that are not included do not run.

use std::{
    cell::RefCell,
    collections::{BTreeSet, HashSet},
    sync::Arc,
};

use hinagata_template::{Options, analyze_graph};
use hinagata_value::Limits;

use super::{
    layers::Layers,
    pipeline::Call,
    plan::{PlannedProvider, WHOLE, namespace_conflict},
    sources::{Known, PromptSources, TemplateFile},
};
use crate::{Catalog, Error, Manifest, Result, definition::Parameters};

/// Analyses dynamically included templates during a pass.
pub(super) struct LateProviders<'r> {
    catalog: &'r Catalog,
    options: &'r Options,
    limits: &'r Limits,
    declared: &'r Parameters,
    layers: &'r Layers<'r>,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    /// Templates that need no more providers.
    checked: HashSet<String>,
    /// Namespaces that the pass stopped for.
    wanted: BTreeSet<String>,
}

impl<'r> LateProviders<'r> {
    pub(super) fn new(call: &Call<'r>, layers: &'r Layers<'r>) -> Self {
        Self {
            catalog: &call.snapshot.catalog,
            options: &call.plan.options,
            limits: &call.plan.limits,
            declared: &call.plan.inherited.parameters,
            layers,
            state: RefCell::default(),
        }
    }

    /// Whether the template `name` can run now. If not, records the namespaces that it needs.
    pub(super) fn is_ready(&self, name: &str, file: &Arc<TemplateFile>) -> bool {
        let mut state = self.state.borrow_mut();
        if state.checked.contains(name) {
            return true;
        }
        let mut missing = reached_namespaces(self.catalog, (self.options, self.limits), name, file);
        missing.retain(|namespace| !self.is_given(namespace));
        if missing.is_empty() {
            state.checked.insert(name.to_owned());
            return true;
        }
        state.wanted.extend(missing);
        false
    }

    /// Whether the prompt declares a variable of that name, or a layer has it. A variable that `pre_render` removed
    /// stays removed: no provider runs in its place.
    fn is_given(&self, namespace: &str) -> bool {
        self.declared.get(namespace).is_some() || self.layers.hits(namespace).next().is_some()
    }

    /// The namespaces that the pass stopped for.
    pub(super) fn into_wanted(self) -> Vec<String> {
        self.state.into_inner().wanted.into_iter().collect()
    }
}

/// The namespaces that a template reaches. Its errors are reported when it runs.
pub(super) fn reached_namespaces(
    catalog: &Catalog,
    (options, limits): (&Options, &Limits),
    name: &str,
    file: &Arc<TemplateFile>,
) -> BTreeSet<String> {
    let known = Known::with_entry(name, TemplateFile::clone(file));
    let sources = PromptSources::new(catalog, &known);
    let Ok(graph) = analyze_graph(name, &sources, options, limits) else {
        return BTreeSet::new();
    };
    let roots: HashSet<&str> = graph.variables.iter().map(|item| &*item.variable.path.root).collect();
    let is_read = |namespace: &String| roots.contains(WHOLE) || roots.contains(namespace.as_str());
    active_namespaces(catalog).into_iter().filter(is_read).collect()
}

/// The namespaces of all active packs.
pub(super) fn active_namespaces(catalog: &Catalog) -> BTreeSet<String> {
    let of_pack = |manifest: &Manifest| manifest.providers.iter().map(|one| one.namespace.clone()).collect();
    catalog.active_manifests().flat_map(|(_, manifest)| -> Vec<String> { of_pack(&manifest) }).collect()
}

/// The provider of a namespace, whether templates reach it or not.
///
/// # Errors
/// Code `conflict` when two active packs provide it.
pub(super) fn find_provider(catalog: &Catalog, namespace: &str) -> Result<Option<PlannedProvider>, Error> {
    let mut found: Option<PlannedProvider> = None;
    for (pack, manifest) in catalog.active_manifests() {
        let Some(provider) = manifest.providers.iter().find(|one| one.namespace == namespace) else {
            continue;
        };
        if let Some(other) = &found {
            return Err(namespace_conflict(namespace, &other.pack, pack));
        }
        found = Some(PlannedProvider { pack: pack.clone(), provider: provider.clone() });
    }
    Ok(found)
}
