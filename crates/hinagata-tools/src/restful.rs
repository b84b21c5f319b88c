//! Tools called with JSON over HTTP.

use hinagata::{Error, Reason, Result};
use reqwest::{Method, Url, header};
use serde_json::Value;

use crate::{
    failure::{tool_error, truncate_for_display},
    http::{HttpClients, read_body, request_error, status_error},
    settings::ToolSettings,
};

/// The endpoint of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RestEndpoint {
    method: Method,
    url: Url,
}

impl RestEndpoint {
    /// The endpoint of a tool of `module`.
    ///
    /// # Errors
    /// Code `definition`, reason `tool`, for a relative URL without a base URL.
    pub(crate) fn new(
        settings: &ToolSettings,
        module: Option<&str>,
        method: &str,
        url: &str,
    ) -> Result<Self> {
        let method = Method::from_bytes(method.as_bytes())
            .map_err(|_| Error::definition(Reason::Tool, format!("invalid HTTP method `{method}`")))?;
        Ok(Self { method, url: resolve_url(settings, module, url)? })
    }

    /// Calls the endpoint and returns the response.
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
        if status.is_success() {
            parse_answer(&bytes, is_text)
        } else {
            Err(status_error(status.as_u16(), &bytes))
        }
    }
}

fn resolve_url(settings: &ToolSettings, module: Option<&str>, url: &str) -> Result<Url> {
    let invalid_url =
        |why: String| Error::definition(Reason::Tool, format!("invalid tool URL `{url}`: {why}"));
    if url.contains("://") {
        return Url::parse(url).map_err(|error| invalid_url(error.to_string()));
    }
    let Some(base) = settings.base_url(module) else {
        let setting = match module {
            Some(module) => format!("`tools.modules.{module}.base_url` or `tools.base_url`"),
            None => "`tools.base_url`".to_owned(),
        };
        return Err(invalid_url("it is relative and no base URL is set".to_owned())
            .with_hint(format!("set {setting}")));
    };
    // Joined as text, so that the relative part cannot change the host or the port.
    let whole = format!("{}/{}", base.trim_end_matches('/'), url.trim_start_matches('/'));
    let (joined, base) = (Url::parse(&whole), Url::parse(base));
    match (joined, base) {
        (Ok(joined), Ok(base)) if joined.path().starts_with(base.path().trim_end_matches('/')) => Ok(joined),
        (Ok(_), Ok(_)) => Err(invalid_url("it leads out of the base URL".to_owned())),
        (Err(error), _) | (_, Err(error)) => Err(invalid_url(error.to_string())),
    }
}

/// The arguments as query pairs: strings as they are, other values as JSON, and lists as `args`.
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
        let text = std::str::from_utf8(bytes)
            .map_err(|_| tool_error(Reason::Answer, "the response is not valid UTF-8"))?;
        return Ok(Value::from(text));
    }
    serde_json::from_slice(bytes).map_err(|error| {
        let start = truncate_for_display(&String::from_utf8_lossy(&bytes[..bytes.len().min(400)]));
        tool_error(Reason::Answer, format!("invalid JSON in the response: {error}")).with("answer", start)
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
    fn a_relative_url_uses_the_base_url_of_its_module_or_the_default() {
        let of = |module: Option<&str>, url: &str| resolve_url(&settings(), module, url).map(String::from);
        assert_eq!(of(Some("m"), "/zh/en").expect("is one"), "https://m.test/api/zh/en");
        assert_eq!(of(Some("other"), "zh?x=1").expect("is one"), "https://all.test/zh?x=1");
        assert_eq!(of(None, "http://h.test/x").expect("is one"), "http://h.test/x");
        assert_eq!(of(Some("m"), "//evil.test/x").expect("is one"), "https://m.test/api/evil.test/x");
        assert!(of(Some("m"), "a/%2e%2e/%2e%2e/x").is_err(), "leads out");
        let error = resolve_url(&ToolSettings::default(), Some("m"), "/x").expect_err("has no base");
        assert!(
            error.hint().is_some_and(|hint| hint.to_string().contains("tools.modules.m.base_url")),
            "{error:?}"
        );
    }

    #[test]
    fn query_arguments_are_strings_or_json() {
        let pairs = query_pairs(&json!({"a": "x y", "b": [1, 2], "c": true}));
        let rendered: Vec<_> = pairs.iter().map(|(key, value)| format!("{key}={value}")).collect();
        assert_eq!(rendered, ["a=x y", "b=[1,2]", "c=true"]);
        assert_eq!(query_pairs(&json!(["a", 1])).len(), 2);
    }
}
