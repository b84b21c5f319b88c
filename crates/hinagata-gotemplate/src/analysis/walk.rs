//! Follows data through the templates of a set.

use std::collections::{HashMap, HashSet, VecDeque};

use hinagata_value::analysis::{
    Analysis, PassedVariables, PathPart, Position, TemplateUse, TemplateUseKind, Usage, VariablePath,
    VariableUse,
};

use super::{origin::Origin, places::Places};
use crate::{
    Set,
    tree::{
        Branch, Builtin, Content, ExprKind, FunctionRef, Node, Slots, Span, TemplateNode, Tree, Variable,
    },
};

/// Maximum number of visited nodes, over all templates and all data they are called on. Afterwards, no
/// further call is followed.
const MAX_WORK: usize = 500_000;
/// Maximum number of collected uses.
const MAX_USES: usize = 20_000;
/// Maximum number of rounds over the variables of one template.
const MAX_ROUNDS: usize = 4;

/// Finds what the template `entry` reads, and which templates its set calls.
pub(super) fn follow_data(set: &Set, entry: u32, places: &Places<'_>) -> Analysis {
    let mut pending = VecDeque::from([(entry, Origin::whole_data())]);
    let mut seen: HashSet<(u32, Origin)> = pending.iter().cloned().collect();
    let mut analysis = Analysis::default();
    let mut called = CalledTemplates::default();
    let mut work = 0;
    while let Some((number, dot)) = pending.pop_front() {
        let visit = Visit::new(set, places, number, dot).run(MAX_WORK.saturating_sub(work));
        work += visit.work;
        for call in visit.calls {
            called.add(call.used);
            if let Some(target) = call.target
                && seen.insert((target, call.data.clone()))
            {
                pending.push_back((target, call.data));
            }
        }
        let room = MAX_USES.saturating_sub(analysis.variables.len());
        analysis.variables.extend(visit.uses.into_iter().take(room));
        if work >= MAX_WORK {
            break;
        }
    }
    called.add_unreached(set, places);
    analysis.templates = called.into_uses();
    analysis.variables.sort_by_key(|used| used.position);
    dedup_all(&mut analysis.variables);
    analysis
}

/// A call of a template, as the analysis reports it.
struct CalledTemplate {
    name: Box<str>,
    /// Whether the set defines it.
    defined: bool,
    /// The parts of the data that it may be called on. None without data, with a computed value, or if the
    /// call is never reached.
    data: Vec<VariablePath>,
    position: Position,
}

impl CalledTemplate {
    fn new(
        set: &Set,
        places: &Places<'_>,
        number: u32,
        node: &TemplateNode,
        data: Vec<VariablePath>,
    ) -> Self {
        let tree = set.tree(number);
        let name = tree.calls[node.call as usize].clone();
        let position = places.position(tree, node.at as usize, name.len() + 2);
        Self { name, defined: set.call_target(number, node.call).is_some(), data, position }
    }

    fn into_use(mut self) -> TemplateUse {
        self.data.sort();
        self.data.dedup();
        let passes = match &*self.data {
            [] => PassedVariables::Nothing,
            data if data.iter().any(VariablePath::is_whole) => PassedVariables::Everything,
            _ => PassedVariables::Data(self.data),
        };
        TemplateUse {
            kind: TemplateUseKind::Call,
            names: vec![self.name.into()],
            dynamic: false,
            ignore_missing: false,
            position: self.position,
            passes,
        }
    }
}

/// The templates that a set calls, once for each place.
#[derive(Default)]
struct CalledTemplates {
    calls: Vec<CalledTemplate>,
    by_position: HashMap<Position, usize>,
}

impl CalledTemplates {
    fn add(&mut self, call: CalledTemplate) {
        let known = *self.by_position.entry(call.position).or_insert(self.calls.len());
        match self.calls.get_mut(known) {
            Some(known) => known.data.extend(call.data),
            None => self.calls.push(call),
        }
    }

    /// Adds the calls in templates that are never called.
    fn add_unreached(&mut self, set: &Set, places: &Places<'_>) {
        for (tree, number) in set.trees().zip(0..) {
            for node in &tree.nodes {
                if let Node::Template(node) = node {
                    self.add(CalledTemplate::new(set, places, number, node, Vec::new()));
                }
            }
        }
    }

