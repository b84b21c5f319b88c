//! Packs files and resources, in order, within the budget.

use std::{
    collections::HashSet,
    io::Write,
    ops::ControlFlow,
    path::{Path, PathBuf},
    thread,
};

use hinagata_secrets::Secrets;
use hinagata_tokens::{TokenCount, TokenCounter};
use serde_json::{Map, Value};

use crate::{
    Error, Result,
    frame::Frame,
    guard::{Guard, plain_path},
    merge_variables,
    options::{ContextOptions, Resource, ResourceKind, TemplateFile},
    order::Order,
    packed::{Metadata, PackedContext, PackedFile, PackedKind, PackedResource, Stats},
    read::{Outcome, Reader, Remaining, size_detail},
    render_file,
    report::{Entry, LeftOutReason, Report},
    select::{SelectedFiles, select_files},
    text::trim_end_of_text,
    walk::FoundFile,
    writer::TextWriter,
};

/// Most threads that read files.
const MOST_THREADS: usize = 8;

/// The progress of packing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The number of files found so far.
    Found(usize),
    /// The number of files that are done, and of all files.
    Done(usize, usize),
}

/// Packs contexts and reports its progress.
pub struct Packer<'p> {
    options: &'p ContextOptions,
    base: PathBuf,
    guard: Guard,
    threads: usize,
    progress: &'p (dyn Fn(Progress) + Sync),
}

/// Packs the files and resources of `options`.
///
/// # Errors
/// An invalid pattern, or a template resource that fails. The report lists unreadable files.
pub fn pack(options: &ContextOptions) -> Result<PackedContext> {
    Packer::new(options).pack()
}

/// Receives packed files and resources.
trait Sink {
    fn file(&mut self, resource: Option<&Resource>, path: String, content: String) -> Result<()>;
    fn template(&mut self, resource: &Resource, text: String) -> Result<()>;
    /// Called after the last file of a bundle.
    fn end(&mut self, resource: &Resource) -> Result<()>;
}

/// The remaining budget and the report.
struct Ledger {
    remaining: Remaining,
    /// Counts tokens, if they are counted.
    counter: Option<TokenCounter>,
    tokens: Option<usize>,
    report: Report,
}

impl<'p> Packer<'p> {
    /// A packer for `options`.
    #[must_use]
    pub fn new(options: &'p ContextOptions) -> Self {
        let base = options.base.canonicalize().unwrap_or_else(|_| options.base.clone());
        let threads = thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
        Self { options, base, guard: options.guard(), threads, progress: &|_| {} }
    }

    /// Reports the progress to `progress`.
    #[must_use]
    pub fn with_progress(mut self, progress: &'p (dyn Fn(Progress) + Sync)) -> Self {
        self.progress = progress;
        self
    }

    /// Packs the context into memory.
    ///
    /// # Errors
    /// As [`pack`].
    pub fn pack(&self) -> Result<PackedContext> {
        let mut collected = Collected::new(self.options.frame);
        let report = self.run(&mut collected)?;
        let Collected { files, resources, text } = collected;
        let text = String::from_utf8(text.writer.finish()?).expect("only UTF-8 text was written");
        Ok(PackedContext { files, total_bytes: report.total_bytes, text, resources, report })
    }

    /// Packs the context into `out`, without keeping it: memory does not grow with the budget.
    ///
    /// # Errors
    /// As [`pack`], and if writing to `out` fails.
    pub fn write_to(&self, out: &mut dyn Write) -> Result<Report> {
        let mut streamed = Streamed { writer: TextWriter::new(out, self.options.frame), open: false };
        let report = self.run(&mut streamed)?;
        streamed.writer.finish()?;
        Ok(report)
    }

