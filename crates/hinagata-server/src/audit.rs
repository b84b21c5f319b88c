//! The audit log: who rendered, chatted, approved or changed what. JSON lines, without values of variables.
//!
//! A thread of its own writes the log in batches, so no request waits for the disk or wakes the thread for one line. If
//! the disk is too slow, lines are dropped and counted in the metrics, because memory is bounded.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write as _},
    net::IpAddr,
    path::{Path, PathBuf},
    sync::{
        Arc,
        mpsc::{Receiver, Sender, SyncSender, TrySendError, channel, sync_channel},
    },
    thread::JoinHandle,
    time::{Duration, SystemTime},
};

use hinagata::{Code, Error, Result, format_utc};
use serde_json::{Map, Value, json};

use crate::route::PathParams;

/// Lines that may wait to be written.
const QUEUE_CAPACITY: usize = 65_536;

/// How long the thread collects lines before it writes them. Waking it for each line would cost a request more than
/// everything else about the line.
const BATCH_TIME: Duration = Duration::from_millis(50);

/// The size at which the file is rotated. One older file is kept.
const MAX_FILE_SIZE: u64 = 64 << 20;

/// One line. The writing thread formats it.
pub(crate) struct AuditEntry {
    pub(crate) at: SystemTime,
    pub(crate) who: Arc<str>,
    pub(crate) from: IpAddr,
    pub(crate) method: &'static str,
    pub(crate) route: &'static str,
    /// The parameters of the path, such as the prompt.
    pub(crate) names: PathParams,
    pub(crate) status: u16,
    pub(crate) micros: u64,
}

impl AuditEntry {
    fn write(&self, text: &mut Vec<u8>) {
        let names: Map<String, Value> =
            self.names.iter().map(|(name, value)| ((*name).to_owned(), value.clone().into())).collect();
        let line = json!({
            "time": format_utc(self.at),
            "who": &*self.who,
            "from": self.from.to_string(),
            "did": format!("{} {}", self.method, self.route),
            "names": names,
            "status": self.status,
            "microseconds": self.micros,
        });
        text.extend_from_slice(line.to_string().as_bytes());
        text.push(b'\n');
    }
}

/// The audit log. Dropping it writes the remaining lines.
pub(crate) struct Audit {
    lines: Option<SyncSender<AuditEntry>>,
    /// Dropped to stop the thread from collecting more lines.
    alive: Option<Sender<()>>,
    writer: Option<JoinHandle<()>>,
}

impl Audit {
    /// A log that writes nothing.
    pub(crate) fn without_file() -> Self {
        Self { lines: None, alive: None, writer: None }
    }

    /// A log that appends to the file at `path`.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let audit_error = |error: io::Error| {
            Error::new(Code::System, format!("cannot write the audit log {}: {error}", path.display()))
                .with_hint("change the setting `server.audit`; `off` disables the log")
        };
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory).map_err(audit_error)?;
        }
        let file = LogFile::open(path.to_owned()).map_err(audit_error)?;
        let (lines, queue) = sync_channel(QUEUE_CAPACITY);
        let (alive, ended) = channel();
        let writer = std::thread::Builder::new().name("hinagata-audit".to_owned());
        let writer = writer.spawn(move || write_entries(file, &queue, &ended)).map_err(audit_error)?;
        Ok(Self { lines: Some(lines), alive: Some(alive), writer: Some(writer) })
    }

    pub(crate) fn is_enabled(&self) -> bool {
        self.lines.is_some()
    }

    /// Queues a line.
    pub(crate) fn add_entry(&self, entry: AuditEntry) {
        let Some(lines) = &self.lines else { return };
        if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) = lines.try_send(entry) {
            metrics::counter!("hinagata_audit_lost_total").increment(1);
        }
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

/// Writes the queued lines, batch by batch.
fn write_entries(mut file: LogFile, lines: &Receiver<AuditEntry>, ended: &Receiver<()>) {
    let mut buffer = Vec::new();
    while let Ok(first) = lines.recv() {
        // No message is ever sent: the wait ends when the log is dropped or the batch time is over.
        let _ = ended.recv_timeout(BATCH_TIME);
        let mut gathered = std::iter::once(first).chain(lines.try_iter()).peekable();
        while gathered.peek().is_some() {
            buffer.clear();
            for line in gathered.by_ref().take(1_000) {
                line.write(&mut buffer);
            }
            if let Err(error) = file.write(&buffer) {
                metrics::counter!("hinagata_audit_lost_total").increment(1);
                tracing::error!(%error, "cannot write the audit log");
            }
        }
    }
}

struct LogFile {
    path: PathBuf,
    file: File,
    size: u64,
}

impl LogFile {
    fn open(path: PathBuf) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path)?;
        let size = file.metadata()?.len();
        Ok(Self { path, file, size })
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.size > MAX_FILE_SIZE {
            std::fs::rename(&self.path, self.path.with_extension("old.jsonl"))?;
            *self = Self::open(self.path.clone())?;
        }
        self.file.write_all(bytes)?;
        self.size += bytes.len() as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_lines_are_written_when_the_log_is_dropped() {
        let directory = tempfile::tempdir().expect("directory");
        let path = directory.path().join("deep/audit.jsonl");
        let audit = Audit::open(&path).expect("opens");
        for number in 0..3 {
            audit.add_entry(AuditEntry {
                at: SystemTime::now(),
                who: "me".into(),
                from: IpAddr::from([127, 0, 0, 1]),
                method: "POST",
                route: "/api/render/prompts/{id}",
                names: vec![("id", format!("p{number}\n"))],
                status: 200,
                micros: 5,
            });
        }
        drop(audit);
        let text = std::fs::read_to_string(&path).expect("is there");
        let lines: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).expect("is JSON")).collect();
        assert_eq!(lines.len(), 3, "a name cannot forge a line");
        assert_eq!((&lines[1]["names"]["id"], &lines[1]["who"]), (&json!("p1\n"), &json!("me")));
    }
}