    /// The templates that the set does not define.
    fn into_uses(self) -> Vec<TemplateUse> {
        self.calls.into_iter().filter(|call| !call.defined).map(CalledTemplate::into_use).collect()
    }
}

/// Removes equal uses at one place, which several visits of a template may produce.
fn dedup_all(uses: &mut Vec<VariableUse>) {
    let mut seen = HashSet::new();
    uses.retain(|used| seen.insert((used.position, used.path.clone(), used.usage)));
}

/// The visit of one template with one origin of its dot.
struct Visit<'s> {
    set: &'s Set,
    places: &'s Places<'s>,
    tree: &'s Tree,
    number: u32,
    root: Origin,
    /// The origins of the variables, by the number of their declaration.
    declared: Vec<Origin>,
    /// The declaration whose variable is in each slot now.
    slots: Vec<Option<usize>>,
    /// The number of each declaration, by pipeline and place in it.
    numbers: HashMap<(u32, usize), usize>,
    changed: bool,
    uses: Vec<VariableUse>,
    calls: Vec<Call>,
    work: usize,
}

/// A call of a template.
struct Call {
    used: CalledTemplate,
    target: Option<u32>,
    data: Origin,
}

impl<'s> Visit<'s> {
    fn new(set: &'s Set, places: &'s Places<'s>, number: u32, root: Origin) -> Self {
        let tree = set.tree(number);
        Self {
            set,
            places,
            tree,
            number,
            root,
            declared: Vec::new(),
            slots: vec![None; tree.slots as usize],
            numbers: HashMap::new(),
            changed: false,
            uses: Vec::new(),
            calls: Vec::new(),
            work: 0,
        }
    }

    /// Walks the template until the origins of the variables do not change any more, or `most` nodes were
    /// visited, but at least once.
    fn run(mut self, most: usize) -> Self {
        for _ in 0..MAX_ROUNDS {
            self.changed = false;
            self.uses.clear();
            self.calls.clear();
            let dot = self.root.clone();
            self.body(self.tree.root, &dot);
            if !self.changed || self.work > most {
                break;
            }
        }
        self
    }

    fn body(&mut self, body: Span, dot: &Origin) {
        let tree = self.tree;
        for node in &tree.nodes[body.range()] {
            self.work += 1;
            match node {
                Node::Action(action) => {
                    self.pipeline(action.pipe, dot, Usage::Value);
                }
                Node::If(branch) => self.branch(branch, dot, false),
                Node::With(branch) => self.branch(branch, dot, true),
                Node::Range(range) => {
                    let over = self.stages(range.pipe, dot, Usage::Value);
                    let item = over.with_parts(&[PathPart::Each]);
                    // The last variable gets the item, the one before it the index or key.
                    let variables = &tree.pipes[range.pipe as usize].variables;
                    for (at, variable) in variables.iter().enumerate() {
                        let origin = if at + 1 == variables.len() { item.clone() } else { Origin::default() };
                        self.replace(range.pipe, at, variable, &origin);
                    }
                    self.body(range.body, &item);
                    if let Some(body) = range.otherwise {
                        self.body(body, dot);
                    }
                }
                Node::Template(template) => self.template(template, dot),
                Node::Text(_) | Node::Break | Node::Continue => {}
            }
        }
    }

    fn branch(&mut self, branch: &'s Branch, dot: &Origin, rebinds: bool) {
        for arm in &self.tree.arms[branch.arms.range()] {
            let value = self.pipeline(arm.pipe, dot, Usage::Condition);
            self.body(arm.body, if rebinds { &value } else { dot });
        }
        if let Some(body) = branch.otherwise {
            self.body(body, dot);
        }
    }

    fn template(&mut self, node: &'s TemplateNode, dot: &Origin) {
        let data = match node.pipe {
            None => Origin::default(),
            // Passing data on does not use it. Only what the called template reads counts.
            Some(pipe) if self.tree.pipes[pipe as usize].path.is_some() => self.eval_without_uses(pipe, dot),
            Some(pipe) => self.pipeline(pipe, dot, Usage::Value),
        };
        let used = CalledTemplate::new(self.set, self.places, self.number, node, data.clone().into_paths());
        let target = self.set.call_target(self.number, node.call);
        self.calls.push(Call { used, target, data });
    }

