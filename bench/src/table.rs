//! The results as a table, for the terminal and for RESULTS.md.

use std::fmt::Write as _;

use crate::row::{Figure, Row, Time};

const HEADS: [&str; 8] = ["kind", "what", "ours", "(median)", "peer", "theirs", "(median)", "ratio, goal"];

/// The rows with columns of equal width.
pub(crate) fn text(rows: &[&Row]) -> String {
    let mut lines = vec![HEADS.map(str::to_owned)];
    lines.extend(rows.iter().map(|row| cells(row)));
    let width =
        |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or_default();
    let widths: [usize; HEADS.len()] = std::array::from_fn(width);
    let mut text = String::new();
    for line in &lines {
        let mut joined = String::new();
        for (column, (cell, width)) in line.iter().zip(widths).enumerate() {
            let _ = if is_number(column) {
                write!(joined, "{cell:>width$}  ")
            } else {
                write!(joined, "{cell:width$}  ")
            };
        }
        let _ = writeln!(text, "{}", joined.trim_end());
    }
    text
}

/// The rows as a table in Markdown, without the column for the kind.
pub(crate) fn markdown(rows: &[Row]) -> String {
    let mut text = format!("| {} |\n|---|--:|--:|---|--:|--:|---|\n", HEADS[1..].join(" | "));
    for row in rows {
        // Markdown takes `<` for the start of a tag, and `|` for the end of a cell.
        let cells = cells(row).map(|cell| cell.replace('<', "&lt;").replace('|', "\\|"));
        let line = cells[1..].join(" | ");
        let _ = writeln!(text, "| {line} |");
    }
    text
}

fn is_number(column: usize) -> bool {
    matches!(column, 2 | 3 | 5 | 6)
}

fn cells(row: &Row) -> [String; HEADS.len()] {
    let verdict = verdict(row);
    let (ours, ours_median, peer, theirs, theirs_median) = match &row.figure {
        Figure::Times { ours, peer, peer_time, .. } => {
            (best(*ours), median(*ours), peer.clone(), best(*peer_time), median(*peer_time))
        }
        Figure::Amount { value, unit } => {
            (format!("{value:.3} {unit}"), String::new(), String::new(), String::new(), String::new())
        }
    };
    [row.kind.clone(), row.name.clone(), ours, ours_median, peer, theirs, theirs_median, verdict]
}

fn best(time: Option<Time>) -> String {
    time.map_or_else(|| "absent".to_owned(), |time| duration(time.best))
}

fn median(time: Option<Time>) -> String {
    time.map_or_else(String::new, |time| format!("({})", duration(time.median)))
}

/// The ratio, the goal, and whether it is met.
fn verdict(row: &Row) -> String {
    let Some(judged) = row.judged() else { return "not compared".to_owned() };
    let number = if judged < 0.1 { format!("{judged:.3}") } else { format!("{judged:.2}") };
    match (row.goal, row.met()) {
        (Some(goal), Some(met)) => {
            let stretch = goal.stretch.map(|stretch| format!(", better {stretch}")).unwrap_or_default();
            format!("{number}, goal {}{stretch}: {}", goal.must, if met { "met" } else { "NOT MET" })
        }
        _ => number,
    }
}

/// Nanoseconds in the unit that leaves the fewest digits.
pub(crate) fn duration(nanoseconds: f64) -> String {
    match nanoseconds {
        _ if nanoseconds < 1e3 => format!("{nanoseconds:.1} ns"),
        _ if nanoseconds < 1e6 => format!("{:.2} µs", nanoseconds / 1e3),
        _ => format!("{:.2} ms", nanoseconds / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Goal;

    fn row(ours: Option<f64>) -> Row {
        let time = |best| Time { best, median: best, wall: best };
        Row {
            kind: "jinja".into(),
            name: "small".into(),
            figure: Figure::Times {
                ours: ours.map(time),
                ours_absent: None,
                peer: "minijinja".into(),
                peer_version: String::new(),
                peer_time: Some(time(2_000.0)),
                peer_absent: None,
            },
            goal: Some(Goal { must: 0.7, stretch: Some(0.4) }),
        }
    }

    #[test]
    fn a_line_has_both_times_and_the_verdict() {
        let text = text(&[&row(Some(100.0))]);
        let line = text.lines().nth(1).expect("one row");
        assert!(line.contains("100.0 ns") && line.contains("2.00 µs"), "{line}");
        assert!(line.ends_with("0.050, goal 0.7, better 0.4: met"), "{line}");
    }

    #[test]
    fn an_absent_side_is_not_compared() {
        let line = text(&[&row(None)]);
        assert!(line.contains("absent") && line.contains("not compared"), "{line}");
    }
}