    fn run(&self, sink: &mut dyn Sink) -> Result<Report> {
        let options = self.options;
        let order = Order::new(options)?;
        let counter = options.tokens.counter()?;
        let mut ledger = Ledger {
            remaining: Remaining::new(options.max_bytes),
            tokens: options.tokens.max,
            report: Report { total_tokens: counter.as_ref().map(|_| 0), ..Report::default() },
            counter,
        };
        if !ledger.report.check_directory(&options.base, &self.guard) {
            return Ok(ledger.report);
        }
        let mut selected = self.select(&options.include, &options.exclude, &self.base)?;
        order.sort_files(&mut selected.files);
        self.pack_files(selected, &Part::Files, &self.base, &mut ledger, sink)?;
        for resource in &options.resources {
            match &resource.kind {
                ResourceKind::Bundle { include, exclude, base, virtual_path } => {
                    let base = self.directory(base.as_deref());
                    if !ledger.report.check_directory(&base, &self.guard) {
                        continue;
                    }
                    let base = base.canonicalize().unwrap_or(base);
                    let mut selected = self.select(include, exclude, &base)?;
                    order.sort_files(&mut selected.files);
                    let part = Part::Bundle(resource, virtual_path.as_deref());
                    self.pack_files(selected, &part, &base, &mut ledger, sink)?;
                    sink.end(resource)?;
                }
                ResourceKind::Template { template, variables } => {
                    self.pack_template(resource, template, variables, &mut ledger, sink)?;
                }
            }
        }
        ledger.report.add_focus_notices(&order);
        Ok(ledger.report)
    }

    /// The directory of a resource, with links.
    fn directory(&self, own: Option<&Path>) -> PathBuf {
        own.map_or_else(|| self.base.clone(), |own| plain_path(&self.base.join(own)))
    }

    fn select(&self, include: &[String], exclude: &[String], base: &Path) -> Result<SelectedFiles> {
        let on_found = |found: usize| (self.progress)(Progress::Found(found));
        select_files(base, include, exclude, self.options.rules, self.threads, &on_found)
    }

    /// Reads files and passes those that fit to `sink`.
    fn pack_files(
        &self,
        selected: SelectedFiles,
        part: &Part<'_>,
        base: &Path,
        ledger: &mut Ledger,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        let SelectedFiles { files, left_out, unmatched, named, notices } = selected;
        let Ledger { remaining, counter, tokens, report } = ledger;
        let before = report.entries.len();
        report.notices.extend(notices);
        report.entries.extend(left_out.into_iter().map(|entry| part.entry(entry)));
        report.unmatched.extend(unmatched);
        let most = part.most_files(self.options.max_files);
        let (mut done, mut taken) = (0, 0);
        let reader = Reader {
            base,
            secrets: self.options.rules.secrets.then(Secrets::built_in),
            counter: counter.as_ref(),
            frame: self.options.frame,
            threads: self.threads,
        };
        let fits = if most == 0 { &files[..0] } else { &files[..] };
        let ended = reader.read_files(fits, remaining, |file, outcome| {
            done += 1;
            (self.progress)(Progress::Done(done, files.len()));
            match accept_file(file, outcome, remaining, tokens, report) {
                Err(entry) => report.entries.push(part.entry(entry)),
                Ok((content, entry)) => {
                    report.entries.push(part.entry(entry));
                    if let Err(error) = sink.file(part.resource(), part.path(&file.path), content) {
                        return ControlFlow::Break(Some(error));
                    }
                    taken += 1;
                    if taken == most {
                        return ControlFlow::Break(None);
                    }
                }
            }
            ControlFlow::Continue(())
        });
        if let ControlFlow::Break(Some(error)) = ended {
            return Err(error);
        }
        let too_many = |file: &FoundFile| {
            let detail = format!("the limit is {most} files");
            part.entry(Entry::left_out(&file.path, LeftOutReason::Budget, detail))
        };
        report.entries.extend(files[done..].iter().map(too_many));
        if matches!(part, Part::Files) {
            report.file_count = taken;
        }
        let named: HashSet<String> = named.iter().map(|path| part.path(path)).collect();
        report.add_file_notices(before, &named);
        Ok(())
    }

