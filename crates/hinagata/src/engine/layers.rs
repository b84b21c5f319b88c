//! The variables of one render: layers of values, and one walk over them.
//!
//! Nothing is merged. [`Layers::hits`] walks from the strongest layer to the weakest; a lookup takes the first hit that
//! is visible, a trace takes all of them. Only values that a template can reach are fetched at all.
//!
//! A new layer is a variant of [`Layer`] and a [`LayerEntry`] that `fill.rs` inserts.

use std::{borrow::Cow, collections::BTreeSet, sync::Arc};

use hinagata_value::{Key, Variables};
use serde::Serialize;
use serde_json::{Map, Value};

use super::rendered::Warning;
use crate::{
    definition::{Parameter, ParameterClass, Parameters},
    store::StoreSnapshot,
    warn_of_long_number,
};

/// The name of all shared variables together.
const ENVIRONS: &str = "environs";

/// Where a value comes from; later ones win.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Layer {
    /// `defaults.json` of the workspace.
    Defaults,
    /// The default of a custom variable.
    Custom,
    /// The default of an optional variable.
    Optional,
    /// The engine itself.
    System,
    /// A shared variable of the store.
    Environ,
    /// The project directory of the caller.
    Project,
    /// Python of a pack.
    Provider,
    /// `agent.json`.
    Agent,
    /// The caller.
    Call,
    /// `pre_render` of the prompt.
    Hook,
}

impl Layer {
    /// The name in traces.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Defaults => "defaults",
            Self::Custom => "custom",
            Self::Optional => "optional",
            Self::System => "system",
            Self::Environ => "environ",
            Self::Project => "project",
            Self::Provider => "provider",
            Self::Agent => "agent",
            Self::Call => "call",
            Self::Hook => "hook",
        }
    }

    /// The layer of the default that `parameter` declares, in a prompt or in `defaults.json` of the workspace.
    pub(super) fn of_default(parameter: &Parameter, is_workspace: bool) -> Self {
        match parameter.class {
            _ if is_workspace => Self::Defaults,
            ParameterClass::Custom => Self::Custom,
            ParameterClass::Required | ParameterClass::Optional => Self::Optional,
        }
    }
}

/// Values of one layer.
#[derive(Debug)]
pub(super) struct LayerEntry<'a> {
    pub(super) layer: Layer,
    pub(super) values: LayerValues<'a>,
    pub(super) origin: Origin<'a>,
}

/// The values of a [`LayerEntry`]. An enum instead of a trait object, because templates look up every variable here.
#[derive(Debug)]
pub(super) enum LayerValues<'a> {
    Map(&'a Map<String, Value>),
    Owned(Map<String, Value>),
    /// Variables of the call that a store prompt declares; it sees the others under `variables` alone.
    Declared {
        call: &'a Map<String, Value>,
        only: &'a Parameters,
    },
    /// Shared variables by the first step of their ids, or by a whole dotted id, as a store prompt sees them.
    Store(Arc<StoreSnapshot>),
    /// All shared variables under the name `environs`.
    Environs(Arc<StoreSnapshot>),
}

/// Where the values of a [`LayerEntry`] come from, as traces show it.
#[derive(Debug)]
pub(super) enum Origin<'a> {
    /// The engine, under a reserved name, which no other layer can override.
    Reserved,
    /// One source for every name: a file, or the caller.
    Source(Cow<'a, str>),
    /// A path under `root`; `names` lists variables whose path differs from their name.
    Path { root: &'static str, names: &'a [(String, String)] },
    /// The place of each declaration.
    Declaration(&'a Parameters),
    /// The content of a file. The next hit of the same name, in the same layer, is the path of the file.
    File,
}

/// A value that [`Layers::hits`] found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hit<'h> {
    pub(super) value: &'h Value,
    pub(super) layer: Layer,
    pub(super) origin: &'h Origin<'h>,
    /// Whether templates can see it; `pre_render` hides every value that it does not return.
    pub(super) is_visible: bool,
}

/// The variables of one render.
#[derive(Debug, Default)]
pub(super) struct Layers<'a> {
    /// The strongest first.
    entries: Vec<LayerEntry<'a>>,
    /// How many entries, from the first, templates can see.
    visible: usize,
}

