//! Reports of the daemon to the service manager that started it, such as systemd with `Type=notify`.
//!
//! The protocol is that of `sd_notify(3)`: each report is one datagram of `NAME=value` lines, sent to the socket that
//! the variable `NOTIFY_SOCKET` names. Without the variable, nothing is sent.

use std::{ffi::OsString, io, net::SocketAddr, time::Duration};

/// The socket for reports: a path, or `@` and the name of an abstract socket.
const SOCKET_VARIABLE: &str = "NOTIFY_SOCKET";

/// The time in microseconds after which the service manager restarts a daemon that sends no sign of life.
const WATCHDOG_VARIABLE: &str = "WATCHDOG_USEC";

/// The process that has to send the signs of life.
const WATCHDOG_PROCESS_VARIABLE: &str = "WATCHDOG_PID";

/// How long a report may wait for a service manager that does not read.
#[cfg(unix)]
const SEND_TIMEOUT: Duration = Duration::from_secs(1);

/// The service manager that started this process, if any.
#[derive(Debug, Default)]
pub(super) struct ServiceManager {
    socket: Option<NotifySocket>,
    ping_interval: Option<Duration>,
}

impl ServiceManager {
    /// The service manager that `variable` describes, which reads the environment. An unusable description is logged.
    pub(super) fn from_variables(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let Some(name) = variable(SOCKET_VARIABLE).filter(|name| !name.is_empty()) else {
            return Self::default();
        };
        match NotifySocket::open(&name) {
            Ok(socket) => Self { socket: Some(socket), ping_interval: ping_interval(variable) },
            Err(error) => {
                tracing::warn!(%error, socket = %name.display(), "cannot report to the service manager");
                Self::default()
            }
        }
    }

    /// Reports that requests are answered at `address`, after a start or a reload.
    pub(super) fn report_ready(&self, address: SocketAddr) {
        self.send_report(&format!("READY=1\nSTATUS=listening on http://{address}\n"));
    }

    /// Reports that a reload begins. [`Self::report_ready`] ends it.
    pub(super) fn report_reload(&self) {
        self.send_report(&format!("RELOADING=1\n{}STATUS=reloading\n", monotonic_line()));
    }

    /// Reports that the daemon finishes its requests and ends.
    pub(super) fn report_stop(&self) {
        self.send_report("STOPPING=1\nSTATUS=finishing running requests\n");
    }

    /// Sends signs of life as often as the service manager wants them, for as long as the future runs. It belongs on the
    /// runtime that accepts connections: when that stalls, the signs end.
    pub(super) async fn send_pings(&self) {
        let Some(interval) = self.ping_interval else { return std::future::pending().await };
        let mut every = tokio::time::interval(interval);
        every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            every.tick().await;
            self.send_report("WATCHDOG=1\n");
        }
    }

    fn send_report(&self, report: &str) {
        if let Some(socket) = &self.socket
            && let Err(error) = socket.send(report.as_bytes())
        {
            tracing::warn!(%error, "cannot report to the service manager");
        }
    }
}

/// Half of the time after which the service manager gives up on this process.
fn ping_interval(variable: impl Fn(&str) -> Option<OsString>) -> Option<Duration> {
    let number = |name: &str| variable(name)?.to_str()?.parse::<u64>().ok();
    let timeout = number(WATCHDOG_VARIABLE).filter(|timeout| *timeout > 0)?;
    let is_meant = match variable(WATCHDOG_PROCESS_VARIABLE) {
        Some(_) => number(WATCHDOG_PROCESS_VARIABLE) == Some(std::process::id().into()),
        None => true,
    };
    is_meant.then(|| Duration::from_micros(timeout.div_ceil(2)))
}

/// The line that tells a reload from earlier ones, for units with `Type=notify-reload`.
#[cfg(unix)]
fn monotonic_line() -> String {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    format!("MONOTONIC_USEC={}\n", now.tv_sec * 1_000_000 + now.tv_nsec / 1_000)
}

#[cfg(not(unix))]
fn monotonic_line() -> String {
    String::new()
}

/// The socket of the service manager.
#[cfg(unix)]
#[derive(Debug)]
struct NotifySocket {
    socket: std::os::unix::net::UnixDatagram,
    address: std::os::unix::net::SocketAddr,
}