    fn pack_template(
        &self,
        resource: &Resource,
        template: &TemplateFile,
        variables: &Map<String, Value>,
        ledger: &mut Ledger,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        let entry = |mut entry: Entry| {
            entry.resource = Some(resource.id.clone());
            entry
        };
        let text = match self.render_template(template, variables) {
            Ok(text) => text,
            Err(Error::Withheld { path, reason, detail, .. }) => {
                ledger.report.leave_out(entry(withheld_entry(template, &path, reason, detail)));
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let (size, left) = (text.len() as u64, ledger.remaining.get());
        let count = |counter: &TokenCounter| counter.count_tokens(&self.options.frame.frame_rendered(&text));
        let tokens = ledger.counter.as_ref().map(count);
        if size > left {
            let detail = size_detail(size, left);
            let left_out =
                Entry::left_out(&template.file, LeftOutReason::Budget, detail).with_size(Some(size));
            ledger.report.leave_out(entry(left_out));
            return Ok(());
        }
        match take_tokens(&mut ledger.tokens, &mut ledger.report, tokens) {
            Err(detail) => {
                let left_out =
                    Entry::left_out(&template.file, LeftOutReason::Budget, detail).with_size(Some(size));
                ledger.report.leave_out(entry(left_out));
                Ok(())
            }
            Ok(tokens) => {
                ledger.remaining.take(size);
                ledger.report.total_bytes += size;
                ledger.report.entries.push(entry(Entry::in_context(&template.file, size, tokens)));
                sink.template(resource, text)
            }
        }
    }

    fn render_template(&self, template: &TemplateFile, variables: &Map<String, Value>) -> Result<String> {
        let mut bag = self.options.variables.clone();
        merge_variables(&mut bag, variables);
        let mut text = render_file(template, &self.base, &bag, &self.options.templates, &self.guard)?;
        text.truncate(trim_end_of_text(&text).len());
        Ok(text)
    }

    /// Lists the paths of the files to pack, from the base, without reading the files. Ignored files and files with
    /// secret names are left out; the budget is not applied.
    ///
    /// # Errors
    /// As [`pack`].
    pub fn list_paths(&self) -> Result<Vec<String>> {
        if self.guard.is_link_outside(&self.options.base) {
            return Ok(Vec::new());
        }
        let selected = self.select(&self.options.include, &self.options.exclude, &self.base)?;
        let secrets = self.options.rules.secrets.then(Secrets::built_in);
        let is_secret = |path: &str| secrets.is_some_and(|secrets| secrets.in_name(path).is_some());
        Ok(selected.files.into_iter().map(|found| found.path).filter(|path| !is_secret(path)).collect())
    }

    /// Estimates the content of the context from the sizes of files, without reading them.
    ///
    /// # Errors
    /// As [`pack`].
    pub fn estimate_stats(&self) -> Result<Stats> {
        let options = self.options;
        let order = Order::new(options)?;
        let mut sizes = Sizes { left: options.max_bytes, total: 0 };
        if self.guard.is_link_outside(&options.base) {
            return Ok(Stats::default());
        }
        let mut selected = self.select(&options.include, &options.exclude, &self.base)?;
        order.sort_files(&mut selected.files);
        let file_count = sizes.take(&selected.files, &self.base, options.max_files);
        for resource in &options.resources {
            match &resource.kind {
                ResourceKind::Bundle { include, exclude, base, .. } => {
                    let base = self.directory(base.as_deref());
                    if self.guard.is_link_outside(&base) {
                        continue;
                    }
                    let base = base.canonicalize().unwrap_or(base);
                    let selected = self.select(include, exclude, &base)?;
                    sizes.take(&selected.files, &base, usize::MAX);
                }
                ResourceKind::Template { template, variables } => {
                    match self.render_template(template, variables) {
                        Ok(text) => drop(sizes.fits(text.len() as u64)),
                        Err(Error::Withheld { .. }) => {}
                        Err(error) => return Err(error),
                    }
                }
            }
        }
        Ok(Stats { file_count, total_bytes: sizes.total })
    }
}

/// The entry of a template resource that is not rendered because the file at `path` is withheld.
fn withheld_entry(template: &TemplateFile, path: &str, reason: LeftOutReason, detail: String) -> Entry {
    let detail = match path == template.file {
        true => detail,
        false => format!("it refers to `{path}`: {detail}"),
    };
    Entry::left_out(&template.file, reason, detail)
}

/// Counts sizes within the budget.
struct Sizes {
    left: u64,
    total: u64,
}

impl Sizes {
    /// Counts `size` if it fits; returns whether it does.
    fn fits(&mut self, size: u64) -> bool {
        let fits = size <= self.left;
        if fits {
            self.left -= size;
            self.total += size;
        }
        fits
    }

    /// Counts the files that fit, at most `most`; returns their number.
    fn take(&mut self, files: &[FoundFile], base: &Path, most: usize) -> usize {
        let size = |file: &FoundFile| {
            let path = file.real.clone().unwrap_or_else(|| base.join(&file.path));
            path.metadata().ok().map(|metadata| metadata.len())
        };
        files.iter().filter(|file| size(file).is_some_and(|size| self.fits(size))).take(most).count()
    }
}

/// The files of the context, or those of a bundle.
enum Part<'r> {
    Files,
    Bundle(&'r Resource, Option<&'r str>),
}

impl<'r> Part<'r> {
    fn resource(&self) -> Option<&'r Resource> {
        match self {
            Self::Files => None,
            Self::Bundle(resource, _) => Some(resource),
        }
    }

