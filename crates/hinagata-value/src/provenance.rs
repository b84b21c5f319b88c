//! Records the origin of each piece of the output.
//!
//! Recording is a type parameter of [`crate::Output`]. Without it, no code is compiled in. With it, each piece
//! and each iteration that writes costs a comparison and twenty bytes.
//!
//! The reasons are in `docs/design/provenance.md`.

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

/// Whether and how origins are recorded.
pub trait Provenance: Default {
    /// Whether origins are recorded.
    const ON: bool;

    /// Records that the output now ends at `end`, and that the new text has the origin `site`.
    fn record_write(&mut self, end: usize, site: Site);

    /// Records that a loop at `site` starts its iteration `index`, from 0.
    fn enter_turn(&mut self, site: Site, index: u32);

    /// Records the end of the innermost iteration.
    fn leave_turn(&mut self);

    /// Adopts the recorded origins of a text at `offset` of this one. Call it when the output ends there, before
    /// the text is written.
    fn take_over(&mut self, offset: usize, record: &Segments);

    /// Bytes of the recorded origins, which are charged to the budget of the output.
    fn extent(&self) -> usize {
        0
    }
}

/// Records nothing, at no cost.
#[derive(Clone, Copy, Debug, Default)]
pub struct Off;

impl Provenance for Off {
    const ON: bool = false;

    #[inline(always)]
    fn record_write(&mut self, _end: usize, _site: Site) {}

    #[inline(always)]
    fn enter_turn(&mut self, _site: Site, _index: u32) {}

    #[inline(always)]
    fn leave_turn(&mut self) {}

    #[inline(always)]
    fn take_over(&mut self, _offset: usize, _record: &Segments) {}
}

/// A piece of the output with one origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The byte after its last one. It starts at the end of the previous segment.
    pub end: u32,
    /// Its origin.
    pub site: Site,
    /// The turn of the innermost loop it was written in, if any: an index into [`Segments::turns`].
    pub turn: Option<TurnId>,
}

/// An index into [`Segments::turns`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnId(pub u32);

/// One iteration of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The turn of the loop around it.
    pub parent: Option<TurnId>,
    /// The loop.
    pub site: Site,
    /// The number of the iteration, from 0.
    pub index: u32,
}

/// The recorded origins of one output.
///
/// They are charged to the budget of the output. Iterations that write nothing are not stored. Output beyond
/// 4 GiB is not recorded.
#[derive(Clone, Debug, Default)]
pub struct Segments {
    segments: Vec<Segment>,
    turns: Vec<Turn>,
    current: Option<TurnId>,
}

impl Segments {
    /// The pieces, in the order of the output.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// The iterations that wrote text, in the order of their start.
    #[must_use]
    pub fn turns(&self) -> &[Turn] {
        &self.turns
    }

    /// The loops around a piece with the number of their iteration, the innermost first.
    pub fn turns_of(&self, segment: &Segment) -> impl Iterator<Item = &Turn> {
        let next = |id: Option<TurnId>| id.and_then(|id| self.turns.get(id.0 as usize));
        std::iter::successors(next(segment.turn), move |turn| next(turn.parent))
    }

    /// The piece that contains the byte `offset` of the output.
    #[must_use]
    pub fn segment_at(&self, offset: usize) -> Option<&Segment> {
        let after = self.segments.partition_point(|segment| segment.end as usize <= offset);
        self.segments.get(after)
    }
}

impl Segments {
    /// Removes the origins of text after `end`, because the output was truncated there.
    #[cold]
    fn truncate_segments(&mut self, end: u32) {
        let kept = self.segments.partition_point(|segment| segment.end < end);
        self.segments.truncate(kept + usize::from(end > 0));
        if let Some(last) = self.segments.last_mut() {
            last.end = end;
        }
    }
}

impl Provenance for Segments {
    const ON: bool = true;