    fn eval_without_uses(&mut self, pipe: u32, dot: &Origin) -> Origin {
        let uses = self.uses.len();
        let origin = self.pipeline(pipe, dot, Usage::Value);
        self.uses.truncate(uses);
        origin
    }

    /// The value of a pipeline, before it goes into variables.
    fn stages(&mut self, index: u32, dot: &Origin, usage: Usage) -> Origin {
        let commands = self.tree.pipes[index as usize].commands;
        let last = commands.end.saturating_sub(1);
        commands.ids().fold(Origin::default(), |piped, command| {
            let usage = if command == last { usage } else { Usage::Value };
            self.command(command, dot, usage, piped)
        })
    }

    fn pipeline(&mut self, index: u32, dot: &Origin, usage: Usage) -> Origin {
        let tree = self.tree;
        let pipe = &tree.pipes[index as usize];
        let usage = if pipe.variables.is_empty() { usage } else { Usage::Value };
        let value = self.stages(index, dot, usage);
        for (at, variable) in pipe.variables.iter().enumerate() {
            if pipe.assigns {
                self.assign(variable, &value);
            } else {
                self.replace(index, at, variable, &value);
            }
        }
        value
    }

    fn command(&mut self, index: u32, dot: &Origin, usage: Usage, piped: Origin) -> Origin {
        let args = self.tree.commands[index as usize].args;
        let first = args.start;
        match &self.tree.exprs[first as usize].kind {
            ExprKind::Function(FunctionRef::Builtin(builtin)) => {
                let rest = Span { start: first + 1, end: args.end };
                self.builtin(*builtin, rest, dot, usage, piped)
            }
            ExprKind::Function(_) => {
                for arg in first + 1..args.end {
                    self.operand(arg, dot, Usage::Value);
                }
                Origin::default()
            }
            _ => self.operand(first, dot, usage),
        }
    }

    fn builtin(&mut self, builtin: Builtin, args: Span, dot: &Origin, usage: Usage, piped: Origin) -> Origin {
        match builtin {
            Builtin::And | Builtin::Or => {
                let mut value = piped;
                for arg in args.ids() {
                    let usage = match (arg + 1 == args.end, builtin) {
                        (true, _) => usage,
                        (false, _) if usage == Usage::Condition => Usage::Condition,
                        (false, Builtin::Or) => Usage::Default,
                        (false, _) => Usage::Condition,
                    };
                    value.add(&self.operand(arg, dot, usage));
                }
                value
            }
            Builtin::Not => {
                for arg in args.ids() {
                    self.operand(arg, dot, Usage::Condition);
                }
                Origin::default()
            }
            Builtin::Index => self.index(args, dot, &piped),
            _ => {
                let mut values =
                    args.ids().map(|arg| self.operand(arg, dot, Usage::Value)).collect::<Vec<_>>();
                match builtin {
                    Builtin::Slice if !values.is_empty() => values.swap_remove(0),
                    _ => Origin::default(),
                }
            }
        }
    }

    /// `index x i j`: reads the item, and the data that the indexes are computed from.
    fn index(&mut self, args: Span, dot: &Origin, piped: &Origin) -> Origin {
        let mut ids = args.ids();
        let Some(first) = ids.next() else { return Origin::default() };
        let uses = self.uses.len();
        let mut value = self.operand(first, dot, Usage::Value);
        let is_path = self.uses.len() == uses + value.paths().len();
        let indexes: Vec<_> = ids.collect();
        for &index in &indexes {
            let part = self.constant_part(index);
            value = value.with_parts(&[part]);
        }
        if !piped.paths().is_empty() || indexes.is_empty() && args.len() == 1 {
            value = value.with_parts(&[PathPart::Each]);
        }
        if is_path {
            // The item is read, not the container.
            for (used, path) in self.uses[uses..].iter_mut().zip(value.paths()) {
                used.path = path.clone();
            }
        }
        for index in indexes {
            self.operand(index, dot, Usage::Value);
        }
        value
    }

    fn constant_part(&self, index: u32) -> PathPart {
        match &self.tree.exprs[index as usize].kind {
            ExprKind::Str(literal) => match &literal.content {
                Content::Text(text) => PathPart::Key(text.as_str().into()),
                Content::Bytes(_) => PathPart::Each,
            },
            ExprKind::Number(literal) => literal.number.int.map_or(PathPart::Each, PathPart::Index),
            _ => PathPart::Each,
        }
    }

