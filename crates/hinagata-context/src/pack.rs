//! Packs files, resources and sections within the budget.

use std::{io::Write, path::Path, thread};

use crate::{
    Error, Result,
    count::Counter,
    extras::Extras,
    facts::RepositoryFacts,
    guard::{Guard, leads_out},
    ignored::Ignored,
    job::{Content, Job, Progress},
    options::ContextOptions,
    order::{Order, compare_paths},
    packed::{PackedContext, Stats},
    report::{Notice, Report},
    rungs::Rungs,
    select::Selector,
    sink::{Collected, Sink, Streamed},
    walk::FoundFile,
    work::Work,
};

/// Packs contexts and reports its progress.
pub struct Packer<'p> {
    job: Job<'p>,
    /// Whether the text belongs to the output of a guard of the caller.
    shares_guard: bool,
}

/// Changes of files, as git writes them.
#[derive(Debug)]
pub struct Changes {
    /// The changes.
    pub text: String,
    /// Whether the text is cut at its limit.
    pub is_cut: bool,
    /// What is missing or redacted.
    pub report: Report,
}

/// Packs the files and resources of `options`.
///
/// # Errors
/// An invalid pattern, or a template resource that fails. The report lists unreadable files.
pub fn pack(options: &ContextOptions) -> Result<PackedContext> {
    Packer::new(options).pack()
}

impl<'p> Packer<'p> {
    /// A packer for `options`.
    #[must_use]
    pub fn new(options: &'p ContextOptions) -> Self {
        Self { job: Job::new(options), shares_guard: false }
    }

    /// Reports the progress to `progress`.
    #[must_use]
    pub fn with_progress(mut self, progress: &'p (dyn Fn(Progress) + Sync)) -> Self {
        self.job.progress = progress;
        self
    }

    /// Packs a part of the output of `guard`, which has the rules of the options: a secret has the same mark in the context and
    /// in other texts that the guard redacts.
    #[must_use]
    pub fn with_guard(mut self, guard: &Guard) -> Self {
        self.job.guard = guard.clone();
        self.shares_guard = true;
        self
    }

    /// Packs the context into memory.
    ///
    /// # Errors
    /// As [`pack`].
    pub fn pack(&self) -> Result<PackedContext> {
        let mut collected = Collected::new(self.job.options.frame);
        let report = self.run(&mut collected)?;
        let (files, resources, text) = collected.finish()?;
        Ok(PackedContext { files, total_bytes: report.total_bytes, text, resources, report })
    }

    /// Packs the context into `out`. Memory is bounded by the budget; without a limit that can be reached, files are
    /// written as they are read.
    ///
    /// # Errors
    /// As [`pack`], and if writing to `out` fails.
    pub fn write_to(&self, out: &mut dyn Write) -> Result<Report> {
        let mut streamed = Streamed::new(out, self.job.options.frame);
        let report = self.run(&mut streamed)?;
        streamed.finish()?;
        Ok(report)
    }

    fn run(&self, sink: &mut dyn Sink) -> Result<Report> {
        let guard = match self.shares_guard {
            true => self.job.guard.clone(),
            false => self.job.guard.for_output(),
        };
        let job = Job { base: self.job.base.clone(), guard, ..self.job };
        let Job { options, base, guard, .. } = &job;
        let mut report = Report::default();
        if !report.check_directory(&options.base, guard) {
            return Ok(report);
        }
        let order = Order::new(options)?;
        let facts = job.repository_facts();
        let selector = Selector::new(base, job.wanted_files(), &facts)?;
        let gathered = thread::scope(|scope| {
            scope.spawn(|| facts.load_history());
            job.gather(&order, &facts, &selector, &mut report)
        })?;
        let extras = Extras { options, base, guard, facts: &facts, selector: &selector };
        let mut sections = extras.caller_sections()?;
        report.redacted.extend(guard.redactor().take_redacted());
        sections.extend(extras.git_sections(&mut report)?);
        let counter = Counter::new(&options.tokens)?;
        let rungs = Rungs {
            counter: &counter,
            frame: options.frame,
            form: options.form,
            whole_only: options.compat || options.tokens.all_or_nothing,
        };
        let mut report = Work::new(&job, &gathered, &rungs, sections).run(report, sink)?;
        let is_reported = report.notices.iter().any(|notice| notice.about == "git");
        // A repository above the workspace is usual: it matters where not all files fit.
        let matters =
            !facts.is_outside() || report.entries.iter().any(|entry| entry.is_lowered(options.form));
        report.notices.extend(facts.problem().filter(|_| matters && !is_reported).map(|problem| {
            Notice::new("git", None, format!("files are ranked without their history: {problem}"))
        }));
        report.add_file_notices(&gathered.named, options.form);
        report.add_focus_notices(&order, options.form);
        if !options.compat {
            sort_entries(&mut report, options);
        }
        Ok(report)
    }

