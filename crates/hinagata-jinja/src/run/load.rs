//! How a run finds the templates that it includes, extends and imports.
//!
//! A name means what it means in the template it is written in, so it is joined with the name of that
//! template first ([`crate::Loader::join`]); from then on the joined name is the name of the template.

use std::borrow::Cow;

use hinagata_value::{Error, ErrorKind, Kind, LimitKind, Result, Value, near_names};

use super::Vm;
use crate::{
    Template,
    ast::Span,
    library::{
        ops,
        textual::to_textual,
        types::{require_settled, type_name},
    },
};

/// What the name in an include leads to.
pub(super) enum FoundTemplate {
    /// A Jinja template: its number in the run.
    Jinja(u32),
    /// A template of another language: its joined name.
    Outside(String),
}

impl<'a> Vm<'_, 'a> {
    /// The template that an `extends` or an `import` names: as in Jinja2 that is one, and no list.
    pub(super) fn load_one(&mut self, name: &Value<'a>, span: Span) -> Result<u32> {
        self.load_single(name).map_err(|error| self.with_load_step(error, span))
    }

    /// What an `include` names: a template, or the first of several that exists; `None` where none does and
    /// that may be.
    pub(super) fn find_first(
        &mut self,
        name: &Value<'a>,
        may_miss: bool,
        span: Span,
    ) -> Result<Option<FoundTemplate>> {
        self.find_candidate(name, may_miss).map_err(|error| self.with_load_step(error, span))
    }

    /// A template that does not compile has its own place, and `span` is on the way to it.
    fn with_load_step(&self, error: Error, span: Span) -> Error {
        if error.has_final_place() { self.with_chain_step(error, span) } else { error }
    }

    fn load_single(&mut self, name: &Value<'a>) -> Result<u32> {
        if let Some(name) = name.as_str() {
            let joined = self.join(name)?;
            return self.load_by_name(&joined)?.ok_or_else(|| self.not_found(&[name]));
        }
        require_settled(name)?;
        self.cx().require_defined(name)?;
        self.check_name(name)?;
        Err(self.not_found(&[&*to_textual(&self.cx(), name)?]))
    }

    fn find_candidate(&mut self, name: &Value<'a>, may_miss: bool) -> Result<Option<FoundTemplate>> {
        if let Some(name) = name.as_str() {
            let joined = self.join(name)?;
            return match self.find_by_name(&joined)? {
                None if !may_miss => Err(self.not_found(&[name])),
                found => Ok(found),
            };
        }
        require_settled(name)?;
        self.cx().require_defined(name)?;
        let mut tried = Vec::new();
        if ops::is_true(&self.cx(), name)? {
            for item in ops::iterate_value(&self.cx(), name)? {
                self.budget.charge_steps(1)?;
                require_settled(&item)?;
                self.check_name(&item)?;
                // What is no text is the name of no template.
                let Some(candidate) = item.as_str() else { continue };
                let joined = self.join(candidate)?;
                if let Some(found) = self.find_by_name(&joined)? {
                    return Ok(Some(found));
                }
                tried.push(candidate.to_owned());
            }
            // Jinja2 can say which names it tried only where they are a list.
            if !matches!(name.kind(), Kind::List | Kind::Tuple | Kind::Range) {
                return Err(self.none_found(&tried).with_kind(ErrorKind::Runtime));
            }
        }
        if may_miss { Ok(None) } else { Err(self.none_found(&tried)) }
    }

    #[cold]
    fn none_found(&self, names: &[String]) -> Error {
        self.not_found(&names.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Refuses lists and maps as the name of a template, as everywhere where Jinja2 needs a key.
    fn check_name(&self, name: &Value<'a>) -> Result<()> {
        match name.kind() {
            Kind::List | Kind::Map | Kind::View => {
                let kind = type_name(&self.cx(), name);
                Err(Error::runtime(format!("a {kind} cannot be the name of a template"))
                    .with_hint("only `include` takes several names"))
            }
            _ => Ok(()),
        }
    }

    /// The name of the template that the running one calls `name`.
    fn join<'n>(&self, name: &'n str) -> Result<Cow<'n, str>> {
        self.inputs.loader.join(self.current().name(), name).map_err(own_place)
    }

    /// The template with this joined name, in whichever language.
    pub(super) fn find_by_name(&mut self, name: &str) -> Result<Option<FoundTemplate>> {
        if self.inputs.outside.contains(name) {
            return Ok(Some(FoundTemplate::Outside(name.to_owned())));
        }
        Ok(self.load_by_name(name)?.map(FoundTemplate::Jinja))
    }

    /// The number of the Jinja template with this joined name.
    pub(super) fn load_by_name(&mut self, name: &str) -> Result<Option<u32>> {
        self.budget.charge_steps(1)?;
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
            [name] => format!("template '{name}' not found"),
            [] => "no template to choose from".to_owned(),
            names => format!("none of these templates was found: {}", names.join(", ")),
        };
        let error = Error::new(ErrorKind::NotFound, message).with_near(near);
        match names {
            [name] => error.with_subject(*name),
            _ => error,
        }
    }
}

/// A template that does not compile has its own place.
fn own_place(error: Error) -> Error {
    match error.place().cloned() {
        Some(place) => error.set_final_place(|_| place),
        None => error,
    }
}
