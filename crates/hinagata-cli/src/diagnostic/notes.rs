//! The notes below an excerpt: everything else that an error knows.

use hinagata_value::Place;
use serde_json::Value as Json;

use super::{Diagnostic, truncate_for_display};

/// Steps of the way to an error that are shown at each of its ends.
const STEPS_SHOWN: usize = 4;
/// Characters of a source line that a note shows.
const NOTE_WIDTH: usize = 60;

pub(super) fn collect_notes(diagnostic: &Diagnostic) -> Vec<String> {
    let mut notes = problems(diagnostic);
    notes.extend(candidates(diagnostic));
    notes.extend(format_chain(&diagnostic.chain));
    notes.extend(diagnostic.cause.clone());
    notes
}

fn detail_list<'d>(diagnostic: &'d Diagnostic, name: &str) -> &'d [Json] {
    diagnostic.details.get(name).and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The problems after the first, which is in the title.
fn problems(diagnostic: &Diagnostic) -> Vec<String> {
    let place = diagnostic.place.as_ref().map(|place| place.template.as_str());
    let problem = |problem: &Json| {
        let message = problem["message"].as_str().unwrap_or_default();
        let at = |name: &str| problem[name].as_u64().filter(|number| *number > 0);
        // A document has one file, which the excerpt names; settings have several.
        let file = problem["file"].as_str().or(place).filter(|_| at("line").is_some());
        let numbers = [at("line"), at("column")].into_iter().flatten().map(|number| format!(":{number}"));
        match file {
            Some(file) => format!("{file}{}: {message}", numbers.collect::<String>()),
            None => message.to_owned(),
        }
    };
    detail_list(diagnostic, "problems").iter().skip(1).map(problem).collect()
}

fn candidates(diagnostic: &Diagnostic) -> Vec<String> {
    let detailed = detail_list(diagnostic, "candidate_details").iter().map(|candidate| {
        let text = |name: &str| candidate[name].as_str().unwrap_or_default();
        format!("candidate {} (version {})", text("source"), text("version"))
    });
    let detailed: Vec<String> = detailed.collect();
    if !detailed.is_empty() {
        return detailed;
    }
    let plain = detail_list(diagnostic, "candidates").iter().filter_map(Json::as_str);
    plain.map(|source| format!("candidate {source}")).collect()
}

/// The way to the place: steps from the same place are one, and of many only the ends are shown.
fn format_chain(chain: &[Place]) -> Vec<String> {
    let same = |a: &Place, b: &Place| (&a.template, a.line, a.column) == (&b.template, b.line, b.column);
    let steps: Vec<_> = chain.chunk_by(same).map(format_step).collect();
    let between = steps.len().saturating_sub(2 * STEPS_SHOWN);
    if between < 2 {
        return steps;
    }
    let (inner, outer) = (&steps[..STEPS_SHOWN], &steps[steps.len() - STEPS_SHOWN..]);
    [inner, &[format!("… {between} more …")], outer].concat()
}

/// One step of the chain to a place, with the number of its repetitions.
fn format_step(places: &[Place]) -> String {
    let place = &places[0];
    let often = if places.len() > 1 { format!(" ({} times)", places.len()) } else { String::new() };
    match place.excerpt.as_deref().map(|line| excerpt_around(line, place.column)) {
        Some(line) if !line.is_empty() => format!("reached from {place}{often}: {line}"),
        _ => format!("reached from {place}{often}"),
    }
}

/// The part of `line` around `column` that a note shows.
fn excerpt_around(line: &str, column: u32) -> String {
    let before = (column as usize).saturating_sub(NOTE_WIDTH / 2);
    match line.char_indices().nth(before) {
        Some((at, _)) if before > 0 && line.chars().count() > NOTE_WIDTH => {
            format!("…{}", truncate_for_display(line[at..].trim_end(), NOTE_WIDTH - 1))
        }
        _ => truncate_for_display(line.trim(), NOTE_WIDTH),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::exit;

    fn place(excerpt: &str, line: u32, column: u32) -> Place {
        Place { template: "t.md".into(), line, column, span: None, excerpt: Some(excerpt.into()) }
    }

    fn with(details: &Json) -> Diagnostic {
        let mut diagnostic = Diagnostic::new("definition", exit::Code::Failed, "no");
        diagnostic.details = details.as_object().cloned().unwrap_or_default();
        diagnostic
    }

    #[test]
    fn a_long_way_is_shown_at_its_ends() {
        let steps = format_chain(&(1..=200).map(|line| place("", line, 0)).collect::<Vec<_>>());
        assert_eq!(steps.len(), 9);
        assert_eq!((&*steps[0], &*steps[4]), ("reached from t.md:1", "… 192 more …"));
        assert_eq!(steps[8], "reached from t.md:200");
    }

    #[test]
    fn steps_from_one_place_are_counted() {
        let chain = [place("{{ f() }}", 1, 4), place("{{ f() }}", 1, 4), place("x", 2, 1)];
        assert_eq!(
            format_chain(&chain),
            ["reached from t.md:1:4 (2 times): {{ f() }}", "reached from t.md:2:1: x"]
        );
    }

    #[test]
    fn a_note_shows_the_part_of_a_long_line_that_matters() {
        let line = format!("{}{{% include 'x' %}}{}", "a".repeat(100), "b".repeat(100));
        assert_eq!(
            excerpt_around(&line, 104),
            format!("…{}{{% include 'x' %}}{}…", "a".repeat(26), "b".repeat(15))
        );
        assert_eq!(excerpt_around("  short  ", 4), "short");
        assert_eq!(excerpt_around("", 0), "");
    }

    #[test]
    fn every_problem_after_the_first_is_a_note_with_its_place() {
        let mut diagnostic = with(&json!({"problems": [
            {"message": "first", "line": 1, "column": 2},
            {"message": "second", "line": 3, "column": 4},
            {"message": "third", "file": "b.toml", "line": 5, "column": 0},
            {"message": "fourth", "file": null, "line": null, "column": null},
        ]}));
        diagnostic.place = Some(place("x", 1, 2));
        assert_eq!(collect_notes(&diagnostic), ["t.md:3:4: second", "b.toml:5: third", "fourth"]);
    }

    #[test]
    fn candidates_come_with_their_versions_where_they_are_known() {
        let plain = json!({"candidates": ["a", "b"]});
        assert_eq!(collect_notes(&with(&plain)), ["candidate a", "candidate b"]);
        let known = json!({"candidates": ["a"], "candidate_details": [{"source": "a", "version": "1.0.0"}]});
        assert_eq!(collect_notes(&with(&known)), ["candidate a (version 1.0.0)"]);
    }
}
