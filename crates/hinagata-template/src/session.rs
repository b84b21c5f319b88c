//! One render, over both languages.
//!
//! For each language, the other one is only a source of foreign templates. The session implements that source
//! for both: it looks up every template that a language does not find itself, and runs it with the language it
//! is written in, with the same heap, budget and calls.
//!
//! The reasons are in `docs/design/one-session.md`.

use std::{borrow::Cow, cell::RefCell};

use hinagata_gotemplate::{Context, Data as GoData, Templates};
use hinagata_jinja::{Data as JinjaData, Outside, Printed, Run};
use hinagata_value::{
    Calls, Error, ErrorKind, Functions, Heap, Kind, Off, Output, Provenance, Result, Segments, Value,
    Variables, near_names,
};

use crate::{
    Language,
    library::{Compiled, GoTemplate, Library},
    template::{Body, FIRST_GO},
};

/// The state that all templates of one render share.
pub(crate) struct Session<'r, 'a> {
    heap: &'r Heap<'a>,
    library: &'a Library<'a>,
    functions: &'a Functions,
    calls: &'a Calls,
    /// The templates that are being rendered, without the first one and those that a language found itself.
    chain: RefCell<Vec<String>>,
}

impl<'r, 'a> Session<'r, 'a> {
    pub(crate) fn new(
        heap: &'r Heap<'a>,
        library: &'a Library<'a>,
        functions: &'a Functions,
        calls: &'a Calls,
    ) -> Self {
        Self { heap, library, functions, calls, chain: RefCell::default() }
    }

    /// Renders the template of the library into `out`.
    pub(crate) fn render<P: Provenance>(
        &self,
        variables: &'a dyn Variables,
        out: &mut Output<'a, P>,
    ) -> Result<()> {
        let root = self.library.root();
        match root.body() {
            Body::Jinja(template) => self.render_jinja(template, 0, JinjaData::Variables(variables), out),
            Body::Go(go) => {
                let data = match variables.as_json() {
                    Some(json) => GoData::Value(Value::Json(json)),
                    None => GoData::Variables(variables),
                };
                let context = self.go_context(FIRST_GO);
                go.set.execute(root.name(), data, &context, out)
            }
        }
    }

    fn render_jinja<P: Provenance>(
        &self,
        template: &'a hinagata_jinja::Template,
        number: u32,
        data: JinjaData<'a>,
        out: &mut Output<'a, P>,
    ) -> Result<()> {
        let run = Run {
            heap: self.heap,
            settings: &self.library.root().options().settings,
            loader: self.library,
            outside: self,
            functions: self.functions,
            calls: self.calls,
            loaded: self.library.jinja_templates(),
            number,
        };
        run.render(template, data, out)
    }

    fn go_context<P: Provenance>(&self, first_template: u32) -> Context<'_, 'a, P> {
        Context {
            heap: self.heap,
            functions: self.functions,
            calls: self.calls,
            templates: self,
            first_template,
        }
    }

    /// Renders the template called `name` on `data`.
    fn include<P: Provenance>(&self, name: &str, data: Value<'a>, out: &mut Output<'a, P>) -> Result<()> {
        let budget = self.heap.budget();
        budget.charge_steps(1)?;
        budget.check_stack()?;
        let _link = self.link(name)?;
        match self.library.load(name).map_err(own_place)? {
            None => Err(self.not_found(name)),
            Some(Compiled::Go(GoTemplate { source, first, .. })) => {
                source.set.execute(name, data, &self.go_context(*first), out)
            }
            Some(Compiled::Jinja(template)) => {
                let data = self.variables(name, data)?;
                let (template, number) = self
                    .library
                    .numbered_jinja(template)
                    .ok_or_else(|| Error::runtime(format!("'{name}' is not a Jinja template")))?;
                self.render_jinja(template, number, JinjaData::Value(data), out)
            }
        }
    }