    /// Lists the paths of the files to pack, from the base, without reading the files. Ignored files and files with
    /// secret names are left out; the budget is not applied.
    ///
    /// # Errors
    /// As [`pack`].
    pub fn list_paths(&self) -> Result<Vec<String>> {
        let Job { options, base, guard, .. } = &self.job;
        if guard.is_link_outside(&options.base) {
            return Ok(Vec::new());
        }
        let facts = self.job.repository_facts();
        let selector = Selector::new(base, self.job.wanted_files(), &facts)?;
        let selected = self.job.select(&selector);
        let is_secret = |path: &str| guard.refuses_name(path).is_some();
        Ok(selected
            .files
            .into_iter()
            .map(|found| found.path.into())
            .filter(|path: &String| !is_secret(path))
            .collect())
    }

    /// Lists one directory beneath the base, as paths from the base in byte order: the files, and the subdirectories with a
    /// slash at the end. Ignored files and files with secret names are left out, as is everything in an ignored directory
    /// or outside of the base. git is not asked, so that a file that it tracks and ignores is left out, too.
    ///
    /// # Errors
    /// An invalid pattern of the options.
    pub fn list_directory(&self, directory: &str) -> Result<Vec<String>> {
        let Job { options, base, guard, .. } = &self.job;
        let real = base.join(directory).canonicalize();
        let is_ignored = |real: &Path| options.rules.ignore_files && Ignored::is_path_ignored(base, real);
        if leads_out(directory) || real.map_or(true, |real| !real.starts_with(base) || is_ignored(&real)) {
            return Ok(Vec::new());
        }
        let facts = RepositoryFacts::without_git(base);
        let selector = Selector::new(base, self.job.wanted_files(), &facts)?;
        let is_secret = |path: &String| guard.refuses_name(path).is_some();
        Ok(selector.list_names(directory).into_iter().filter(|path| !is_secret(path)).collect())
    }

    /// Whether the options cover the file at `path`, from the base, whether it exists or not. Ignored files and files with
    /// secret names are not covered; git is not asked.
    ///
    /// # Errors
    /// An invalid pattern of the options.
    pub fn covers_path(&self, path: &str) -> Result<bool> {
        let Job { options, base, guard, .. } = &self.job;
        let facts = RepositoryFacts::without_git(base);
        let is_covered = Selector::new(base, self.job.wanted_files(), &facts)?.covers(path);
        let is_ignored = || options.rules.ignore_files && Ignored::is_path_ignored(base, &base.join(path));
        Ok(is_covered && guard.refuses_name(path).is_none() && !is_ignored())
    }

    /// The changes that the sections of the options name, of files that the options cover, without their secrets. The
    /// notices of the report say what is missing.
    ///
    /// # Errors
    /// An invalid pattern, or revisions that are invalid or do not exist.
    pub fn read_changes(&self) -> Result<Changes> {
        let Job { options, base, guard, .. } = &self.job;
        let facts = self.job.repository_facts();
        let selector = Selector::new(base, self.job.wanted_files(), &facts)?;
        let extras = Extras { options, base, guard, facts: &facts, selector: &selector };
        let mut report = Report::default();
        let sections = extras.git_sections(&mut report)?;
        let is_cut = sections.iter().any(|section| section.cut);
        Ok(Changes { text: sections.into_iter().map(|section| section.text).collect(), is_cut, report })
    }

    /// Estimates the content of the context from the sizes of files, without reading them.
    ///
    /// # Errors
    /// As [`pack`].
    pub fn estimate_stats(&self) -> Result<Stats> {
        let Job { options, base, guard, .. } = &self.job;
        let mut sizes = Sizes { left: options.max_bytes.unwrap_or(u64::MAX), total: 0 };
        if guard.is_link_outside(&options.base) {
            return Ok(Stats::default());
        }
        let order = Order::new(options)?;
        let facts = self.job.repository_facts();
        let selector = Selector::new(base, self.job.wanted_files(), &facts)?;
        let gathered = self.job.gather(&order, &facts, &selector, &mut Report::default())?;
        let mut file_count = 0;
        for content in &gathered.contents {
            match content {
                Content::Files(files) => {
                    let found = files.ranked.iter().map(|ranked| &ranked.file);
                    let taken = sizes.take(found, &files.base, files.part.most_files(options.max_files));
                    file_count += if files.part.resource().is_none() { taken } else { 0 };
                }
                Content::Template(part) => match self.job.render_template(part) {
                    Ok(text) => drop(sizes.fits(text.len() as u64)),
                    Err(Error::Withheld { .. }) => {}
                    Err(error) => return Err(error),
                },
            }
        }
        Ok(Stats { file_count, total_bytes: sizes.total })
    }
}

/// Sorts the entries: the project first, then resources in their order, each by path.
fn sort_entries(report: &mut Report, options: &ContextOptions) {
    let place = |id: &Option<String>| {
        let id = id.as_ref()?;
        options.resources.iter().position(|resource| resource.id == *id)
    };
    // A stable sort would need room for a copy of the list, which can be long.
    report.entries.sort_unstable_by(|one, other| {
        place(&one.resource).cmp(&place(&other.resource)).then_with(|| compare_paths(&one.path, &other.path))
    });
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
    fn take<'f>(&mut self, files: impl Iterator<Item = &'f FoundFile>, base: &Path, most: usize) -> usize {
        let size = |file: &FoundFile| file.full_path(base).metadata().ok().map(|metadata| metadata.len());
        files.filter(|file| size(file).is_some_and(|size| self.fits(size))).take(most).count()
    }
}
