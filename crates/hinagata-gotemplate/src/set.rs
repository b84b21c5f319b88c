//! Sets of templates.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::{collections::BTreeSet, sync::Arc};

use hinagata_value::{
    Budget, Calls, Error, ErrorKind, Functions, Heap, Limits, Off, Output, Place, Provenance, Result, Site,
    near_names,
};
use serde_json::Value as Json;

use crate::{
    exec::{self, Context, Data},
    parse::{self, Names, lex::Delims},
    text::{quote, unicode::is_identifier},
    tree::{At, Builtin, Tree, excerpt_at},
    value::view::Integers,
};

/// Maximum buffer size in bytes that a set allocates in advance.
const LARGEST_HINT: usize = 1 << 20;

/// The result of a missing key: Go's option `missingkey`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissingKey {
    /// No value. It prints as `<no value>`, and so do its fields. Go calls this `default` or `invalid`.
    #[default]
    Invalid,
    /// The zero value of the map's element type, which is nil.
    Zero,
    /// An error.
    Error,
    /// An error, except where a template only tests the key: in `if`, `with`, `and`, `or` and `not`. Go does not
    /// have this mode.
    Needed,
}

impl MissingKey {
    /// The option with this name in Go.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "default" | "invalid" => Some(Self::Invalid),
            "zero" => Some(Self::Zero),
            "error" => Some(Self::Error),
            _ => None,
        }
    }
}

/// Options for parsing and executing the templates of a set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The delimiter before an action. Empty means `{{`.
    pub left: String,
    /// The delimiter after an action. Empty means `}}`.
    pub right: String,
    /// The result of a missing key.
    pub missing_key: MissingKey,
    /// The type of whole numbers in the data.
    pub integers: Integers,
}

/// Named templates that can call each other.
///
/// Parsing a source adds a template with the name of the source, and those that it defines. A later
/// definition replaces an earlier one with the same name, unless it is empty. A set is cheap to clone:
/// clones share the templates.
///
/// ```
/// use hinagata_gotemplate::{Options, Set};
/// use hinagata_value::{Budget, Functions, Limits};
///
/// let functions = Functions::new();
/// let mut set = Set::new(Options::default(), &functions);
/// set.parse("hello", "Hello, {{.name}}!{{range .tags}} #{{.}}{{end}}", &Budget::new(Limits::default()))?;
///
/// let data = serde_json::json!({"name": "Rumi", "tags": ["a", "b"]});
/// assert_eq!(set.render("hello", &data, &functions, Limits::default())?, "Hello, Rumi! #a #b");
/// # Ok::<(), hinagata_value::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Set {
    pub(crate) options: Options,
    delims: Delims,
    /// Names of the functions that sources may use.
    known: Arc<[String]>,
    /// Names of the used host functions, by their number in templates.
    used: Vec<Box<str>>,
    trees: Vec<Arc<Tree>>,
    /// Names and numbers of the templates, sorted by name.
    names: Vec<(Box<str>, u32)>,
    /// For each template, the targets of its calls.
    links: Vec<Box<[Option<u32>]>>,
    /// The name of the first parsed source. Go uses it as the name of the set.
    first: Option<Box<str>>,
    /// The size of the last output of [`Set::render`], which is the initial capacity of the next one.
    size: Arc<AtomicUsize>,
}

impl Set {
    /// Creates an empty set whose templates may use `functions`. Functions whose names are invalid in Go are
    /// ignored.
    #[must_use]
    pub fn new(options: Options, functions: &Functions) -> Self {
        Self::with_names(options, functions.names())
    }

