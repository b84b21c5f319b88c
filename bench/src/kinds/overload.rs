//! A daemon with more to do than it can: how much of it still gets done, how soon the rest is refused, and what others
//! notice of it.
//!
//! Times are those of the clock on the wall, for one answer: the inverse of a rate. Only what one answer costs is
//! processor time. The clients run on the same processors as the daemon, which is started anew for every figure.

mod scene;

use std::time::Duration;

use anyhow::Result;
use serde_json::json;

use self::scene::{Beside, COSTLY, Costly, PACED_RATE, QUICK, Rival, Scene, quick_variables};
use super::daemon::go_version;
use crate::crowd::{Seen, Window};
use crate::daemon::Daemon;
use crate::install::Installer;
use crate::load::{Load, quantile};
use crate::measure::{Contest, Effort, Peer};
use crate::row::{Figure, Goal, Row, Time};
use crate::side::{Entrant, Lap, Side};

const KIND: &str = "overload";

/// The peak of a series by each of its rates: at least 0.8 of the peak.
const STEADY: Goal = Goal { must: 1.25, stretch: None };
/// The rate alone by the rate beside others: at least 0.9 of it.
const UNDISTURBED: Goal = Goal { must: 1.11, stretch: None };
/// Milliseconds within which 99 of 100 refusals arrive.
const REFUSED_WITHIN: Goal = Goal { must: 50.0, stretch: None };

/// Connections of a series.
const CONNECTIONS: [usize; 5] = [2, 8, 32, 200, 900];

/// What a quick prompt costs beside chats and tools that hang, held against the same daemon without them.
pub(crate) fn contests(installer: &Installer) -> Result<Vec<Contest>> {
    let scene = Scene::new(installer)?;
    let contest = |beside: Beside| Contest {
        kind: KIND,
        name: format!("cost of a quick prompt {}", beside.describe()),
        expected: None,
        ours: entrant(scene.occupied(beside).and_then(Asked::new)),
        peers: vec![Peer {
            name: "alone",
            goal: Some(UNDISTURBED),
            entrant: entrant(scene.occupied(Beside::Nothing).and_then(Asked::new)),
        }],
    };
    Ok(vec![contest(Beside::Chats), contest(Beside::Tools)])
}

/// The series of each prompt, with more and more connections; and a quick prompt beside slow ones.
pub(crate) fn amounts(installer: &Installer, effort: Effort) -> Result<Vec<Row>> {
    let scene = Scene::new(installer)?;
    let mut rivals = vec![Rival::new("hina", String::new(), scene.ours())?];
    // Who is absent has no rates.
    if let Ok(program) = installer.go_daemon() {
        rivals.push(Rival::new("Go daemon", go_version(&program)?, scene.go(program))?);
    }
    let (rounds, window) = extent(effort);
    let mut rows = Vec::new();
    for (number, costly) in COSTLY.iter().enumerate() {
        let mut series: Vec<Series> = rivals.iter().map(|_| Series::default()).collect();
        for _ in 0..rounds {
            for (place, clients) in CONNECTIONS.into_iter().enumerate() {
                for (rival, series) in rivals.iter().zip(&mut series) {
                    series.points[place].add(rival.crowded(number, clients, window)?, window);
                }
            }
        }
        rows.extend(series_rows(costly, &rivals, &mut series));
    }
    for rival in &rivals {
        rows.extend(beside_rows(&scene, rival, rounds, window)?);
    }
    Ok(rows)
}

/// Rounds, and what is counted in each.
fn extent(effort: Effort) -> (usize, Window) {
    let is_quick = effort.rounds <= Effort::QUICK.rounds;
    let (rounds, time) = if is_quick { (1, 1_200) } else { (3, 3_000) };
    (rounds, Window { warm_up: Duration::from_millis(time / 3), time: Duration::from_millis(time) })
}

/// The rates of one rival, by the number of connections.
#[derive(Default)]
struct Series {
    points: [Point; CONNECTIONS.len()],
}

#[derive(Default)]
struct Point {
    /// Answers for each second, one for each round.
    rates: Vec<f64>,
    refusals: Vec<Duration>,
}

impl Point {
    fn add(&mut self, seen: Seen, window: Window) {
        self.rates.push(seen.answers.len() as f64 / window.time.as_secs_f64());
        self.refusals.extend(seen.refusals);
    }

    fn best(&self) -> f64 {
        self.rates.iter().copied().fold(0.0, f64::max)
    }

    /// The time of one answer; none without an answer.
    fn time(&self) -> Option<Time> {
        time_of_rates(&self.rates)
    }
}

impl Series {
    fn peak(&self) -> f64 {
        self.points.iter().map(Point::best).fold(0.0, f64::max)
    }
}

/// Nanoseconds for one answer: the best round and the median.
fn time_of_rates(rates: &[f64]) -> Option<Time> {
    let mut rates = rates.to_vec();
    rates.sort_by(f64::total_cmp);
    let (best, median) = (1e9 / rates.last()?, 1e9 / rates[rates.len() / 2]);
    let median = if median.is_finite() { median } else { best };
    best.is_finite().then_some(Time { best, median, wall: best })
}

