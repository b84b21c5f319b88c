//! Records the origin of each piece of the output.
//!
//! Recording is a type parameter of [`crate::Output`] and of the languages. Without it, no code is compiled in.
//!
//! The reasons are in `docs/design/provenance.md`.

use std::num::NonZeroU32;

use crate::{InputsId, SlotInputs, SlotRecord};

/// A node of a template: the origin of text, a call or an error.
///
/// It only contains numbers. The language that compiled the template converts them to file, line, column and
/// path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Site {
    /// The template, by its number in this render.
    pub template: u32,
    /// The node in the template.
    pub node: u32,
}

/// What a piece of the output is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// The literal text of the template at the site.
    Text,
    /// A value of the data as it is printed; see [`InputsId::from_data`].
    Data(InputsId),
    /// Made of these inputs: by a filter, an operator or a function.
    Made(InputsId),
}

impl Default for Source {
    fn default() -> Self {
        Self::Made(InputsId::NONE)
    }
}

/// How a template came to the place that writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StepKind {
    /// A turn of a loop. [`Step::index`] is the number of the turn, from 0.
    Turn,
    /// An included template. Like those of the kinds below, its name has the number [`Step::index`] in
    /// [`crate::Reads::names`].
    Include,
    /// The parent of a template.
    Parent,
    /// A block.
    Block,
    /// A macro, a `caller`, or a template that is defined beside others.
    Call,
}

/// Why something is not in the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AbsentReason {
    /// A condition is false.
    Condition,
    /// A loop has no items.
    EmptyLoop,
    /// A value prints nothing.
    EmptyValue,
    /// A value is undefined.
    Undefined,
    /// An include that may be missing is missing.
    MissingInclude,
}

/// Whether and how origins are recorded.
pub trait Provenance: Default {
    /// Whether origins are recorded.
    const ON: bool;

    /// The inputs of the variables that a template sets.
    type Slots: SlotInputs;

    /// Records that the output now ends at `end`, and that the new text is the literal text at `site`.
    fn record_text(&mut self, end: usize, site: Site);

    /// Records that the output now ends at `end`, and that the new text is the value that the node at `site` prints.
    fn record_value(&mut self, end: usize, site: Site);

    /// Like [`Provenance::record_value`], for a value that is made of `source`.
    fn record_source(&mut self, end: usize, site: Site, source: Source);

    /// Sets what the values that are recorded next are made of.
    fn set_source(&mut self, source: Source);

    /// Records that the template enters a loop turn, an include, a block or a call.
    fn enter_step(&mut self, kind: StepKind, site: Site, index: u32);

    /// Records the end of the innermost step.
    fn leave_step(&mut self);

    /// Records that nothing is written at `offset`.
    fn record_absent(&mut self, offset: usize, site: Site, reason: AbsentReason, inputs: InputsId);

    /// Adopts the recorded origins of a text at `offset` of this one. Call it when the output ends there, before
    /// the text is written.
    fn take_over(&mut self, offset: usize, record: &Segments);

    /// Takes the record.
    fn take_record(&mut self) -> Segments;

    /// The number of recorded pieces.
    fn pieces(&self) -> usize;

    /// Makes room for a number of pieces.
    fn reserve(&mut self, pieces: usize);
}

/// Records nothing, at no cost.
#[derive(Clone, Copy, Debug, Default)]
pub struct Off;

impl Provenance for Off {
    const ON: bool = false;

    type Slots = ();

    #[inline(always)]
    fn record_text(&mut self, _end: usize, _site: Site) {}

    #[inline(always)]
    fn record_value(&mut self, _end: usize, _site: Site) {}

    #[inline(always)]
    fn record_source(&mut self, _end: usize, _site: Site, _source: Source) {}

    #[inline(always)]
    fn set_source(&mut self, _source: Source) {}

    #[inline(always)]
    fn enter_step(&mut self, _kind: StepKind, _site: Site, _index: u32) {}

    #[inline(always)]
    fn leave_step(&mut self) {}

    #[inline(always)]
    fn record_absent(&mut self, _offset: usize, _site: Site, _reason: AbsentReason, _inputs: InputsId) {}