    /// Like [`Set::new`], for functions of which only the names are known.
    #[must_use]
    pub fn with_names<'n>(options: Options, functions: impl IntoIterator<Item = &'n str>) -> Self {
        let names = functions.into_iter().filter(|name| is_identifier(name)).map(str::to_owned);
        let known: BTreeSet<String> = names.collect();
        let known = known.into_iter().collect();
        Self {
            delims: Delims::new(&options.left, &options.right),
            options,
            known,
            used: Vec::new(),
            trees: Vec::new(),
            names: Vec::new(),
            links: Vec::new(),
            first: None,
            size: Arc::default(),
        }
    }

    /// Parses `source` under `name` and adds its templates.
    ///
    /// # Errors
    /// Go's parse error, of kind [`ErrorKind::Syntax`], or a limit. The set stays unchanged.
    pub fn parse(&mut self, name: &str, source: &str, budget: &Budget) -> Result<()> {
        let mut used = Used { known: &self.known, names: std::mem::take(&mut self.used) };
        let trees = parse::parse_source(name, source, &self.delims, &mut used, budget);
        self.used = used.names;
        let trees = trees?;
        self.first.get_or_insert_with(|| name.into());
        self.add(trees);
        self.link();
        Ok(())
    }

    /// Adds trees with different names. An empty one does not replace another.
    fn add(&mut self, trees: Vec<Tree>) {
        let mut added = Vec::new();
        for tree in trees {
            match self.template_number(&tree.name) {
                Some(index) if !parse::is_empty(&tree) => self.trees[index as usize] = Arc::new(tree),
                Some(_) => {}
                None => {
                    added.push((tree.name.clone(), self.trees.len() as u32));
                    self.trees.push(Arc::new(tree));
                }
            }
        }
        self.names.extend(added);
        self.names.sort_unstable();
    }

    fn link(&mut self) {
        let targets = |tree: &Arc<Tree>| tree.calls.iter().map(|name| self.template_number(name)).collect();
        self.links = self.trees.iter().map(targets).collect();
    }

    /// The names of the templates, in order.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        self.names.iter().map(|(name, _)| &**name).collect()
    }

    /// Whether the set has a template called `name`.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.find(name).is_ok()
    }

    /// Number of templates. A run uses as many template numbers in its sites.
    #[must_use]
    pub fn len(&self) -> usize {
        self.trees.len()
    }

    /// Whether the set has no templates.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.trees.is_empty()
    }

    pub(crate) fn trees(&self) -> impl Iterator<Item = &Tree> {
        self.trees.iter().map(|tree| &**tree)
    }

    pub(crate) fn tree(&self, index: u32) -> &Tree {
        &self.trees[index as usize]
    }

    fn find(&self, name: &str) -> Result<usize, usize> {
        self.names.binary_search_by(|(known, _)| (**known).cmp(name))
    }

    pub(crate) fn template_number(&self, name: &str) -> Option<u32> {
        // A fast path: most sets have one template, and every render looks it up.
        if let [(only, number)] = &*self.names {
            return (**only == *name).then_some(*number);
        }
        self.find(name).ok().map(|at| self.names[at].1)
    }

    pub(crate) fn call_target(&self, tree: u32, call: u32) -> Option<u32> {
        self.links[tree as usize][call as usize]
    }

    pub(crate) fn host_name_count(&self) -> usize {
        self.used.len()
    }

    /// Runs the template `name` on `data` and writes to `output`.
    ///
    /// # Errors
    /// Go's execution error with Go's message, a limit, or [`ErrorKind::Suspended`] if the result of a pending
    /// call is needed. The output before the error stays in `output`.
    pub fn execute<'a, P: Provenance>(
        &'a self,
        name: &str,
        data: impl Into<Data<'a>>,
        context: &Context<'_, 'a, P>,
        output: &mut Output<'a, P>,
    ) -> Result<()> {
        match self.template_number(name) {
            Some(entry) => exec::execute_template(self, entry, data.into(), context, output),
            None => Err(self.no_template(name)),
        }
    }

    #[cold]
    fn no_template(&self, name: &str) -> Error {
        let (wanted, set) =
            (quote::quote_text(name), quote::quote_text(self.first.as_deref().unwrap_or_default()));
        let text = format!("template: no template {wanted} associated with template {set}");
        Error::new(ErrorKind::NotFound, text).with_near(near_names(name, self.names()))
    }

    /// Renders the template `name` on `data` to text, in one pass and without calls to other programs.
    ///
    /// # Errors
    /// Those of [`Set::execute`], and an error if the output is not UTF-8.
    pub fn render(&self, name: &str, data: &Json, functions: &Functions, limits: Limits) -> Result<String> {
        let expected = self.size.load(Ordering::Relaxed).min(limits.bytes / 8);
        let remember = |text: String| {
            let size = text.len().min(LARGEST_HINT);
            if size != expected {
                self.size.store(size, Ordering::Relaxed);
            }
            text
        };
        if let Some(written) = self.render_plain::<Off>(name, data, &limits, 0, (expected, 0)) {
            return Ok(remember(written.text));
        }
        let budget = Budget::new(limits);
        let calls = Calls::new();
        let heap = Heap::new(&budget);
        let mut output: Output<'_> = Output::with_capacity(&budget, expected)?;
        let context = Context { heap: &heap, functions, calls: &calls, templates: &(), first_template: 0 };
        self.execute(name, data, &context, &mut output)?;
        Ok(remember(output.finish().into_text()?))
    }

    /// The place of a site that an execution of this set recorded. `first_template` is that of [`Context`].
    #[must_use]
    pub fn place(&self, site: Site, first_template: u32) -> Option<Place> {
        let tree = self.trees.get(site.template.checked_sub(first_template)? as usize)?;
        Some(tree.place(At::from_number(site.node)))
    }

    /// The byte offset of a site in its source. Faster than [`Set::place`], which finds the line.
    #[must_use]
    pub fn offset(&self, site: Site, first_template: u32) -> Option<u32> {
        let tree = self.trees.get(site.template.checked_sub(first_template)? as usize)?;
        u32::try_from(tree.position(At::from_number(site.node))).ok()
    }

    /// The source of the action at a site, such as `{{.user.name}}`. Empty for text.
    #[must_use]
    pub fn excerpt_at(&self, site: Site, first_template: u32) -> Option<String> {
        let tree = self.trees.get(site.template.checked_sub(first_template)? as usize)?;
        Some(excerpt_at(tree, At::from_number(site.node)))
    }
}

/// The host functions that a set's sources use.
struct Used<'k> {
    known: &'k [String],
    names: Vec<Box<str>>,
}

impl Names for Used<'_> {
    fn host_function(&mut self, name: &str) -> Option<u32> {
        self.known.binary_search_by(|known| known.as_str().cmp(name)).ok()?;
        let index = self.names.iter().position(|used| **used == *name).unwrap_or_else(|| {
            self.names.push(name.into());
            self.names.len() - 1
        });
        Some(index as u32)
    }

    fn near(&self, name: &str) -> Vec<String> {
        let builtins = Builtin::ALL.iter().map(|builtin| builtin.name());
        near_names(name, self.known.iter().map(String::as_str).chain(builtins))
    }
}