/// A name to look up: plain, or a [`Key`] that remembers where it was found last.
pub(super) trait Name {
    fn as_text(&self) -> &str;
    fn find_in<'m>(&self, map: &'m Map<String, Value>) -> Option<&'m Value>;
}

impl Name for str {
    fn as_text(&self) -> &str {
        self
    }

    fn find_in<'m>(&self, map: &'m Map<String, Value>) -> Option<&'m Value> {
        map.get(self)
    }
}

impl Name for Key {
    #[inline]
    fn as_text(&self) -> &str {
        self.name()
    }

    #[inline]
    fn find_in<'m>(&self, map: &'m Map<String, Value>) -> Option<&'m Value> {
        Key::find_in(self, map)
    }
}

impl LayerValues<'_> {
    #[inline]
    fn find(&self, name: &(impl Name + ?Sized)) -> Option<&Value> {
        match self {
            Self::Map(map) => name.find_in(map),
            Self::Owned(map) => name.find_in(map),
            Self::Declared { call, only } => {
                name.find_in(call).filter(|_| only.get(name.as_text()).is_some())
            }
            Self::Store(store) => shared_variable(store, name.as_text()),
            Self::Environs(store) => (name.as_text() == ENVIRONS).then_some(&store.tree),
        }
    }

    /// Every name with its value. A dotted id of the store is found by [`LayerValues::find`] and not listed.
    fn list(&self) -> Vec<(&str, &Value)> {
        let entries = |map| Map::iter(map).map(|(name, value)| (name.as_str(), value));
        match self {
            Self::Map(map) => entries(map).collect(),
            Self::Owned(map) => entries(map).collect(),
            Self::Declared { call, only } => {
                entries(call).filter(|(name, _)| only.get(name).is_some()).collect()
            }
            Self::Store(store) => store.tree.as_object().into_iter().flat_map(entries).collect(),
            Self::Environs(store) => vec![(ENVIRONS, &store.tree)],
        }
    }
}

/// The shared variable that a store prompt sees as `name`.
fn shared_variable<'s>(store: &'s StoreSnapshot, name: &str) -> Option<&'s Value> {
    if name.contains('.') { store.environ(name) } else { store.tree.get(name) }
}

impl Origin<'_> {
    /// The file, key or caller that the value of `name` came from.
    pub(super) fn describe(&self, name: &str) -> String {
        match self {
            Self::Reserved => name.to_owned(),
            Self::Source(source) => source.to_string(),
            Self::Path { root, names } => {
                let path = names.iter().find(|(known, _)| known == name).map_or(name, |(_, path)| path);
                format!("{root}.{path}")
            }
            Self::Declaration(parameters) => {
                let place = parameters.get(name).and_then(|parameter| parameter.place.as_ref());
                place.map(ToString::to_string).unwrap_or_default()
            }
            Self::File => "file".to_owned(),
        }
    }
}

impl LayerEntry<'_> {
    /// Reserved names are the strongest, and the content of a file is stronger than its path.
    fn strength(&self) -> (bool, Layer, bool) {
        (matches!(self.origin, Origin::Reserved), self.layer, matches!(self.origin, Origin::File))
    }
}

impl<'a> Layers<'a> {
    pub(super) fn with_capacity(entries: usize) -> Self {
        Self { entries: Vec::with_capacity(entries), visible: 0 }
    }

    /// Inserts an entry below those that are as strong or stronger, and gives its place.
    pub(super) fn insert(&mut self, entry: LayerEntry<'a>) -> usize {
        let strength = entry.strength();
        let visible = &self.entries[..self.visible];
        let place = visible.iter().position(|known| known.strength() < strength).unwrap_or(self.visible);
        self.entries.insert(place, entry);
        self.visible += 1;
        place
    }

    /// Inserts one value that belongs to this render alone.
    pub(super) fn insert_value(&mut self, layer: Layer, origin: Origin<'a>, name: &str, value: Value) {
        let values = LayerValues::Owned(Map::from_iter([(name.to_owned(), value)]));
        self.insert(LayerEntry { layer, values, origin });
    }

    /// Inserts the variables that `pre_render` returned, and hides every value but theirs and the reserved ones.
    pub(super) fn replace_visible(&mut self, returned: Map<String, Value>, hook_file: String) {
        let (values, origin) = (LayerValues::Owned(returned), Origin::Source(hook_file.into()));
        self.visible = self.insert(LayerEntry { layer: Layer::Hook, values, origin }) + 1;
    }