    fn record_write(&mut self, end: usize, site: Site) {
        let Ok(end) = u32::try_from(end) else { return };
        let turn = self.current;
        match self.segments.last_mut() {
            Some(last) if last.end == end => {}
            Some(last) if last.end > end => self.truncate_segments(end),
            Some(last) if last.site == site && last.turn == turn => last.end = end,
            None if end == 0 => {}
            _ => self.segments.push(Segment { end, site, turn }),
        }
    }

    fn enter_turn(&mut self, site: Site, index: u32) {
        let Ok(id) = u32::try_from(self.turns.len()) else { return };
        self.turns.push(Turn { parent: self.current, site, index });
        self.current = Some(TurnId(id));
    }

    fn leave_turn(&mut self) {
        let Some(id) = self.current else { return };
        self.current = self.turns.get(id.0 as usize).and_then(|turn| turn.parent);
        let wrote = self.segments.last().and_then(|last| last.turn).is_some_and(|turn| turn.0 >= id.0);
        if !wrote && self.turns.len() == id.0 as usize + 1 {
            self.turns.pop();
        }
    }

    fn take_over(&mut self, offset: usize, record: &Segments) {
        let (offset, turns) = (offset as u64, self.turns.len() as u64);
        let end = record.segments.last().map_or(0, |last| u64::from(last.end));
        if end == 0 || u32::try_from(offset + end).is_err() || u32::try_from(turns).is_err() {
            return;
        }
        let moved =
            |turn: Option<TurnId>, current| turn.map_or(current, |id| Some(TurnId(id.0 + turns as u32)));
        let current = self.current;
        let outer = |turn: &Turn| Turn { parent: moved(turn.parent, current), ..*turn };
        self.turns.extend(record.turns.iter().map(outer));
        self.segments.extend(record.segments.iter().map(|segment| Segment {
            end: segment.end + offset as u32,
            turn: moved(segment.turn, current),
            ..*segment
        }));
    }

    fn extent(&self) -> usize {
        self.segments.capacity() * size_of::<Segment>() + self.turns.capacity() * size_of::<Turn>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_knows_its_loops_and_their_turns() {
        let site = |node| Site { template: 0, node };
        let mut record = Segments::default();
        record.record_write(2, site(1));
        for outer in 0..2 {
            record.enter_turn(site(10), outer);
            record.enter_turn(site(11), 0);
            record.record_write(5 + outer as usize, site(12));
            record.leave_turn();
            record.leave_turn();
        }
        record.record_write(9, site(1));
        let turns: Vec<_> = record
            .turns_of(record.segment_at(5).expect("inside"))
            .map(|turn| (turn.site.node, turn.index))
            .collect();
        assert_eq!(turns, [(11, 0), (10, 1)]);
        assert_eq!(record.segment_at(8).expect("inside").turn, None);
        assert_eq!(record.segment_at(9), None);
        assert_eq!(record.segments().len(), 4);
    }

    #[test]
    fn a_record_can_become_a_part_of_another() {
        let site = |template, node| Site { template, node };
        let mut inner = Segments::default();
        inner.record_write(1, site(1, 0));
        inner.enter_turn(site(1, 5), 7);
        inner.record_write(3, site(1, 6));
        inner.leave_turn();
        let mut outer = Segments::default();
        outer.record_write(10, site(0, 0));
        outer.enter_turn(site(0, 2), 4);
        outer.take_over(10, &inner);
        outer.record_write(13, site(0, 3));
        outer.leave_turn();
        let turns_at = |offset| {
            let segment = outer.segment_at(offset).expect("inside");
            let turns = outer.turns_of(segment).map(|turn| (turn.site, turn.index)).collect::<Vec<_>>();
            (segment.site, turns)
        };
        assert_eq!(turns_at(9), (site(0, 0), vec![]));
        assert_eq!(turns_at(10), (site(1, 0), vec![(site(0, 2), 4)]));
        assert_eq!(turns_at(12), (site(1, 6), vec![(site(1, 5), 7), (site(0, 2), 4)]));
        assert_eq!(outer.segment_at(13), None);
    }
}
