//! Blocks and inheritance, includes and imports.

use std::{
    cell::RefCell,
    collections::{BTreeMap, btree_map::Entry},
    rc::Rc,
};

use hinagata_value::{
    AbsentReason, Error, ErrorKind, InputsId, Output, Provenance, Result, SlotInputs, StepKind, Value,
};

use super::{
    Vm,
    load::FoundTemplate,
    names::{BLOCK_BYTES, DEFINITION_BYTES},
    objects::Object,
};
use crate::{
    ast::Span,
    code::{BlockCall, Expr, FromImport, Import, Include, Visible},
};

impl<'a, P: Provenance> Vm<'_, 'a, P> {
    /// Runs a template and the templates it extends, in the context `context`.
    pub(super) fn run_root(&mut self, template: u32, context: usize, out: &mut Output<'a, P>) -> Result<()> {
        let start = self.slots.len();
        let result = self.run_chain(template, context, out);
        if self.floor <= start {
            self.slots.truncate(start);
        }
        result
    }

    /// As [`Vm::run_root`], but keeps the frames of the roots, so that their names can be read afterwards.
    fn run_chain(&mut self, template: u32, context: usize, out: &mut Output<'a, P>) -> Result<()> {
        let outer = (self.template, self.context, self.autoescape, self.parent, self.base);
        self.context = context;
        self.add_blocks(context, template)?;
        let mut next = Some(template);
        let mut extends: Option<(u32, Span)> = None;
        let mut result = Ok(());
        let budget = self.budget;
        let _level = budget.enter_call()?;
        // Every parent counts as one call level, as in Jinja2, where it runs inside its child.
        let mut parents = Vec::new();
        while let Some(template) = next {
            if let Some((child, span)) = extends {
                self.template = child;
                let parent = self.templates[template as usize];
                self.enter_named(StepKind::Parent, span, parent.name(), out);
            }
            self.template = template;
            self.autoescape = self.inputs.settings.autoescape;
            self.parent = None;
            result = self.run_one_root(template, context, out);
            if extends.is_some() {
                self.leave_step(out);
            }
            if result.is_err() {
                break;
            }
            next = self.parent.map(|(parent, _)| parent);
            extends = self.parent.map(|(_, span)| (template, span));
            if next.is_some() {
                match budget.enter_call() {
                    Ok(level) => parents.push(level),
                    Err(error) => {
                        result = Err(error);
                        break;
                    }
                }
            }
        }
        drop(parents);
        (self.template, self.context, self.autoescape, self.parent, self.base) = outer;
        result
    }

    fn run_one_root(&mut self, template: u32, context: usize, out: &mut Output<'a, P>) -> Result<()> {
        let code = &self.templates[template as usize].code;
        self.enter(code.root.slots)?;
        let base = self.base;
        self.contexts[context].roots.push((template, base));
        self.plain &= context != 0 || code.top_level.names.is_empty();
        if let Some(slot) = code.self_slot {
            let value = self.self_object(context)?;
            self.set_slot(slot, value);
        }
        self.exec(&code.root.body, out)?;
        Ok(())
    }

    fn self_object(&mut self, context: usize) -> Result<Value<'a>> {
        let owner = self.contexts[context].owner;
        let owner = &mut self.contexts[owner];
        let list = || Rc::new(RefCell::new(owner.blocks.keys().copied().collect()));
        let blocks = owner.block_names.get_or_insert_with(list).clone();
        self.objects.add(Object::Template { context, blocks })
    }

    /// Adds the blocks of a template after those of the templates that extend it.
    fn add_blocks(&mut self, context: usize, template: u32) -> Result<()> {
        for block in &self.templates[template as usize].code.blocks {
            self.budget.charge_steps(1)?;
            let context = &mut self.contexts[context];
            match context.blocks.entry(&block.name) {
                Entry::Occupied(mut known) => {
                    self.run_charges.charge(DEFINITION_BYTES)?;
                    known.get_mut().push((template, block));
                }
                Entry::Vacant(place) => {
                    self.run_charges.charge(BLOCK_BYTES)?;
                    place.insert(vec![(template, block)]);
                    if let Some(names) = &context.block_names {
                        names.borrow_mut().insert(&block.name);
                    }
                }
            }
        }
        Ok(())
    }

    pub(super) fn exec_extends(&mut self, parent: &'a Expr, span: Span) -> Result<()> {
        let name = self.eval(parent)?;
        if self.parent.is_some() {
            return Err(Error::runtime("a template can extend one other template only"));
        }
        let parent = self.load_one(&name, span)?;
        self.add_blocks(self.context, parent)?;
        self.parent = Some((parent, span));
        Ok(())
    }

    pub(super) fn exec_block(
        &mut self,
        block: &'a BlockCall,
        span: Span,
        out: &mut Output<'a, P>,
    ) -> Result<()> {
        let owner = self.contexts[self.context].owner;
        let context = match block.scoped {
            true => {
                let visible = block.visible.as_deref().map(|visible| (visible, self.base));
                self.add_context(Some(self.context), visible, Some(owner))?
            }
            // The names that an enclosing scoped block sees are visible here too.
            false => self.context,
        };
        if block.required {
            let blocks = &self.contexts[owner].blocks;
            if blocks.get(&*block.name).is_none_or(|definitions| definitions.len() <= 1) {
                return Err(Error::runtime(format!("required block '{}' is not defined", block.name))
                    .with_hint("the template that extends this one must define it"));
            }
        }
        self.run_block(context, &block.name, 0, span, out)
    }

    /// Runs the definition of a block at index `depth`, counted from the most derived template.
    pub(super) fn run_block(
        &mut self,
        context: usize,
        name: &'a str,
        depth: usize,
        span: Span,
        out: &mut Output<'a, P>,
    ) -> Result<()> {
        let budget = self.budget;
        let _level = budget.enter_call()?;
        let owner = self.contexts[context].owner;
        let definitions = self.contexts[owner].blocks.get(name);
        let Some(&(template, block)) = definitions.and_then(|definitions| definitions.get(depth)) else {
            return Err(Error::undefined(format!("there is no parent block called '{name}'")));
        };
        let has_parent = definitions.is_some_and(|definitions| definitions.len() > depth + 1);
        let before = self.enter(block.function.slots)?;
        let outer = (self.template, self.context, self.autoescape);
        self.enter_named(StepKind::Block, span, name, out);
        (self.template, self.context, self.autoescape) = (template, context, self.inputs.settings.autoescape);
        let result = self.fill_block_slots(block, context, name, depth, has_parent);
        let result = result.and_then(|()| self.exec(&block.function.body, out));
        (self.template, self.context, self.autoescape) = outer;
        self.leave_step(out);
        self.leave(before);
        match result {
            Ok(_) => Ok(()),
            Err(error) => Err(self.with_chain_step(error, span)),
        }
    }

    fn fill_block_slots(
        &mut self,
        block: &'a crate::code::BlockCode,
        context: usize,
        name: &'a str,
        depth: usize,
        has_parent: bool,
    ) -> Result<()> {
        if let Some(slot) = block.super_slot {
            let value = match has_parent {
                true => self.objects.add(Object::Block { context, name, depth: depth + 1 })?,
                false => Value::Undefined(hinagata_value::Undefined {
                    owner: hinagata_value::Owner::Variables,
                    name: Some(&SUPER),
                }),
            };
            self.set_slot(slot, value);
        }
        if let Some(slot) = block.self_slot {
            let value = self.self_object(context)?;
            self.set_slot(slot, value);
        }
        Ok(())
    }

    pub(super) fn exec_include(
        &mut self,
        include: &'a Include,
        span: Span,
        out: &mut Output<'a, P>,
    ) -> Result<()> {
        let name = self.eval(&include.template)?;
        let template = match self.find_first(&name, include.ignore_missing, span) {
            Ok(Some(FoundTemplate::Jinja(template))) => template,
            Ok(None) => {
                self.record_absent(span, AbsentReason::MissingInclude, InputsId::NONE, out);
                return Ok(());
            }
            Ok(Some(FoundTemplate::Outside(name))) => return self.include_outside(&name, include, span, out),
            // Only a missing template is ignored; one that cannot be read is still an error.
            Err(error) if error.kind() == ErrorKind::NotFound && include.ignore_missing => {
                self.record_absent(span, AbsentReason::MissingInclude, InputsId::NONE, out);
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let context = self.context_of(include.with_context, include.visible.as_deref())?;
        self.enter_named(StepKind::Include, span, self.templates[template as usize].name(), out);
        let result = self.run_root(template, context, out);
        self.leave_step(out);
        result.map_err(|error| self.with_chain_step(error, span))
    }

    /// Prints a template of another language.
    fn include_outside(
        &mut self,
        name: &str,
        include: &'a Include,
        span: Span,
        out: &mut Output<'a, P>,
    ) -> Result<()> {
        let scope = match include.with_context {
            true => self.scope(include.visible.as_deref())?,
            false => self.heap.map()?.finish(),
        };
        let budget = self.budget;
        let _level = budget.enter_call()?;
        let printed = self.inputs.outside.render(name, scope, P::ON);
        // An error without a place was raised before the template ran.
        let printed = printed.map_err(|error| match error.place() {
            Some(_) => self.with_chain_step(error, span),
            None => self.locate(error, span),
        })?;
        if P::ON {
            let offset = out.text().len();
            self.enter_named(StepKind::Include, span, name, out);
            out.provenance().take_over(offset, &printed.record);
            self.leave_step(out);
        }
        match &printed.text {
            Value::Safe(text) if !printed.ends_with_value => out.write_literal(text, self.site(span)),
            text => self.print_value(text, self.site(span), out),
        }
    }

    fn context_of(&mut self, with_context: bool, visible: Option<&'a Visible>) -> Result<usize> {
        match with_context {
            true => {
                let visible = visible.map(|visible| (visible, self.base));
                self.add_context(Some(self.context), visible, None)
            }
            false => self.add_context(None, None, None),
        }
    }

    pub(super) fn exec_import(&mut self, import: &'a Import, span: Span) -> Result<()> {
        let name = self.eval(&import.template)?;
        let template = self.load_one(&name, span)?;
        let context = self.context_of(import.with_context, import.visible.as_deref())?;
        let module = self.module(template, context, span)?;
        self.slot_inputs.set_assigned(InputsId::NONE);
        self.assign(&import.target, module)
    }

    pub(super) fn exec_from_import(&mut self, import: &'a FromImport, span: Span) -> Result<()> {
        let name = self.eval(&import.template)?;
        let template = self.load_one(&name, span)?;
        let context = self.context_of(import.with_context, import.visible.as_deref())?;
        let module = self.module(template, context, span)?;
        for (name, target) in &import.names {
            let value = match &module {
                Value::Engine(handle) => crate::context::Objects::attribute(&self.objects, *handle, name),
                _ => None,
            };
            self.slot_inputs.set_assigned(self.export_inputs(&module, name));
            let value = value.unwrap_or(Value::Undefined(hinagata_value::Undefined {
                owner: hinagata_value::Owner::Variables,
                name: Some(name),
            }));
            self.assign(target, value)?;
        }
        Ok(())
    }

    /// Runs a template and returns its names as an object.
    fn module(&mut self, template: u32, context: usize, span: Span) -> Result<Value<'a>> {
        let mut out = Output::new_capture(self.budget);
        self.run_chain(template, context, &mut out).map_err(|error| self.with_chain_step(error, span))?;
        let mut exports: BTreeMap<&'a str, (Value<'a>, InputsId)> = BTreeMap::new();
        for &(template, base) in self.contexts[context].roots.iter() {
            for name in &self.templates[template as usize].code.top_level.names {
                self.budget.charge_steps(1)?;
                let slot = base + name.slot as usize;
                let value = &self.slots[slot];
                if name.exported && !super::is_unset(value) {
                    exports.insert(&name.name, (value.clone(), self.slot_inputs.slot_inputs(slot)));
                }
            }
        }
        // In the worst case the nodes of the tree are half empty.
        self.objects.charge(2 * exports.len() * size_of::<(&str, (Value<'_>, InputsId))>())?;
        self.floor = self.slots.len();
        let body = self.captured_value(out, self.autoescape)?;
        self.objects.add(Object::Module { exports, body })
    }
}

static SUPER: std::sync::LazyLock<String> = std::sync::LazyLock::new(|| "super".to_owned());
