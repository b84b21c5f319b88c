//! The hosts that tools call and the settings do not allow, for those who move documents here from elsewhere.

use std::collections::BTreeMap;

use hinagata::ports::ToolDocument;
use reqwest::Url;

use crate::{
    definition::{CallKind, ToolDefinition},
    settings::ToolSettings,
};

/// A host that tools call and the settings do not allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedHost {
    /// The name or address.
    pub host: String,
    /// The TCP port.
    pub port: u16,
    /// The ids of the tools.
    pub tools: Vec<String>,
}

impl ToolSettings {
    /// The hosts that valid definitions among `documents` call and these settings do not allow, sorted by name. Names are
    /// not resolved.
    #[must_use]
    pub fn refused_hosts(&self, documents: &[ToolDocument]) -> Vec<RefusedHost> {
        let mut refused: BTreeMap<(String, u16), Vec<String>> = BTreeMap::new();
        for document in documents {
            let Ok(definition) = ToolDefinition::from_document(document) else { continue };
            let Some((host, port)) = called_host(&definition.call) else { continue };
            if !self.hosts.allows_host(&host, port) {
                refused.entry((host, port)).or_default().push(document.id.clone());
            }
        }
        let refused = refused.into_iter();
        refused.map(|((host, port), tools)| RefusedHost { host, port, tools }).collect()
    }
}

/// The host that a definition names; `None` where the settings name it, which allows it too.
fn called_host(call: &CallKind) -> Option<(String, u16)> {
    match call {
        CallKind::Restful { url, .. } => {
            let url = Url::parse(url).ok()?;
            Some((url.host_str()?.to_owned(), url.port_or_known_default()?))
        }
        CallKind::Grpc { url } => {
            let (host, port) = url.split('/').next()?.rsplit_once(':')?;
            Some((host.to_owned(), port.parse().ok()?))
        }
        CallKind::Mcp => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn hosts_are_listed_once_with_their_tools() {
        let document = |id: &str, document: Value| ToolDocument {
            id: id.to_owned(),
            origin: id.to_owned(),
            document,
            replaces: false,
        };
        let documents = [
            document("a", json!({"url": "http://code.example/find"})),
            document("b", json!({"restful": {"url": "http://code.example:80/look", "method": "GET"}})),
            document("c", json!({"grpc": {"url": "[::1]:50051/p.S/M"}})),
            document("d", json!({"url": "/relative"})),
            document("e", json!({"url": "https://known.example/"})),
            document("f", json!({"type": "mcp", "module": "m"})),
        ];
        let mut settings = ToolSettings::default();
        settings.hosts.add_entry("known.example").expect("is a host");
        let refused = settings.refused_hosts(&documents);
        let shown: Vec<String> =
            refused.iter().map(|one| format!("{}:{} {}", one.host, one.port, one.tools.join(","))).collect();
        assert_eq!(shown, ["[::1]:50051 c", "code.example:80 a,b"]);
    }
}