    fn most_files(&self, configured: usize) -> usize {
        match self {
            Self::Files => configured,
            Self::Bundle(..) => usize::MAX,
        }
    }

    /// The path as displayed in the context.
    fn path(&self, path: &str) -> String {
        match self {
            Self::Bundle(_, Some(start)) if !start.is_empty() => {
                let start = start.replace('\\', "/");
                format!("{}/{path}", start.strip_suffix('/').unwrap_or(&start))
            }
            _ => path.to_owned(),
        }
    }

    fn entry(&self, mut entry: Entry) -> Entry {
        entry.path = self.path(&entry.path);
        entry.resource = self.resource().map(|resource| resource.id.clone());
        entry
    }
}

/// Accepts a file that fits; returns its text and its entry, else the entry that leaves it out.
fn accept_file(
    file: &FoundFile,
    outcome: Outcome,
    remaining: &Remaining,
    tokens_left: &mut Option<usize>,
    report: &mut Report,
) -> Result<(String, Entry), Entry> {
    let left = remaining.get();
    let too_large = |size: u64| {
        Entry::left_out(&file.path, LeftOutReason::Budget, size_detail(size, left)).with_size(Some(size))
    };
    let (content, on_disk, tokens, lossy) = match outcome {
        Outcome::Text { content, size, tokens, lossy } => (content, size, tokens, lossy),
        // Whether a thread opens a file that does not fit depends on timing; the report must not.
        Outcome::LeftOut { bytes: Some(size), .. } if size > left => return Err(too_large(size)),
        Outcome::LeftOut { reason, detail, bytes } => {
            return Err(Entry::left_out(&file.path, reason, detail).with_size(bytes));
        }
    };
    let size = content.len() as u64;
    if on_disk.max(size) > left {
        return Err(too_large(if on_disk > left { on_disk } else { size }));
    }
    let tokens = take_tokens(tokens_left, report, tokens)
        .map_err(|detail| Entry::left_out(&file.path, LeftOutReason::Budget, detail).with_size(Some(size)))?;
    remaining.take(size);
    report.total_bytes += size;
    let mut entry = Entry::in_context(&file.path, size, tokens);
    entry.detail = lossy.then(|| "invalid UTF-8 was replaced by U+FFFD".to_owned());
    Ok((content, entry))
}

