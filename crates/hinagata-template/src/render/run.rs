//! One pass over a template.

use hinagata_value::{
    Budget, Calls, ErrorKind, Heap, Off, Output, Provenance, Result, Segments, Variables, Written,
};

use super::Render;
use crate::{
    Meter, Pool, Template, Used, library::Library, recorded::Origins, session::Session,
    structure::refuse_roles,
};

/// A completed pass.
pub(super) struct FinishedPass<P, M> {
    written: Written<P>,
    seen: M,
    /// Its use of the budget without time. Empty without a meter.
    used: Used,
}

impl Render<'_> {
    /// The output of a template that only writes texts and prints variables, by the short way of its language; `None` if
    /// the general way has to render it.
    #[inline]
    pub(super) fn plain_written(&self, template: &Template, variables: &dyn Variables) -> Option<Written> {
        if self.meter.is_some() || !template.is_plain() {
            return None;
        }
        let written = template.render_plain(&self.limits, variables)?;
        template.remember_size(written.text.len());
        Some(written)
    }

    pub(super) fn render_written(&self, template: &Template, variables: &dyn Variables) -> Result<Written> {
        if let Some(written) = self.plain_written(template, variables) {
            return Ok(written);
        }
        let ran = self.one_pass::<Off, _>(template, variables, &Calls::new(), None, |_, _, _| ())?;
        Ok(self.finish_pass(ran).0)
    }

    #[inline(always)]
    pub(super) fn recorded_pass(
        &self,
        template: &Template,
        variables: &dyn Variables,
        calls: &Calls,
    ) -> Result<FinishedPass<Segments, Origins>> {
        self.one_pass(template, variables, calls, None, |library, heap, _| {
            Origins::new(library, heap.finish_trace())
        })
    }

    /// Adds the last pass of a render to the meter and returns its result.
    #[inline(always)]
    pub(super) fn finish_pass<P, M>(&self, ran: FinishedPass<P, M>) -> (Written<P>, M) {
        if let Some(meter) = self.meter {
            meter.add_used(ran.used);
        }
        (ran.written, ran.seen)
    }

    /// Runs one pass over the template. `look` gets the templates that it used, its values and its output.
    #[inline(always)]
    pub(super) fn one_pass<P: Provenance, M>(
        &self,
        template: &Template,
        variables: &dyn Variables,
        calls: &Calls,
        pool: Option<&Pool>,
        look: impl FnOnce(&Library<'_>, &Heap<'_>, &Written<P>) -> M,
    ) -> Result<FinishedPass<P, M>> {
        let before = self.meter.map_or_else(Used::default, Meter::used);
        let budget = self.pass_budget(before);
        let library = Library::new(template, self.sources, self.cache, budget.limits())
            .with_joined(self.joined)
            .with_spent(before.templates)?;
        let heap = Heap::new(&budget);
        let session = Session::new(&heap, &library, self.functions, calls);
        let mut out = self.new_output::<P>(template, &budget, pool, before)?;
        if P::ON {
            out.provenance().reserve(template.expected_pieces());
        }
        let result = session.render(variables, &mut out);
        let written = out.finish();
        let used = self.count_pass(&result, &written, &budget, &library, before);
        if let Err(error) = result {
            if let Some(pool) = pool {
                pool.return_buffer(written.text);
            }
            return Err(error);
        }
        template.remember_size(written.text.len());
        if P::ON {
            template.remember_pieces(written.provenance.pieces());
        }
        let seen = look(&library, &heap, &written);
        Ok(FinishedPass { written, seen, used })
    }

    /// The budget of a pass after `before` was used.
    fn pass_budget(&self, before: Used) -> Budget {
        let budget = match self.meter {
            None => Budget::new(self.limits.clone()),
            Some(meter) => Budget::new(meter.remaining_limits(&self.limits, before))
                .with_spent(before.steps, before.time),
        };
        match &self.cancel {
            None => budget,
            Some(cancel) => budget.with_cancel(cancel.clone()),
        }
    }

    fn new_output<'b, P: Provenance>(
        &self,
        template: &Template,
        budget: &'b Budget,
        pool: Option<&Pool>,
        before: Used,
    ) -> Result<Output<'b, P>> {
        let out = match pool {
            Some(pool) => Output::with_buffer(budget, self.buffer(pool))?,
            None => Output::with_capacity(budget, self.room(template))?,
        };
        let out = if self.one_message { out.with_part_check(refuse_roles) } else { out };
        out.with_spent(before.output)
    }

    /// The use of a pass, which the caller counts if it is the last one. Time, and the work of a failed pass,
    /// are counted here in any case.
    fn count_pass<P>(
        &self,
        result: &Result<()>,
        written: &Written<P>,
        budget: &Budget,
        library: &Library<'_>,
        before: Used,
    ) -> Used {
        let Some(meter) = self.meter else { return Used::default() };
        let time = budget.time_used().saturating_sub(before.time);
        meter.add_used(Used { time, ..Used::default() });
        let steps = budget.steps_used().saturating_sub(before.steps);
        let work = Used { steps, templates: library.len(), ..Used::default() };
        match result {
            Ok(()) => Used { output: written.characters(), ..work },
            Err(error) if error.kind() == ErrorKind::Suspended => Used::default(),
            Err(_) => {
                meter.add_used(work);
                Used::default()
            }
        }
    }

    /// A buffer of the pool that leaves most of the byte budget to the template.
    fn buffer(&self, pool: &Pool) -> String {
        let buffer = pool.take_buffer();
        if buffer.capacity() <= self.limits.bytes / 8 {
            return buffer;
        }
        pool.return_buffer(buffer);
        String::new()
    }

    fn room(&self, template: &Template) -> usize {
        template.expected_size().min(self.limits.bytes / 8)
    }
}
