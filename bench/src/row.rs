//! One line of the results: two times and their ratio, or a figure of another unit.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The times of one side, in nanoseconds for each iteration.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(crate) struct Time {
    /// Processor time, the best round.
    pub(crate) best: f64,
    /// Processor time, the median of the rounds.
    pub(crate) median: f64,
    /// Time on the wall, the best round.
    pub(crate) wall: f64,
}

/// What a ratio (or a figure) must stay under, and what would be good.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(crate) struct Goal {
    pub(crate) must: f64,
    pub(crate) stretch: Option<f64>,
}

/// What was measured.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) enum Figure {
    /// Our time and a peer's; a side that could not run has a reason instead.
    Times {
        ours: Option<Time>,
        ours_absent: Option<String>,
        peer: String,
        /// What the peer says it is, empty where it has no version of its own.
        peer_version: String,
        peer_time: Option<Time>,
        peer_absent: Option<String>,
    },
    /// Something that is no time.
    Amount { value: f64, unit: String },
}

/// One line of the results.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Row {
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) figure: Figure,
    pub(crate) goal: Option<Goal>,
}

impl Row {
    /// Our best time by the peer's.
    pub(crate) fn ratio(&self) -> Option<f64> {
        match &self.figure {
            Figure::Times { ours: Some(ours), peer_time: Some(peer), .. } => Some(ours.best / peer.best),
            _ => None,
        }
    }

    /// The number that the goal is about.
    pub(crate) fn judged(&self) -> Option<f64> {
        match self.figure {
            Figure::Amount { value, .. } => Some(value),
            Figure::Times { .. } => self.ratio(),
        }
    }

    /// Whether the goal is met; unknown where a side was absent or there is no goal.
    pub(crate) fn met(&self) -> Option<bool> {
        Some(self.judged()? <= self.goal?.must)
    }

    /// The row as scripts read it.
    pub(crate) fn to_json(&self) -> Value {
        let mut row = json!({ "kind": self.kind, "name": self.name });
        match &self.figure {
            Figure::Times { ours, peer, peer_version, peer_time, ours_absent, peer_absent } => {
                row["ours_ns"] = json!(ours.map(|time| time.best));
                row["peer"] = json!(peer);
                row["peer_version"] = json!(peer_version);
                row["peer_ns"] = json!(peer_time.map(|time| time.best));
                row["ratio"] = json!(self.ratio());
                row["ours_median_ns"] = json!(ours.map(|time| time.median));
                row["peer_median_ns"] = json!(peer_time.map(|time| time.median));
                row["ours_wall_ns"] = json!(ours.map(|time| time.wall));
                row["peer_wall_ns"] = json!(peer_time.map(|time| time.wall));
                if let Some(reason) = ours_absent {
                    row["ours_absent"] = json!(reason);
                }
                if let Some(reason) = peer_absent {
                    row["peer_absent"] = json!(reason);
                }
            }
            Figure::Amount { value, unit } => {
                row["value"] = json!(value);
                row["unit"] = json!(unit);
            }
        }
        row["goal"] = json!(self.goal.map(|goal| goal.must));
        row["stretch"] = json!(self.goal.and_then(|goal| goal.stretch));
        row["met"] = json!(self.met());
        row
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(best: f64) -> Time {
        Time { best, median: best * 1.1, wall: best }
    }

    fn row(ours: Option<f64>, peer: Option<f64>) -> Row {
        Row {
            kind: "jinja".into(),
            name: "small".into(),
            figure: Figure::Times {
                ours: ours.map(time),
                ours_absent: None,
                peer: "minijinja".into(),
                peer_version: "minijinja 3.0.5".into(),
                peer_time: peer.map(time),
                peer_absent: peer.is_none().then(|| "not installed".into()),
            },
            goal: Some(Goal { must: 0.7, stretch: Some(0.4) }),
        }
    }

    #[test]
    fn a_row_says_whether_its_goal_is_met() {
        assert_eq!(row(Some(70.0), Some(100.0)).met(), Some(true));
        assert_eq!(row(Some(71.0), Some(100.0)).met(), Some(false));
    }

    #[test]
    fn json_has_the_documented_fields() {
        let json = row(Some(50.0), Some(100.0)).to_json();
        assert_eq!(json["ours_ns"], 50.0);
        assert_eq!(json["peer"], "minijinja");
        assert_eq!(json["ratio"], 0.5);
        assert_eq!(json["goal"], 0.7);
        assert_eq!(json["stretch"], 0.4);
        assert_eq!(json["met"], true);
    }

    #[test]
    fn an_absent_peer_leaves_the_goal_open() {
        let json = row(Some(50.0), None).to_json();
        assert_eq!(json["peer_ns"], Value::Null);
        assert_eq!(json["met"], Value::Null);
        assert_eq!(json["peer_absent"], "not installed");
    }
}