    #[inline(always)]
    fn take_over(&mut self, _offset: usize, _record: &Segments) {}

    fn take_record(&mut self) -> Segments {
        Segments::default()
    }

    #[inline(always)]
    fn pieces(&self) -> usize {
        0
    }

    #[inline(always)]
    fn reserve(&mut self, _pieces: usize) {}
}

/// A piece of the output with one origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The byte after its last one. It starts at the end of the previous segment.
    pub end: u32,
    /// The node that wrote it.
    pub site: Site,
    /// The innermost step in which it was written, if any: an index into [`Segments::steps`].
    pub step: Option<StepId>,
    /// What it is made of.
    pub source: Source,
}

/// An index into [`Segments::steps`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StepId(NonZeroU32);

impl StepId {
    /// The step at `index`; fewer than 2^32 - 1 are recorded.
    fn new(index: usize) -> Self {
        Self(NonZeroU32::MIN.saturating_add(index as u32))
    }

    /// The index.
    #[must_use]
    pub fn index(self) -> u32 {
        self.0.get() - 1
    }
}

/// One step on the way to a piece of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The step around it.
    pub parent: Option<StepId>,
    /// Its kind.
    pub kind: StepKind,
    /// The node that took it: the loop, the include, the call.
    pub site: Site,
    /// See [`StepKind`].
    pub index: u32,
}

/// Something that is not in the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Absent {
    /// The offset in the output where it would be.
    pub offset: u32,
    /// The node that wrote nothing.
    pub site: Site,
    /// The innermost step around it.
    pub step: Option<StepId>,
    /// The reason.
    pub reason: AbsentReason,
    /// What the reason depends on.
    pub inputs: InputsId,
}

/// The most pieces and steps of one record. A render must not fail because it is recorded, so a longer one is
/// recorded less exactly: see [`Segments::is_complete`].
const MOST_RECORDED: usize = 1 << 20;

/// The most absent pieces of one record.
const MOST_ABSENT: usize = 1 << 16;

/// The recorded origins of one output.
///
/// Steps that write nothing are not stored. Output beyond 4 GiB is not recorded.
#[derive(Clone, Debug, Default)]
pub struct Segments {
    segments: Vec<Segment>,
    steps: Vec<Step>,
    absent: Vec<Absent>,
    /// The end of the last piece.
    covered: usize,
    current: Option<StepId>,
    /// The number of open steps that were not stored.
    unstored: u32,
    source: Source,
    is_cut: bool,
}

impl Segments {
    /// The pieces, in the order of the output.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// The steps in which text was written, in the order of their start.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// What is not in the output, in the order of the output.
    #[must_use]
    pub fn absent(&self) -> &[Absent] {
        &self.absent
    }

