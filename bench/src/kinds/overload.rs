//! A daemon with more to do than it can: how much of it still gets done, how soon the rest is refused, and what others
//! notice of it.
//!
//! Times are those of the clock on the wall, for one answer: the inverse of a rate. Only what one answer costs is
//! processor time. The clients run on the same processors as the daemon, which is started anew for every figure.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::daemon::go_version;
use crate::crowd::{Crowd, Seen, Window};
use crate::daemon::Daemon;
use crate::install::Installer;
use crate::load::{Load, post, quantile};
use crate::measure::{Contest, Effort, Peer};
use crate::provider::Silent;
use crate::row::{Figure, Goal, Row, Time};
use crate::side::{Entrant, Lap, Side};
use crate::stage::{Stage, token_of};

const KIND: &str = "overload";

/// The peak of a series by each of its rates: at least 0.8 of the peak.
const STEADY: Goal = Goal { must: 1.25, stretch: None };
/// The rate alone by the rate beside others: at least 0.9 of it.
const UNDISTURBED: Goal = Goal { must: 1.11, stretch: None };
/// Milliseconds within which 99 of 100 refusals arrive.
const REFUSED_WITHIN: Goal = Goal { must: 50.0, stretch: None };

/// Connections of a series.
const CONNECTIONS: [usize; 5] = [2, 8, 32, 200, 900];
const HANGING_CHATS: usize = 256;
const HANGING_RENDERS: usize = 120;
/// Calls of one tool that run at the same time; the others of [`HANGING_RENDERS`] wait for them.
const TOOL_CALLS: usize = 64;

/// What is asked for beside slow prompts: so often, by so many clients, and answered within this time or not counted.
const PACED_RATE: f64 = 200.0;
const PACED_CLIENTS: usize = 16;
const PACED_WITHIN: Duration = Duration::from_millis(50);
/// Connections that ask for slow prompts meanwhile.
const SLOW_CLIENTS: usize = 200;

/// A prompt with the processor time that one render takes.
struct Costly {
    prompt: &'static str,
    time: Duration,
}

const COSTLY: [Costly; 2] = [
    Costly { prompt: "slow", time: Duration::from_millis(95) },
    Costly { prompt: "medium", time: Duration::from_millis(10) },
];
const QUICK: &str = "quick";
const WAITING: &str = "waiting";

/// Three loops, one in the other, over a list of the request: its length decides how long they take.
const LOOPS: &str = "{{range $a := .variables.items}}{{range $b := $.variables.items}}\
                     {{range $c := $.variables.items}}{{if eq $c 0.5}}x{{end}}{{end}}{{end}}{{end}}done";
const QUICK_TEXT: &str = "You review {{.variables.language}} code.\n\
                          {{range .variables.rules}}- {{.}}\n{{end}}Be strict.\n";

/// What keeps a daemon of ours busy while others ask for a quick prompt.
#[derive(Clone, Copy)]
enum Beside {
    Nothing,
    Chats,
    Tools,
    Slow,
}

impl Beside {
    fn describe(self) -> String {
        match self {
            Self::Nothing => "alone".to_owned(),
            Self::Chats => format!("beside {HANGING_CHATS} chats that hang"),
            Self::Tools => format!("beside {HANGING_RENDERS} renders with a tool that hangs"),
            Self::Slow => format!("beside {SLOW_CLIENTS} connections with slow prompts"),
        }
    }
}

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

/// The workspace of ours, and the same prompts for the other daemon.
struct Scene {
    stage: Stage,
    document: PathBuf,
    /// The server of the tool that never answers.
    tool: Silent,
}

impl Scene {
    fn new(installer: &Installer) -> Result<Self> {
        let tool = Silent::start()?;
        let document = installer.cache.join("overload-store.json");
        let template = |name: &str, text: &str| json!({"name": name, "prompt": text});
        let tools = json!({"silent": {
            "id": "silent", "name": "silent", "type": "restful", "url": format!("http://{}/", tool.address),
            "description": "Never answers", "parameters": {"type": "object", "properties": {}},
        }});
        let mut templates = json!({QUICK: template(QUICK, QUICK_TEXT)});
        for costly in &COSTLY {
            templates[costly.prompt] = template(costly.prompt, LOOPS);
        }
        let common = json!({"templates": templates});
        fs::write(&document, common.to_string())?;
        let stage = Stage::new(installer, KIND)?;
        stage.import(&document)?;
        // The tool and its prompt are for ours only.
        let own = json!({"tools": tools, "templates": {WAITING: template(WAITING, "{{silent}}")}});
        let own_document = installer.cache.join("overload-tools.json");
        fs::write(&own_document, own.to_string())?;
        stage.import(&own_document)?;
        let settings = stage.state.join("hinagata");
        fs::create_dir_all(&settings)?;
        fs::write(settings.join("config.toml"), "[tools]\nallowed_hosts = [\"127.0.0.1\"]\ntimeout = 60\n")?;
        Ok(Self { stage, document, tool })
    }

