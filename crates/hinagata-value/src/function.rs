//! Functions and objects of the host.

use std::{any::Any, collections::BTreeMap, fmt, sync::Arc};

use crate::{Budget, Calls, Extent, Heap, Request, Result, Site, Text, Value};

/// A function that templates can call: a tool, a role, a resource.
pub trait Function: Send + Sync {
    /// The name it is registered under.
    fn name(&self) -> &str;

    /// Its parameters, which are checked before the call. `None` accepts any arguments.
    fn signature(&self) -> Option<&Signature> {
        None
    }

    /// Calls it.
    ///
    /// # Errors
    /// The error of the function. The engine adds the place.
    fn call<'a>(&self, host: &Host<'_, 'a>, arguments: &Arguments<'_, 'a>) -> Result<Value<'a>>;
}

impl fmt::Debug for dyn Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "function {}", self.name())
    }
}

/// The parameters of a function, as a typed language sees them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signature {
    /// The parameters in order.
    pub parameters: Vec<Type>,
    /// The type of further arguments, if it accepts any number of them.
    pub rest: Option<Type>,
    /// What it returns.
    pub result: Type,
    /// Whether it can fail. Only visible in the printed type of a Go function.
    pub fails: bool,
}

/// A type of a parameter or result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Type {
    /// Any value, including null.
    #[default]
    Any,
    /// Text.
    String,
    /// An integer.
    Int,
    /// A floating-point number.
    Float,
    /// A boolean.
    Bool,
    /// A list of any values.
    List,
    /// A map from text to any values.
    Map,
}

/// The arguments of one call.
#[derive(Clone, Copy, Debug)]
pub struct Arguments<'r, 'a> {
    /// The positional arguments.
    pub positional: &'r [Value<'a>],
    /// The named arguments, in the order of the call.
    pub named: &'r [(&'r str, Value<'a>)],
}

impl<'r, 'a> Arguments<'r, 'a> {
    /// Positional arguments only.
    #[must_use]
    pub fn from_positional(positional: &'r [Value<'a>]) -> Self {
        Self { positional, named: &[] }
    }

    /// The argument at `index`, or else the one called `name`.
    #[must_use]
    pub fn get(&self, index: usize, name: &str) -> Option<&'r Value<'a>> {
        self.positional
            .get(index)
            .or_else(|| self.named.iter().find(|(given, _)| *given == name).map(|(_, value)| value))
    }
}

/// The parts of a render that a running function can use.
#[derive(Clone, Copy)]
pub struct Host<'r, 'a> {
    /// Creates and reads values.
    pub heap: &'r Heap<'a>,
    /// The functions of this render.
    pub functions: &'a Functions,
    /// The calls of this render.
    pub calls: &'a Calls,
    /// The site of the call in the template.
    pub site: Site,
    /// Whether every argument is a literal, so that none contains data.
    pub literal: bool,
}

impl<'a> Host<'_, 'a> {
    /// The budget of the render.
    #[must_use]
    pub fn budget(&self) -> &'a Budget {
        self.heap.budget()
    }

    /// Starts a call to another program. Its result is available now or in a later pass.
    ///
    /// # Errors
    /// The call failed, or the render made more calls than [`crate::Limits::requests`].
    pub fn start_call(&self, request: Request) -> Result<Value<'a>> {
        self.calls.start_call(self.site, request, self.budget().limits())
    }

    /// A function of this render as a value.
    #[must_use]
    pub fn function(&self, name: &str) -> Option<Value<'a>> {
        self.functions.get(name).map(Value::Function)
    }
}

impl fmt::Debug for Host<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host").field("site", &self.site).finish_non_exhaustive()
    }
}

/// The functions that a render can call, by name.
#[derive(Clone, Debug, Default)]
pub struct Functions(BTreeMap<String, Arc<dyn Function>>);

