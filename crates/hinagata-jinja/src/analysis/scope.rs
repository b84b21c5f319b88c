//! The names that a template binds, and the data that their values come from.

use std::collections::HashMap;

use hinagata_value::analysis::{Binding, Meaning, ScopeLog, add_shapes};

/// How a frame relates to the enclosing frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrameKind {
    /// Names that are bound inside are not visible outside.
    Inner,
    /// One branch of an `if`: its names may be bound after the `if`.
    Arm,
    /// A block that is not scoped: it sees only top-level names.
    Block,
}

#[derive(Debug)]
struct Frame<'t> {
    kind: FrameKind,
    names: HashMap<&'t str, Binding>,
    /// The head of the log when the frame was entered.
    log: Option<u32>,
}

/// The visible names.
#[derive(Debug)]
pub(super) struct Scopes<'t> {
    frames: Vec<Frame<'t>>,
    log: ScopeLog,
    /// The log entry that the visible names start from.
    head: Option<u32>,
    /// The same for the top-level names.
    top: Option<u32>,
}

impl<'t> Scopes<'t> {
    pub(super) fn new() -> Self {
        let top = Frame { kind: FrameKind::Inner, names: HashMap::new(), log: None };
        Self { frames: vec![top], log: ScopeLog::default(), head: None, top: None }
    }

    pub(super) fn enter(&mut self, kind: FrameKind) {
        self.frames.push(Frame { kind, names: HashMap::new(), log: self.head });
        if kind == FrameKind::Block {
            self.head = self.top;
        }
    }

    pub(super) fn leave(&mut self) {
        self.pop();
    }

    fn pop(&mut self) -> HashMap<&'t str, Binding> {
        let Some(frame) = self.frames.pop() else { return HashMap::new() };
        self.head = frame.log;
        frame.names
    }

    pub(super) fn bind(&mut self, name: &'t str, binding: Binding) {
        self.head = self.log.add_binding(name, &binding, self.head);
        if self.frames.len() == 1 {
            self.top = self.head;
        }
        if let Some(frame) = self.frames.last_mut() {
            frame.names.insert(name, binding);
        }
    }

    /// Leaves an arm and returns its names for [`Scopes::join`].
    pub(super) fn leave_arm(&mut self) -> Vec<(&'t str, Binding)> {
        let mut names: Vec<_> = self.pop().into_iter().collect();
        names.sort_unstable_by_key(|(name, _)| *name);
        names
    }

    /// Binds the names that the arms of one `if` bound. Without an `else`, possibly none of the arms ran.
    pub(super) fn join(&mut self, arms: Vec<Vec<(&'t str, Binding)>>, has_else: bool) {
        if self.log.is_full() {
            return;
        }
        let count = arms.len();
        let mut joined: Vec<(&'t str, Binding, usize)> = Vec::new();
        let mut index: HashMap<&'t str, usize> = HashMap::new();
        for (name, binding) in arms.into_iter().flatten() {
            let at = *index.entry(name).or_insert_with(|| {
                joined.push((name, Binding::default(), 0));
                joined.len() - 1
            });
            let (_, sum, times) = &mut joined[at];
            add_shapes(&mut sum.shapes, &binding.shapes);
            sum.maybe |= binding.maybe;
            *times += 1;
        }
        for (name, mut binding, times) in joined {
            if binding.maybe || !has_else || times < count {
                match self.frames.last().and_then(|frame| frame.names.get(name)) {
                    Some(before) => {
                        binding.maybe = before.maybe;
                        add_shapes(&mut binding.shapes, &before.shapes);
                    }
                    None => binding.maybe = true,
                }
            }
            self.bind(name, binding);
        }
    }

    /// The meaning of `name` here.
    pub(super) fn look_up(&self, name: &str) -> Meaning {
        let mut meaning = Meaning::default();
        let mut hidden = false;
        for (depth, frame) in self.frames.iter().enumerate().rev() {
            if (!hidden || depth == 0)
                && let Some(binding) = frame.names.get(name)
                && meaning.add_binding(binding)
            {
                return meaning;
            }
            hidden |= frame.kind == FrameKind::Block;
        }
        meaning.free = true;
        meaning
    }

    /// The log entry for the names that are visible now.
    pub(super) fn head(&self) -> Option<u32> {
        self.head
    }

    pub(super) fn into_log(self) -> ScopeLog {
        self.log
    }
}