    fn operand(&mut self, index: u32, dot: &Origin, usage: Usage) -> Origin {
        self.work += 1;
        let tree = self.tree;
        match &tree.exprs[index as usize].kind {
            ExprKind::Dot => self.read(index, dot.clone(), usage),
            ExprKind::Field(keys) => self.read(index, self.keys(dot, *keys), usage),
            ExprKind::Variable(variable, keys) => {
                let value = self.keys(&self.value(variable), *keys);
                self.read(index, value, usage)
            }
            ExprKind::Chain(base, keys) => {
                let base = self.operand(*base, dot, Usage::Value);
                self.read(index, self.keys(&base, *keys), usage)
            }
            ExprKind::Pipe(pipe) => self.pipeline(*pipe, dot, usage),
            _ => Origin::default(),
        }
    }

    fn keys(&self, origin: &Origin, keys: Span) -> Origin {
        let keys = self.tree.keys[keys.range()].iter();
        let parts: Vec<_> = keys.map(|key| PathPart::Key(key.name().as_str().into())).collect();
        origin.with_parts(&parts)
    }

    /// Records that the operand reads the data at its origin.
    fn read(&mut self, index: u32, origin: Origin, usage: Usage) -> Origin {
        if self.uses.len() < MAX_USES {
            let (start, length) = self.extent(index);
            let position = self.places.position(self.tree, start, length);
            let uses = origin.paths().iter().map(|path| VariableUse { path: path.clone(), usage, position });
            self.uses.extend(uses);
        }
        origin
    }

    /// The start and length of an operand in bytes. The place of a chain is its second part, so its start
    /// follows from the length of the first.
    fn extent(&self, index: u32) -> (usize, usize) {
        let expr = &self.tree.exprs[index as usize];
        let length = |keys: Span| -> usize {
            self.tree.keys[keys.range()].iter().map(|key| key.name().len() + 1).sum()
        };
        let at = expr.at as usize;
        match &expr.kind {
            ExprKind::Field(keys) if keys.len() > 1 => {
                let first = self.tree.keys[keys.start as usize].name().len() + 1;
                (at.saturating_sub(first), length(*keys))
            }
            ExprKind::Field(keys) | ExprKind::Chain(_, keys) => (at, length(*keys)),
            ExprKind::Variable(variable, keys) => {
                let first = if keys.len() > 0 { variable.name.len() } else { 0 };
                (at.saturating_sub(first), variable.name.len() + length(*keys))
            }
            _ => (at, 1),
        }
    }

    // ---- variables ----

    fn value(&self, variable: &Variable) -> Origin {
        let of = |slot: u32| match (slot, self.slots.get(slot as usize)) {
            (0, _) => self.root.clone(),
            (_, Some(Some(declaration))) => self.declared[*declaration].clone(),
            _ => Origin::default(),
        };
        match &variable.slots {
            Slots::One(slot) => of(*slot),
            Slots::Maybe(slots) => slots.iter().fold(Origin::default(), |mut value, &slot| {
                value.add(&of(slot));
                value
            }),
        }
    }

    /// Declares a variable or the variable of a loop, which takes its slot.
    fn replace(&mut self, pipe: u32, at: usize, variable: &Variable, origin: &Origin) {
        if self.tree.pipes[pipe as usize].assigns {
            return self.assign(variable, origin);
        }
        let Slots::One(slot) = variable.slots else { return };
        let next = self.numbers.len();
        let declaration = *self.numbers.entry((pipe, at)).or_insert(next);
        if declaration == self.declared.len() {
            self.declared.push(Origin::default());
        }
        if let Some(held) = self.slots.get_mut(slot as usize) {
            *held = Some(declaration);
        }
        self.changed |= self.declared[declaration].add(origin);
    }

    fn assign(&mut self, variable: &Variable, origin: &Origin) {
        let slots = match &variable.slots {
            Slots::One(slot) => std::slice::from_ref(slot),
            Slots::Maybe(slots) => slots,
        };
        for &slot in slots {
            match self.slots.get(slot as usize) {
                _ if slot == 0 => self.changed |= self.root.add(origin),
                Some(&Some(declaration)) => self.changed |= self.declared[declaration].add(origin),
                _ => {}
            }
        }
    }
}
