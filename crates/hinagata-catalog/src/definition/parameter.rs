//! Parameters: the declared inputs of a prompt.

use hinagata_document::Place;
pub use hinagata_value::ValueType;
use serde_json::{Map, Value, json};

/// How a parameter gets its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ParameterClass {
    /// The caller or the agent must pass it.
    Required,
    /// It has a default.
    Optional,
    /// It has a default that users of the prompt are expected to change.
    Custom,
}

impl ParameterClass {
    /// All classes, in the order of a definition.
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

/// The source of a value that is not passed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// The default.
    #[default]
    Default,
    /// `system.*`.
    System,
    /// An environ of the store.
    Environ,
    /// The project directory of the caller.
    Project(ProjectValue),
    /// The conversation of a caller that uses the prompt as a model.
    Conversation(ConversationValue),
}

/// What a parameter takes of the messages of a caller that uses the prompt as a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConversationValue {
    /// The last text of the user.
    Message,
    /// All messages.
    Messages,
}

impl ConversationValue {
    /// The name in a definition.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Messages => "messages",
        }
    }
}

/// A text that is made from the project directory of the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProjectValue {
    /// The changes between two revisions, such as `main..HEAD`, or those that are not committed.
    Diff(Option<String>),
    /// Packed files: the fields of a request to pack, as written.
    Context(Map<String, Value>),
}

impl ProjectValue {
    /// The value as JSON, in the form of a file.
    #[must_use]
    pub fn to_json(&self) -> Value {
        match self {
            Self::Diff(None) => "diff".into(),
            Self::Diff(Some(revisions)) => json!({"diff": revisions}),
            Self::Context(fields) => json!({"context": fields}),
        }
    }
}

/// The source of proposed values for a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proposals {
    /// Fixed values.
    List(Vec<String>),
    /// The files of the workspace that a pattern matches.
    Files(String),
    /// An environ of the store: the items of a list, or the names of an object.
    Environ(String),
    /// A list for each value of another parameter.
    By {
        /// The other parameter.
        parameter: String,
        /// Its values, with the proposals for each.
        values: Vec<(String, Vec<String>)>,
    },
}

impl Origin {
    /// The source as JSON, in the form of a file; `None` for the default.
    pub(super) fn to_json(&self) -> Option<Value> {
        match self {
            Self::Default => None,
            Self::System => Some("system".into()),
            Self::Environ => Some("environ".into()),
            Self::Project(value) => Some(value.to_json()),
            Self::Conversation(value) => Some(value.as_str().into()),
        }
    }
}

impl Proposals {
    /// The proposals as JSON, in the form of a file.
    pub(super) fn to_json(&self) -> Value {
        match self {
            Self::List(values) => json!(values),
            Self::Files(pattern) => json!({"glob": pattern}),
            Self::Environ(name) => json!({"environ": name}),
            Self::By { parameter, values } => {
                let values: Map<String, Value> =
                    values.iter().map(|(value, list)| (value.clone(), json!(list))).collect();
                json!({"by": parameter, "values": values})
            }
        }
    }
}

/// A declared input of a prompt.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// The name in the template.
    pub name: String,
    /// How it gets its value.
    pub class: ParameterClass,
    /// The type.
    pub kind: ValueType,
    /// The value if none is passed.
    pub default: Option<Value>,
    /// The description.
    pub description: Option<String>,
    /// The source of its value if none is passed.
    pub origin: Origin,
    /// Its name in that source, if different.
    pub from: Option<String>,
    /// Whether the value must never be shown.
    pub secret: bool,
    /// A JSON Schema for the value.
    pub schema: Option<Value>,
    /// Proposed values.
    pub proposals: Option<Proposals>,
    /// Unknown keys.
    pub unknown: Map<String, Value>,
    /// The place of the declaration.
    pub place: Option<Place>,
    /// Other spellings of the name that a caller may use.
    pub aliases: Vec<String>,
    /// The custom declaration of the same name, whose default has a lower rank.
    pub custom: Option<Box<Self>>,
}

impl Parameter {
    /// Whether every call must pass it: it is required, and nothing else provides a value.
    #[must_use]
    pub fn must_be_passed(&self) -> bool {
        self.class == ParameterClass::Required && self.origin == Origin::Default
    }

    /// The declaration as JSON, in the form of a file. The default of a secret is left out.
    pub(super) fn to_declaration(&self) -> Value {
        let origin = self.origin.to_json();
        let yes = |flag: bool| flag.then_some(Value::Bool(true));
        let fields = [
            ("type", Some(self.kind.name().into())),
            ("required", yes(self.class == ParameterClass::Required)),
            ("default", self.default.clone().filter(|_| !self.secret)),
            ("description", self.description.clone().map(Value::String)),
            ("source", origin),
            ("from", self.from.clone().map(Value::String)),
            ("secret", yes(self.secret)),
            ("schema", self.schema.clone()),
            ("complete", self.proposals.as_ref().map(Proposals::to_json)),
            ("aliases", (!self.aliases.is_empty()).then(|| json!(self.aliases))),
        ];
        let known = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        Value::Object(known.chain(self.unknown.clone()).collect())
    }

    /// Merges an optional declaration with a custom one of the same name. The optional default has the higher rank;
    /// fields that it lacks come from the custom declaration.
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
            // The default comes from the custom declaration, and so do its layer and place.
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

/// The parameters of a prompt in the order of their declaration, with unique names.
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

    /// These parameters, with those of `above` added; a parameter of `above` replaces one of the same name.
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
