//! Reads what was gathered, chooses within the budget, and prints.
//!
//! Where a limit can be reached, files are chosen by rank, kept, and printed by path. Where none can, they are printed
//! as they are read.

use std::{ops::ControlFlow, path::PathBuf};

use hinagata_secrets::{FoundSecrets, RedactedFile, Redactor, SecretAction};
use hinagata_tokens::TokenCount;

use crate::{
    Error, Result,
    detail::Detail,
    job::{Content, FilePart, Gathered, Job, Progress, TemplatePart},
    ledger::{Decision, Ledger},
    options::TemplateFile,
    order::{RankedFile, compare_paths},
    read::Reader,
    remaining::Remaining,
    report::{Entry, LeftOutReason, Missing, Notice, PackedForm, Report, SectionEntry},
    rungs::Rungs,
    section::{Section, SectionKind},
    sink::{Counted, PrintedFile, Sink, Streamed},
    tree::FileTree,
};

/// The part of the budget that the tree may have.
const TREE_SHARE: usize = 10;

/// The part of the budget that texts of git may have.
const GIT_SHARE: usize = 2;

/// Packs what was gathered.
pub(crate) struct Work<'w> {
    job: &'w Job<'w>,
    gathered: &'w Gathered<'w>,
    rungs: &'w Rungs<'w>,
    /// Sections of the text, in their order.
    sections: Vec<Section>,
    /// What was redacted in sections after all files were chosen.
    redacted: Vec<RedactedFile>,
    /// Files that are done.
    done: usize,
}

/// A file that is chosen.
struct ChosenFile {
    /// The place of its part.
    content: usize,
    file: PrintedFile,
    changed: bool,
}

/// What is chosen.
#[derive(Default)]
struct Chosen {
    /// Files, in the order of the choice.
    files: Vec<ChosenFile>,
    /// Texts of templates, with the places of their parts.
    templates: Vec<(usize, String)>,
}

impl<'w> Work<'w> {
    pub(crate) fn new(
        job: &'w Job<'w>,
        gathered: &'w Gathered<'w>,
        rungs: &'w Rungs<'w>,
        sections: Vec<Section>,
    ) -> Self {
        Self { job, gathered, rungs, sections, redacted: Vec::new(), done: 0 }
    }

    /// Packs everything, and prints it to `sink`.
    pub(crate) fn run(&mut self, mut report: Report, sink: &mut dyn Sink) -> Result<Report> {
        let tree = self.add_tree(&mut report);
        self.fit_sections(&mut report);
        if self.can_stream() {
            let remaining = Remaining::new(self.job.options.max_bytes, self.token_limit());
            let mut ledger = self.new_ledger(report, &remaining, tree.as_ref(), false);
            if self.rungs.counter.is_counting() {
                let mut counted = Counted::new(Some(sink), self.rungs.counter.start(), self.rungs.frame);
                self.stream(&mut ledger, &mut counted)?;
                ledger.report.set_tokens(counted.total()?);
            } else {
                self.stream(&mut ledger, sink)?;
            }
            return Ok(ledger.report);
        }
        self.choose_and_print(&report, tree.as_ref(), sink)
    }

    /// Chooses until the whole text fits, and prints it.
    ///
    /// # Errors
    /// Nothing fits, or something does not that may not be left out.
    fn choose_and_print(
        &mut self,
        report: &Report,
        tree: Option<&FileTree<'_>>,
        sink: &mut dyn Sink,
    ) -> Result<Report> {
        let tokens = &self.job.options.tokens;
        let (mut limit, mut reserve) = (self.token_limit(), 0);
        loop {
            self.done = 0;
            let remaining = Remaining::new(self.job.options.max_bytes, limit);
            remaining.take(0, reserve);
            let mut ledger = self.new_ledger(report.clone(), &remaining, tree, reserve > 0);
            let mut chosen = self.choose(&mut ledger)?;
            self.redact_known(&mut chosen, &mut ledger.report);
            if ledger.is_overdrawn() {
                // Something is missing, and there is no room to say so: the next choice leaves that room.
                reserve = self.ending_cost();
                continue;
            }
            let needed = self.count_text(&chosen, &ledger)?;
            ledger.report.set_tokens(needed);
            let (needed, allowed) = match (needed.map(TokenCount::upper_bound), tokens.max) {
                (Some(needed), Some(allowed)) if needed > allowed => (needed, allowed),
                _ => {
                    self.print(&chosen, &ledger, sink)?;
                    ledger.report.redacted.append(&mut self.redacted);
                    return Ok(ledger.report);
                }
            };
            // Tokens can reach from one part into the next one, so a sum of parts is not exact.
            limit = limit.and_then(|limit| limit.checked_sub(needed - allowed)).filter(|limit| *limit > 0);
            if limit.is_none() {
                return Err(Error::Budget { needed, allowed });
            }
        }
    }

