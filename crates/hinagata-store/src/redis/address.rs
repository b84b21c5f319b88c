//! Addresses of Redis servers.

use hinagata::{Code, Error, Reason, Result};
use redis::{
    Client, ConnectionAddr, ConnectionInfo, IntoConnectionInfo as _, ProtocolVersion, TlsCertificates,
};

use super::RedisOptions;

/// The servers of a store.
#[derive(Clone)]
pub(super) struct ServerAddress {
    /// The servers to connect to first, or the sentinels that know the server.
    seeds: Vec<ConnectionInfo>,
    /// The name of the server, as the sentinels know it.
    pub(super) master: Option<String>,
    /// The settings of the server itself, if the seeds are sentinels.
    server: ConnectionInfo,
    certificates: Option<Vec<u8>>,
}

/// The URL schemes for sentinels.
const SENTINEL: &str = "redis+sentinel://";
const SENTINEL_TLS: &str = "rediss+sentinel://";

impl ServerAddress {
    pub(super) fn parse(url: &str, options: &RedisOptions) -> Result<Self> {
        let sentinel = url.strip_prefix(SENTINEL).map(|rest| ("redis://", rest));
        let sentinel = sentinel.or_else(|| url.strip_prefix(SENTINEL_TLS).map(|rest| ("rediss://", rest)));
        let (scheme, rest) = match sentinel {
            Some(found) => found,
            None => {
                let end = url.find("://").map_or(0, |end| end + 3);
                url.split_at(end)
            }
        };
        let (login, rest) =
            rest.rsplit_once('@').map_or((String::new(), rest), |(login, rest)| (format!("{login}@"), rest));
        let (hosts, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (master, path) = match sentinel {
            None => (None, path),
            Some(_) => {
                let (master, path) = path.split_once('/').unwrap_or((path, ""));
                if master.is_empty() {
                    return Err(address_error("the name of the master is missing"));
                }
                (Some(master.to_owned()), path)
            }
        };
        let info = |login: &str, host: &str, path: &str| {
            format!("{scheme}{login}{host}/{path}")
                .into_connection_info()
                .map(with_resp3)
                .map_err(|error| address_error(&error.to_string()))
        };
        let seed = |host: &str| match &master {
            None => info(&login, host, path),
            // The password belongs to the server. Sentinels have no password and no databases here.
            Some(_) => info(
                "",
                if host.contains(':') { host.to_owned() } else { format!("{host}:26379") }.as_str(),
                "",
            ),
        };
        let seeds = hosts.split(',').map(|host| seed(host.trim())).collect::<Result<Vec<_>>>()?;
        let server = info(&login, hosts.split(',').next().unwrap_or_default().trim(), path)?;
        let read = |path: &std::path::PathBuf| {
            std::fs::read(path).map_err(|error| {
                Error::definition(Reason::Certificates, format!("cannot read `{}`", path.display()))
                    .with_source(error)
            })
        };
        let certificates = options.certificates.as_ref().map(read).transpose()?;
        Ok(Self { seeds, master, server, certificates })
    }

    pub(super) fn seeds(&self) -> &[ConnectionInfo] {
        &self.seeds
    }

    /// The server at `host` and `port`, with the credentials and TLS settings of this address.
    pub(super) fn server_at(&self, host: &str, port: u16) -> ConnectionInfo {
        let address = match self.server.addr() {
            ConnectionAddr::TcpTls { insecure, tls_params, .. } => ConnectionAddr::TcpTls {
                host: host.to_owned(),
                port,
                insecure: *insecure,
                tls_params: tls_params.clone(),
            },
            _ => ConnectionAddr::Tcp(host.to_owned(), port),
        };
        self.server.clone().set_addr(address)
    }

    /// Opens a client for one server.
    pub(super) fn open_client(&self, info: ConnectionInfo) -> redis::RedisResult<Client> {
        match (info.addr(), &self.certificates) {
            (ConnectionAddr::TcpTls { .. }, certificates) => {
                hinagata_http::install_tls();
                let root_cert = certificates.clone();
                Client::build_with_tls(info, TlsCertificates { client_tls: None, root_cert })
            }
            _ => Client::open(info),
        }
    }

    /// The address for display, without credentials.
    pub(super) fn display_name(&self) -> String {
        let seeds: Vec<String> = self.seeds.iter().map(|seed| seed.addr().to_string()).collect();
        match &self.master {
            None => format!("Redis at {}", seeds.join(", ")),
            Some(master) => format!("Redis `{master}` behind the sentinels {}", seeds.join(", ")),
        }
    }
}

/// Uses RESP3, which can deliver notifications on the same connection.
fn with_resp3(info: ConnectionInfo) -> ConnectionInfo {
    let settings = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP3);
    info.set_redis_settings(settings)
}

/// Uses RESP2, which every server supports.
pub(super) fn with_resp2(info: ConnectionInfo) -> ConnectionInfo {
    let settings = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP2);
    info.set_redis_settings(settings)
}

fn address_error(problem: &str) -> Error {
    Error::new(Code::Definition, format!("invalid store address: {problem}"))
        .with("setting", "store.url")
        .with_hint("use `embedded`, `memory`, or a URL such as redis://user:password@localhost:6379/0")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(url: &str) -> ServerAddress {
        ServerAddress::parse(url, &RedisOptions::default()).expect("is valid")
    }

    #[test]
    fn addresses_are_displayed_without_passwords() {
        let address = parsed("redis://me:p%40ss@one:7000,two/2");
        assert_eq!(address.display_name(), "Redis at one:7000, two:6379");
        let info = &address.seeds()[1];
        assert_eq!(info.redis_settings().password(), Some("p@ss"));
        assert_eq!((info.redis_settings().username(), info.redis_settings().db()), (Some("me"), 2));

        let address = parsed("redis+sentinel://me:secret@one,two:7/main/3");
        assert_eq!(address.display_name(), "Redis `main` behind the sentinels one:26379, two:7");
        assert_eq!(address.seeds()[0].redis_settings().password(), None);
        let server = address.server_at("three", 8);
        assert_eq!(server.addr().to_string(), "three:8");
        assert_eq!((server.redis_settings().password(), server.redis_settings().db()), (Some("secret"), 3));
    }

    #[test]
    fn the_error_for_an_invalid_address_hides_its_password() {
        for url in ["", "http://x", "redis+sentinel://one", "redis://me:secret@host:port/"] {
            let error = ServerAddress::parse(url, &RedisOptions::default()).err().expect("is invalid");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }
}
