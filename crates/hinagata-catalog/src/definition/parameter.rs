//! Declared variables.

use hinagata_document::Place;
pub use hinagata_value::ValueType;
use serde_json::{Map, Value};

/// How a parameter gets its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ParameterClass {
    /// The caller or the agent gives it.
    Required,
    /// It has a default.
    Optional,
    /// It has a default that whoever uses the prompt is meant to change.
    Custom,
}

impl ParameterClass {
    /// All of them, in the order of a definition.
    pub const ALL: [Self; 3] = [Self::Required, Self::Optional, Self::Custom];

    /// The class called `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.as_str() == name)
    }

    /// The name in `VARIABLES`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Required => "required",
            Self::Optional => "optional",
            Self::Custom => "custom",
        }
    }
}

/// Where a value comes from when nobody gives one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// From the default alone.
    #[default]
    Default,
    /// From `system.*`.
    System,
    /// From a shared variable of the store.
    Environ,
}

/// Where values that can be proposed for a parameter come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proposals {
    /// These.
    List(Vec<String>),
    /// The files of the workspace that a pattern matches.
    Files(String),
    /// A shared variable of the store: the items of a list, or the names of a map.
    Environ(String),
    /// A list for each value of another parameter.
    By {
        /// The other parameter.
        parameter: String,
        /// Its values, with what can be proposed for each.
        values: Vec<(String, Vec<String>)>,
    },
}

/// A declared variable.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// The name in the template.
    pub name: String,
    /// How it gets its value.
    pub class: ParameterClass,
    /// The type.
    pub kind: ValueType,
    /// The value when nobody gives one.
    pub default: Option<Value>,
    /// What it is.
    pub description: Option<String>,
    /// Where its value comes from when nobody gives one.
    pub origin: Origin,
    /// The name there, when it is another one.
    pub from: Option<String>,
    /// Whether the value must never be shown.
    pub secret: bool,
    /// A JSON Schema that the value has to follow.
    pub schema: Option<Value>,
    /// Values that can be proposed to whoever fills it in.
    pub proposals: Option<Proposals>,
    /// Keys that nobody knows.
    pub unknown: Map<String, Value>,
    /// Where it is declared.
    pub place: Option<Place>,
    /// The custom declaration of the same name whose default lies below this one's.
    pub custom: Option<Box<Self>>,
}

impl Parameter {
    /// Whether every call has to pass it: it is required, and no system or shared variable gives it a value.
    #[must_use]
    pub fn must_be_passed(&self) -> bool {
        self.class == ParameterClass::Required && self.origin == Origin::Default
    }

    /// One variable that is declared as optional and as custom: the layer of optional defaults lies above that of custom
    /// ones, and what it does not say is said by the other.
    pub(super) fn over_custom(self, custom: Self) -> Self {
        let own = self.default.is_some() || self.origin != Origin::Default;
        let merged = Self {
            kind: if self.kind == ValueType::Any { custom.kind } else { self.kind },
            default: self.default.or_else(|| custom.default.clone()),
            description: self.description.or_else(|| custom.description.clone()),
            secret: self.secret || custom.secret,
            schema: self.schema.or_else(|| custom.schema.clone()),
            proposals: self.proposals.or_else(|| custom.proposals.clone()),
            ..self
        };
        match own {
            true => Self { custom: Some(Box::new(custom)), ..merged },
            // The default is that of the custom declaration, and so are its layer and place.
            false => Self {
                class: ParameterClass::Custom,
                origin: custom.origin,
                from: custom.from,
                place: custom.place,
                ..merged
            },
        }
    }
}

/// The parameters of a prompt, in the order of their declaration; a name comes once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parameters(Vec<Parameter>);

impl Parameters {
    /// The parameters in their order.
    pub fn iter(&self) -> std::slice::Iter<'_, Parameter> {
        self.0.iter()
    }

    /// The parameter called `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Parameter> {
        self.0.iter().find(|parameter| parameter.name == name)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The names of one class, sorted.
    #[must_use]
    pub fn names(&self, class: ParameterClass) -> Vec<&str> {
        let mut names: Vec<&str> = self
            .0
            .iter()
            .filter(|parameter| parameter.class == class)
            .map(|parameter| parameter.name.as_str())
            .collect();
        names.sort_unstable();
        names
    }

    /// These, with those of `above` added: one of the same name takes the place of the older one.
    #[must_use]
    pub fn overlaid_by(&self, above: &Self) -> Self {
        let mut places: std::collections::HashMap<&str, usize> =
            self.0.iter().enumerate().map(|(place, parameter)| (parameter.name.as_str(), place)).collect();
        let mut all = self.0.clone();
        for parameter in &above.0 {
            match places.get(parameter.name.as_str()) {
                Some(&place) => all[place] = parameter.clone(),
                None => {
                    places.insert(&parameter.name, all.len());
                    all.push(parameter.clone());
                }
            }
        }
        Self(all)
    }
}

impl FromIterator<Parameter> for Parameters {
    fn from_iter<I: IntoIterator<Item = Parameter>>(parameters: I) -> Self {
        Self::default().overlaid_by(&Self(parameters.into_iter().collect()))
    }
}

impl<'a> IntoIterator for &'a Parameters {
    type Item = &'a Parameter;
    type IntoIter = std::slice::Iter<'a, Parameter>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
