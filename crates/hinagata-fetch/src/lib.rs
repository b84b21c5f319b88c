//! Fetches packs from other machines and from git repositories.
//!
//! [`Fetcher`] is the [`PackSource`] of programs that may fetch: archives and indexes over https, packs of repositories
//! through the system's `git`. Whatever it returns is untrusted; `hinagata-packs` compares hashes and checks names.

mod download;
mod git;

use hinagata_document::{Error, Reason, Result};
use hinagata_http::{AllowedHosts, HttpClient};
use hinagata_packs::{GitLocation, PackSink, PackSource};
use hinagata_workspace::Settings;

/// Fetches over https and with the system's `git`.
#[derive(Clone)]
pub struct Fetcher {
    /// Private hosts that may be reached besides public ones.
    hosts: Vec<String>,
}

impl Fetcher {
    /// A fetcher that reaches public hosts, and those of the setting `packs.allowed_hosts`.
    ///
    /// # Errors
    /// Code `definition`, reason `settings`, for an invalid host.
    pub fn from_settings(settings: &Settings) -> Result<Self> {
        let hosts = settings.texts("packs.allowed_hosts");
        AllowedHosts::parse(&hosts).map_err(|error| {
            Error::definition(Reason::Settings, format!("`packs.allowed_hosts`: {error}"))
                .with("setting", "packs.allowed_hosts")
        })?;
        Ok(Self { hosts })
    }
}

impl PackSource for Fetcher {
    fn download(&self, address: &str, limit: u64) -> Result<Vec<u8>> {
        let allowed = download::allowed_hosts(address, &self.hosts)?;
        download::download(&HttpClient::new(allowed), address, limit)
    }

    fn resolve_revision(&self, location: &GitLocation) -> Result<String> {
        git::resolve_revision(location)
    }

    fn list_tags(&self, location: &GitLocation) -> Result<Vec<String>> {
        git::list_tags(location)
    }

    fn read_commit(&self, location: &GitLocation, commit: &str, sink: &mut dyn PackSink) -> Result<()> {
        git::read_commit(location, commit, sink)
    }
}