    /// Whether each piece has its own origin. If not, the record reached its limit: the last piece then covers the
    /// rest of the output.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        !self.is_cut
    }

    /// The steps to a piece, the innermost first.
    pub fn steps_to(&self, step: Option<StepId>) -> impl Iterator<Item = &Step> {
        let next = |id: Option<StepId>| id.and_then(|id| self.steps.get(id.index() as usize));
        std::iter::successors(next(step), move |step| next(step.parent))
    }

    /// The piece that contains the byte `offset` of the output.
    #[must_use]
    pub fn segment_at(&self, offset: usize) -> Option<&Segment> {
        let after = self.segments.partition_point(|segment| segment.end as usize <= offset);
        self.segments.get(after)
    }

    /// Removes the origins of text after `end`, because the output was truncated there.
    #[cold]
    fn truncate_segments(&mut self, end: u32) {
        let kept = self.segments.partition_point(|segment| segment.end < end);
        self.segments.truncate(kept + usize::from(end > 0));
        if let Some(last) = self.segments.last_mut() {
            last.end = end;
        }
        self.absent.retain(|absent| absent.offset <= end);
    }

    /// Adds a piece that is not a part of the last one.
    #[inline]
    fn record(&mut self, end: usize, site: Site, source: Source) {
        if end > self.covered && end <= u32::MAX as usize && self.segments.len() + 1 < MOST_RECORDED {
            self.covered = end;
            self.segments.push(Segment { end: end as u32, site, step: self.current, source });
        } else if end != self.covered {
            self.record_rarely(end, site, source);
        }
    }

    #[cold]
    #[inline(never)]
    fn make_room_for_steps(&mut self) {
        self.steps.reserve(self.segments.capacity().max(128) / 4);
    }

    #[cold]
    #[inline(never)]
    fn make_room_for_absent(&mut self) {
        self.absent.reserve(32);
    }

    #[inline(never)]
    fn record_rarely(&mut self, end: usize, site: Site, source: Source) {
        self.record_checked(end, site, source);
        self.covered = self.segments.last().map_or(0, |last| last.end as usize);
    }

    fn record_checked(&mut self, end: usize, site: Site, source: Source) {
        let Ok(end) = u32::try_from(end) else { return };
        let step = self.current;
        match self.segments.last_mut() {
            Some(last) if last.end == end => {}
            Some(last) if last.end > end => self.truncate_segments(end),
            // Two pieces of text are never one: each is a range of its file.
            Some(last)
                if source != Source::Text && (last.site, last.step, last.source) == (site, step, source) =>
            {
                last.end = end;
            }
            None if end == 0 => {}
            Some(last) if self.is_cut => last.end = end,
            _ => {
                let is_last = self.segments.len() + 1 >= MOST_RECORDED;
                self.is_cut |= is_last;
                let source = if is_last { Source::Made(InputsId::MANY) } else { source };
                self.segments.push(Segment { end, site, step, source });
            }
        }
    }
}

impl Provenance for Segments {
    const ON: bool = true;

    type Slots = SlotRecord;

    #[inline]
    fn record_text(&mut self, end: usize, site: Site) {
        self.record(end, site, Source::Text);
    }

    #[inline]
    fn record_value(&mut self, end: usize, site: Site) {
        self.record_source(end, site, self.source);
    }

    #[inline]
    fn record_source(&mut self, end: usize, site: Site, source: Source) {
        // Only the site is compared first: neighbours rarely have the same one.
        match self.segments.last() {
            Some(last) if last.site == site => self.record_rarely(end, site, source),
            _ => self.record(end, site, source),
        }
    }

    #[inline]
    fn set_source(&mut self, source: Source) {
        self.source = source;
    }

    #[inline]
    fn enter_step(&mut self, kind: StepKind, site: Site, index: u32) {
        if self.unstored > 0 || self.steps.len() >= MOST_RECORDED {
            self.unstored += 1;
            return;
        }
        let id = StepId::new(self.steps.len());
        if self.steps.len() == self.steps.capacity() {
            self.make_room_for_steps();
        }
        self.steps.push(Step { parent: self.current, kind, site, index });
        self.current = Some(id);
    }

    #[inline]
    fn leave_step(&mut self) {
        if self.unstored > 0 {
            self.unstored -= 1;
            return;
        }
        let Some(id) = self.current else { return };
        self.current = self.steps.get(id.index() as usize).and_then(|step| step.parent);
        // Pieces outside of all steps are before every step.
        let wrote = self.segments.last().is_some_and(|last| last.step >= Some(id))
            || self.absent.last().is_some_and(|last| last.step >= Some(id));
        if !wrote && self.steps.len() == id.index() as usize + 1 {
            self.steps.pop();
        }
    }

    #[inline]
    fn record_absent(&mut self, offset: usize, site: Site, reason: AbsentReason, inputs: InputsId) {
        let Ok(offset) = u32::try_from(offset) else { return };
        if self.absent.len() == self.absent.capacity() {
            self.make_room_for_absent();
        }
        if self.absent.len() < MOST_ABSENT {
            self.absent.push(Absent { offset, site, step: self.current, reason, inputs });
        } else {
            self.is_cut = true;
        }
    }

