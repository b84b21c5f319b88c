//! The ratios as a picture: one bar for each row, on a logarithmic axis, with its goals.
//!
//! Bars start at 1, where both sides take the same time: to the left we are faster.

use std::fmt::Write as _;

use crate::row::{Figure, Row};

const LINE: f64 = 22.0;
const TOP: f64 = 58.0;
/// Room between rows of different work.
const GAP: f64 = 8.0;
/// Where the axis starts and how wide it is.
const LEFT: f64 = 300.0;
const WIDTH: f64 = 460.0;
/// Room for the number behind a bar.
const RIGHT: f64 = 150.0;
/// The ends of the axis, as powers of ten.
const FIRST: f64 = -3.0;
const LAST: f64 = 1.0;

const FAST: &str = "#2b8a3e";
const FINE: &str = "#74b816";
const SLOW: &str = "#c92a2a";
const PLAIN: &str = "#868e96";

/// The chart of every row that is a ratio.
pub(crate) fn svg(rows: &[&Row]) -> String {
    let rows: Vec<&&Row> = rows.iter().filter(|row| matches!(row.figure, Figure::Times { .. })).collect();
    let tops = tops(&rows);
    let bottom = tops.last().map_or(TOP, |top| top + LINE);
    let (width, height) = (LEFT + WIDTH + RIGHT, bottom + 44.0);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"12\" role=\"img\" aria-label=\"Ratios of our time to the peers'\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
    );
    text(&mut svg, 12.0, 20.0, "start", "#212529", "Our time by the peer's (left of 1: we are faster)");
    axis(&mut svg, bottom);
    for (row, top) in rows.iter().zip(tops) {
        draw(&mut svg, row, top);
    }
    legend(&mut svg, height - 10.0);
    svg.push_str("</svg>\n");
    svg
}

/// Where each row begins: the peers of one piece of work stand together.
fn tops(rows: &[&&Row]) -> Vec<f64> {
    let mut top = TOP;
    let mut tops = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        let before = index.checked_sub(1).map(|before| rows[before]);
        if before.is_some_and(|before| (&before.kind, &before.name) != (&row.kind, &row.name)) {
            top += GAP;
        }
        tops.push(top);
        top += LINE;
    }
    tops
}

fn axis(svg: &mut String, bottom: f64) {
    for (ratio, label) in [(0.001, "0.001"), (0.01, "0.01"), (0.1, "0.1"), (1.0, "1"), (10.0, "10")] {
        let (x, colour) = (position(ratio), if ratio == 1.0 { "#212529" } else { "#dee2e6" });
        line(svg, x, TOP - 8.0, bottom, colour, "1");
        text(svg, x, TOP - 12.0, "middle", "#495057", label);
    }
}

fn draw(svg: &mut String, row: &Row, y: f64) {
    let Figure::Times { peer, .. } = &row.figure else { return };
    let middle = y + LINE / 2.0 + 4.0;
    text(svg, LEFT - 10.0, middle, "end", "#212529", &format!("{} {} / {peer}", row.kind, row.name));
    match row.ratio() {
        Some(ratio) => {
            let (from, to) = (position(ratio).min(position(1.0)), position(ratio).max(position(1.0)));
            let _ = writeln!(
                svg,
                "<rect x=\"{from:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{}\"/>",
                y + 4.0,
                (to - from).max(1.0),
                LINE - 8.0,
                colour(row)
            );
            text(svg, LEFT + WIDTH + 12.0, middle, "start", "#212529", &format!("{ratio:.3}"));
        }
        None => text(svg, LEFT + WIDTH + 12.0, middle, "start", PLAIN, "not compared"),
    }
    if let Some(goal) = row.goal {
        line(svg, position(goal.must), y + 1.0, y + LINE - 1.0, "#212529", "2");
        if let Some(stretch) = goal.stretch {
            line(svg, position(stretch), y + 1.0, y + LINE - 1.0, "#1c7ed6", "2");
        }
    }
}

fn colour(row: &Row) -> &'static str {
    let better = row.goal.and_then(|goal| goal.stretch);
    match (row.met(), row.judged(), better) {
        (None, _, _) => PLAIN,
        (Some(false), _, _) => SLOW,
        (Some(true), Some(ratio), Some(better)) if ratio > better => FINE,
        (Some(true), _, _) => FAST,
    }
}

fn legend(svg: &mut String, y: f64) {
    let entries = [
        (FAST, "goal met"),
        (FINE, "met, not the better one"),
        (SLOW, "not met"),
        (PLAIN, "no goal"),
        ("#212529", "goal (line)"),
        ("#1c7ed6", "better goal (line)"),
    ];
    let mut x = 12.0;
    for (colour, label) in entries {
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"{:.1}\" width=\"10\" height=\"10\" fill=\"{colour}\"/>",
            y - 9.0
        );
        text(svg, x + 15.0, y, "start", "#495057", label);
        x += 45.0 + 7.0 * label.len() as f64;
    }
}

/// Where `ratio` is on the axis; beyond its ends at the end.
fn position(ratio: f64) -> f64 {
    LEFT + WIDTH * (ratio.log10().clamp(FIRST, LAST) - FIRST) / (LAST - FIRST)
}

fn line(svg: &mut String, x: f64, from: f64, to: f64, colour: &str, width: &str) {
    let _ = writeln!(
        svg,
        "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{from:.1}\" y2=\"{to:.1}\" stroke=\"{colour}\" stroke-width=\"{width}\"/>"
    );
}

fn text(svg: &mut String, x: f64, y: f64, anchor: &str, colour: &str, text: &str) {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"{colour}\">{text}</text>"
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{Goal, Time};

    #[test]
    fn a_row_becomes_a_bar_with_its_goals() {
        let time = |best| Some(Time { best, median: best, wall: best });
        let figure = Figure::Times {
            ours: time(10.0),
            ours_absent: None,
            peer: "Rc<str>".into(),
            peer_version: String::new(),
            peer_time: time(100.0),
            peer_absent: None,
        };
        let goal = Some(Goal { must: 0.7, stretch: Some(0.4) });
        let svg = svg(&[&Row { kind: "value".into(), name: "strings".into(), figure, goal }]);
        assert!(svg.contains("value strings / Rc&lt;str&gt;"), "{svg}");
        assert!(svg.contains(FAST) && svg.contains("#1c7ed6"), "{svg}");
        assert!((position(0.1) - (LEFT + WIDTH * 0.5)).abs() < 1e-9);
    }
}
