//! The details of a pack for review.

use hinagata_check::hidden_text;
use hinagata_packs::{PackDetails, PackReview, Problem, PythonFile, Replacement};

use super::verify;
use crate::{
    output::{self, sanitize_text, serialized_name},
    workspace::Workspace,
};

/// Everything that a pack brings.
pub(super) fn format_details(workspace: &Workspace, pack: &PackDetails) -> String {
    let summary = &pack.summary;
    let version = summary.version.as_deref().unwrap_or("?");
    let mut page = format!(
        "{} {} ({}), {}\n",
        sanitize_text(summary.pack_id.as_str()),
        sanitize_text(version),
        serialized_name(&summary.kind),
        summary.state
    );
    for line in [&summary.name, &summary.description].into_iter().flatten() {
        page.push_str(&format!("{}\n", sanitize_text(line)));
    }
    let prompts = pack.prompts.iter().map(|prompt| {
        let kind = prompt.kind.as_deref().unwrap_or("broken");
        vec![prompt.prompt_id.to_string(), kind.to_owned(), prompt.description.clone().unwrap_or_default()]
    });
    section(&mut page, "Prompts", prompts.collect());
    section(&mut page, "Parts", names(&pack.partials));
    section(&mut page, "Words", names(&pack.vocabulary));
    section(&mut page, "Agents", names(&pack.agents));
    section(&mut page, "Tools", names(&pack.tools));
    let providers =
        pack.providers.iter().map(|provider| vec![provider.namespace.clone(), provider.file.clone()]);
    section(&mut page, "Variables", providers.collect());
    let trusted = workspace.host.trust.is_trusted();
    section(&mut page, "Python", pack.python.iter().map(|file| python(file, trusted)).collect());
    section(&mut page, "Proposes to replace", pack.replaces.iter().map(replacement).collect());
    let conflicts = pack.conflicts.iter().map(|conflict| {
        vec![format!("{} {}", serialized_name(&conflict.kind), conflict.name), conflict.others.join(", ")]
    });
    section(&mut page, "Conflicts with other packs", conflicts.collect());
    section(&mut page, "Problems", pack.problems.iter().map(|one| problem(workspace, one)).collect());
    page
}

/// A pack for review.
pub(super) fn format_review(workspace: &Workspace, review: &PackReview) -> String {
    let mut page = format_details(workspace, &review.details);
    let abilities = review.abilities.iter().flat_map(|ability| {
        let row = |(index, sentence): (usize, &&'static str)| {
            let file = if index == 0 { ability.file.clone() } else { String::new() };
            vec![file, (*sentence).to_owned()]
        };
        ability.may.iter().enumerate().map(row).collect::<Vec<_>>()
    });
    section(&mut page, "What its Python may do", abilities.collect());
    let notices = review.notices.iter().map(|notice| {
        vec![
            format!("{} {}:{}:{}", notice.kind, notice.file, notice.line, notice.column),
            notice.message.clone(),
        ]
    });
    section(&mut page, "Hidden characters and secrets", notices.collect());
    let findings = review.findings.iter().map(|finding| {
        let place = match finding.place() {
            None => String::new(),
            Some(place) if place.column == 0 => format!(":{}", place.line),
            Some(place) => format!(":{}:{}", place.line, place.column),
        };
        let file = workspace.display_path(finding.file());
        vec![
            format!("{} {file}{place}", finding.level.as_str()),
            finding.code.code.to_owned(),
            finding.error.message().to_owned(),
        ]
    });
    section(&mut page, "Findings of `hina check`", findings.collect());
    if let Some(changes) = &review.changes {
        page.push_str("\nChanges since you approved it\n");
        page.push_str(&verify::format_changes(changes));
    }
    for file in review.code.iter().flatten() {
        let note = file.note.map(|note| format!(" ({note})")).unwrap_or_default();
        page.push_str(&format!("\n== {}, {} bytes{note}\n", sanitize_text(&file.path), file.size));
        for (number, line) in file.text.iter().flat_map(|text| text.lines()).enumerate() {
            page.push_str(format!("{:5}  {}", number + 1, visible_text(line)).trim_end());
            page.push('\n');
        }
    }
    page
}

/// A line of a file, with hidden characters written out.
pub(super) fn visible_text(line: &str) -> String {
    let (mut text, mut end) = (String::new(), 0);
    for ((from, to), _) in hidden_text(line) {
        let (from, to) = (from as usize, to as usize);
        text.push_str(&line[end..from]);
        text.extend(line[from..to].escape_unicode());
        end = to;
    }
    text.push_str(&line[end..]);
    sanitize_text(&text)
}

fn names(names: &[String]) -> Vec<Vec<String>> {
    names.iter().map(|name| vec![name.clone()]).collect()
}

fn section(page: &mut String, title: &str, rows: Vec<Vec<String>>) {
    if rows.is_empty() {
        return;
    }
    let clean_row = |row: Vec<String>| {
        let mut row: Vec<String> = row.iter().map(|cell| sanitize_text(cell)).collect();
        row[0].insert_str(0, "  ");
        row
    };
    let rows: Vec<_> = rows.into_iter().map(clean_row).collect();
    page.push_str(&format!("\n{title}\n{}", output::align_columns(&rows)));
}

fn python(file: &PythonFile, trusted: bool) -> Vec<String> {
    // Permissions that require trust are not part of the consent yet.
    let named = |name: &String| match trusted || !file.needs_trust.contains(name) {
        true => name.clone(),
        false => format!("{name} (after `hina trust`)"),
    };
    let may = match file.permissions.as_deref() {
        Some([]) => "uses no permissions".to_owned(),
        Some(names) => format!("uses {}", names.iter().map(named).collect::<Vec<_>>().join(", ")),
        None => "computes its permissions at run time".to_owned(),
    };
    let hooks = if file.hooks.is_empty() { String::new() } else { file.hooks.join(", ") };
    vec![file.file.clone(), serialized_name(&file.role), may, hooks]
}

fn replacement(replacement: &Replacement) -> Vec<String> {
    let Replacement { kind, replaces, by, state } = replacement;
    vec![format!("{} {replaces}", serialized_name(kind)), format!("by {by}"), serialized_name(state)]
}

fn problem(workspace: &Workspace, problem: &Problem) -> Vec<String> {
    let file = workspace.display_path(problem.file.as_deref().unwrap_or(&problem.source));
    let line = problem.line.map(|line| format!(":{line}")).unwrap_or_default();
    vec![format!("{} {file}{line}", problem.severity), problem.message.clone()]
}