    fn take_over(&mut self, offset: usize, record: &Segments) {
        let end = record.segments.last().map_or(0, |last| last.end as usize);
        if u32::try_from(offset + end).is_err() {
            return;
        }
        let first = self.steps.len();
        let is_full = self.steps.len() + record.steps.len() > MOST_RECORDED
            || self.segments.len() + record.segments.len() > MOST_RECORDED;
        if is_full || self.is_cut {
            // The text itself is recorded when it is written.
            self.is_cut = true;
            self.source = Source::Made(InputsId::MANY);
            return;
        }
        let current = self.current;
        let moved =
            |step: Option<StepId>| step.map_or(current, |id| Some(StepId::new(id.index() as usize + first)));
        self.steps.extend(record.steps.iter().map(|step| Step { parent: moved(step.parent), ..*step }));
        self.segments.extend(record.segments.iter().map(|segment| Segment {
            end: segment.end + offset as u32,
            step: moved(segment.step),
            ..*segment
        }));
        self.covered = self.segments.last().map_or(0, |last| last.end as usize);
        let room = MOST_ABSENT - self.absent.len().min(MOST_ABSENT);
        self.absent.extend(record.absent.iter().take(room).map(|absent| Absent {
            offset: absent.offset + offset as u32,
            step: moved(absent.step),
            ..*absent
        }));
    }

    fn take_record(&mut self) -> Segments {
        std::mem::take(self)
    }

    fn pieces(&self) -> usize {
        self.segments.len()
    }

    fn reserve(&mut self, pieces: usize) {
        self.segments.reserve(pieces.min(MOST_RECORDED));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_knows_its_loops_and_their_turns() {
        let site = |node| Site { template: 0, node };
        let mut record = Segments::default();
        record.record_text(2, site(1));
        for outer in 0..2 {
            record.enter_step(StepKind::Turn, site(10), outer);
            record.enter_step(StepKind::Turn, site(11), 0);
            record.record_text(5 + outer as usize, site(12));
            record.leave_step();
            record.leave_step();
        }
        record.record_text(9, site(1));
        let turns: Vec<_> = record
            .steps_to(record.segment_at(5).expect("inside").step)
            .map(|step| (step.site.node, step.index))
            .collect();
        assert_eq!(turns, [(11, 0), (10, 1)]);
        assert_eq!(record.segment_at(8).expect("inside").step, None);
        assert_eq!(record.segment_at(9), None);
        assert_eq!(record.segments().len(), 4);
    }

    #[test]
    fn a_record_can_become_a_part_of_another() {
        let site = |template, node| Site { template, node };
        let mut inner = Segments::default();
        inner.record_text(1, site(1, 0));
        inner.enter_step(StepKind::Turn, site(1, 5), 7);
        inner.record_text(3, site(1, 6));
        inner.record_absent(3, site(1, 7), AbsentReason::Condition, InputsId::NONE);
        inner.leave_step();
        let mut outer = Segments::default();
        outer.record_text(10, site(0, 0));
        outer.enter_step(StepKind::Include, site(0, 2), 4);
        outer.take_over(10, &inner);
        outer.record_value(13, site(0, 3));
        outer.leave_step();
        let steps_at = |offset| {
            let segment = outer.segment_at(offset).expect("inside");
            let steps: Vec<_> = outer.steps_to(segment.step).map(|step| (step.site, step.index)).collect();
            (segment.site, steps)
        };
        assert_eq!(steps_at(9), (site(0, 0), vec![]));
        assert_eq!(steps_at(10), (site(1, 0), vec![(site(0, 2), 4)]));
        assert_eq!(steps_at(12), (site(1, 6), vec![(site(1, 5), 7), (site(0, 2), 4)]));
        assert_eq!(outer.segment_at(13), None);
        assert_eq!(outer.absent()[0].offset, 13);
    }

    #[test]
    fn a_record_that_is_full_still_covers_the_output() {
        let mut record = Segments::default();
        for end in 1..=MOST_RECORDED + 10 {
            record.record_text(end, Site { template: 0, node: end as u32 });
        }
        assert_eq!(record.segments().len(), MOST_RECORDED);
        assert!(!record.is_complete());
        let last = record.segments().last().expect("there are pieces");
        assert_eq!(last.end as usize, MOST_RECORDED + 10);
        assert_eq!(last.source, Source::Made(InputsId::MANY), "it is not the text of one place");
    }
}