    /// Every value of a name, the strongest first.
    #[inline]
    pub(super) fn hits(&self, name: &(impl Name + ?Sized)) -> impl Iterator<Item = Hit<'_>> {
        self.entries.iter().enumerate().filter_map(|(place, entry)| {
            let value = entry.values.find(name)?;
            let is_visible = place < self.visible;
            Some(Hit { value, layer: entry.layer, origin: &entry.origin, is_visible })
        })
    }

    /// The hit that templates see.
    #[inline]
    pub(super) fn visible_hit(&self, name: &(impl Name + ?Sized)) -> Option<Hit<'_>> {
        // Visible entries come first: when the first hit is hidden, so are all.
        self.hits(name).next().filter(|hit| hit.is_visible)
    }

    /// The value of the variable `name`.
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.visible_value(name)
    }

    /// The value of the visible hit.
    #[inline]
    fn visible_value(&self, name: &(impl Name + ?Sized)) -> Option<&Value> {
        self.entries[..self.visible].iter().find_map(|entry| entry.values.find(name))
    }

    fn visible_entries(&self) -> impl DoubleEndedIterator<Item = &LayerEntry<'a>> {
        self.entries[..self.visible].iter()
    }

    /// All variables as one map, for Python.
    pub(super) fn flatten(&self) -> Map<String, Value> {
        let weakest_first = self.visible_entries().rev().flat_map(|entry| entry.values.list());
        weakest_first.map(|(name, value)| (name.to_owned(), value.clone())).collect()
    }

    /// Warnings about numbers that lost digits.
    pub(super) fn long_numbers(&self) -> Vec<Warning> {
        let passed = |entry: &&LayerEntry<'_>| !matches!(entry.origin, Origin::Reserved);
        let maps = self.visible_entries().filter(passed).filter_map(|entry| match &entry.values {
            LayerValues::Map(map) | LayerValues::Declared { call: map, .. } => Some(*map),
            LayerValues::Owned(map) => Some(map),
            LayerValues::Store(_) | LayerValues::Environs(_) => None,
        });
        maps.flat_map(long_numbers).collect()
    }

    /// The value at a dotted path.
    pub(super) fn at_path(&self, path: &str) -> Option<&Value> {
        let (root, rest) = path.split_once('.').unwrap_or((path, ""));
        value_at(self.get(root)?, rest)
    }
}

/// Warnings about numbers of `values` that lost digits.
pub(super) fn long_numbers(values: &Map<String, Value>) -> impl Iterator<Item = Warning> {
    values.iter().filter_map(|(name, value)| {
        warn_of_long_number(name, value).map(|error| Warning::new(name.as_str(), error))
    })
}

/// The value at a dotted path inside another one; an empty path is the value itself.
pub(super) fn value_at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.').filter(|part| !part.is_empty()).try_fold(value, |value, part| match value {
        Value::Object(map) => map.get(part),
        Value::Array(items) => items.get(part.parse::<usize>().ok()?),
        _ => None,
    })
}