fn series_rows(costly: &Costly, rivals: &[Rival<'_>], series: &mut [Series]) -> Vec<Row> {
    let what = format!("{} ms prompt", costly.time.as_millis());
    let mut rows = Vec::new();
    for (place, clients) in CONNECTIONS.into_iter().enumerate() {
        let name = format!("{what}, {clients} connections");
        let ours = series[0].points[place].time();
        let peak = time_of_rates(&[series[0].peak()]);
        rows.push(compared(name.clone(), ours, "its best rate", "", peak, Some(STEADY)));
        for (rival, series) in rivals.iter().zip(&*series).skip(1) {
            let theirs = series.points[place].time();
            rows.push(compared(name.clone(), ours, rival.name, &rival.version, theirs, None));
        }
    }
    for (rival, series) in rivals.iter().zip(series) {
        if rival.is_peer() {
            let (peak, last) = (series.peak(), series.points[CONNECTIONS.len() - 1].best());
            let kept = if peak > 0.0 { last / peak } else { 0.0 };
            rows.push(amount(format!("{}, {what}: last rate by its best", rival.name), kept, "", None));
        }
        for (clients, point) in CONNECTIONS.into_iter().zip(&mut series.points) {
            if point.refusals.is_empty() {
                continue;
            }
            let under = quantile(&mut point.refusals, 0.99).as_secs_f64() * 1e3;
            let goal = (!rival.is_peer()).then_some(REFUSED_WITHIN);
            let name = format!("{}, {what}, {clients} connections: 99 of 100 refusals under", rival.name);
            rows.push(amount(name, under, "ms", goal));
        }
    }
    rows
}

/// The rate of a quick prompt that is asked for at a steady rate, beside others.
fn beside_rows(scene: &Scene, rival: &Rival<'_>, rounds: usize, window: Window) -> Result<Vec<Row>> {
    // The peer has neither chats nor tools.
    let situations: &[Beside] =
        if rival.is_peer() { &[Beside::Slow] } else { &[Beside::Chats, Beside::Tools, Beside::Slow] };
    let mut alone = Vec::new();
    let mut besides = vec![Vec::new(); situations.len()];
    for _ in 0..rounds {
        alone.push(rival.paced(&rival.start()?, false, window)?);
        for (situation, rates) in situations.iter().zip(&mut besides) {
            let is_slow = matches!(situation, Beside::Slow);
            let daemon = if is_slow { rival.start()? } else { scene.occupied(*situation)? };
            rates.push(rival.paced(&daemon, is_slow, window)?);
        }
    }
    let alone = time_of_rates(&alone);
    let row = |(situation, rates): (&Beside, Vec<f64>)| {
        let name = format!("quick prompt, {PACED_RATE} a second, {}", situation.describe());
        let beside = time_of_rates(&rates);
        if rival.is_peer() {
            let kept = alone.zip(beside).map_or(0.0, |(alone, beside)| alone.best / beside.best);
            amount(format!("{}, {name}: rate by that alone", rival.name), kept, "", None)
        } else {
            compared(name, beside, "alone", "", alone, Some(UNDISTURBED))
        }
    };
    Ok(situations.iter().zip(besides).map(row).collect())
}

fn compared(
    name: String,
    ours: Option<Time>,
    peer: &str,
    version: &str,
    peer_time: Option<Time>,
    goal: Option<Goal>,
) -> Row {
    let absent = |time: Option<Time>| time.is_none().then(|| "it answered nothing".to_owned());
    let figure = Figure::Times {
        ours,
        ours_absent: absent(ours),
        peer: peer.to_owned(),
        peer_version: version.to_owned(),
        peer_time,
        peer_absent: absent(peer_time),
    };
    Row { kind: KIND.to_owned(), name, figure, goal }
}

fn amount(name: String, value: f64, unit: &str, goal: Option<Goal>) -> Row {
    Row { kind: KIND.to_owned(), name, figure: Figure::Amount { value, unit: unit.to_owned() }, goal }
}

/// A daemon with a client that asks for the quick prompt. A time is processor time of the daemon.
struct Asked {
    daemon: Daemon,
    load: Load,
}

impl Asked {
    fn new(daemon: Daemon) -> Result<Self> {
        let path = format!("/api/render/prompts/{QUICK}");
        let load = Load::new(daemon.address(), &path, &json!({"variables": quick_variables()}), None)?;
        Ok(Self { daemon, load })
    }
}

impl Side for Asked {
    fn version(&self) -> &str {
        ""
    }

    fn output(&mut self) -> Result<Vec<u8>> {
        self.load.once()
    }

    fn run(&mut self, iterations: u64) -> Result<Lap> {
        self.daemon.time_work(|| self.load.run(iterations).map(drop))
    }
}

fn entrant(asked: Result<Asked>) -> Entrant {
    Entrant::new(asked.map(|asked| Box::new(asked) as Box<dyn Side>))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn the_time_of_a_rate_is_that_of_one_answer() {
        let time = time_of_rates(&[10.0, 20.0, 0.0]).expect("has answers");
        assert_eq!((time.best, time.median), (5e7, 1e8));
        assert!(time_of_rates(&[0.0]).is_none() && time_of_rates(&[]).is_none());
    }

    #[test]
    fn a_series_is_held_against_its_best_rate() {
        let mut series = [Series::default()];
        for (point, rate) in series[0].points.iter_mut().zip([20.0, 40.0, 36.0, 30.0, 10.0]) {
            point.rates.push(rate);
        }
        series[0].points[4].refusals = vec![Duration::from_millis(60)];
        let rival = Rival {
            name: "hina",
            version: String::new(),
            command: Box::new(|| Command::new("hina")),
            variables: vec![],
        };
        let rows = series_rows(&COSTLY[0], &[rival], &mut series);
        let met: Vec<_> = rows.iter().map(Row::met).collect();
        let expected = [false, true, true, false, false, false].map(Some);
        assert_eq!(met, expected);
        assert_eq!(rows[5].judged(), Some(60.0));
    }
}
