//! The variables of one render, each with the layer it came from.
//!
//! Nothing is merged: a name is looked up layer by layer, and only what a template can reach is fetched at all.

use std::sync::Arc;

use hinagata_value::{Key, Variables};
use serde::Serialize;
use serde_json::{Map, Value};

use super::rendered::Warning;
use crate::{definition::Parameters, long_number, store::StoreSnapshot};

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
            Self::Provider => "provider",
            Self::Agent => "agent",
            Self::Call => "call",
            Self::Hook => "hook",
        }
    }
}

/// The variables of one render.
#[derive(Debug)]
pub(super) struct Layers<'a> {
    /// Reserved names: nothing stands in their place.
    pub(super) over: Map<String, Value>,
    /// Contents of files that the caller named: they stand in the place of what was given.
    pub(super) files: Map<String, Value>,
    pub(super) call: Option<&'a Map<String, Value>>,
    pub(super) agent: Option<&'a Map<String, Value>>,
    /// The shared variables: one state of the store, not copied.
    pub(super) environs: Option<Arc<StoreSnapshot>>,
    /// What a prompt of the store declares. Such a prompt sees shared variables as its own, and of what the
    /// caller gives only what it declares; the rest is under `variables`.
    pub(super) of_store: Option<&'a Parameters>,
    /// What the engine fetched, each with its layer; a name once.
    pub(super) fetched: Vec<(Layer, String, Value)>,
    /// Defaults of declarations.
    pub(super) defaults: &'a Map<String, Value>,
    /// All variables after `pre_render`, in the place of everything else but the reserved names.
    pub(super) replaced: Option<Map<String, Value>>,
    /// The variables before `pre_render`, where somebody wants to know what it changed.
    pub(super) before: Option<Map<String, Value>>,
    /// Namespaces that were fetched after `pre_render`, when a template first reached them.
    pub(super) late: Vec<String>,
}

impl<'a> Layers<'a> {
    pub(super) fn new(call: Option<&'a Map<String, Value>>, defaults: &'a Map<String, Value>) -> Self {
        Self {
            over: Map::new(),
            files: Map::new(),
            call,
            agent: None,
            environs: None,
            of_store: None,
            fetched: Vec::new(),
            defaults,
            replaced: None,
            before: None,
            late: Vec::new(),
        }
    }

    /// The value called `name`.
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        if let Some(value) = self.over.get(name) {
            return Some(value);
        }
        if let Some(store) = self.environs.as_ref().filter(|_| name == ENVIRONS) {
            return Some(&store.tree);
        }
        if let Some(all) = &self.replaced {
            return all.get(name).or_else(|| self.fetched_late(name));
        }
        self.files
            .get(name)
            .or_else(|| self.given(name))
            .or_else(|| self.agent.and_then(|agent| agent.get(name)))
            .or_else(|| self.fetched.iter().find(|(_, known, _)| known == name).map(|(_, _, value)| value))
            .or_else(|| self.environ(name))
            .or_else(|| self.defaults.get(name))
    }

    /// What was fetched as `name` after `pre_render`.
    fn fetched_late(&self, name: &str) -> Option<&Value> {
        let late = self.late.iter().any(|known| known == name);
        self.fetched.iter().find(|(_, known, _)| late && known == name).map(|(_, _, value)| value)
    }

    /// What the caller gives as the variable `name`.
    pub(super) fn given(&self, name: &str) -> Option<&'a Value> {
        self.call.filter(|_| self.takes(name)).and_then(|call| call.get(name))
    }

    /// Whether a name of the caller is a variable.
    fn takes(&self, name: &str) -> bool {
        self.of_store.is_none_or(|declared| declared.get(name).is_some())
    }

    /// The shared variable that a prompt of the store sees as `name`: a step of its id, or all of it.
    pub(super) fn environ(&self, name: &str) -> Option<&Value> {
        let store = self.environs.as_ref().filter(|_| self.of_store.is_some())?;
        match name.contains('.') {
            false => store.tree.get(name),
            true => store.environ(name),
        }
    }

    /// Adds a value that the engine fetched.
    pub(super) fn fetch(&mut self, layer: Layer, name: &str, value: Value) {
        self.fetched.retain(|(known, other, _)| other != name || *known > layer);
        if !self.fetched.iter().any(|(_, other, _)| other == name) {
            self.fetched.push((layer, name.to_owned(), value));
        }
    }

    /// All variables as one map, for Python.
    pub(super) fn flat(&self) -> Map<String, Value> {
        if let Some(all) = &self.replaced {
            let mut all = all.clone();
            for name in &self.late {
                if let (false, Some(value)) = (all.contains_key(name), self.fetched_late(name)) {
                    all.insert(name.clone(), value.clone());
                }
            }
            return all;
        }
        let mut all = self.defaults.clone();
        for (_, name, value) in &self.fetched {
            all.insert(name.clone(), value.clone());
        }
        let own = |(name, value): (&String, &Value)| (name.clone(), value.clone());
        all.extend(self.agent.into_iter().flatten().map(own));
        all.extend(self.call.into_iter().flatten().filter(|(name, _)| self.takes(name)).map(own));
        if let Some(store) = &self.environs {
            all.insert(ENVIRONS.to_owned(), (*store.tree).clone());
        }
        all.extend(self.files.iter().chain(&self.over).map(own));
        all
    }

    /// What a caller is told of numbers that lost digits.
    pub(super) fn long_numbers(&self) -> Vec<Warning> {
        let warning = |(name, value): (&String, &Value)| {
            long_number(name, value).map(|error| Warning::new(name.as_str(), error))
        };
        let maps = match &self.replaced {
            Some(all) => [Some(all), None, None],
            None => [self.call, self.agent, Some(self.defaults)],
        };
        let fetched = self.fetched.iter().map(|(_, name, value)| (name, value));
        maps.into_iter().flatten().flatten().chain(fetched).filter_map(warning).collect()
    }

    /// The value at a dotted path.
    pub(super) fn at_path(&self, path: &str) -> Option<&Value> {
        let mut parts = path.split('.');
        let first = self.get(parts.next()?)?;
        parts.try_fold(first, |value, part| match value {
            Value::Object(map) => map.get(part),
            Value::Array(items) => items.get(part.parse::<usize>().ok()?),
            _ => None,
        })
    }
}