    /// A daemon of ours with clients that hang.
    fn occupied(&self, beside: Beside) -> Result<Daemon> {
        let mut serve = self.stage.serve();
        match beside {
            Beside::Nothing | Beside::Slow => Daemon::start(&mut serve),
            Beside::Chats => {
                let model = Silent::start()?;
                serve.env("OPENAI_BASE_URL", format!("http://{}/v1", model.address));
                let mut daemon = Daemon::start(serve.env("OPENAI_API_KEY", "none"))?;
                let (token, path) = (token_of(&mut daemon)?, format!("/api/chat/prompts/{QUICK}"));
                let body = json!({"model": "gpt-4o", "variables": quick_variables()});
                let request = post(daemon.address(), &path, &body, Some(&token)).into();
                Crowd { address: daemon.address(), request, clients: HANGING_CHATS }.hang();
                model.wait_for(HANGING_CHATS)?;
                Ok(daemon)
            }
            Beside::Tools => {
                let (daemon, before) = (Daemon::start(&mut serve)?, self.tool.taken());
                crowd(&daemon, WAITING, &json!({}), HANGING_RENDERS).hang();
                self.tool.wait_for(before + TOOL_CALLS)?;
                Ok(daemon)
            }
        }
    }

    fn ours(&self) -> impl Fn() -> Command + '_ {
        || self.stage.serve()
    }

    fn go(&self, program: PathBuf) -> impl Fn() -> Command + '_ {
        move || go_command(&program, &self.document, &self.stage.state)
    }
}

fn go_command(program: &Path, document: &Path, state: &Path) -> Command {
    let mut command = Command::new(program);
    command.arg("-state").arg(document).arg("-log").arg(state.join("go.log"));
    command
}

fn quick_variables() -> Value {
    json!({"language": "Go", "rules": ["clear names", "small functions"]})
}

/// Clients that ask a daemon for a prompt.
fn crowd(daemon: &Daemon, prompt: &str, variables: &Value, clients: usize) -> Crowd {
    let (path, body) = (format!("/api/render/prompts/{prompt}"), json!({"variables": variables}));
    let request = post(daemon.address(), &path, &body, None).into();
    Crowd { address: daemon.address(), request, clients }
}

/// A daemon that goes through all series.
struct Rival<'s> {
    name: &'static str,
    version: String,
    command: Box<dyn Fn() -> Command + 's>,
    /// For each prompt of [`COSTLY`], the variables with which it takes its time.
    variables: Vec<Value>,
}

impl<'s> Rival<'s> {
    fn new(name: &'static str, version: String, command: impl Fn() -> Command + 's) -> Result<Self> {
        let daemon = Daemon::start(&mut command())?;
        let variables = COSTLY.iter().map(|costly| calibrated(&daemon, costly)).collect::<Result<_>>()?;
        Ok(Self { name, version, command: Box::new(command), variables })
    }

    fn is_peer(&self) -> bool {
        self.name != "hina"
    }

    fn start(&self) -> Result<Daemon> {
        Daemon::start(&mut (self.command)())
    }

    /// What `clients` see that ask for the prompt with this number.
    fn crowded(&self, number: usize, clients: usize, window: Window) -> Result<Seen> {
        let (daemon, variables) = (self.start()?, &self.variables[number]);
        crowd(&daemon, COSTLY[number].prompt, variables, clients)
            .repeat(window)
            .with_context(|| format!("{} with {clients} connections", self.name))
    }

    /// Answers in time for each second, of a quick prompt that is asked for at a steady rate.
    fn paced(&self, daemon: &Daemon, beside_slow: bool, window: Window) -> Result<f64> {
        let slow = beside_slow.then(|| crowd(daemon, COSTLY[0].prompt, &self.variables[0], SLOW_CLIENTS));
        let quick = crowd(daemon, QUICK, &quick_variables(), PACED_CLIENTS);
        let seen = quick.pace(PACED_RATE, slow.as_ref(), window)?;
        let in_time = seen.answers.iter().filter(|time| **time <= PACED_WITHIN).count();
        Ok(in_time as f64 / window.time.as_secs_f64())
    }
}

/// The variables with which one render of the prompt takes the processor for its time, on this machine.
fn calibrated(daemon: &Daemon, costly: &Costly) -> Result<Value> {
    let path = format!("/api/render/prompts/{}", costly.prompt);
    let mut length = 16_usize;
    for _ in 0..6 {
        let variables = items(length);
        let mut load = Load::new(daemon.address(), &path, &json!({"variables": variables}), None)?;
        let mut best = Duration::MAX;
        for _ in 0..4 {
            let before = daemon.processor_time()?;
            load.once()?;
            best = best.min(daemon.processor_time()?.saturating_sub(before));
        }
        let factor = (costly.time.as_secs_f64() / best.as_secs_f64().max(1e-6)).cbrt();
        let next = (length as f64 * factor.clamp(0.25, 4.0)).round() as usize;
        if next == length {
            break;
        }
        length = next.max(1);
    }
    ensure!(length > 4, "a render is too slow to be calibrated");
    Ok(items(length))
}

fn items(length: usize) -> Value {
    json!({"items": (0..length).collect::<Vec<_>>()})
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
        let (processor, wall) = (self.daemon.processor_time()?, Instant::now());
        self.load.run(iterations)?;
        let wall = wall.elapsed();
        Ok(Lap { wall, processor: self.daemon.processor_time()?.saturating_sub(processor) })
    }
}

fn entrant(asked: Result<Asked>) -> Entrant {
    Entrant::new(asked.map(|asked| Box::new(asked) as Box<dyn Side>))
}

#[cfg(test)]
mod tests {
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