/// Subtracts tokens from the remaining ones; fails with a message if they do not fit. An estimate takes its whole error
/// with it, so that the text fits even if the model counts more.
fn take_tokens(
    left: &mut Option<usize>,
    report: &mut Report,
    counted: Option<TokenCount>,
) -> Result<Option<usize>, String> {
    let Some(counted) = counted else { return Ok(None) };
    if let Some(left) = left {
        let needed = counted.upper_bound();
        *left = left.checked_sub(needed).ok_or_else(|| match counted.is_estimated() {
            true => format!("about {} tokens, up to {needed}, {left} are left", counted.tokens),
            false => format!("{needed} tokens, {left} are left"),
        })?;
    }
    *report.total_tokens.get_or_insert(0) += counted.tokens;
    report.tokens_estimated = Some(counted.is_estimated() || report.tokens_estimated.unwrap_or_default());
    report.tokens_error_percent = report.tokens_error_percent.max(counted.error_percent);
    Ok(Some(counted.tokens))
}

/// Collects files, resources and text in memory.
struct Collected {
    files: Vec<PackedFile>,
    resources: Vec<PackedResource>,
    text: Streamed<Vec<u8>>,
}

impl Collected {
    fn new(frame: Frame) -> Self {
        let text = Streamed { writer: TextWriter::new(Vec::new(), frame), open: false };
        Self { files: Vec::new(), resources: Vec::new(), text }
    }
}

impl Sink for Collected {
    fn file(&mut self, resource: Option<&Resource>, path: String, content: String) -> Result<()> {
        let first = !self.text.open;
        self.text.put(resource, &path, &content)?;
        let file = PackedFile { path, bytes: content.len() as u64, content };
        let Some(resource) = resource else {
            self.files.push(file);
            return Ok(());
        };
        match self.resources.last_mut().and_then(|last| last.files.as_mut()).filter(|_| !first) {
            Some(files) => files.push(file),
            None => self.resources.push(packed_resource(resource, String::new(), Some(vec![file]))),
        }
        Ok(())
    }

    fn template(&mut self, resource: &Resource, text: String) -> Result<()> {
        self.text.template(resource, text.clone())?;
        self.resources.push(packed_resource(resource, text, None));
        Ok(())
    }

    fn end(&mut self, resource: &Resource) -> Result<()> {
        if let Some(last) = self.resources.last_mut().filter(|_| self.text.open) {
            let mut writer = TextWriter::for_section(Vec::new(), self.text.writer.frame());
            for file in last.files.iter().flatten() {
                writer.write_file(&file.path, &file.content)?;
            }
            last.text = String::from_utf8(writer.finish()?).expect("only UTF-8 text was written");
        }
        self.text.end(resource)
    }
}

fn packed_resource(resource: &Resource, text: String, files: Option<Vec<PackedFile>>) -> PackedResource {
    let (kind, metadata) = match &resource.kind {
        ResourceKind::Bundle { virtual_path, .. } => {
            (PackedKind::Bundle, virtual_path.clone().map(|virtual_path| Metadata { virtual_path }))
        }
        ResourceKind::Template { .. } => (PackedKind::Template, None),
    };
    let Resource { id, name, description, .. } = resource.clone();
    PackedResource { id, kind, name, description, text, files, metadata }
}

/// Writes files and resources as they arrive.
struct Streamed<W> {
    writer: TextWriter<W>,
    /// Whether the section of a bundle is open.
    open: bool,
}

impl<W: Write> Streamed<W> {
    fn put(&mut self, resource: Option<&Resource>, path: &str, content: &str) -> Result<()> {
        if let Some(resource) = resource.filter(|_| !self.open) {
            self.open = true;
            self.writer.open_section(resource, false)?;
        }
        Ok(self.writer.write_file(path, content)?)
    }
}

impl<W: Write> Sink for Streamed<W> {
    fn file(&mut self, resource: Option<&Resource>, path: String, content: String) -> Result<()> {
        self.put(resource, &path, &content)
    }

    fn template(&mut self, resource: &Resource, text: String) -> Result<()> {
        self.writer.open_section(resource, text.is_empty())?;
        self.writer.write_rendered(&text)?;
        Ok(self.writer.close_section(resource, text.is_empty())?)
    }

    fn end(&mut self, resource: &Resource) -> Result<()> {
        if std::mem::take(&mut self.open) {
            self.writer.close_section(resource, false)?;
        }
        Ok(())
    }
}