#[cfg(unix)]
impl NotifySocket {
    fn open(name: &std::ffi::OsStr) -> io::Result<Self> {
        use std::os::unix::{ffi::OsStrExt as _, net};

        let address = match name.as_bytes() {
            [b'/', ..] => net::SocketAddr::from_pathname(name)?,
            [b'@', abstract_name @ ..] => abstract_address(abstract_name)?,
            _ => {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidInput,
                    "neither a path nor an abstract socket",
                ));
            }
        };
        let socket = net::UnixDatagram::unbound()?;
        socket.set_write_timeout(Some(SEND_TIMEOUT))?;
        Ok(Self { socket, address })
    }

    fn send(&self, report: &[u8]) -> io::Result<()> {
        self.socket.send_to_addr(report, &self.address).map(drop)
    }
}

#[cfg(target_os = "linux")]
fn abstract_address(name: &[u8]) -> io::Result<std::os::unix::net::SocketAddr> {
    use std::os::linux::net::SocketAddrExt as _;

    std::os::unix::net::SocketAddr::from_abstract_name(name)
}

#[cfg(all(unix, not(target_os = "linux")))]
fn abstract_address(_name: &[u8]) -> io::Result<std::os::unix::net::SocketAddr> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "this system has no abstract sockets"))
}

/// Other systems have no such service manager.
#[cfg(not(unix))]
#[derive(Debug)]
struct NotifySocket;

#[cfg(not(unix))]
impl NotifySocket {
    fn open(_name: &std::ffi::OsStr) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn send(&self, _report: &[u8]) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::net::UnixDatagram;

    use super::*;

    fn manager(variables: &[(&str, &str)]) -> ServiceManager {
        ServiceManager::from_variables(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
        })
    }

    fn received(socket: &UnixDatagram) -> String {
        let mut buffer = [0; 512];
        let length = socket.recv(&mut buffer).expect("a report");
        String::from_utf8(buffer[..length].to_vec()).expect("is text")
    }

    #[test]
    fn reports_go_to_the_socket_at_a_path() {
        let place = tempfile::tempdir().expect("a directory");
        let path = place.path().join("notify");
        let socket = UnixDatagram::bind(&path).expect("bound");
        let manager = manager(&[(SOCKET_VARIABLE, path.to_str().expect("is text"))]);
        manager.report_ready("127.0.0.1:8700".parse().expect("an address"));
        assert_eq!(received(&socket), "READY=1\nSTATUS=listening on http://127.0.0.1:8700\n");
        manager.report_reload();
        let report = received(&socket);
        let time =
            report.lines().find_map(|line| line.strip_prefix("MONOTONIC_USEC=")).expect("has the time");
        assert!(report.starts_with("RELOADING=1\n") && time.parse::<u64>().is_ok(), "{report}");
        manager.report_stop();
        assert!(received(&socket).starts_with("STOPPING=1\n"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn reports_go_to_an_abstract_socket() {
        use std::os::{linux::net::SocketAddrExt as _, unix::net::SocketAddr};

        let name = format!("hinagata-test-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).expect("an address");
        let socket = UnixDatagram::bind_addr(&address).expect("bound");
        manager(&[(SOCKET_VARIABLE, &format!("@{name}"))]).report_stop();
        assert!(received(&socket).starts_with("STOPPING=1\n"));
    }

    #[test]
    fn an_unusable_socket_is_no_reason_to_stop() {
        for name in ["", "relative", "vsock:2:1", "/nowhere/notify"] {
            manager(&[(SOCKET_VARIABLE, name)]).report_stop();
        }
    }

    #[test]
    fn signs_of_life_are_sent_twice_as_often_as_wanted() {
        let own = std::process::id().to_string();
        let interval = |variables: &[(&str, &str)]| {
            let socket = [(SOCKET_VARIABLE, "/run/notify")];
            manager(&[&socket, variables].concat()).ping_interval
        };
        let half = Some(Duration::from_secs(15));
        assert_eq!(interval(&[(WATCHDOG_VARIABLE, "30000000")]), half);
        assert_eq!(interval(&[(WATCHDOG_VARIABLE, "30000000"), (WATCHDOG_PROCESS_VARIABLE, &own)]), half);
        assert_eq!(interval(&[(WATCHDOG_VARIABLE, "30000000"), (WATCHDOG_PROCESS_VARIABLE, "1")]), None);
        assert_eq!(interval(&[(WATCHDOG_VARIABLE, "0")]), None);
        assert_eq!(interval(&[(WATCHDOG_VARIABLE, "soon")]), None);
        assert_eq!(interval(&[]), None);
    }
}
