//! Adds notices about requested files to a report.

use std::{collections::HashSet, path::Path};

use crate::{
    error::system_cause,
    guard::Guard,
    options::TextForm,
    order::Order,
    report::{Entry, LeftOutReason, Notice, Report, summarize_paths},
    walk::outside_entry,
};

impl Report {
    /// Adds an entry that is left out although it was named, with a notice.
    pub(crate) fn leave_out(&mut self, entry: Entry) {
        self.notices.extend(entry.reason().map(|reason| Notice::for_entry(&entry, reason)));
        self.entries.push(entry);
    }

    /// Whether `directory` is a directory that may be packed; otherwise adds a notice that says why not.
    pub(crate) fn check_directory(&mut self, directory: &Path, guard: &Guard) -> bool {
        let shown = directory.to_string_lossy();
        if guard.is_link_outside(directory) {
            self.leave_out(outside_entry(format!("{}/", guard.display_path(directory))));
            return false;
        }
        let problem = match directory.metadata() {
            Ok(metadata) if metadata.is_dir() => return true,
            Ok(_) => "is not a directory".to_owned(),
            Err(error) => format!("cannot be read: {}", system_cause(&error)),
        };
        self.notices.push(Notice::new(
            shown.clone(),
            None,
            format!("`{shown}` {problem}; nothing from it is packed"),
        ));
        false
    }

    /// Adds notices about `named` files that are left out, unreadable files, and files with invalid bytes.
    pub(crate) fn add_file_notices(&mut self, named: &HashSet<String>, form: TextForm) {
        let (mut unreadable, mut replaced) = (Vec::new(), Vec::new());
        for entry in &self.entries {
            match entry.reason() {
                Some(reason) if named.contains(entry.path.as_str()) => {
                    self.notices.push(Notice::for_entry(entry, reason));
                }
                Some(LeftOutReason::Unreadable) => unreadable.push(match &entry.detail {
                    Some(detail) => format!("{} ({detail})", entry.path),
                    None => entry.path.to_string(),
                }),
                None if named.contains(entry.path.as_str()) && !entry.is_in_form(form) => {
                    let (path, state) = (entry.path.as_str(), entry.state.as_str());
                    let message = format!("`{path}` is {state}: it does not fit");
                    self.notices.push(Notice::new(path, None, message));
                }
                None if entry.has_replaced_bytes() => replaced.push(entry.path.to_string()),
                _ => {}
            }
        }
        let mut add_notice = |paths: Vec<String>, reason: Option<LeftOutReason>, what: &str| {
            if let Some(first) = paths.first() {
                self.notices.push(Notice::new(first, reason, format!("{what}: {}", summarize_paths(&paths))));
            }
        };
        add_notice(unreadable, Some(LeftOutReason::Unreadable), "files left out because they cannot be read");
        add_notice(replaced, None, "invalid bytes were replaced by U+FFFD");
    }

    /// Adds notices about files in focus that are not packed.
    pub(crate) fn add_focus_notices(&mut self, order: &Order<'_>, form: TextForm) {
        let missed = order.focus_notices(&self.entries, form);
        // A file that was named has its notice already.
        let is_reported = |notice: &Notice| self.notices.iter().any(|known| known.about == notice.about);
        let missed: Vec<Notice> = missed.into_iter().filter(|notice| !is_reported(notice)).collect();
        self.notices.extend(missed);
    }
}
