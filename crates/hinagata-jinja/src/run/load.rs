//! Finds the templates that a run includes, extends and imports.
//!
//! The meaning of a name depends on the template that contains it, so the name is first joined with the
//! name of that template ([`crate::Loader::join`]). Everything else uses the joined name.

use std::borrow::Cow;

use hinagata_value::{Error, ErrorKind, Kind, LimitKind, Provenance, Result, Value, near_names};

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

/// The template that an include found.
pub(super) enum FoundTemplate {
    /// A Jinja template: its number in the run.
    Jinja(u32),
    /// A template of another language: its joined name.
    Outside(String),
}

impl<'a, P: Provenance> Vm<'_, 'a, P> {
    /// Loads the template of an `extends` or an `import`. As in Jinja2, a list of names is not allowed.
    pub(super) fn load_one(&mut self, name: &Value<'a>, span: Span) -> Result<u32> {
        self.load_single(name).map_err(|error| self.with_load_step(error, span))
    }

    /// Finds the template of an `include`: the named one, or the first of a list that exists; `None` if
    /// none exists and `may_miss`.
    pub(super) fn find_first(
        &mut self,
        name: &Value<'a>,
        may_miss: bool,
        span: Span,
    ) -> Result<Option<FoundTemplate>> {
        self.find_candidate(name, may_miss).map_err(|error| self.with_load_step(error, span))
    }

    /// Adds `span` to the chain of an error that has its own place, such as that of a template that does
    /// not compile.
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
                // A value that is not a string cannot be the name of a template.
                let Some(candidate) = item.as_str() else { continue };
                let joined = self.join(candidate)?;
                if let Some(found) = self.find_by_name(&joined)? {
                    return Ok(Some(found));
                }
                tried.push(candidate.to_owned());
            }
            // Jinja2 can list the names that it tried only if they are a sequence.
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

    /// Refuses lists and maps as the name of a template, because Jinja2 needs a hashable name.
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

    /// The joined name of the template that the running template calls `name`.
    fn join<'n>(&self, name: &'n str) -> Result<Cow<'n, str>> {
        self.inputs.loader.join(self.current().name(), name).map_err(own_place)
    }

    /// Finds the template with this joined name, in any language.
    pub(super) fn find_by_name(&mut self, name: &str) -> Result<Option<FoundTemplate>> {
        if self.inputs.outside.contains(name) {
            return Ok(Some(FoundTemplate::Outside(name.to_owned())));
        }
        Ok(self.load_by_name(name)?.map(FoundTemplate::Jinja))
    }

    /// Loads the Jinja template with this joined name and returns its number.
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

    /// Adds the template at index `place` of the templates that the render loaded.
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

/// Makes the place of an error final, if it has one: a template that does not compile has its own place.
fn own_place(error: Error) -> Error {
    match error.place().cloned() {
        Some(place) => error.set_final_place(|_| place),
        None => error,
    }
}
