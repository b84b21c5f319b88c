//! Calls whose results arrive later. A render waits for them by running again.
//!
//! A pass over the template starts calls and continues. If it only prints a missing result, it leaves a mark;
//! if it needs the result, it stops with [`ErrorKind::Suspended`]. The caller waits for all started calls and
//! runs the template again with the results. Templates are deterministic, so a pass reaches the same calls
//! again. A call is identified by its site and by how often that site was reached; a pure call by its
//! arguments.
//!
//! A pass that ended with marks is run again too, so that only one place in the code prints, escapes and
//! checks limits. That costs some microseconds, where a call takes milliseconds.
//!
//! The reasons are in `docs/design/waiting-by-replay.md`.

use std::{
    cell::{Cell, OnceCell, RefCell},
    collections::HashMap,
};

use serde_json::Value as Json;

use crate::{
    Error, ErrorKind, Keep, LimitKind, Limits, Result, Site, Value,
    document::{document_bytes, document_text},
};

/// A call of this render, by the order in which calls were started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId(pub u32);

/// The request of a function to another program.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The function.
    pub function: String,
    /// Its arguments.
    pub arguments: Json,
    /// Whether equal requests may share one call. Impure calls are made in the order of their start, once for
    /// each time that the template reaches them.
    pub pure: bool,
}

/// A started call.
#[derive(Debug)]
pub struct Call {
    /// Its number.
    pub id: CallId,
    /// The request.
    pub request: Request,
    /// The site of the first start.
    pub site: Site,
    result: OnceCell<Result<Json, String>>,
}

impl Call {
    /// The result, if it has arrived.
    #[must_use]
    pub fn result(&self) -> Option<Result<&Json, &str>> {
        self.result.get().map(|result| result.as_ref().map_err(String::as_str))
    }
}

/// All calls of one render, over all of its passes.
#[derive(Debug, Default)]
pub struct Calls {
    calls: Keep<Call>,
    /// Allocated with the first call, because most renders make none.
    index: OnceCell<Box<Index>>,
    /// The number of calls that were already returned to the caller.
    handed_out: Cell<usize>,
    passes: Cell<u32>,
}

/// The indexes that find a call again.
#[derive(Debug, Default)]
struct Index {
    /// The impure call of the nth time that a site is reached.
    by_site: RefCell<HashMap<(Site, u32), CallId>>,
    /// Pure calls by function and arguments.
    shared: RefCell<HashMap<(String, String), CallId>>,
    /// How often this pass reached each site of an impure call.
    reached: RefCell<HashMap<Site, u32>>,
    /// Approximate bytes of the arguments of all calls.
    bytes: Cell<usize>,
}

/// How a pass ended.
#[derive(Debug)]
pub enum Pass<'c, T> {
    /// The render is complete.
    Done(T),
    /// These calls must be made and resolved before the next pass. Impure calls must be made in this order.
    Wait(Vec<&'c Call>),
}

impl Calls {
    /// Creates an empty list without allocating.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts a pass over the template.
    ///
    /// # Errors
    /// The render has made as many passes as `limits` allows.
    pub fn begin_pass(&self, limits: &Limits) -> Result<()> {
        if self.passes.get() >= limits.passes {
            return Err(Error::limit_reached(
                LimitKind::Passes,
                format!("calls depend on each other more than {} deep", limits.passes),
            )
            .with_hint("a call waits for the calls whose results its arguments need"));
        }
        self.passes.set(self.passes.get() + 1);
        if let Some(index) = self.index.get() {
            index.reached.borrow_mut().clear();
        }
        Ok(())
    }

