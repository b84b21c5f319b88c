//! How a run finds the templates that it includes, extends and imports.
//!
//! A name means what it means in the template it is written in, so it is joined with the name of that
//! template first ([`crate::Loader::join`]); from then on the joined name is the name of the template.

use std::borrow::Cow;

use hinagata_value::{Error, ErrorKind, LimitKind, Result, Value, near_names};

use super::Vm;
use crate::{Template, ast::Span, library::ops};

/// What the name in an include leads to.
pub(super) enum Found {
    /// A Jinja template: its number in the run.
    Ours(u32),
    /// A template of another language: its joined name.
    Outside(String),
}

impl<'a> Vm<'_, 'a> {
    /// What `find` gives for the template with this name, or for the first of these names that exists.
    ///
    /// A template that does not compile has its own place, and `span` is on the way to it.
    pub(super) fn load_at<T>(
        &mut self,
        name: &Value<'a>,
        span: Span,
        find: impl Fn(&mut Self, &str) -> Result<Option<T>>,
    ) -> Result<T> {
        self.first(name, find).map_err(|error| if error.is_settled() { self.via(error, span) } else { error })
    }

    fn first<T>(
        &mut self,
        name: &Value<'a>,
        find: impl Fn(&mut Self, &str) -> Result<Option<T>>,
    ) -> Result<T> {
        if let Some(name) = name.as_str() {
            let joined = self.join(name)?;
            return find(self, &joined)?.ok_or_else(|| self.not_found(&[name]));
        }
        self.cx().require_defined(name)?;
        if name.is_none() {
            return Err(Error::new(ErrorKind::NotFound, "the name of the template is none"));
        }
        let mut tried = Vec::new();
        for item in ops::iterate(&self.cx(), name)? {
            self.budget.step(1)?;
            self.cx().require_defined(&item)?;
            let Some(candidate) = item.as_str() else {
                return Err(Error::runtime("the name of a template must be a string"));
            };
            let joined = self.join(candidate)?;
            if let Some(found) = find(self, &joined)? {
                return Ok(found);
            }
            tried.push(candidate.to_owned());
        }
        Err(self.not_found(&tried.iter().map(String::as_str).collect::<Vec<_>>()))
    }

    /// The name of the template that the running one calls `name`.
    fn join<'n>(&self, name: &'n str) -> Result<Cow<'n, str>> {
        self.inputs.loader.join(self.current().name(), name).map_err(own_place)
    }

    /// The template with this joined name, in whichever language.
    pub(super) fn find_named(&mut self, name: &str) -> Result<Option<Found>> {
        if self.inputs.outside.contains(name) {
            return Ok(Some(Found::Outside(name.to_owned())));
        }
        Ok(self.load_named(name)?.map(Found::Ours))
    }

    /// The number of the Jinja template with this joined name.
    pub(super) fn load_named(&mut self, name: &str) -> Result<Option<u32>> {
        self.budget.step(1)?;
        if let Some(known) = self.templates.iter().position(|template| template.name() == name) {
            return Ok(Some(known as u32));
        }
        if let Some((place, template)) =
            self.inputs.loaded.iter().enumerate().find(|(_, template)| template.name() == name)
        {
            return Ok(Some(self.add_template(template, place)));
        }
        if self.inputs.loaded.len() >= self.budget.limits().templates.saturating_sub(1) {
            return Err(Error::limit_reached(
                LimitKind::Templates,
                format!("the render loads more than {} templates", self.budget.limits().templates),
            ));
        }
        let Some(template) = self.inputs.loader.load(name).map_err(own_place)? else { return Ok(None) };
        let template: &'a Template = self.inputs.loaded.push(template);
        Ok(Some(self.add_template(template, self.inputs.loaded.len() - 1)))
    }

    /// Adds the template at `place` of those that the render loaded.
    fn add_template(&mut self, template: &'a Template, place: usize) -> u32 {
        self.templates.push(template);
        self.numbers.push(place as u32 + 1);
        self.templates.len() as u32 - 1
    }

    #[cold]
    fn not_found(&self, names: &[&str]) -> Error {
        let known = self.inputs.loader.names();
        let near = names.iter().flat_map(|name| near_names(name, known.iter().map(String::as_str))).collect();
        let message = match names {
            [name] => format!("there is no template '{name}'"),
            [] => "there is no template to choose from".to_owned(),
            names => format!("there is no template of these names: {}", names.join(", ")),
        };
        let error = Error::new(ErrorKind::NotFound, message).with_near(near);
        match names {
            [name] => error.about(*name),
            _ => error,
        }
    }
}

/// A template that does not compile has its own place.
fn own_place(error: Error) -> Error {
    match error.place().cloned() {
        Some(place) => error.settle(|_| place),
        None => error,
    }
}
