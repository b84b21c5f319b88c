//! `hina serve --check`: asks the running daemon of this workspace whether it is ready.
//!
//! Containers without a shell and scripts need it. One request over a plain connection is enough, so there is no HTTP
//! client here.

use std::{
    io::{self, Read as _, Write as _},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream},
    time::Duration,
};

use serde_json::Value;

use crate::{
    diagnostic::Diagnostic,
    exit,
    failure::Failure,
    output::{self, Format},
    workspace::Globals,
};

/// How long the daemon may take for each step of the answer.
const TIMEOUT: Duration = Duration::from_secs(3);

/// The longest answer that is read.
const MAX_ANSWER: u64 = 64 << 10;

/// Prints the readiness of the daemon that listens on `listen`. Fails with exit code 5 if it is not ready.
pub(super) fn check_daemon(listen: SocketAddr, globals: &Globals) -> Result<(), Failure> {
    if listen.port() == 0 {
        return Err(Failure::usage_error("the setting server.listen has port 0, so the port is unknown")
            .with_hint("pass the address that the daemon printed with --listen"));
    }
    let address = SocketAddr::new(reachable_address(listen.ip()), listen.port());
    let (status, body) = request_readiness(address)
        .map_err(|error| not_ready(format!("no daemon answers on http://{address}: {error}")))?;
    let word = body["status"].as_str().unwrap_or("unknown");
    match Format::from_globals(globals) {
        Format::Json => output::print_json(&body)?,
        Format::Text => output::print_text(&format!("{}\n", output::sanitize_text(word)))?,
    }
    match status {
        200 => Ok(()),
        _ => Err(not_ready(format!(
            "the daemon on http://{address} is not ready: {}",
            output::sanitize_text(word)
        ))),
    }
}

fn not_ready(message: String) -> Failure {
    Failure::Reported(Box::new(Diagnostic::new(
        hinagata::Code::System.as_str(),
        exit::Code::Network,
        message,
    )))
}

/// The address at which this machine reaches a daemon that listens on `listen`.
const fn reachable_address(listen: IpAddr) -> IpAddr {
    match listen {
        IpAddr::V4(address) if address.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(address) if address.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        other => other,
    }
}

/// The status and the body of `GET /readyz`.
fn request_readiness(address: SocketAddr) -> io::Result<(u16, Value)> {
    let mut connection = TcpStream::connect_timeout(&address, TIMEOUT)?;
    connection.set_read_timeout(Some(TIMEOUT))?;
    connection.set_write_timeout(Some(TIMEOUT))?;
    write!(connection, "GET /readyz HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n")?;
    let mut answer = String::new();
    connection.take(MAX_ANSWER).read_to_string(&mut answer)?;
    let invalid = || io::Error::new(io::ErrorKind::InvalidData, "the answer is not that of a daemon");
    let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(invalid)?;
    let status =
        head.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok()).ok_or_else(invalid)?;
    let body = serde_json::from_str(body).map_err(|_| invalid())?;
    Ok((status, body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daemon_on_all_addresses_is_asked_on_this_machine() {
        let asked = |listen: &str| reachable_address(listen.parse().expect("an address")).to_string();
        assert_eq!(asked("0.0.0.0"), "127.0.0.1");
        assert_eq!(asked("::"), "::1");
        assert_eq!(asked("10.1.2.3"), "10.1.2.3");
    }
}
