//! Rounds that alternate the sides, after their outputs were found equal.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::row::{Figure, Goal, Row, Time};
use crate::side::{Entrant, Lap, Side};

/// Rounds that a figure needs.
const FEWEST: usize = 5;

/// How long to measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Rounds; in each one every side has one turn.
    pub(crate) rounds: usize,
    /// Time of one turn.
    pub(crate) turn: Duration,
    /// Time after which no more rounds begin, once there were [`FEWEST`].
    pub(crate) longest: Duration,
    /// Time that each side runs before the first round, for compilers that learn and caches.
    pub(crate) warm_up: Duration,
}

impl Effort {
    pub(crate) const FULL: Self = Self {
        rounds: 15,
        turn: Duration::from_millis(150),
        longest: Duration::from_secs(120),
        warm_up: Duration::from_millis(600),
    };
    pub(crate) const QUICK: Self = Self {
        rounds: 7,
        turn: Duration::from_millis(50),
        longest: Duration::from_secs(20),
        warm_up: Duration::from_millis(150),
    };
}

/// One piece of work that our side and its peers do.
pub(crate) struct Contest {
    pub(crate) kind: &'static str,
    pub(crate) name: String,
    /// What every side must give; where it is `None`, the sides must agree with each other.
    pub(crate) expected: Option<Vec<u8>>,
    pub(crate) ours: Entrant,
    pub(crate) peers: Vec<Peer>,
}

/// A side to compare with.
pub(crate) struct Peer {
    pub(crate) name: &'static str,
    pub(crate) goal: Option<Goal>,
    pub(crate) entrant: Entrant,
}

impl Contest {
    /// One row for each peer.
    pub(crate) fn measure(mut self, effort: Effort) -> Result<Vec<Row>> {
        let names: Vec<&'static str> =
            std::iter::once("ours").chain(self.peers.iter().map(|peer| peer.name)).collect();
        let entrants =
            std::iter::once(&mut self.ours).chain(self.peers.iter_mut().map(|peer| &mut peer.entrant));
        let mut runners: Vec<Option<Runner<'_>>> = Vec::new();
        for (entrant, name) in entrants.zip(&names) {
            let runner = match entrant {
                Entrant::Ready(side) => Some(Runner::new(side.as_mut(), name, &mut self.expected)?),
                Entrant::Absent(_) => None,
            };
            runners.push(runner);
        }
        for runner in runners.iter_mut().flatten() {
            runner.warm_up(effort)?;
        }
        let started = Instant::now();
        for round in 0..effort.rounds {
            if round >= FEWEST && started.elapsed() > effort.longest {
                break;
            }
            // Each round starts with another side, so that none always follows the same one.
            let count = runners.len();
            for index in 0..count {
                if let Some(runner) = &mut runners[(round + index) % count] {
                    runner.turn()?;
                }
            }
        }
        let mut times =
            runners.iter().map(|runner| runner.as_ref().map(Runner::time)).collect::<Vec<_>>().into_iter();
        drop(runners);
        let ours = times.next().flatten();
        let row = |(peer, time): (&Peer, Option<Time>)| Row {
            kind: self.kind.to_owned(),
            name: self.name.clone(),
            figure: Figure::Times {
                ours,
                ours_absent: absence(&self.ours),
                peer: peer.name.to_owned(),
                peer_version: peer.entrant.version().to_owned(),
                peer_time: time,
                peer_absent: absence(&peer.entrant),
            },
            goal: peer.goal,
        };
        Ok(self.peers.iter().zip(times).map(row).collect())
    }
}

fn absence(entrant: &Entrant) -> Option<String> {
    match entrant {
        Entrant::Ready(_) => None,
        Entrant::Absent(reason) => Some(reason.clone()),
    }
}

/// A side during the measurement.
struct Runner<'a> {
    side: &'a mut dyn Side,
    name: &'static str,
    iterations: u64,
    laps: Vec<Lap>,
}