    /// Converts the dot of a Go template to the variables of a Jinja template.
    fn variables(&self, name: &str, dot: Value<'a>) -> Result<Value<'a>> {
        match dot.kind() {
            Kind::Map | Kind::Namespace | Kind::Host => Ok(dot),
            Kind::None | Kind::Undefined => Ok(self.heap.map()?.finish()),
            Kind::Pending => Err(Error::suspended()),
            kind => Err(Error::runtime(format!(
                "'{name}' is a Jinja template and needs a map of variables, not a {}",
                kind_name(kind)
            ))
            .with_hint("pass a map whose entries are the variables")),
        }
    }

    /// Records that `name` is being rendered, until the result is dropped.
    fn link(&self, name: &str) -> Result<Link<'_>> {
        let mut chain = self.chain.borrow_mut();
        let root = self.library.root().name();
        if root == name || chain.iter().any(|open| open == name) {
            let inner: String = chain.iter().map(|open| format!("{open} → ")).collect();
            let circle = format!("{root} → {inner}{name}");
            return Err(Error::runtime(format!("templates include each other in a circle: {circle}"))
                .with_hint("recursive includes are possible only among Jinja templates"));
        }
        chain.push(name.to_owned());
        Ok(Link(&self.chain))
    }

    #[cold]
    fn not_found(&self, name: &str) -> Error {
        let known = self.library.names();
        Error::new(ErrorKind::NotFound, format!("template '{name}' not found"))
            .with_near(near_names(name, known.iter().map(String::as_str)))
    }
}

/// Makes the place of a compile error final: it is in the template that does not compile.
fn own_place(error: Error) -> Error {
    match error.place().cloned() {
        Some(place) => error.set_final_place(|_| place),
        None => error,
    }
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Str | Kind::Bytes => "string",
        Kind::Int | Kind::Float => "number",
        Kind::Bool => "boolean",
        Kind::List | Kind::Tuple | Kind::Once | Kind::View | Kind::Range => "list",
        _ => "value of another kind",
    }
}

/// A template that is being rendered.
struct Link<'s>(&'s RefCell<Vec<String>>);

impl Drop for Link<'_> {
    fn drop(&mut self) {
        self.0.borrow_mut().pop();
    }
}

/// Go templates for Jinja.
impl<'a> Outside<'a> for Session<'_, 'a> {
    fn contains(&self, name: &str) -> bool {
        matches!(self.library.language_of(name), Ok(Some(Language::Go)))
    }

    fn render(&self, name: &str, scope: Value<'a>, traced: bool) -> Result<Printed<'a>> {
        fn captured<'a, P: Provenance>(
            session: &Session<'_, 'a>,
            name: &str,
            scope: Value<'a>,
            record: impl FnOnce(&mut P) -> Segments,
        ) -> Result<Printed<'a>> {
            let mut out = Output::<P>::new_capture(session.heap.budget());
            session.include(name, scope, &mut out)?;
            let record = record(out.provenance());
            let ends_with_value = out.ends_with_value();
            Ok(Printed { text: out.into_value(true)?, ends_with_value, record })
        }
        match traced {
            true => captured(self, name, scope, |segments: &mut Segments| std::mem::take(segments)),
            false => captured(self, name, scope, |_: &mut Off| Segments::default()),
        }
    }
}

/// Templates for Go that its own source does not define.
impl<'a, P: Provenance> Templates<'a, P> for Session<'_, 'a> {
    fn join<'n>(&self, from: &str, name: &'n str) -> Result<Cow<'n, str>> {
        self.library.join(from, name).map_err(own_place)
    }

    fn contains(&self, name: &str) -> bool {
        // An unreadable template exists. Rendering it returns the error.
        !matches!(self.library.language_of(name), Ok(None))
    }

    fn names(&self) -> Vec<String> {
        self.library.names()
    }

    fn render(&self, name: &str, data: Value<'a>, output: &mut Output<'a, P>) -> Result<()> {
        self.include(name, data, output)
    }
}
