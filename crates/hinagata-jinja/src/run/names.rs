//! Looks up names that are not in a slot.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use hinagata_value::{Key, MapBuilder, Owner, Provenance, Result, Undefined, Value};
use serde_json::Value as Json;

use super::{Data, Vm, few::Few, is_unset, objects};
use crate::code::{BlockCode, Otherwise, Var, Visible};

/// The names that a template or block sees in addition to its own slots.
pub(super) struct Context<'a> {
    /// The names around the include or the scoped block.
    pub(super) locals: Option<(&'a Visible, usize)>,
    /// The outer context; `None` for the variables of the render.
    pub(super) parent: Option<usize>,
    /// Whether there are no variables at all: an import without context.
    pub(super) sealed: bool,
    /// The context with the roots and blocks: this one, unless it only adds names.
    pub(super) owner: usize,
    /// The roots that run in this context, in the order they started: template and frame.
    pub(super) roots: Few<(u32, usize)>,
    /// All definitions of each block (template and code), that of the most derived template first.
    pub(super) blocks: BTreeMap<&'a str, Vec<(u32, &'a BlockCode)>>,
    /// The names of the blocks, once `self` was used.
    pub(super) block_names: Option<BlockNames<'a>>,
}

/// The names of the blocks of a context, shared with `self`, which also sees blocks that a parent adds
/// later.
pub(super) type BlockNames<'a> = Rc<RefCell<BTreeSet<&'a str>>>;

/// The bytes charged for a block: its name in two trees whose nodes may be half empty, and its list of
/// definitions with spare capacity.
pub(super) const BLOCK_BYTES: usize =
    2 * (2 * size_of::<&str>() + size_of::<Vec<(u32, &str)>>()) + 4 * size_of::<(u32, &str)>();

/// The bytes charged for one more definition of a block.
pub(super) const DEFINITION_BYTES: usize = 2 * size_of::<(u32, &str)>();

/// The bytes charged for a context: itself and spare capacity of the list.
pub(super) const CONTEXT_BYTES: usize = 2 * size_of::<Context<'_>>();

