//! The parts of a context that have files: those of the project, and bundles.

use crate::{options::Resource, report::Entry};

/// The files of the context, or those of a bundle.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part<'r> {
    Files,
    Bundle(&'r Resource, Option<&'r str>),
}

impl<'r> Part<'r> {
    pub(crate) fn resource(&self) -> Option<&'r Resource> {
        match self {
            Self::Files => None,
            Self::Bundle(resource, _) => Some(resource),
        }
    }

    /// The limit of files; bundles have none.
    pub(crate) fn most_files(&self, configured: Option<usize>) -> usize {
        match self {
            Self::Files => configured.unwrap_or(usize::MAX),
            Self::Bundle(..) => usize::MAX,
        }
    }

    /// The path as displayed in the context.
    pub(crate) fn shown_path(&self, path: &str) -> String {
        match self {
            Self::Bundle(_, Some(start)) if !start.is_empty() => {
                let start = start.replace('\\', "/");
                format!("{}/{path}", start.strip_suffix('/').unwrap_or(&start))
            }
            _ => path.to_owned(),
        }
    }

    /// The entry of a file of this part.
    pub(crate) fn own_entry(&self, mut entry: Entry) -> Entry {
        if let Self::Bundle(resource, _) = self {
            entry.path = self.shown_path(&entry.path).into();
            entry.resource = Some(resource.id.clone());
        }
        entry
    }
}
