//! The object around a request.

use super::RequestOptions;
use crate::{Error, json::Writer};

/// Writes the members of a body; those of [`RequestOptions::extra`] replace ours.
pub(super) struct Body<'w> {
    pub(super) writer: &'w mut Writer,
    pub(super) options: &'w RequestOptions,
}

impl Body<'_> {
    /// Writes a body: the members that `fill` sets, and those of the caller.
    pub(super) fn write(
        writer: &mut Writer,
        options: &RequestOptions,
        fill: impl FnOnce(&mut Body<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        writer.write_object(|writer| {
            fill(&mut Body { writer: &mut *writer, options })?;
            for (key, value) in &options.extra {
                writer.write_data_key(key);
                writer.write_value(value);
            }
            Ok(())
        })
    }

    /// Sets a member, unless the caller sets it.
    pub(super) fn set<T: Default>(&mut self, key: &'static str, fill: impl FnOnce(&mut Writer) -> T) -> T {
        if self.options.extra.contains_key(key) {
            return T::default();
        }
        self.writer.write_key(key);
        fill(self.writer)
    }

    /// Sets a member, unless the caller sets it; writing the value may fail.
    pub(super) fn try_set(
        &mut self,
        key: &'static str,
        fill: impl FnOnce(&mut Writer) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if self.options.extra.contains_key(key) {
            return Ok(());
        }
        self.writer.write_key(key);
        fill(self.writer)
    }

    pub(super) fn set_some(&mut self, key: &'static str, value: Option<impl Into<serde_json::Value>>) {
        if let Some(value) = value {
            let value = value.into();
            self.set(key, |writer| writer.write_value(&value));
        }
    }

    pub(super) fn set_stop(&mut self, key: &'static str) {
        if !self.options.stop.is_empty() {
            let stop = &self.options.stop;
            self.set(key, |writer| {
                writer.write_list(|writer| stop.iter().for_each(|text| writer.write_string(text)));
            });
        }
    }

    pub(super) fn set_model(&mut self) {
        self.set_some("model", self.options.model.clone());
    }
}
