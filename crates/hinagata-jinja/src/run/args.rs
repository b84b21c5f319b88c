//! The arguments of calls, filters and tests.

use hinagata_value::{Arguments, Error, Provenance, Result};

use super::Vm;
use crate::{code::Args, library::ops};

impl<'a, P: Provenance> Vm<'_, 'a, P> {
    /// Evaluates arguments and passes them to `call`.
    #[inline]
    pub(super) fn with_args<R>(
        &mut self,
        args: &'a Args,
        call: impl FnOnce(&mut Self, &Arguments<'_, 'a>) -> Result<R>,
    ) -> Result<R> {
        let mark = self.mark();
        let call = move |vm: &mut Self, arguments: &Arguments<'_, 'a>| {
            vm.note_arguments(mark);
            call(vm, arguments)
        };
        let simple = args.keywords.is_empty() && args.args.is_none() && args.kwargs.is_none();
        match (&args.positional[..], simple) {
            ([], true) => call(self, &Arguments::from_positional(&[])),
            ([first], true) => {
                let values = [self.eval(first)?];
                call(self, &Arguments::from_positional(&values))
            }
            ([first, second], true) => {
                let values = [self.eval(first)?, self.eval(second)?];
                call(self, &Arguments::from_positional(&values))
            }
            _ => self.with_many_args(args, call),
        }
    }

    #[inline(never)]
    fn with_many_args<R>(
        &mut self,
        args: &'a Args,
        call: impl FnOnce(&mut Self, &Arguments<'_, 'a>) -> Result<R>,
    ) -> Result<R> {
        let mut positional = Vec::with_capacity(args.positional.len());
        for arg in &args.positional {
            positional.push(self.eval(arg)?);
        }
        let mut keyword_values = Vec::with_capacity(args.keywords.len());
        for (name, value) in &args.keywords {
            keyword_values.push((name.as_str(), self.eval(value)?));
        }
        if let Some(rest) = &args.args {
            let rest = self.eval(rest)?;
            for item in ops::iterate_value(&self.cx(), &rest)? {
                self.budget.charge_steps(1)?;
                positional.push(item);
            }
        }
        let mut rest_names = Vec::new();
        if let Some(rest) = &args.kwargs {
            let rest = self.eval(rest)?;
            self.cx().require_defined(&rest)?;
            let entries = self.heap.entries(&rest);
            for (key, value) in
                entries.ok_or_else(|| Error::runtime("the argument after ** must be a mapping"))?
            {
                self.budget.charge_steps(1)?;
                if key.as_str().is_none() {
                    return Err(Error::runtime("keywords must be strings"));
                }
                rest_names.push((key, value));
            }
            // The keys of a map are distinct, so only an explicit keyword can be a duplicate.
            for (name, _) in &args.keywords {
                self.budget.charge_steps(1)?;
                if self.heap.entry(&rest, name).is_some() {
                    let message = format!("got multiple values for keyword argument '{name}'");
                    return Err(Error::runtime(message));
                }
            }
        }
        keyword_values
            .extend(rest_names.iter().map(|(key, value)| (key.as_str().unwrap_or_default(), value.clone())));
        call(self, &Arguments { positional: &positional, named: &keyword_values })
    }
}