impl<'a, P: Provenance> Vm<'_, 'a, P> {
    /// Adds a context and returns its number.
    pub(super) fn add_context(
        &mut self,
        parent: Option<usize>,
        locals: Option<(&'a Visible, usize)>,
        owner: Option<usize>,
    ) -> Result<usize> {
        self.budget.charge_steps(1)?;
        let number = self.contexts.len();
        if number > 0 {
            // It exists until the end of the run, because a macro may need it. The first one is on the
            // stack.
            self.budget.charge_bytes(CONTEXT_BYTES)?;
        }
        let sealed = parent.is_none() && number > 0;
        self.contexts.push(Context {
            locals,
            parent,
            sealed,
            owner: owner.unwrap_or(number),
            roots: Few::new(),
            blocks: BTreeMap::new(),
            block_names: None,
        });
        Ok(number)
    }

    /// The value of a variable that the template sets somewhere.
    #[inline]
    pub(super) fn var(&self, var: &'a Var) -> Value<'a> {
        let value = self.slot(self.base, var.place);
        if is_unset(value) {
            self.var_elsewhere(var, self.base)
        } else {
            self.note_place(self.base, var.place);
            self.heap.current_version(value.clone())
        }
    }

    /// Like [`Vm::var`], for a value that is printed or that a path starts at: see [`Vm::lookup_data`].
    #[inline]
    pub(super) fn var_data(&self, var: &'a Var) -> Value<'a> {
        if P::ON
            && !self.autoescape
            && !self.heap.has_copies()
            && let Value::Json(json) = self.slot(self.base, var.place)
        {
            return Value::Json(json);
        }
        self.var(var)
    }

    #[cold]
    #[inline(never)]
    fn var_elsewhere(&self, var: &'a Var, base: usize) -> Value<'a> {
        let mut otherwise = &var.otherwise;
        loop {
            match otherwise {
                Otherwise::Outer(outer) => {
                    let value = self.slot(base, outer.0);
                    if !is_unset(value) {
                        self.note_place(base, outer.0);
                        return self.heap.current_version(value.clone());
                    }
                    otherwise = &outer.1;
                }
                Otherwise::Context => return self.lookup(&var.key),
                Otherwise::Undefined => {
                    let value = undefined(&var.key);
                    self.note_value(&value);
                    return value;
                }
            }
        }
    }

    /// The value of a variable as seen from the frame at `base`, if it is set.
    fn var_at(&self, var: &'a Var, base: usize) -> Option<Value<'a>> {
        let mut place = var.place;
        let mut otherwise = &var.otherwise;
        loop {
            let value = self.slot(base, place);
            if !is_unset(value) {
                self.note_place(base, place);
                return Some(value.clone());
            }
            match otherwise {
                Otherwise::Outer(outer) => (place, otherwise) = (outer.0, &outer.1),
                Otherwise::Context | Otherwise::Undefined => return None,
            }
        }
    }

    /// The value of a name in the running context.
    #[inline]
    pub(super) fn lookup(&self, key: &'a Key) -> Value<'a> {
        match self.find_variable(key) {
            Some(json) => {
                let value = Value::Json(json);
                self.note_value(&value);
                self.heap.current_version(value)
            }
            None => self.lookup_slowly(key),
        }
    }

    /// Like [`Vm::lookup`], for a value that is printed or that a path starts at: data says itself what it is made of,
    /// so the read is not logged unless printing changes it.
    #[inline]
    pub(super) fn lookup_data(&self, key: &'a Key) -> Value<'a> {
        if !P::ON || self.autoescape || self.heap.has_copies() {
            return self.lookup(key);
        }
        self.find_variable(key).map_or_else(|| self.lookup_slowly(key), Value::Json)
    }

    /// The variable of the render that a name refers to, where templates set no names.
    #[inline]
    fn find_variable(&self, key: &'a Key) -> Option<&'a Json> {
        match &self.data {
            Data::Variables(variables) if self.plain && self.context == 0 => variables.find(key),
            _ => None,
        }
    }

    #[inline(never)]
    fn lookup_slowly(&self, key: &'a Key) -> Value<'a> {
        self.find_name(self.context, key)
            .map(|value| self.heap.current_version(value))
            .or_else(|| self.global(key.name()))
            .unwrap_or_else(|| {
                let value = undefined(key);
                self.note_value(&value);
                value
            })
    }

    fn find_name(&self, context: usize, key: &Key) -> Option<Value<'a>> {
        let name = key.name().as_str();
        let mut next = Some(context);
        while let Some(number) = next {
            let context = &self.contexts[number];
            self.budget.owe_steps(1);
            if let Some((visible, base)) = context.locals
                && let Some(value) = self.visible_value(visible, base, name)
            {
                return Some(value);
            }
            for &(template, base) in context.roots.iter().rev() {
                let top_level = &self.templates[template as usize].code.top_level;
                if let Some(found) = top_level.find(name) {
                    let value = &self.slots[base + found.slot as usize];
                    if !is_unset(value) {
                        self.note_slot(base + found.slot as usize);
                        return Some(value.clone());
                    }
                }
            }
            if context.sealed {
                return None;
            }
            next = context.parent;
        }
        let found = match &self.data {
            Data::Variables(variables) => variables.find(key).map(Value::Json),
            Data::Value(value) => self.heap.attribute(value, key),
        };
        found.inspect(|value| self.note_value(value))
    }

    /// The value of a name in the scopes around an include or a scoped block, if it is set.
    fn visible_value(&self, visible: &'a Visible, base: usize, name: &str) -> Option<Value<'a>> {
        let mut scope = (visible, base);
        loop {
            if let Some(var) = scope.0.names.get(name) {
                return self.var_at(var, scope.1);
            }
            self.budget.owe_steps(1);
            scope = self.outer_scope(scope)?;
        }
    }

    /// The next outer scope of a scope, and its frame.
    fn outer_scope(&self, (visible, base): (&'a Visible, usize)) -> Option<(&'a Visible, usize)> {
        Some((visible.outer.as_deref()?, self.frame(base, visible.up)))
    }

    /// All names of a scope and its outer scopes, with their values if they are set.
    fn visible_names(
        &self,
        visible: Option<&'a Visible>,
        base: usize,
    ) -> Result<BTreeMap<&'a str, Option<Value<'a>>>> {
        let mut found = BTreeMap::new();
        let mut next = visible.map(|visible| (visible, base));
        while let Some(scope) = next {
            for (name, var) in &scope.0.names {
                self.budget.charge_steps(1)?;
                found.entry(&**name).or_insert_with(|| self.var_at(var, scope.1));
            }
            next = self.outer_scope(scope);
        }
        Ok(found)
    }

    /// All visible names as a map, for a template of another language.
    pub(super) fn scope(&self, visible: Option<&'a Visible>) -> Result<Value<'a>> {
        let visible = self.visible_names(visible, self.base)?;
        if self.plain && self.context == 0 && visible.values().all(Option::is_none) {
            // No name is set, so the data itself is the result.
            match &self.data {
                Data::Value(value) => return Ok(value.clone()),
                Data::Variables(variables) => {
                    if let Some(json) = variables.as_json() {
                        return Ok(Value::Json(json));
                    }
                }
            }
        }
        let mut map = self.heap.map()?;
        self.add_data(&mut map)?;
        let mut chain = vec![];
        let mut next = Some(self.context);
        while let Some(number) = next {
            chain.push(number);
            let context = &self.contexts[number];
            next = context.parent.filter(|_| !context.sealed);
        }
        for number in chain.into_iter().rev() {
            let context = &self.contexts[number];
            for &(template, base) in context.roots.iter() {
                for name in &self.templates[template as usize].code.top_level.names {
                    let value = &self.slots[base + name.slot as usize];
                    if can_leave(value) {
                        map.insert(Value::Lit(&name.name), value.clone())?;
                    }
                }
            }
            if let Some((visible, base)) = context.locals {
                self.add_visible(self.visible_names(Some(visible), base)?, &mut map)?;
            }
        }
        self.add_visible(visible, &mut map)?;
        Ok(map.finish())
    }

    fn add_data(&self, map: &mut MapBuilder<'a>) -> Result<()> {
        match &self.data {
            Data::Variables(variables) => {
                for name in variables.names() {
                    let key = Key::new(name);
                    if let Some(value) = variables.find(&key) {
                        map.insert(self.heap.string(name)?, Value::Json(value))?;
                    }
                }
            }
            Data::Value(value) => {
                for (key, value) in self.heap.entries(value).into_iter().flatten() {
                    map.insert(key, value)?;
                }
            }
        }
        Ok(())
    }

    fn add_visible(
        &self,
        visible: BTreeMap<&'a str, Option<Value<'a>>>,
        map: &mut MapBuilder<'a>,
    ) -> Result<()> {
        for (name, value) in visible {
            if let Some(value) = value.filter(can_leave) {
                map.insert(self.heap.string(name)?, value)?;
            }
        }
        Ok(())
    }

    /// A name that every template has.
    fn global(&self, name: &str) -> Option<Value<'a>> {
        objects::global(name, self.inputs.settings.chat_host).or_else(|| self.objects.function(name))
    }
}

/// Whether a value can be used outside this run: macros, imported templates and loops cannot.
fn can_leave(value: &Value<'_>) -> bool {
    !is_unset(value) && !matches!(value, Value::Engine(_))
}

#[cold]
fn undefined<'a>(key: &'a Key) -> Value<'a> {
    Value::Undefined(Undefined { owner: Owner::Variables, name: Some(key.name()) })
}