impl Functions {
    /// No functions.
    #[must_use]
    pub const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// No functions, with a static lifetime.
    #[must_use]
    pub fn empty() -> &'static Self {
        static NONE: Functions = Functions::new();
        &NONE
    }

    /// Adds a function under its name, and replaces an older one.
    pub fn insert(&mut self, function: impl Function + 'static) {
        self.insert_shared(Arc::new(function));
    }

    /// Like [`Functions::insert`], for a shared function.
    pub fn insert_shared(&mut self, function: Arc<dyn Function>) {
        self.0.insert(function.name().to_owned(), function);
    }

    /// The function called `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Function>> {
        self.0.get(name)
    }

    /// The first name that starts with `start`.
    #[must_use]
    pub fn first_with(&self, start: &str) -> Option<&str> {
        let bounds = (std::ops::Bound::Included(start), std::ops::Bound::Unbounded);
        let (name, _) = self.0.range::<str, _>(bounds).next()?;
        name.starts_with(start).then_some(name)
    }

    /// The names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A host object. It decides what a template can see of it.
pub trait Object: Any + fmt::Debug {
    /// The name of its type in messages.
    fn type_name(&self) -> &str;

    /// An attribute or entry that templates may see. None by default.
    fn attribute<'a>(&self, _heap: &Heap<'a>, _name: &str) -> Option<Value<'a>> {
        None
    }

    /// Appends its printed form.
    ///
    /// # Errors
    /// A limit is reached.
    fn print(&self, text: &mut Text<'_>) -> Result<()> {
        text.push_fmt(format_args!("<{}>", self.type_name()))
    }

    /// Whether it counts as true.
    fn is_true(&self) -> bool {
        true
    }

    /// Heap bytes that it owns, which are charged as long as it lives. Called once.
    fn extent(&self) -> usize {
        0
    }

    /// The part that it adds to the output when it is printed, if any.
    fn part(&self) -> Option<Arc<crate::Part>> {
        None
    }
}

/// A shared object of the host.
#[derive(Debug)]
pub struct HostObject(Box<dyn Object>, usize);

impl HostObject {
    /// Wraps an object. Its size and [`Object::extent`] are charged.
    pub fn new<O: Object>(object: O) -> Self {
        let extent = size_of::<O>().saturating_add(object.extent());
        Self(Box::new(object), extent)
    }

    /// The object.
    #[must_use]
    pub fn get(&self) -> &dyn Object {
        &*self.0
    }

    /// The object, if it is of type `O`.
    #[must_use]
    pub fn downcast_ref<O: Object>(&self) -> Option<&O> {
        let any: &dyn Any = &*self.0;
        any.downcast_ref()
    }
}

impl Extent for HostObject {
    fn extent(&self) -> usize {
        self.1
    }
}

/// A function from a name and a closure.
pub struct Closure<F> {
    name: String,
    signature: Option<Signature>,
    call: F,
}

impl<F> Closure<F>
where
    F: for<'a> Fn(&Host<'_, 'a>, &Arguments<'_, 'a>) -> Result<Value<'a>> + Send + Sync,
{
    /// Creates a function that accepts any arguments.
    pub fn new(name: impl Into<String>, call: F) -> Self {
        Self { name: name.into(), signature: None, call }
    }

    /// Creates a function whose arguments are checked before the call.
    pub fn with_signature(name: impl Into<String>, signature: Signature, call: F) -> Self {
        Self { name: name.into(), signature: Some(signature), call }
    }
}

impl<F> Function for Closure<F>
where
    F: for<'a> Fn(&Host<'_, 'a>, &Arguments<'_, 'a>) -> Result<Value<'a>> + Send + Sync,
{
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> Option<&Signature> {
        self.signature.as_ref()
    }

    fn call<'a>(&self, host: &Host<'_, 'a>, arguments: &Arguments<'_, 'a>) -> Result<Value<'a>> {
        (self.call)(host, arguments)
    }
}
