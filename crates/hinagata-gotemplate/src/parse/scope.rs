//! Resolves the names of variables.
//!
//! Go has a stack of variables and searches it while the template runs. Its parser has another list, to
//! reject undeclared names. The two differ: a variable declared in the body of an `if` is known to the
//! parser in the `else`, but not to the run. This module tracks both, and computes in advance where the run
//! finds a variable: each one has a slot.

use hinagata_value::{Budget, Result};

use crate::tree::Slots;

/// The variables in scope at one point of a source.
pub(super) struct Scope {
    /// The names that the parser accepts.
    accepted: Vec<Box<str>>,
    /// The stack of the run at this point.
    stack: Vec<Declared>,
    /// Where the innermost block starts in the stack.
    block: usize,
    most: u32,
    /// The slots declared in each open argument of an `and` or `or` that may be skipped.
    maybe: Vec<Vec<u32>>,
}

struct Declared {
    name: Box<str>,
    slot: u32,
    /// Whether the run may skip the declaration.
    maybe: bool,
}

/// The state at the start of a block.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    accepted: usize,
    stack: usize,
    block: usize,
}

impl Scope {
    pub(super) fn new() -> Self {
        let root = Declared { name: "$".into(), slot: 0, maybe: false };
        Self { accepted: vec!["$".into()], stack: vec![root], block: 1, most: 1, maybe: Vec::new() }
    }

    /// Maximum number of slots in use at the same time.
    pub(super) fn slots(&self) -> u32 {
        self.most
    }

    /// Starts a block; [`Scope::leave_block`] ends it.
    pub(super) fn enter_block(&mut self) -> Mark {
        let mark = Mark { accepted: self.accepted.len(), stack: self.stack.len(), block: self.block };
        self.block = self.stack.len();
        mark
    }

    pub(super) fn leave_block(&mut self, mark: Mark) {
        self.accepted.truncate(mark.accepted);
        self.stack.truncate(mark.stack);
        self.block = mark.block;
    }

    /// Number of variables of the run at this point.
    pub(super) fn height(&self) -> usize {
        self.stack.len()
    }

    /// Drops variables of the run down to a height. The parser still accepts their names.
    pub(super) fn drop_to(&mut self, height: usize) {
        self.stack.truncate(height);
    }

    /// Makes the parser accept a name.
    pub(super) fn accept_name(&mut self, name: &str) {
        self.accepted.push(name.into());
    }

    pub(super) fn is_accepted(&self, name: &str, budget: &Budget) -> Result<bool> {
        budget.charge_steps(1 + (self.accepted.len() as u64 >> 3))?;
        Ok(self.accepted.iter().rev().any(|accepted| **accepted == *name))
    }

    /// Declares a variable and returns its slot.
    ///
    /// A redeclared name in the same block reuses its slot, because the older variable is not visible any
    /// more. This also holds for two declarations that may be skipped, as long as only the first of them marks
    /// the slot as undeclared. It keeps the lists of possible slots short.
    pub(super) fn declare_variable(&mut self, name: &str, budget: &Budget) -> Result<u32> {
        budget.charge_steps(1 + (self.stack.len() as u64 >> 3))?;
        let maybe = !self.maybe.is_empty();
        let older = self.stack.iter().rposition(|declared| *declared.name == *name);
        if let Some(at) = older.filter(|&at| at >= self.block && maybe == self.stack[at].maybe) {
            return Ok(self.stack[at].slot);
        }
        let slot = self.stack.last().map_or(0, |last| last.slot + 1);
        self.stack.push(Declared { name: name.into(), slot, maybe });
        self.most = self.most.max(slot + 1);
        if let Some(slots) = self.maybe.last_mut() {
            slots.push(slot);
        }
        Ok(slot)
    }

    /// The slots where the run may find a variable.
    pub(super) fn resolve_variable(&self, name: &str, budget: &Budget) -> Result<Slots> {
        budget.charge_steps(1 + (self.stack.len() as u64 >> 3))?;
        let mut slots = Vec::new();
        for declared in self.stack.iter().rev().filter(|declared| *declared.name == *name) {
            if !declared.maybe && slots.is_empty() {
                return Ok(Slots::One(declared.slot));
            }
            slots.push(declared.slot);
            if !declared.maybe {
                break;
            }
        }
        Ok(Slots::Maybe(slots.into()))
    }

    /// Starts an argument that may be skipped.
    pub(super) fn enter_maybe(&mut self) {
        self.maybe.push(Vec::new());
    }

    /// Ends such an argument. Returns the slots declared in it.
    pub(super) fn leave_maybe(&mut self) -> Vec<u32> {
        let slots = self.maybe.pop().unwrap_or_default();
        if let Some(outer) = self.maybe.last_mut() {
            outer.extend(&slots);
        }
        slots
    }
}
