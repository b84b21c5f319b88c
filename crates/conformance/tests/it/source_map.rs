//! The source map of every recorded case: same output, full cover, and both laws.
//!
//! The laws: the bytes of a text are that range of its template, line ends aside; the bytes of a value are that range
//! of the printed value. Besides, changing one string of the data changes only spans that name it.

use std::{
    collections::HashMap,
    path::Path,
    sync::{LazyLock, Mutex},
};

use conformance::{
    engines::{go_options, jinja_options},
    kinds::{gotemplate, jinja},
};
use gotemplate::{GoCase, GoEngine, GoOutcome};
use hinagata_template::{
    DataOrigin, Language, Mapped, MemorySources, Options, Render, SourceMap, Span, SpanKind, Template,
};
use hinagata_value::{Functions, Limits};
use jinja::{JinjaCase, JinjaEngine, JinjaOutcome, Undefined};
use serde_json::Value;

/// What was seen over all cases, so that a test that checks nothing fails.
#[derive(Debug, Default)]
struct Seen {
    cases: usize,
    texts: usize,
    values: usize,
    derived: usize,
    changed: usize,
    slices: usize,
}

/// Renders with a source map and checks it. Errors of the template are not of interest here.
struct Checker {
    is_jinja: bool,
    seen: Mutex<Seen>,
    faults: Mutex<Vec<String>>,
}

impl Checker {
    const fn new(is_jinja: bool) -> Self {
        let seen = Seen { cases: 0, texts: 0, values: 0, derived: 0, changed: 0, slices: 0 };
        Self { is_jinja, seen: Mutex::new(seen), faults: Mutex::new(Vec::new()) }
    }

    fn check(&self, id: &str, render: &Render<'_>, template: &Template, data: &Value) {
        let Ok(plain) = render.clone().render_messages(template, data) else { return };
        let faults = |fault: String| self.faults.lock().expect("unpoisoned").push(format!("{id}: {fault}"));
        let mapped = match render.render_mapped(template, data) {
            Ok(mapped) => mapped,
            Err(error) => return faults(format!("fails only when recorded: {error}")),
        };
        match render.split_messages(&mapped.written) {
            Ok(messages) if messages == plain => {}
            other => return faults(format!("differs when recorded: {other:?}")),
        }
        if let Err(fault) = self.check_laws(&mapped) {
            return faults(fault);
        }
        if let Err(fault) = self.check_slices(id, &mapped) {
            faults(fault);
        }
        if let Err(fault) = self.check_change(render, template, data, &mapped) {
            faults(fault);
        }
    }

    fn check_laws(&self, mapped: &Mapped) -> Result<(), String> {
        let (map, text) = (&mapped.map, &mapped.written.text);
        let mut seen = self.seen.lock().expect("unpoisoned");
        seen.cases += 1;
        let mut start = 0;
        for span in &map.spans {
            if span.end <= start || !text.is_char_boundary(span.end) {
                return Err(format!("the span {span:?} starts at {start}"));
            }
            let piece = &text[start..span.end];
            start = span.end;
            let template = map.templates.get(span.place.template as usize).ok_or("no template")?;
            let place = span.place.start as usize..span.place.end as usize;
            let source = template.source().text().get(place).ok_or_else(|| format!("no place: {span:?}"))?;
            match span.kind {
                SpanKind::Text => {
                    seen.texts += 1;
                    let source = source.replace("\r\n", "\n").replace('\r', "\n");
                    if source != piece.replace("\r\n", "\n").replace('\r', "\n") {
                        return Err(format!("{piece:?} is not the text {source:?}"));
                    }
                }
                SpanKind::Value { value, from } => {
                    seen.values += 1;
                    let value = map.values.get(value as usize).ok_or("no value")?;
                    if value.text.get(from..from + piece.len()) != Some(piece) {
                        return Err(format!("{piece:?} is not a part of {value:?} from {from}"));
                    }
                }
                SpanKind::Derived { inputs } => {
                    seen.derived += 1;
                    map.inputs.get(inputs as usize).filter(|inputs| !inputs.is_empty()).ok_or("no inputs")?;
                }
                SpanKind::Computed => {}
            }
        }
        if start != text.len() {
            return Err(format!("{} bytes have no span", text.len() - start));
        }
        Ok(())
    }

