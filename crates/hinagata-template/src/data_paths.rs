//! Finds the paths of values by their addresses.
//!
//! A recorded render knows the documents that it read by reference. Their paths are found afterwards, by one walk
//! over the data.

use std::{collections::HashMap, sync::Arc};

use hinagata_value::{
    Calls, Key, Read, Variables,
    analysis::{PathPart, VariablePath},
};
use serde_json::Value as Json;

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DataOrigin {
    /// A variable, or a part of it.
    Variable(VariablePath),
    /// The result of a call to another program, or a part of it.
    Call {
        /// The number of the call in this render, from 0.
        call: u32,
        /// The path in the result; empty for the whole.
        path: Arc<str>,
    },
    /// A name that is not defined.
    Missing(Arc<str>),
    /// More inputs than are recorded.
    Many,
}

/// The paths of the documents and keys that a render read.
pub(crate) struct DataPaths {
    /// The origins by the address of the document, or of the key that leads to it.
    found: HashMap<usize, DataOrigin>,
}

fn address<T>(of: &T) -> usize {
    std::ptr::from_ref(of).addr()
}

impl DataPaths {
    /// Finds the paths of `wanted` in the variables and in the results of calls.
    pub(crate) fn find<'a>(
        wanted: impl Iterator<Item = Read<'a>>,
        variables: &dyn Variables,
        calls: &Calls,
    ) -> Self {
        let wanted = wanted.filter_map(|read| match read {
            Read::Data(json) => Some((address(json), ())),
            Read::Key(key) => Some((address(key), ())),
            Read::Missing(_) => None,
        });
        let mut search = Search { wanted: wanted.collect(), found: HashMap::new(), parts: Vec::new() };
        if search.wanted.is_empty() {
            return Self { found: search.found };
        }
        if let Some(whole) = variables.as_json() {
            let root = Root::Variable(VariablePath::whole_data());
            match whole {
                Json::Object(_) => search.note(address(whole), &root),
                _ => search.walk(whole, &root),
            }
        }
        for name in variables.names() {
            if let Some(json) = variables.find(&Key::new(name)) {
                search.walk(json, &Root::Variable(VariablePath::new(name)));
            }
        }
        if let Some(Json::Object(map)) = variables.as_json() {
            for name in map.keys() {
                search.note(address(name), &Root::Variable(VariablePath::new(name)));
            }
        }
        for call in calls.iter() {
            if let Some(Ok(json)) = call.result() {
                search.walk(json, &Root::Call(call.id.0));
            }
        }
        Self { found: search.found }
    }

    /// The origin of a read, if it is data of the render.
    pub(crate) fn origin(&self, read: Read<'_>) -> Option<DataOrigin> {
        match read {
            Read::Data(json) => self.found.get(&address(json)).cloned(),
            Read::Key(key) => self.found.get(&address(key)).cloned(),
            Read::Missing(name) => Some(DataOrigin::Missing(name.as_str().into())),
        }
    }
}

enum Root {
    Variable(VariablePath),
    Call(u32),
}

struct Search {
    wanted: HashMap<usize, ()>,
    found: HashMap<usize, DataOrigin>,
    parts: Vec<PathPart>,
}

impl Search {
    fn note(&mut self, address: usize, root: &Root) {
        if !self.wanted.contains_key(&address) {
            return;
        }
        let origin = match root {
            Root::Variable(path) => DataOrigin::Variable(VariablePath {
                root: Arc::clone(&path.root),
                parts: self.parts.as_slice().into(),
            }),
            Root::Call(call) => {
                let path = VariablePath { root: "".into(), parts: self.parts.as_slice().into() };
                DataOrigin::Call { call: *call, path: path.to_string().into() }
            }
        };
        self.found.entry(address).or_insert(origin);
    }

    fn walk(&mut self, json: &Json, root: &Root) {
        self.note(address(json), root);
        match json {
            Json::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.parts.push(PathPart::Index(index as i64));
                    self.walk(item, root);
                    self.parts.pop();
                }
            }
            Json::Object(map) => {
                for (key, value) in map {
                    self.parts.push(PathPart::Key(key.as_str().into()));
                    self.note(address(key), root);
                    self.walk(value, root);
                    self.parts.pop();
                }
            }
            _ => {}
        }
    }
}
