//! Finds the paths of values by their addresses.
//!
//! A recorded render knows the documents that it read by their addresses. Their paths are found afterwards, by one walk
//! over the data.

use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use hinagata_value::{
    Calls, Key, Variables,
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

/// What a render can read: its variables, and the results of calls.
#[derive(Clone, Copy)]
pub(crate) struct DataRoots<'v> {
    pub(crate) variables: &'v dyn Variables,
    pub(crate) calls: Option<&'v Calls>,
}

/// The paths of the documents and keys that a render read.
#[derive(Default)]
pub(crate) struct DataPaths<'v> {
    /// What was found by the address of the document, or of the key that leads to it.
    found: HashMap<usize, Found<'v>>,
    origins: Vec<DataOrigin>,
}

struct Found<'v> {
    origin: u32,
    /// The document; `None` for a key.
    json: Option<&'v Json>,
}

fn address<T>(of: &T) -> usize {
    std::ptr::from_ref(of).addr()
}

impl<'v> DataPaths<'v> {
    /// Adds the paths of what has the addresses `wanted`.
    pub(crate) fn find(&mut self, wanted: &HashSet<usize>, data: &DataRoots<'v>) {
        if wanted.is_empty() {
            return;
        }
        self.found.reserve(wanted.len());
        let mut search = Search { wanted, paths: self, parts: Vec::new() };
        let whole = data.variables.as_json();
        if let Some(whole) = whole {
            let root = Root::Variable(VariablePath::whole_data());
            match whole {
                Json::Object(_) => search.note_document(whole, &root, None),
                _ => search.walk(whole, &root, None),
            }
        }
        match whole {
            Some(Json::Object(map)) => {
                for (name, json) in map {
                    let root = Root::Variable(VariablePath::new(name));
                    let key = search.note(address(name), &root, None, None);
                    search.walk(json, &root, key);
                }
            }
            _ => {
                for name in data.variables.names() {
                    if let Some(json) = data.variables.find(&Key::new(name)) {
                        search.walk(json, &Root::Variable(VariablePath::new(name)), None);
                    }
                }
            }
        }
        for call in data.calls.into_iter().flat_map(Calls::iter) {
            if let Some(Ok(json)) = call.result() {
                search.walk(json, &Root::Call(call.id.0), None);
            }
        }
    }

    pub(crate) fn contains(&self, address: usize) -> bool {
        self.found.contains_key(&address)
    }

    /// The document at an address.
    pub(crate) fn json(&self, address: usize) -> Option<&'v Json> {
        self.found.get(&address)?.json
    }

    /// The origin of what is at an address, if it is data of the render.
    pub(crate) fn origin(&self, address: usize) -> Option<&DataOrigin> {
        Some(self.numbered_origin(address)?.1)
    }

    /// Like [`DataPaths::origin`], with its number. Equal origins have the same one.
    pub(crate) fn numbered_origin(&self, address: usize) -> Option<(u32, &DataOrigin)> {
        let number = self.found.get(&address)?.origin;
        Some((number, self.origins.get(number as usize)?))
    }
}

/// Where each of `values` is in the variables, by its address.
pub fn find_origins(values: &[&Json], variables: &dyn Variables) -> Vec<Option<DataOrigin>> {
    let mut paths = DataPaths::default();
    let wanted = values.iter().map(|json| address(*json)).collect();
    paths.find(&wanted, &DataRoots { variables, calls: None });
    values.iter().map(|json| paths.origin(address(*json)).cloned()).collect()
}

enum Root {
    Variable(VariablePath),
    Call(u32),
}

/// A part of the path to the document that is walked now.
#[derive(Clone, Copy)]
enum Part<'v> {
    Key(&'v str),
    Index(usize),
}

struct Search<'s, 'v> {
    wanted: &'s HashSet<usize>,
    paths: &'s mut DataPaths<'v>,
    parts: Vec<Part<'v>>,
}

impl<'v> Search<'_, 'v> {
    /// Notes what is at `address`, if it is wanted, and returns the number of its origin. What has the origin of its
    /// key has that number.
    fn note(&mut self, address: usize, root: &Root, json: Option<&'v Json>, key: Option<u32>) -> Option<u32> {
        if !self.wanted.contains(&address) || self.paths.found.contains_key(&address) {
            return None;
        }
        let origin = key.unwrap_or_else(|| {
            let origin = self.origin(root);
            self.paths.origins.push(origin);
            self.paths.origins.len() as u32 - 1
        });
        self.paths.found.insert(address, Found { origin, json });
        Some(origin)
    }

    fn note_document(&mut self, json: &'v Json, root: &Root, key: Option<u32>) {
        self.note(address(json), root, Some(json), key);
    }

    fn origin(&self, root: &Root) -> DataOrigin {
        let parts = self.parts.iter().map(|part| match part {
            Part::Key(key) => PathPart::Key((*key).into()),
            Part::Index(index) => PathPart::Index(*index as i64),
        });
        let parts = parts.collect();
        match root {
            Root::Variable(path) => {
                DataOrigin::Variable(VariablePath { root: Arc::clone(&path.root), parts })
            }
            Root::Call(call) => {
                let path = VariablePath { root: "".into(), parts };
                DataOrigin::Call { call: *call, path: path.to_string().into() }
            }
        }
    }

    fn walk(&mut self, json: &'v Json, root: &Root, key: Option<u32>) {
        self.note_document(json, root, key);
        match json {
            Json::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.parts.push(Part::Index(index));
                    self.walk(item, root, None);
                    self.parts.pop();
                }
            }
            Json::Object(map) => {
                for (key, value) in map {
                    self.parts.push(Part::Key(key));
                    let number = self.note(address(key), root, None, None);
                    self.walk(value, root, number);
                    self.parts.pop();
                }
            }
            _ => {}
        }
    }
}