    /// Compares with the literal texts that sqlfluff found in the case: each is the same range of the template here.
    fn check_slices(&self, id: &str, mapped: &Mapped) -> Result<(), String> {
        if !self.is_jinja || NOT_COMPARED.iter().any(|(name, _)| *name == id) {
            return Ok(());
        }
        let slices = SLICES.get(id).map(Vec::as_slice).unwrap_or_default();
        for [source_start, source_end, start, end] in slices {
            let (mut at, mut source) = (*start, *source_start);
            let mut span_start = 0;
            for span in &mapped.map.spans {
                let from = std::mem::replace(&mut span_start, span.end);
                if span.end <= at || from >= *end {
                    continue;
                }
                let place = span.place.start as usize + (at - from);
                if span.kind != SpanKind::Text || place != source {
                    let shown = &mapped.written.text[*start..*end];
                    return Err(format!(
                        "{shown:?} is text from {source_start} on for sqlfluff, not {span:?}"
                    ));
                }
                let next = span.end.min(*end);
                (source, at) = (source + (next - at), next);
            }
            if (at, source) != (*end, *source_end) {
                return Err(format!("sqlfluff's text from {source_start} to {source_end} ends at {source}"));
            }
            self.seen.lock().expect("unpoisoned").slices += 1;
        }
        Ok(())
    }

    /// Changes one string after the other. If the same spans are there afterwards, only those that name it differ.
    fn check_change(
        &self,
        render: &Render<'_>,
        template: &Template,
        data: &Value,
        before: &Mapped,
    ) -> Result<(), String> {
        for pointer in strings(data).into_iter().take(8) {
            let mut changed = data.clone();
            if let Some(Value::String(text)) = changed.pointer_mut(&pointer) {
                text.push_str("\u{3a9}zq9");
            }
            let Ok(after) = render.render_mapped(template, &changed) else { continue };
            let (mine, theirs) = (spans(before), spans(&after));
            let is_same = mine.len() == theirs.len()
                && mine
                    .iter()
                    .zip(&theirs)
                    .all(|((a, _), (b, _))| same_origin((&before.map, a), (&after.map, b)));
            if !is_same {
                continue;
            }
            self.seen.lock().expect("unpoisoned").changed += 1;
            for ((span, old), (_, new)) in mine.iter().zip(&theirs) {
                if old != new && !names(&before.map, span, &pointer) {
                    return Err(format!(
                        "{pointer} changed {old:?} to {new:?}, and {span:?} does not name it"
                    ));
                }
            }
        }
        Ok(())
    }
}

/// The spans with their texts.
fn spans(mapped: &Mapped) -> Vec<(&Span, &str)> {
    let mut start = 0;
    let piece = |span: &Span| &mapped.written.text[std::mem::replace(&mut start, span.end)..span.end];
    let texts: Vec<_> = mapped.map.spans.iter().map(piece).collect();
    mapped.map.spans.iter().zip(texts).collect()
}

fn same_origin((map, a): (&SourceMap, &Span), (other, b): (&SourceMap, &Span)) -> bool {
    let kinds = match (a.kind, b.kind) {
        (SpanKind::Value { value: a, .. }, SpanKind::Value { value: b, .. }) => {
            map.values[a as usize].origin == other.values[b as usize].origin
        }
        (SpanKind::Derived { inputs: a }, SpanKind::Derived { inputs: b }) => {
            map.inputs[a as usize] == other.inputs[b as usize]
        }
        (a, b) => a == b,
    };
    kinds && a.place == b.place
}

/// Whether a span names the value at `pointer`, or something around it or in it.
fn names(map: &SourceMap, span: &Span, pointer: &str) -> bool {
    let origins = match span.kind {
        SpanKind::Value { value, .. } => std::slice::from_ref(&map.values[value as usize].origin),
        SpanKind::Derived { inputs } => &map.inputs[inputs as usize],
        SpanKind::Text | SpanKind::Computed => return false,
    };
    origins.iter().any(|origin| match origin {
        DataOrigin::Variable(path) => {
            let path: Vec<String> = std::iter::once(path.root.to_string())
                .filter(|root| root != ".")
                .chain(path.parts.iter().map(|part| match part {
                    hinagata_template::PathPart::Key(key) => key.to_string(),
                    hinagata_template::PathPart::Index(index) => index.to_string(),
                    hinagata_template::PathPart::Each => "*".to_owned(),
                }))
                .collect();
            let pointer: Vec<_> =
                pointer.split('/').skip(1).map(|part| part.replace("~1", "/").replace("~0", "~")).collect();
            path.iter().zip(&pointer).all(|(a, b)| a == b)
        }
        DataOrigin::Many => true,
        DataOrigin::Call { .. } | DataOrigin::Missing(_) => false,
    })
}

/// The pointers of all strings.
fn strings(data: &Value) -> Vec<String> {
    fn collect(value: &Value, at: &str, found: &mut Vec<String>) {
        match value {
            Value::String(_) => found.push(at.to_owned()),
            Value::Array(items) => {
                items
                    .iter()
                    .enumerate()
                    .for_each(|(index, item)| collect(item, &format!("{at}/{index}"), found));
            }
            Value::Object(map) => map.iter().for_each(|(key, value)| {
                collect(value, &format!("{at}/{}", key.replace('~', "~0").replace('/', "~1")), found);
            }),
            _ => {}
        }
    }
    let mut found = Vec::new();
    collect(data, "", &mut found);
    found
}