    /// Returns whether the render is complete after a pass with this result.
    ///
    /// # Errors
    /// The error of the pass. A failed pass does not wait for the calls that it started, because the next pass
    /// would fail in the same way. Also if a call that was returned before is not resolved: the render would
    /// wait forever.
    pub fn end_pass<T>(&self, result: Result<T>) -> Result<Pass<'_, T>> {
        let done = match result {
            Ok(done) => Some(done),
            Err(error) if error.kind() == ErrorKind::Suspended => None,
            Err(error) => return Err(error),
        };
        let unresolved = self.calls.iter().filter(|call| call.result().is_none());
        let handed_out = self.handed_out.replace(self.calls.len());
        let new: Vec<_> = unresolved.clone().filter(|call| call.id.0 as usize >= handed_out).collect();
        match done {
            Some(done) if unresolved.count() == 0 => Ok(Pass::Done(done)),
            _ if new.is_empty() => Err(Error::runtime("the render waits for a result that no call returns")),
            _ => Ok(Pass::Wait(new)),
        }
    }

    /// Starts a call, or finds the earlier one: that of this site in an earlier pass, or a pure call with the
    /// same arguments.
    ///
    /// Returns the result if it arrived, else a pending value.
    ///
    /// # Errors
    /// The call failed, the render made more calls than `limits` allows, or the arguments of all calls exceed the
    /// byte limit.
    pub fn start_call(&self, site: Site, request: Request, limits: &Limits) -> Result<Value<'_>> {
        let id = match request.pure {
            true => self.start_shared(site, request, limits)?,
            false => self.start_here(site, request, limits)?,
        };
        let call = self.calls.get(id.0 as usize).expect("every id was given by add");
        match call.result() {
            None => Ok(Value::Pending(id)),
            Some(Ok(result)) => Ok(Value::Json(result)),
            Some(Err(message)) => {
                Err(Error::runtime(format!("`{}` failed: {message}", call.request.function)))
            }
        }
    }

    fn index(&self) -> &Index {
        self.index.get_or_init(Box::default)
    }

    /// The call with these arguments.
    fn start_shared(&self, site: Site, request: Request, limits: &Limits) -> Result<CallId> {
        let shared = &self.index().shared;
        let key = (request.function.clone(), document_text(&request.arguments));
        if let Some(id) = shared.borrow().get(&key) {
            return Ok(*id);
        }
        let id = self.add(site, request, limits)?;
        shared.borrow_mut().insert(key, id);
        Ok(id)
    }

    /// The call of this site for the current visit.
    fn start_here(&self, site: Site, request: Request, limits: &Limits) -> Result<CallId> {
        let by_site = &self.index().by_site;
        let key = (site, self.count(site));
        if let Some(id) = by_site.borrow().get(&key) {
            return Ok(*id);
        }
        let id = self.add(site, request, limits)?;
        by_site.borrow_mut().insert(key, id);
        Ok(id)
    }

    fn count(&self, site: Site) -> u32 {
        let mut reached = self.index().reached.borrow_mut();
        let count = reached.entry(site).or_insert(0);
        *count += 1;
        *count - 1
    }

    fn add(&self, site: Site, request: Request, limits: &Limits) -> Result<CallId> {
        if self.calls.len() >= limits.requests {
            return Err(Error::limit_reached(
                LimitKind::Requests,
                format!("the template makes more than {} tool calls", limits.requests),
            ));
        }
        let bytes = self.index().bytes.get().saturating_add(document_bytes(&request.arguments));
        if bytes > limits.bytes {
            return Err(Error::limit_reached(
                LimitKind::Bytes,
                format!("the arguments of all calls take more than {} bytes", limits.bytes),
            ));
        }
        self.index().bytes.set(bytes);
        let id = CallId(u32::try_from(self.calls.len()).unwrap_or(u32::MAX));
        self.calls.push(Call { id, request, site, result: OnceCell::new() });
        Ok(id)
    }

    /// Records the result of a call. A second result of the same call is ignored.
    pub fn resolve_call(&self, id: CallId, result: Result<Json, String>) {
        if let Some(call) = self.calls.get(id.0 as usize) {
            call.result.get_or_init(|| result);
        }
    }

    /// All calls in the order they were started.
    pub fn iter(&self) -> impl Iterator<Item = &Call> {
        self.calls.iter()
    }

    /// Passes started so far.
    #[must_use]
    pub fn passes(&self) -> u32 {
        self.passes.get()
    }
}

impl Error {
    /// The error of a pass that needs a result that has not arrived yet.
    #[cold]
    #[must_use]
    pub fn suspended() -> Self {
        Self::new(ErrorKind::Suspended, "the result of a call has not arrived yet")
    }
}
