//! The socket that a service manager passes to the daemon, such as systemd with a socket unit.
//!
//! The protocol is that of `sd_listen_fds(3)`: the variables `LISTEN_PID` and `LISTEN_FDS` say for which process and how
//! many. The service manager keeps the socket open, so clients wait while the daemon restarts.

use std::net::TcpListener;

use crate::failure::Failure;

/// Takes the passed socket, if any. Call it before there are threads: it removes the variables, so that other programs
/// which the daemon starts do not see them.
#[cfg(unix)]
pub(super) fn take_listener() -> Result<Option<TcpListener>, Failure> {
    let mut passed = listenfd::ListenFd::from_env();
    let count = passed.len();
    if count > 1 {
        return Err(Failure::usage_error(format!(
            "the service manager passed {count} sockets, but the daemon serves one"
        ))
        .with_hint("keep one `ListenStream=` in the socket unit"));
    }
    passed.take_tcp_listener(0).map_err(|error| {
        Failure::usage_error(format!("cannot use the socket of the service manager: {error}"))
            .with_hint("use an address and a TCP port in `ListenStream=` of the socket unit")
    })
}

/// Other systems have no such service manager.
#[cfg(not(unix))]
pub(super) fn take_listener() -> Result<Option<TcpListener>, Failure> {
    Ok(None)
}
