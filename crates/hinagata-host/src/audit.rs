//! The audit log: who rendered, chatted, approved or changed what. JSON lines, without values of variables.
//!
//! A thread of its own writes the log in batches, so no request waits for the disk or wakes the thread for one line.
//! While the disk refuses lines, the thread tries again and the queue collects what follows. Memory is bounded: lines
//! that do not fit are counted in the metrics and in the log itself.

use std::{
    fmt, io,
    net::IpAddr,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, TrySendError, channel, sync_channel},
    },
    thread::JoinHandle,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use hinagata::{Code, Error, Result, format_utc};
use serde::{Serialize, Serializer};
use serde_json::json;

use crate::{
    OpenWorkspace,
    audit_file::{AuditFile, Rotation},
};

/// Lines that may wait to be written.
const QUEUE_CAPACITY: usize = 65_536;

/// How long the thread collects lines before it writes them. Waking it for each line would cost a request more than
/// everything else about the line.
const BATCH_TIME: Duration = Duration::from_millis(50);

/// Lines that are written at once.
const MOST_IN_BATCH: usize = 1_000;

/// How long the thread waits before it tries again to write lines that the disk refused.
const RETRY_TIME: Duration = Duration::from_secs(1);

/// One line. The writing thread formats it.
#[derive(Clone, Debug)]
pub struct AuditEntry {
    /// When it happened.
    pub at: SystemTime,
    /// The id of the request.
    pub request: Option<Arc<str>>,
    /// The name of the caller.
    pub who: Arc<str>,
    /// The address of the caller.
    pub from: IpAddr,
    /// The method of HTTP, or `MCP`.
    pub method: &'static str,
    /// The route, or the method of MCP.
    pub route: &'static str,
    /// The parameters of the path, such as the prompt.
    pub names: Vec<(&'static str, String)>,
    /// The model that the prompt was sent to.
    pub model: Option<Arc<str>>,
    /// The HTTP status of the answer.
    pub status: u16,
    /// How long it took, in microseconds.
    pub micros: u64,
}

/// An [`AuditEntry`] as it is written, without a tree of values in between: a busy daemon writes many of them.
#[derive(Serialize)]
struct AuditLine<'e> {
    time: &'e str,
    who: &'e str,
    from: IpAddr,
    did: fmt::Arguments<'e>,
    #[serde(serialize_with = "serialize_names")]
    names: &'e [(&'static str, String)],
    status: u16,
    microseconds: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<&'e str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'e str>,
    daemon: &'e str,
}

fn serialize_names<S: Serializer>(
    names: &[(&'static str, String)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(names.iter().map(|(name, value)| (name, value)))
}

/// The audit log. Dropping it writes the remaining lines.
pub struct Audit {
    lines: Option<SyncSender<AuditEntry>>,
    /// Dropped to stop the thread from collecting more lines.
    alive: Option<Sender<()>>,
    writer: Option<JoinHandle<()>>,
    lost: Arc<LostLines>,
}

/// Counts lines that could not be written.
#[derive(Debug)]
struct LostLines {
    /// Those that the log does not mention yet.
    unreported: AtomicU64,
    /// Told the number of lost lines.
    observer: fn(u64),
}

impl LostLines {
    fn new(observer: fn(u64)) -> Self {
        Self { unreported: AtomicU64::new(0), observer }
    }

    fn add(&self, count: u64) {
        (self.observer)(count);
        self.unreported.fetch_add(count, Ordering::Relaxed);
    }
}

impl Audit {
    /// A log that writes nothing.
    #[must_use]
    pub fn without_file() -> Self {
        Self { lines: None, alive: None, writer: None, lost: Arc::new(LostLines::new(|_| {})) }
    }

    /// A log of `daemon` that appends to the file at `path`, or to a numbered one beside it while another daemon writes
    /// to that.
    fn open(path: &Path, rotation: Rotation, daemon: String, observer: fn(u64)) -> Result<Self> {
        let audit_error = |error: io::Error| {
            Error::new(Code::System, format!("cannot write the audit log {}: {error}", path.display()))
                .with_hint("change the setting `server.audit`; `off` disables the log")
        };
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory).map_err(audit_error)?;
        }
        let file = AuditFile::open(path, rotation).map_err(audit_error)?;
        let (lines, queue) = sync_channel(QUEUE_CAPACITY);
        let (alive, ended) = channel();
        let lost = Arc::new(LostLines::new(observer));
        let last_time = (0, format_utc(UNIX_EPOCH));
        let work = Writer { file, queue, ended, lost: Arc::clone(&lost), daemon, last_time };
        let thread = std::thread::Builder::new().name("hinagata-audit".to_owned());
        let writer = thread.spawn(move || work.write_entries()).map_err(audit_error)?;
        Ok(Self { lines: Some(lines), alive: Some(alive), writer: Some(writer), lost })
    }

    /// Whether lines are written.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.lines.is_some()
    }

    /// Queues a line.
    pub fn add_entry(&self, entry: AuditEntry) {
        let Some(lines) = &self.lines else { return };
        if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) = lines.try_send(entry) {
            self.lost.add(1);
        }
    }
}

