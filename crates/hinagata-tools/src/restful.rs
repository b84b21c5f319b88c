//! Tools that are called by a request of HTTP with JSON.

use hinagata::{Error, Result};
use reqwest::{Method, Url, header};
use serde_json::Value;

use crate::{
    failure::{tool_error, truncate_for_display},
    http::{HttpClients, read_body, request_error, status_error},
    settings::ToolSettings,
};

/// A request that can be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RestEndpoint {
    method: Method,
    url: Url,
}

impl RestEndpoint {
    /// Where a tool of `module` is called.
    ///
    /// # Errors
    /// Code `definition`, reason `tool`, when a relative address has nothing to be added to.
    pub(crate) fn new(
        settings: &ToolSettings,
        module: Option<&str>,
        method: &str,
        url: &str,
    ) -> Result<Self> {
        let method = Method::from_bytes(method.as_bytes())
            .map_err(|_| Error::definition("tool", format!("`{method}` is no method of HTTP")))?;
        Ok(Self { method, url: resolve_url(settings, module, url)? })
    }

    /// Makes the request and gives the answer.
    pub(crate) async fn call_tool(
        &self,
        clients: &HttpClients,
        settings: &ToolSettings,
        module: Option<&str>,
        arguments: &Value,
    ) -> Result<Value> {
        let (client, mut url) = (clients.get(&self.url)?, self.url.clone());
        let mut request = match self.method {
            Method::GET => {
                let pairs = query_pairs(arguments);
                if !pairs.is_empty() {
                    url.query_pairs_mut().extend_pairs(pairs);
                }
                client.get(url)
            }
            _ => client.request(self.method.clone(), url).json(arguments),
        };
        if let Some(module) = settings.module(module) {
            request = request.headers(module.headers.to_header_map()?);
        }
        let response =
            request.header(header::ACCEPT, "application/json").send().await.map_err(request_error)?;
        let status = response.status();
        let is_text = response
            .headers()
            .get(header::CONTENT_TYPE)
            .and_then(|kind| kind.to_str().ok())
            .is_some_and(|kind| kind.starts_with("text/"));
        let bytes = read_body(response, settings.max_answer).await?;
        match status.is_success() {
            true => parse_answer(&bytes, is_text),
            false => Err(status_error(status.as_u16(), &bytes)),
        }
    }
}

fn resolve_url(settings: &ToolSettings, module: Option<&str>, url: &str) -> Result<Url> {
    let wrong = |why: String| Error::definition("tool", format!("`{url}` is no address of a tool: {why}"));
    if url.contains("://") {
        return Url::parse(url).map_err(|error| wrong(error.to_string()));
    }
    let Some(base) = settings.base_url(module) else {
        let setting = match module {
            Some(module) => format!("`tools.modules.{module}.base_url` or `tools.base_url`"),
            None => "`tools.base_url`".to_owned(),
        };
        return Err(wrong("it is relative, and the settings do not say to what".to_owned())
            .with_hint(format!("set {setting}")));
    };
    // Put together as text: what is added can change neither host nor port.
    let whole = format!("{}/{}", base.trim_end_matches('/'), url.trim_start_matches('/'));
    let (joined, base) = (Url::parse(&whole), Url::parse(base));
    match (joined, base) {
        (Ok(joined), Ok(base)) if joined.path().starts_with(base.path().trim_end_matches('/')) => Ok(joined),
        (Ok(_), Ok(_)) => Err(wrong("it leads out of the address it is added to".to_owned())),
        (Err(error), _) | (_, Err(error)) => Err(wrong(error.to_string())),
    }
}

/// The arguments as those of an address: texts as they are, everything else as JSON, and a list as `args`.
fn query_pairs(arguments: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match arguments {
        Value::Object(all) => all.iter().map(|(key, value)| (key.clone(), text(value))).collect(),
        Value::Array(all) => all.iter().map(|value| ("args".to_owned(), text(value))).collect(),
        other => vec![("args".to_owned(), text(other))],
    }
}

fn parse_answer(bytes: &[u8], is_text: bool) -> Result<Value> {
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    if is_text {
        let text = std::str::from_utf8(bytes).map_err(|_| tool_error("answer", "its answer is no UTF-8"))?;
        return Ok(Value::from(text));
    }
    serde_json::from_slice(bytes).map_err(|error| {
        let start = truncate_for_display(&String::from_utf8_lossy(&bytes[..bytes.len().min(400)]));
        tool_error("answer", format!("its answer is no JSON: {error}")).with("answer", start)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::settings::ModuleSettings;

    fn settings() -> ToolSettings {
        let module =
            ModuleSettings { base_url: Some("https://m.test/api/".to_owned()), ..Default::default() };
        ToolSettings {
            base_url: Some("https://all.test".to_owned()),
            modules: [("m".to_owned(), module)].into(),
            ..ToolSettings::default()
        }
    }

    #[test]
    fn a_relative_address_is_added_to_that_of_its_module_or_of_all() {
        let of = |module: Option<&str>, url: &str| resolve_url(&settings(), module, url).map(String::from);
        assert_eq!(of(Some("m"), "/zh/en").expect("is one"), "https://m.test/api/zh/en");
        assert_eq!(of(Some("other"), "zh?x=1").expect("is one"), "https://all.test/zh?x=1");
        assert_eq!(of(None, "http://h.test/x").expect("is one"), "http://h.test/x");
        assert_eq!(of(Some("m"), "//evil.test/x").expect("is one"), "https://m.test/api/evil.test/x");
        assert!(of(Some("m"), "a/%2e%2e/%2e%2e/x").is_err(), "leads out");
        let error = resolve_url(&ToolSettings::default(), Some("m"), "/x").expect_err("has no base");
        assert!(error.hint().is_some_and(|hint| hint.contains("tools.modules.m.base_url")), "{error:?}");
    }

    #[test]
    fn arguments_of_a_query_are_texts_or_json() {
        let pairs = query_pairs(&json!({"a": "x y", "b": [1, 2], "c": true}));
        let shown: Vec<_> = pairs.iter().map(|(key, value)| format!("{key}={value}")).collect();
        assert_eq!(shown, ["a=x y", "b=[1,2]", "c=true"]);
        assert_eq!(query_pairs(&json!(["a", 1])).len(), 2);
    }
}