impl Variables for Layers<'_> {
    fn find(&self, key: &Key) -> Option<&Value> {
        if !self.over.is_empty()
            && let Some(value) = key.find_in(&self.over)
        {
            return Some(value);
        }
        if let Some(store) = self.environs.as_ref().filter(|_| key.name() == ENVIRONS) {
            return Some(&store.tree);
        }
        if let Some(all) = &self.replaced {
            return key.find_in(all).or_else(|| self.fetched_late(key.name()));
        }
        if !self.files.is_empty()
            && let Some(value) = key.find_in(&self.files)
        {
            return Some(value);
        }
        if let Some(value) = self.call.and_then(|call| key.find_in(call)).filter(|_| self.takes(key.name())) {
            return Some(value);
        }
        if let Some(value) = self.agent.and_then(|agent| key.find_in(agent)) {
            return Some(value);
        }
        let name = key.name();
        if let Some((_, _, value)) = self.fetched.iter().find(|(_, known, _)| *known == *name) {
            return Some(value);
        }
        self.environ(name).or_else(|| self.defaults.get(name))
    }

    fn names(&self) -> Vec<&str> {
        let shared = self.environs.as_ref().filter(|_| self.of_store.is_some());
        let maps = [
            Some(&self.over),
            self.replaced.as_ref(),
            self.agent,
            Some(self.defaults),
            shared.and_then(|store| store.tree.as_object()),
        ];
        let mut names: Vec<&str> =
            maps.into_iter().flatten().flat_map(|map| map.keys().map(String::as_str)).collect();
        names.extend(
            self.call.into_iter().flatten().map(|(name, _)| name.as_str()).filter(|name| self.takes(name)),
        );
        names.extend(self.fetched.iter().map(|(_, name, _)| name.as_str()));
        names.extend(self.environs.as_ref().map(|_| ENVIRONS));
        names.sort_unstable();
        names.dedup();
        names
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(value: &Value) -> Map<String, Value> {
        value.as_object().cloned().expect("is a map")
    }

    #[test]
    fn later_layers_win_and_values_are_replaced_whole() {
        let (call, agent) = (map(&json!({"a": "call"})), map(&json!({"a": "agent", "b": {"x": 1}})));
        let defaults = map(&json!({"a": "default", "b": {"x": 0, "y": 0}, "c": "default", "d": "default"}));
        let mut layers = Layers { agent: Some(&agent), ..Layers::new(Some(&call), &defaults) };
        layers.fetch(Layer::Provider, "c", json!("provider"));
        layers.fetch(Layer::System, "c", json!("system"));
        layers.fetch(Layer::System, "e", json!("system"));
        layers.fetch(Layer::Environ, "e", json!("environ"));
        let got = |name: &str| layers.get(name).cloned();
        assert_eq!((got("a"), got("b")), (Some(json!("call")), Some(json!({"x": 1}))));
        assert_eq!(
            (got("c"), got("d"), got("e")),
            (Some(json!("provider")), Some(json!("default")), Some(json!("environ")))
        );
        for name in ["a", "b", "c", "d", "e", "none"] {
            assert_eq!(layers.find(&Key::new(name)), layers.get(name), "{name}");
            assert_eq!(layers.flat().get(name), layers.get(name), "{name}");
        }
        assert_eq!(layers.names(), ["a", "b", "c", "d", "e"]);
        assert_eq!(layers.at_path("b.x"), Some(&json!(1)));
        assert_eq!(layers.at_path("b.y"), None);
    }

    #[test]
    fn what_pre_render_returns_stands_in_the_place_of_everything() {
        let (call, defaults) = (map(&json!({"a": 1})), map(&json!({"b": 1})));
        let mut layers = Layers::new(Some(&call), &defaults);
        layers.over.insert("system".to_owned(), json!({}));
        layers.replaced = Some(map(&json!({"c": 3})));
        assert_eq!((layers.get("a"), layers.get("b"), layers.get("c")), (None, None, Some(&json!(3))));
        assert!(layers.find(&Key::new("system")).is_some() && layers.find(&Key::new("a")).is_none());
    }
}