    fn new_ledger<'l>(
        &self,
        report: Report,
        remaining: &'l Remaining,
        tree: Option<&'l FileTree<'l>>,
        is_reserved: bool,
    ) -> Ledger<'l>
    where
        'w: 'l,
    {
        let compat = self.job.options.compat;
        let section_tokens: usize = report.sections.iter().map(|section| section.cost).sum();
        remaining.take(0, section_tokens);
        let ending = if compat || is_reserved { 0 } else { self.ending_cost() };
        let mut ledger = Ledger::new(
            remaining,
            report,
            self.rungs,
            self.job.guard.active_redactor(),
            compat,
            tree,
            ending,
        );
        for entry in &self.gathered.left_out {
            ledger.add_missing(entry.clone());
        }
        ledger
    }

    /// The limit that lowers or leaves out files.
    fn token_limit(&self) -> Option<usize> {
        let tokens = &self.job.options.tokens;
        tokens.max.filter(|_| !tokens.all_or_nothing)
    }

    /// Whether no limit can be reached, as far as the sizes of files tell.
    fn can_stream(&self) -> bool {
        let options = self.job.options;
        let files =
            self.gathered.file_parts().flat_map(|part| part.ranked.iter().map(|file| (&part.base, file)));
        let size = |(base, ranked): (&PathBuf, &RankedFile)| {
            ranked.file.full_path(base).metadata().map_or(0, |metadata| metadata.len())
        };
        options.compat
            || options.tokens.max.is_none()
                && options.max_files.is_none_or(|most| self.gathered.file_count() <= most)
                && options.max_bytes.is_none_or(|most| files.map(size).sum::<u64>() <= most)
    }

    /// Adds the tree of files to the sections, as far as it fits.
    fn add_tree(&mut self, report: &mut Report) -> Option<FileTree<'w>> {
        if !self.job.options.has_tree() || self.gathered.file_count() == 0 {
            return None;
        }
        let mut tree = FileTree::new(self.gathered.project_paths());
        let limit = self.token_limit().map(|most| most / TREE_SHARE);
        let cost = |lines: &str| self.rungs.counter.cost(lines);
        if limit.is_some_and(|limit| !tree.fit(limit, &cost)) {
            report.notices.push(section_notice(SectionKind::Tree, "is left out: it does not fit"));
            return None;
        }
        let section = Section { kind: SectionKind::Tree, text: tree.to_text(), cut: false };
        let place = self.sections.iter().take_while(|section| section.kind == SectionKind::Header).count();
        self.sections.insert(place, section);
        Some(tree)
    }

    /// Cuts texts of git to their share of the budget, and adds all sections to the report.
    fn fit_sections(&mut self, report: &mut Report) {
        let mut share = self.token_limit().map(|most| most / GIT_SHARE);
        let (frame, counter) = (self.rungs.frame, self.rungs.counter);
        let cost = |section: &Section| {
            counter.count(&format!(
                "{}{}",
                frame.separator(),
                frame.frame_section(section.kind, &section.text)
            ))
        };
        for section in std::mem::take(&mut self.sections) {
            let kind = section.kind;
            let limit = share.filter(|_| kind.is_git()).unwrap_or(usize::MAX);
            let bound = |counted: Option<TokenCount>| counted.map_or(0, TokenCount::upper_bound);
            let fits = |section: &Section| bound(cost(section)) <= limit;
            let Some(section) = (if fits(&section) { Some(section) } else { section.cut_to(&fits) }) else {
                report.notices.push(section_notice(kind, "is left out: it does not fit"));
                continue;
            };
            if section.cut {
                report.notices.push(section_notice(kind, "is cut: it does not fit"));
            }
            let tokens = cost(&section);
            if kind.is_git() {
                share = share.map(|share| share.saturating_sub(bound(tokens)));
            }
            let bytes = section.text.len() as u64;
            report.sections.push(SectionEntry {
                name: kind.as_str(),
                bytes,
                tokens: tokens.map(|counted| counted.tokens),
                cost: bound(tokens),
                cut: section.cut,
                from_git: kind.is_git(),
            });
            self.sections.push(section);
        }
    }

    /// The tokens of the last line, if as much as possible is missing.
    fn ending_cost(&self) -> usize {
        let count = self.gathered.file_count() + self.gathered.left_out.len();
        let known = self.gathered.left_out.iter().map(|entry| entry.state);
        let words = Missing::at_most(known, count as u64).describe().unwrap_or_default();
        let line = format!("{}{}", self.rungs.frame.separator(), self.rungs.frame.frame_missing(&words));
        self.rungs.counter.cost(&line)
    }

    /// Prints files as they are read.
    fn stream(&mut self, ledger: &mut Ledger<'_>, sink: &mut dyn Sink) -> Result<()> {
        self.print_sections(true, sink)?;
        let gathered = self.gathered;
        for content in &gathered.contents {
            match content {
                Content::Files(files) => {
                    let resource = files.part.resource();
                    let ranked = self.print_order(files);
                    self.read_part(files, &ranked, true, ledger, &mut |_, file| sink.file(resource, &file))?;
                    if let Some(resource) = resource {
                        sink.end(resource)?;
                    }
                }
                Content::Template(part) => {
                    if let Some(text) = self.pack_template(part, ledger)? {
                        sink.template(part.resource, &text)?;
                    }
                }
            }
        }
        self.print_end(ledger, sink)
    }

    /// The files of a part in the order of the text.
    fn print_order(&self, files: &FilePart<'_>) -> Vec<RankedFile> {
        let mut ranked = files.ranked.clone();
        if !self.job.options.compat {
            ranked.sort_by(|one, other| {
                one.changed.cmp(&other.changed).then_with(|| compare_paths(&one.file.path, &other.file.path))
            });
        }
        ranked
    }

    /// Chooses what fits: templates, requested files, bundles, all other files; in each, by rank.
    fn choose(&mut self, ledger: &mut Ledger<'_>) -> Result<Chosen> {
        let gathered = self.gathered;
        let mut chosen = Chosen::default();
        for (place, content) in gathered.contents.iter().enumerate() {
            if let Content::Template(part) = content {
                let text = self.pack_template(part, ledger)?;
                chosen.templates.extend(text.map(|text| (place, text)));
            }
        }
        let parts: Vec<(usize, &FilePart<'_>)> = gathered
            .contents
            .iter()
            .enumerate()
            .filter_map(|(place, content)| match content {
                Content::Files(files) => Some((place, files)),
                Content::Template(_) => None,
            })
            .collect();
        let (own, bundles): (Vec<_>, Vec<_>) =
            parts.into_iter().partition(|(_, files)| files.part.resource().is_none());
        let requested = |files: &FilePart<'_>| files.ranked.partition_point(RankedFile::is_requested);
        let first = own.iter().map(|(place, files)| (*place, *files, &files.ranked[..requested(files)]));
        let second = bundles.iter().map(|(place, files)| (*place, *files, &files.ranked[..]));
        let third = own.iter().map(|(place, files)| (*place, *files, &files.ranked[requested(files)..]));
        let mut later = Vec::new();
        for (place, files, ranked) in first.chain(second).chain(third) {
            let postponed = self.choose_files(place, files, ranked, false, ledger, &mut chosen)?;
            later.push((place, files, postponed));
        }
        for (place, files, ranked) in later {
            self.choose_files(place, files, &ranked, true, ledger, &mut chosen)?;
        }
        Ok(chosen)
    }

    /// Redacts values in what was chosen before they were found in another file.
    fn redact_known(&mut self, chosen: &mut Chosen, report: &mut Report) {
        let redacts = |redactor: &&Redactor| redactor.policy().action() == SecretAction::Redact;
        let Some(redactor) = self.job.guard.active_redactor().filter(redacts) else { return };
        let redact = |path: &str, text: &mut String| {
            *text = redactor.redact_text(path, std::mem::take(text)).unwrap_or_default();
            redactor.take_redacted().pop()
        };
        for ChosenFile { file, .. } in &mut chosen.files {
            let Some(redacted) = redact(&file.path, &mut file.content) else { continue };
            file.count = None;
            if file.form == PackedForm::Taken {
                file.form = PackedForm::Redacted;
            }
            for entry in report.entries.iter_mut().filter(|entry| entry.path == file.path) {
                entry.mark_redacted(&redacted);
            }
            report.redacted.push(redacted);
        }
        let templates = chosen.templates.iter_mut().map(|(_, text)| ("", text));
        let sections = self.sections.iter_mut().map(|section| (section.kind.as_str(), &mut section.text));
        for (name, text) in templates.chain(sections) {
            let known = redactor.redact_found(name, std::mem::take(text), &FoundSecrets::default());
            *text = known.unwrap_or_default();
            self.redacted.extend(redactor.take_redacted());
        }
    }

    fn choose_files(
        &mut self,
        content: usize,
        files: &FilePart<'_>,
        ranked: &[RankedFile],
        with_last: bool,
        ledger: &mut Ledger<'_>,
        chosen: &mut Chosen,
    ) -> Result<Vec<RankedFile>> {
        self.read_part(files, ranked, with_last, ledger, &mut |ranked, file| {
            chosen.files.push(ChosenFile { content, file, changed: ranked.changed });
            Ok(())
        })
    }

    /// Reads files, and passes those that are packed to `take`. Returns files whose turn comes after all others.
    fn read_part(
        &mut self,
        files: &FilePart<'_>,
        ranked: &[RankedFile],
        with_last: bool,
        ledger: &mut Ledger<'_>,
        take: &mut dyn FnMut(&RankedFile, PrintedFile) -> Result<()>,
    ) -> Result<Vec<RankedFile>> {
        let options = self.job.options;
        let most = files.part.most_files(options.max_files);
        let is_own = files.part.resource().is_none();
        let reader = Reader {
            base: &files.base,
            part: &files.part,
            redactor: self.job.guard.active_redactor(),
            kinds: options.kinds,
            encoding: options.encoding,
            compat: options.compat,
            rungs: self.rungs,
            threads: self.job.threads,
            with_last,
        };
        let (all, mut later) = (self.gathered.file_count(), Vec::new());
        let mut taken = if is_own { ledger.report.file_count } else { 0 };
        let mut read = 0;
        let worth = if taken >= most { &ranked[..0] } else { ranked };
        let ended = reader.read_files(worth, ledger.remaining, |file, result| {
            read += 1;
            self.done += 1;
            (self.job.progress)(Progress::Done(self.done, all));
            match ledger.decide(&files.part, file, result) {
                Decision::Skip => {}
                Decision::Later => {
                    self.done -= 1;
                    later.push(file.clone());
                }
                Decision::Pack(printed) => {
                    taken += 1;
                    if let Err(error) = take(file, *printed) {
                        return ControlFlow::Break(Some(error));
                    }
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
        if is_own {
            ledger.report.file_count = taken;
        }
        for file in &ranked[read..] {
            ledger.decide_unread(&files.part, file, most, file.kind_rule(&options.kinds));
        }
        Ok(later)
    }

    /// Renders a template that fits; `None` if it is left out.
    fn pack_template(&self, part: &TemplatePart<'_>, ledger: &mut Ledger<'_>) -> Result<Option<String>> {
        let own = |mut entry: Entry| {
            entry.resource = Some(part.resource.id.clone());
            entry
        };
        let text = match self.job.render_template(part) {
            Ok(text) => text,
            Err(Error::Withheld { path, reason, detail, .. }) => {
                ledger.report.leave_out(own(withheld_entry(part.template, &path, reason, detail)));
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let redacted = self.job.guard.redactor().take_redacted();
        let (size, left) = (text.len() as u64, ledger.remaining.bytes());
        let tokens = self.count_template(part, &text);
        let cost = tokens.map_or(0, TokenCount::upper_bound);
        let detail = match cost > ledger.remaining.tokens() {
            _ if size > left => Some(Detail::Bytes { size, left }),
            true => Some(format!("{cost} tokens, {} are left", ledger.remaining.tokens()).into()),
            false => None,
        };
        if let Some(detail) = detail {
            let entry = Entry::left_out(&part.template.file, LeftOutReason::Budget, None);
            ledger.report.leave_out(own(entry.with_size(Some(size)).with_detail(Some(detail))));
            return Ok(None);
        }
        ledger.remaining.take(size, cost);
        ledger.report.total_bytes += size;
        let mut entry = Entry::packed(&part.template.file, PackedForm::Taken);
        redacted.iter().for_each(|file| entry.mark_redacted(file));
        ledger.report.redacted.extend(redacted);
        let tokens = tokens.map(|counted| counted.tokens);
        ledger.report.entries.push(own(entry.with_size(Some(size)).with_tokens(tokens)));
        Ok(Some(text))
    }

    /// The tokens of a template with the lines around it.
    fn count_template(&self, part: &TemplatePart<'_>, text: &str) -> Option<TokenCount> {
        if !self.rungs.counter.is_counting() {
            return None;
        }
        let mut framed = Streamed::new(Vec::new(), self.rungs.frame);
        framed.template(part.resource, text).ok()?;
        self.rungs.counter.count(&String::from_utf8_lossy(&framed.finish().ok()?))
    }

    /// The tokens of the whole text, if tokens are counted.
    fn count_text(&self, chosen: &Chosen, ledger: &Ledger<'_>) -> Result<Option<TokenCount>> {
        if !self.rungs.counter.is_counting() {
            return Ok(None);
        }
        let mut counted = Counted::new(None, self.rungs.counter.start(), self.rungs.frame);
        self.print(chosen, ledger, &mut counted)?;
        counted.total()
    }

    /// Prints what was chosen, by path.
    fn print(&self, chosen: &Chosen, ledger: &Ledger<'_>, sink: &mut dyn Sink) -> Result<()> {
        self.print_sections(true, sink)?;
        for (place, content) in self.gathered.contents.iter().enumerate() {
            match content {
                Content::Files(part) => {
                    let mut files: Vec<&ChosenFile> =
                        chosen.files.iter().filter(|file| file.content == place).collect();
                    files.sort_by(|one, other| {
                        one.changed
                            .cmp(&other.changed)
                            .then_with(|| compare_paths(&one.file.path, &other.file.path))
                    });
                    files.iter().try_for_each(|chosen| sink.file(part.part.resource(), &chosen.file))?;
                    part.part.resource().map_or(Ok(()), |resource| sink.end(resource))?;
                }
                Content::Template(part) => {
                    if let Some((_, text)) = chosen.templates.iter().find(|(own, _)| *own == place) {
                        sink.template(part.resource, text)?;
                    }
                }
            }
        }
        self.print_end(ledger, sink)
    }

    fn print_sections(&self, before_files: bool, sink: &mut dyn Sink) -> Result<()> {
        let mut sections =
            self.sections.iter().filter(|section| section.kind.is_before_files() == before_files);
        sections.try_for_each(|section| sink.section(section))
    }

    /// Prints what follows the files and resources.
    fn print_end(&self, ledger: &Ledger<'_>, sink: &mut dyn Sink) -> Result<()> {
        self.print_sections(false, sink)?;
        // Without a file, there is no text that something could be missing in.
        if self.job.options.compat || !ledger.report.has_packed() {
            return Ok(());
        }
        if !ledger.names.is_empty() {
            let mut names: Vec<&str> = ledger.names.iter().map(String::as_str).collect();
            names.sort_by(|one, other| compare_paths(one, other));
            sink.framed(&self.rungs.frame.frame_names(names))?;
        }
        match ledger.report.missing().describe() {
            Some(words) => sink.framed(&self.rungs.frame.frame_missing(&words)),
            None => Ok(()),
        }
    }
}

fn section_notice(kind: SectionKind, what: &str) -> Notice {
    let name = kind.as_str();
    Notice::new(name, None, format!("the section `{name}` {what}"))
}

/// The entry of a template resource that is not rendered because the file at `path` is withheld.
fn withheld_entry(template: &TemplateFile, path: &str, reason: LeftOutReason, detail: String) -> Entry {
    let detail = match path == template.file {
        true => detail,
        false => format!("it refers to `{path}`: {detail}"),
    };
    Entry::left_out(&template.file, reason, detail)
}