impl<'a> Runner<'a> {
    fn new(side: &'a mut dyn Side, name: &'static str, expected: &mut Option<Vec<u8>>) -> Result<Self> {
        let output = side.output().with_context(|| format!("{name} cannot do the work"))?;
        match expected {
            Some(expected) if *expected != output => {
                bail!("{name} gives another output: {}", first_difference(expected, &output))
            }
            Some(_) => {}
            None => *expected = Some(output),
        }
        Ok(Self { side, name, iterations: 1, laps: Vec::new() })
    }

    /// Runs for the time of a warm-up, and finds how many iterations fill a turn.
    fn warm_up(&mut self, effort: Effort) -> Result<()> {
        let mut spent = Duration::ZERO;
        loop {
            let lap = self.run()?;
            spent += lap.wall;
            let reached = lap.wall >= effort.turn / 2;
            if lap.wall < effort.turn {
                let factor = effort.turn.as_secs_f64() / lap.wall.as_secs_f64().max(1e-9);
                self.iterations = grow(self.iterations, factor.min(8.0));
            }
            if reached && spent >= effort.warm_up {
                return Ok(());
            }
        }
    }

    fn turn(&mut self) -> Result<()> {
        let lap = self.run()?;
        self.laps.push(lap);
        Ok(())
    }

    fn run(&mut self) -> Result<Lap> {
        self.side.run(self.iterations).with_context(|| format!("{} failed while it was timed", self.name))
    }

    fn time(&self) -> Time {
        let per_iteration = |time: Duration| time.as_secs_f64() * 1e9 / self.iterations as f64;
        let mut processor: Vec<f64> = self.laps.iter().map(|lap| per_iteration(lap.processor)).collect();
        processor.sort_by(f64::total_cmp);
        let wall = self.laps.iter().map(|lap| per_iteration(lap.wall)).fold(f64::INFINITY, f64::min);
        Time { best: processor[0], median: processor[processor.len() / 2], wall }
    }
}

fn grow(iterations: u64, factor: f64) -> u64 {
    ((iterations as f64 * factor) as u64).max(iterations)
}

/// Where two outputs part, with a little of both.
fn first_difference(expected: &[u8], output: &[u8]) -> String {
    let at = expected.iter().zip(output).take_while(|(left, right)| left == right).count();
    let excerpt = |bytes: &[u8]| {
        let end = (at + 40).min(bytes.len());
        bytes[at.saturating_sub(20).min(end)..end].escape_ascii().to_string()
    };
    format!("at byte {at}, expected \"{}\", got \"{}\"", excerpt(expected), excerpt(output))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(output: &'static [u8]) -> Entrant {
        Entrant::local("", move || Ok(output.to_vec()), || drop(std::hint::black_box(vec![0_u8; 4096])))
    }

    fn contest(ours: Entrant, peer: Entrant) -> Contest {
        let peers = vec![Peer { name: "peer", goal: Some(Goal { must: 1e9, stretch: None }), entrant: peer }];
        Contest { kind: "test", name: "work".into(), expected: Some(b"same".to_vec()), ours, peers }
    }

    const EFFORT: Effort = Effort {
        rounds: 5,
        turn: Duration::from_micros(200),
        longest: Duration::from_secs(60),
        warm_up: Duration::from_micros(400),
    };

    #[test]
    fn equal_outputs_are_timed() {
        let rows = contest(side(b"same"), side(b"same")).measure(EFFORT).expect("can be measured");
        assert_eq!(rows.len(), 1);
        assert!(rows[0].ratio().expect("both sides ran") > 0.0);
        assert_eq!(rows[0].met(), Some(true));
    }

    #[test]
    fn another_output_is_an_error_and_not_a_time() {
        let error = contest(side(b"same"), side(b"some")).measure(EFFORT).expect_err("differs");
        assert_eq!(
            error.to_string(),
            "peer gives another output: at byte 1, expected \"same\", got \"some\""
        );
    }

    #[test]
    fn an_absent_side_is_never_beaten() {
        let rows = contest(side(b"same"), Entrant::Absent("not installed".into())).measure(EFFORT);
        assert_eq!(rows.expect("the other side ran")[0].met(), None);
    }
}