impl OpenWorkspace {
    /// Opens the audit log of the settings for the process that calls itself `daemon`. `on_lost` is told how many lines
    /// could not be written.
    ///
    /// # Errors
    /// Code `system` when the file cannot be written.
    pub fn open_audit(&self, daemon: String, on_lost: fn(u64)) -> Result<Audit> {
        let path = match (self.settings.text("server.audit").unwrap_or("state"), &self.state) {
            ("off", _) | ("state", None) => return Ok(Audit::without_file()),
            ("state", Some(state)) => state.path().join("daemon/audit.jsonl"),
            (path, _) => path.into(),
        };
        let rotation = Rotation {
            size: self.settings.count("server.audit_size").unwrap_or(u64::MAX).max(1),
            files: self.settings.count("server.audit_files").unwrap_or(u64::MAX),
        };
        Audit::open(&path, rotation, daemon, on_lost)
    }
}

impl Drop for Audit {
    fn drop(&mut self) {
        (self.lines, self.alive) = (None, None);
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

/// The thread that writes.
struct Writer {
    file: AuditFile,
    queue: Receiver<AuditEntry>,
    /// Disconnected when the log is dropped; no message is ever sent.
    ended: Receiver<()>,
    lost: Arc<LostLines>,
    daemon: String,
    /// The second of the last line, and how it is written: most lines have the time of the one before.
    last_time: (u64, String),
}

impl Writer {
    /// Writes the queued lines, batch by batch, until the log is dropped.
    fn write_entries(mut self) {
        while let Ok(first) = self.queue.recv() {
            let _ = self.ended.recv_timeout(BATCH_TIME);
            let mut next = Some(first);
            while let Some(first) = next.take() {
                let lost = self.lost.unreported.swap(0, Ordering::Relaxed);
                let mut lines = Vec::new();
                self.push_line(&mut lines, &first);
                for _ in 1..MOST_IN_BATCH {
                    let Ok(entry) = self.queue.try_recv() else { break };
                    self.push_line(&mut lines, &entry);
                }
                if lost > 0 {
                    let time = format_utc(SystemTime::now());
                    let line =
                        json!({"time": time, "did": "lost lines", "lost": lost, "daemon": self.daemon});
                    lines.extend(format!("{line}\n").into_bytes());
                }
                if !self.write_lines(lines) {
                    // Nobody will read the queue again.
                    self.lost.add(u64::try_from(self.queue.try_iter().count()).unwrap_or(u64::MAX));
                    return;
                }
                next = self.queue.try_recv().ok();
            }
        }
    }

    /// Appends the line of `entry`.
    fn push_line(&mut self, lines: &mut Vec<u8>, entry: &AuditEntry) {
        let second = entry.at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        if self.last_time.0 != second {
            self.last_time = (second, format_utc(entry.at));
        }
        let line = AuditLine {
            time: &self.last_time.1,
            who: &entry.who,
            from: entry.from,
            did: format_args!("{} {}", entry.method, entry.route),
            names: &entry.names,
            status: entry.status,
            microseconds: entry.micros,
            request: entry.request.as_deref(),
            model: entry.model.as_deref(),
            daemon: &self.daemon,
        };
        serde_json::to_writer(&mut *lines, &line).expect("strings and numbers can be written to memory");
        lines.push(b'\n');
    }

    /// Writes complete lines, and tries again until the disk takes them. Returns false if the log was dropped before.
    fn write_lines(&mut self, lines: Vec<u8>) -> bool {
        let Err(error) = self.file.append(lines) else { return true };
        tracing::error!(%error, "cannot write the audit log; trying again");
        loop {
            let has_ended = self.ended.recv_timeout(RETRY_TIME) == Err(RecvTimeoutError::Disconnected);
            match self.file.write_remaining() {
                Ok(()) => {
                    tracing::info!("the audit log is written again");
                    return true;
                }
                Err(error) if has_ended => {
                    let lines = self.file.remaining_lines();
                    tracing::error!(%error, lines, "lines of the audit log are lost");
                    self.lost.add(lines);
                    return false;
                }
                Err(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROTATION: Rotation = Rotation { size: 1 << 20, files: 2 };

    fn open_log(path: &Path) -> Audit {
        Audit::open(path, ROTATION, "127.0.0.1:8700".to_owned(), |_| {}).expect("opens")
    }

    fn entry(id: &str) -> AuditEntry {
        AuditEntry {
            at: SystemTime::now(),
            request: Some("r-1".into()),
            who: "me".into(),
            from: IpAddr::from([127, 0, 0, 1]),
            method: "POST",
            route: "/api/render/prompts/{id}",
            names: vec![("id", id.to_owned())],
            model: None,
            status: 200,
            micros: 5,
        }
    }

    fn read_lines(path: &Path) -> Vec<serde_json::Value> {
        let text = std::fs::read_to_string(path).expect("is there");
        text.lines().map(|line| serde_json::from_str(line).expect("is JSON")).collect()
    }

    #[test]
    fn all_lines_are_written_when_the_log_is_dropped() {
        let directory = tempfile::tempdir().expect("directory");
        let path = directory.path().join("deep/audit.jsonl");
        let audit = open_log(&path);
        for number in 0..3 {
            audit.add_entry(entry(&format!("p{number}\n")));
        }
        drop(audit);
        let lines = read_lines(&path);
        assert_eq!(lines.len(), 3, "a name cannot forge a line");
        assert_eq!((&lines[1]["names"]["id"], &lines[1]["who"]), (&json!("p1\n"), &json!("me")));
        assert_eq!((&lines[1]["request"], &lines[1]["daemon"]), (&json!("r-1"), &json!("127.0.0.1:8700")));
    }

    #[test]
    fn daemons_of_one_user_write_to_files_of_their_own() {
        let directory = tempfile::tempdir().expect("directory");
        let path = directory.path().join("audit.jsonl");
        let (one, other) = (open_log(&path), open_log(&path));
        one.add_entry(entry("one"));
        other.add_entry(entry("other"));
        drop((one, other));
        assert_eq!(read_lines(&path)[0]["names"]["id"], "one");
        assert_eq!(read_lines(&directory.path().join("audit-2.jsonl"))[0]["names"]["id"], "other");
        let next = open_log(&path);
        next.add_entry(entry("next"));
        drop(next);
        assert_eq!(read_lines(&path).len(), 2, "the first file is free again");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn every_line_that_a_full_disk_refuses_is_counted() {
        let audit = open_log(Path::new("/dev/full"));
        let lost = Arc::clone(&audit.lost);
        for number in 0..5 {
            audit.add_entry(entry(&number.to_string()));
        }
        drop(audit);
        assert_eq!(lost.unreported.load(Ordering::Relaxed), 5);
    }

    #[test]
    fn the_log_mentions_lost_lines() {
        let directory = tempfile::tempdir().expect("directory");
        let path = directory.path().join("audit.jsonl");
        let audit = open_log(&path);
        audit.lost.add(7);
        audit.add_entry(entry("later"));
        drop(audit);
        let lines = read_lines(&path);
        assert_eq!((lines.len(), &lines[1]["lost"]), (2, &json!(7)));
    }
}
