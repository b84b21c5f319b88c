//! Modules: what depends on the variables of a call is worked out, and the module is compiled with it.

use std::sync::Arc;

use hinagata_module::{CompiledPrompt, Elements, Text, Texts};
use hinagata_value::{Key, Variables};
use serde_json::Value;

use super::{plan::PlannedTemplate, run::Passing, scope::Scope};
use crate::{
    Code, Error, Result,
    definition::{
        Given, ModuleBody, UndefinedMode,
        module::{BodySpec, Bound, DynamicSpec, Each, PathUse, Values, build, build_texts, is_true, no_list},
    },
};

/// A module with its templates, compiled.
pub(super) struct PlannedModule {
    pub(super) body: Arc<ModuleBody>,
    pub(super) templates: Vec<PlannedTemplate>,
}

impl Passing<'_, '_> {
    /// Works out a module; `None` when templates wait for calls.
    pub(super) fn module(&mut self, planned: &PlannedModule) -> Result<Option<Arc<CompiledPrompt>>> {
        let (scope, limit) = (self.scope, self.run.plan.limits.output.unwrap_or(usize::MAX));
        let mut worker = Worker { passing: self, planned, scope, local: None, room: limit, limit };
        let mut given = Given::default();
        for spec in &planned.body.entries {
            let mut all = Elements::new();
            worker.entry(spec, &mut |body, values| build(body, values, &mut all))?;
            given.elements.push(all);
        }
        for spec in &planned.body.texts {
            let mut all = Texts::default();
            worker.entry(spec, &mut |body, values| build_texts(body, values, &mut all))?;
            given.texts.push(all);
        }
        if !self.wanted.is_empty() {
            return Ok(None);
        }
        let prompt = planned.body.module.compile_in(planned.body.order, &given)?;
        Ok(Some(Arc::new(prompt)))
    }
}

/// Works out the entries of one module.
struct Worker<'w, 'p, 'r> {
    passing: &'w mut Passing<'p, 'r>,
    planned: &'w PlannedModule,
    scope: &'p Scope<'p>,
    /// The variable of the loop that runs.
    local: Option<(Arc<str>, &'p Value)>,
    /// Bytes that may still be made, of all that may be.
    room: usize,
    limit: usize,
}

/// Adds what an entry says to what is collected.
type Say<'s> = dyn FnMut(&BodySpec, &mut dyn Values) -> Result<()> + 's;

impl<'p> Worker<'_, 'p, '_> {
    fn entry(&mut self, spec: &DynamicSpec, say: &mut Say<'_>) -> Result<()> {
        let said = self.holds(spec)? && self.say(spec, say)?;
        match &spec.otherwise {
            Some(other) if !said => self.entry(other, say),
            _ => Ok(()),
        }
    }

    fn holds(&self, spec: &DynamicSpec) -> Result<bool> {
        for condition in &spec.conditions {
            if is_true(self.at(&condition.path)) != condition.wanted {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Says what an entry says once, or for each item; whether there was something to say it for.
    fn say(&mut self, spec: &DynamicSpec, say: &mut Say<'_>) -> Result<bool> {
        let Some(each) = &spec.each else {
            say(&spec.body, self)?;
            return Ok(true);
        };
        let mut any = false;
        for item in self.items(each)? {
            self.local = Some((Arc::clone(&each.name), item));
            if each.filter.as_ref().is_none_or(|filter| is_true(self.at(filter))) {
                any = true;
                say(&spec.body, self)?;
            }
        }
        self.local = None;
        Ok(any)
    }

    /// The items of a loop, as far as its slice goes.
    fn items(&self, each: &Each) -> Result<&'p [Value]> {
        let items = match self.found(&each.list)? {
            None | Some(Value::Null) => return Ok(&[]),
            Some(Value::Array(items)) => items,
            Some(other) => return Err(no_list(&each.list, other)),
        };
        let start = self.bound(each.start.as_ref())?.unwrap_or(0).min(items.len());
        let end = self.bound(each.end.as_ref())?.unwrap_or(items.len()).min(items.len());
        Ok(items.get(start..end).unwrap_or_default())
    }

    fn bound(&self, bound: Option<&Bound>) -> Result<Option<usize>> {
        let number = match bound {
            None => return Ok(None),
            Some(Bound::Number(number)) => Some(*number),
            Some(Bound::Path(path)) => match self.at(path) {
                None | Some(Value::Null) => return Ok(None),
                Some(value) => {
                    Some(value.as_u64().ok_or_else(|| crate::definition::module::no_number(path, value))?)
                }
            },
        };
        Ok(number.map(|number| usize::try_from(number).unwrap_or(usize::MAX)))
    }

    /// The value at a path, if there is one.
    fn at(&self, used: &PathUse) -> Option<&'p Value> {
        let root = match &self.local {
            Some((name, value)) if used.local && **name == *used.path.root() => Some(*value),
            _ => self.scope.get(used.path.root()),
        };
        used.path.follow(root?)
    }

    /// The value at a path; where missing variables are errors, one that has to be there.
    fn found(&self, used: &PathUse) -> Result<Option<&'p Value>> {
        let found = self.at(used);
        if found.is_none() && self.passing.run.undefined == UndefinedMode::Error {
            let message = format!("`{}` is not there", used.path);
            return Err(Error::new(Code::RenderUndefined, message)
                .with("reason", "undefined")
                .with("missing", vec![used.path.as_str()])
                .with_hint("pass it, or give it a default under `context`")
                .at(used.place.clone()));
        }
        Ok(found)
    }
}

impl Values for Worker<'_, '_, '_> {
    fn template(&mut self, number: usize) -> Result<Text> {
        let Some(template) = self.planned.templates.get(number) else { return Ok(Text::default()) };
        let variables = WithLocal { scope: self.scope, local: self.local.as_ref() };
        // A text that waits for a call is made again when the result is there.
        let text = self.passing.text_with(template, &variables)?;
        Ok(text.unwrap_or_default().into())
    }

    fn value(&self, path: &PathUse) -> Result<Option<&Value>> {
        // What an item of a list lacks is left out; what the context lacks may be an error.
        if path.local { Ok(self.at(path)) } else { self.found(path) }
    }

    fn charge(&mut self, bytes: usize) -> Result<()> {
        match self.room.checked_sub(bytes) {
            Some(room) => {
                self.room = room;
                Ok(())
            }
            None => {
                Err(Error::new(Code::OutputLimit, format!("the module says more than {} bytes", self.limit))
                    .with_hint("render less, or raise `max_output_size`"))
            }
        }
    }
}

/// The variables of a render, with that of a loop before them.
struct WithLocal<'l> {
    scope: &'l Scope<'l>,
    local: Option<&'l (Arc<str>, &'l Value)>,
}

impl Variables for WithLocal<'_> {
    fn find(&self, key: &Key) -> Option<&Value> {
        match self.local {
            Some((name, value)) if **name == *key.name() => Some(value),
            _ => self.scope.find(key),
        }
    }

    fn names(&self) -> Vec<&str> {
        let mut names = self.scope.names();
        names.extend(self.local.map(|(name, _)| &**name));
        names
    }
}