/// The literal texts that sqlfluff's Jinja templater cuts out of cases, recorded by `tests/source-map/record.py`.
static SLICES: LazyLock<HashMap<String, Vec<[usize; 4]>>> = LazyLock::new(|| {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/source-map/sqlfluff.json");
    let text = std::fs::read_to_string(path).expect("is read");
    serde_json::from_str(&text).expect("is JSON")
});

/// Cases that cannot be compared with sqlfluff, with the reason.
const NOT_COMPARED: &[(&str, &str)] = &[
    ("raw-comment-filter/filter-block", FILTERED),
    ("raw-comment-filter/filter-block-args", FILTERED),
    ("raw-comment-filter/filter-block-nested", FILTERED),
    (
        "tests/integer-bigint",
        "a number of more than 64 bits is a float here, so the output has another length",
    ),
];

const FILTERED: &str =
    "it takes the body of a filter block for text of the template, although the filter changed it";

static JINJA: Checker = Checker::new(true);
static GO: Checker = Checker::new(false);

impl JinjaEngine for Checker {
    fn render_case(&self, case: &JinjaCase, undefined: Undefined) -> JinjaOutcome {
        let mut options = Options::default();
        (options.jinja, options.settings) = jinja_options(case, undefined);
        let mut sources = MemorySources::new();
        for (name, source) in &case.templates {
            sources.insert(name, source.as_str());
        }
        if let Some(source) = case.templates.get(&case.entry)
            && let Ok(template) =
                Template::compile(Language::Jinja, &case.entry, source, &options, &Limits::default())
        {
            let functions = Functions::empty();
            let render = Render::new().with_functions(functions).with_sources(&sources);
            self.check(&case.id, &render, &template, &case.data);
        }
        JinjaOutcome::Unavailable(String::new())
    }
}

impl GoEngine for Checker {
    fn render_case(&self, case: &GoCase) -> GoOutcome {
        let (go, functions) = go_options(case);
        let mut options = Options::default().with_functions(&functions);
        options.go = go;
        let limits = Limits { stack: 16 << 20, ..Limits::default() };
        // Only one source is one template here; the others of a set are found by name.
        let mut sources = MemorySources::new();
        for (name, source) in &case.sources {
            sources.insert_source(name, hinagata_template::SourceText::new(Language::Go, source.as_str()));
        }
        let entry = case.sources.iter().find(|(name, _)| *name == case.entry);
        if let Some((name, source)) = entry
            && let Ok(template) = Template::compile(Language::Go, name, source, &options, &limits)
        {
            let render = Render::new().with_functions(&functions).with_sources(&sources).with_limits(limits);
            self.check(&case.id, &render, &template, &case.data);
        }
        GoOutcome::Unavailable(String::new())
    }
}

fn vectors(kind: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors").join(kind)
}

fn run(cases: Vec<conformance::LoadedCase>, checker: &'static Checker, least: &Seen) {
    let work = move || {
        for loaded in cases {
            for index in 0..loaded.case.runs().len() {
                // The outcome is not compared here: the checker looks at the source map.
                let _ = loaded.case.check_run(index);
            }
        }
    };
    let thread = std::thread::Builder::new().stack_size(64 << 20).spawn(work).expect("starts");
    thread.join().expect("no panic");
    let faults = checker.faults.lock().expect("unpoisoned");
    assert!(
        faults.is_empty(),
        "{} faults:\n{}",
        faults.len(),
        faults.iter().take(20).cloned().collect::<Vec<_>>().join("\n")
    );
    let seen = checker.seen.lock().expect("unpoisoned");
    let enough = seen.cases >= least.cases
        && seen.texts >= least.texts
        && seen.values >= least.values
        && seen.derived >= least.derived
        && seen.changed >= least.changed
        && seen.slices >= least.slices;
    assert!(enough, "{seen:?} is less than {least:?}");
}

#[test]
fn every_jinja_case_has_a_source_map_that_keeps_both_laws() {
    let cases = jinja::load_cases(&vectors("jinja"), &JINJA).expect("loads");
    run(
        cases,
        &JINJA,
        &Seen { cases: 2500, texts: 10_000, values: 800, derived: 900, changed: 1000, slices: 9000 },
    );
}

#[test]
fn every_go_case_has_a_source_map_that_keeps_both_laws() {
    let cases = gotemplate::load_cases(&vectors("gotemplate"), &GO).expect("loads");
    run(cases, &GO, &Seen { cases: 1300, texts: 1200, values: 700, derived: 600, changed: 7000, slices: 0 });
}