impl Variables for Layers<'_> {
    fn find(&self, key: &Key) -> Option<&Value> {
        self.visible_value(key)
    }

    fn names(&self) -> Vec<&str> {
        let names: BTreeSet<&str> =
            self.visible_entries().flat_map(|entry| entry.values.list()).map(|(name, _)| name).collect();
        names.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        PromptId,
        definition::{self, Language},
    };

    fn map(value: &Value) -> Map<String, Value> {
        value.as_object().cloned().expect("is a map")
    }

    fn entry(layer: Layer, values: &Value) -> LayerEntry<'static> {
        LayerEntry {
            layer,
            values: LayerValues::Owned(map(values)),
            origin: Origin::Source(layer.as_str().into()),
        }
    }

    /// All views of the layers agree on these names.
    fn check_views(layers: &Layers<'_>, names: &[&str]) {
        let all = layers.flatten();
        for name in names {
            let first = layers.hits(*name).next().filter(|hit| hit.is_visible).map(|hit| hit.value);
            assert_eq!(layers.get(name), first, "{name}");
            assert_eq!(layers.find(&Key::new(*name)), first, "{name}");
            assert_eq!(all.get(*name), first, "{name}");
            assert_eq!(layers.names().contains(name), first.is_some(), "{name}");
        }
        assert_eq!(all.len(), layers.names().len());
    }

    #[test]
    fn later_layers_win_and_values_are_replaced_whole() {
        let mut layers = Layers::default();
        layers.insert(entry(Layer::System, &json!({"c": "system", "e": "system"})));
        layers.insert(entry(Layer::Call, &json!({"a": "call"})));
        layers.insert(entry(Layer::Environ, &json!({"e": "environ"})));
        layers.insert(entry(Layer::Agent, &json!({"a": "agent", "b": {"x": 1}})));
        layers.insert(entry(
            Layer::Optional,
            &json!({"a": "default", "b": {"x": 0, "y": 0}, "c": "", "d": "d"}),
        ));
        layers.insert(entry(Layer::Provider, &json!({"c": "provider"})));
        let value = |name: &str| layers.get(name).cloned();
        assert_eq!((value("a"), value("b")), (Some(json!("call")), Some(json!({"x": 1}))));
        assert_eq!((value("c"), value("d")), (Some(json!("provider")), Some(json!("d"))));
        assert_eq!(value("e"), Some(json!("environ")));
        check_views(&layers, &["a", "b", "c", "d", "e", "none"]);
        assert_eq!(layers.names(), ["a", "b", "c", "d", "e"]);
        assert_eq!((layers.at_path("b.x"), layers.at_path("b.y")), (Some(&json!(1)), None));
        let hits: Vec<Layer> = layers.hits("a").map(|hit| hit.layer).collect();
        assert_eq!(hits, [Layer::Call, Layer::Agent, Layer::Optional]);
    }

    #[test]
    fn what_pre_render_returns_hides_everything_but_reserved_names() {
        let mut layers = Layers::default();
        layers.insert(entry(Layer::Call, &json!({"a": 1})));
        layers.insert(entry(Layer::Provider, &json!({"git": 1})));
        layers.insert_value(Layer::System, Origin::Reserved, "system", json!({}));
        layers.replace_visible(map(&json!({"c": 3, "system": 1})), "prompt.py".to_owned());
        assert_eq!(
            (layers.get("a"), layers.get("c"), layers.get("system")),
            (None, Some(&json!(3)), Some(&json!({})))
        );
        check_views(&layers, &["a", "git", "c", "system"]);
        // A provider that a template reaches later is visible again.
        layers.insert(entry(Layer::Provider, &json!({"git": 2, "c": 4})));
        assert_eq!((layers.get("git"), layers.get("c")), (Some(&json!(2)), Some(&json!(3))));
        check_views(&layers, &["a", "git", "c", "system"]);
        let hidden: Vec<bool> = layers.hits("a").map(|hit| hit.is_visible).collect();
        assert_eq!(hidden, [false]);
    }

    #[test]
    fn every_view_of_a_store_prompt_has_its_shared_variables_and_declared_ones_of_the_call() {
        let id = PromptId::new("p").expect("is an id");
        let document = json!({"userPrompt": "x", "parameters": [{"name": "repo", "type": "string"}]});
        let declared = definition::definition_from_json(&id, "store:p", &document, Language::Go)
            .expect("reads")
            .parameters;
        let call = map(&json!({"repo": "r", "module": "of the call"}));
        let tree = json!({"module": {"name": "shared"}, "os": "shared"});
        let store = Arc::new(StoreSnapshot { tree: Arc::new(tree), ..StoreSnapshot::default() });
        let mut layers = Layers::default();
        let origin = || Origin::Path { root: ENVIRONS, names: &[] };
        layers.insert(LayerEntry {
            layer: Layer::Environ,
            values: LayerValues::Store(Arc::clone(&store)),
            origin: origin(),
        });
        layers.insert(LayerEntry {
            layer: Layer::Environ,
            values: LayerValues::Environs(store),
            origin: Origin::Reserved,
        });
        let values = LayerValues::Declared { call: &call, only: &declared };
        layers.insert(LayerEntry { layer: Layer::Call, values, origin: Origin::Source("call".into()) });
        layers.insert(entry(Layer::System, &json!({"os": "system"})));
        check_views(&layers, &["repo", "module", "os", "environs", "none"]);
        assert_eq!(layers.get("module.name"), Some(&json!("shared")));
        assert_eq!(layers.names(), ["environs", "module", "os", "repo"]);
        assert_eq!(layers.get("os"), Some(&json!("shared")));
    }
}
