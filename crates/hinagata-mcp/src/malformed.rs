//! Errors for input that is not a valid message. A request with an id is always answered with that id.

use rmcp::{
    ErrorData,
    model::{
        CallToolRequestParams, CompleteRequestParams, ErrorCode, GetPromptRequestParams,
        InitializeRequestParams, PaginatedRequestParams, ReadResourceRequestParams, RequestId,
        ServerJsonRpcMessage, SubscribeRequestParams, UnsubscribeRequestParams,
    },
};
use serde::{
    Deserialize,
    de::{DeserializeOwned, IgnoredAny},
};
use serde_json::{Value, error::Category};

/// The parts of a malformed message that can still be read. The rest is skipped, so its depth and contents do not
/// matter.
#[derive(Deserialize)]
struct Envelope {
    id: Option<RequestId>,
    method: Option<IgnoredAny>,
    result: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
}

/// The error for `text`, which could not be read because of `problem`. `None` for notifications and responses, which
/// get no answer.
pub(crate) fn malformed_error(text: &[u8], problem: &serde_json::Error) -> Option<ServerJsonRpcMessage> {
    if let Err(error) = serde_json::from_slice::<IgnoredAny>(text) {
        let error = ErrorData::new(ErrorCode::PARSE_ERROR, format!("invalid JSON: {error}"), None);
        return Some(ServerJsonRpcMessage::error(error, None));
    }
    let not_a_message = || ErrorData::invalid_request("not a JSON-RPC 2.0 message", None);
    let Ok(envelope) = serde_json::from_slice::<Envelope>(text) else {
        return Some(ServerJsonRpcMessage::error(not_a_message(), None));
    };
    let is_answer = envelope.result.is_some() || envelope.error.is_some();
    match envelope {
        _ if is_answer => None,
        Envelope { id: None, method: Some(_), .. } => None,
        // The message is well formed, but one of its values cannot be represented.
        Envelope { id, method: Some(_), .. } if problem.classify() != Category::Data => {
            let error = ErrorData::invalid_params(format!("cannot read the params: {problem}"), None);
            Some(ServerJsonRpcMessage::error(error, id))
        }
        Envelope { id, .. } => Some(ServerJsonRpcMessage::error(not_a_message(), id)),
    }
}

/// The error in the params of a request, or `None` for methods that are not served.
pub(crate) fn params_error(method: &str, params: Option<&Value>) -> Option<ErrorData> {
    let problem = match method {
        "initialize" => deserialize_problem::<InitializeRequestParams>(params),
        "prompts/get" => deserialize_problem::<GetPromptRequestParams>(params),
        "completion/complete" => deserialize_problem::<CompleteRequestParams>(params),
        "resources/read" => deserialize_problem::<ReadResourceRequestParams>(params),
        "resources/subscribe" => deserialize_problem::<SubscribeRequestParams>(params),
        "resources/unsubscribe" => deserialize_problem::<UnsubscribeRequestParams>(params),
        "tools/call" => deserialize_problem::<CallToolRequestParams>(params),
        "prompts/list" | "resources/list" | "resources/templates/list" | "tools/list" => {
            deserialize_problem::<PaginatedRequestParams>(params)
        }
        "ping" | "server/discover" | "subscriptions/listen" => None,
        _ => return None,
    };
    let problem = problem.unwrap_or_else(|| "not accepted by this method".to_owned());
    Some(ErrorData::invalid_params(format!("invalid params of `{method}`: {problem}"), None))
}

fn deserialize_problem<T: DeserializeOwned>(params: Option<&Value>) -> Option<String> {
    let Some(params) = params.filter(|params| !params.is_null()) else { return Some("missing".to_owned()) };
    if !params.is_object() {
        return Some("must be an object".to_owned());
    }
    T::deserialize(params).err().map(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn response_to(text: &str) -> Option<Value> {
        let problem =
            serde_json::from_str::<rmcp::model::ClientJsonRpcMessage>(text).expect_err("is malformed");
        malformed_error(text.as_bytes(), &problem)
            .map(|answer| serde_json::to_value(answer).expect("is JSON"))
    }

    #[test]
    fn a_malformed_request_is_answered_with_its_id() {
        let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
        for (text, code, id) in [
            ("{", -32700, Value::Null),
            ("nonsense", -32700, Value::Null),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping""#, -32700, Value::Null),
            (
                r#"{"jsonrpc":"2.0","id":7,"method":"prompts/get","params":{"name":"\ud800"}}"#,
                -32602,
                json!(7),
            ),
            (
                &format!(r#"{{"jsonrpc":"2.0","id":"x","method":"prompts/get","params":{deep}}}"#),
                -32602,
                json!("x"),
            ),
            (r#"{"id":3,"method":"ping"}"#, -32600, json!(3)),
            (r#"{"jsonrpc":"2.0","id":4}"#, -32600, json!(4)),
            (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, -32600, Value::Null),
            ("[]", -32600, Value::Null),
            ("5", -32600, Value::Null),
        ] {
            let response = response_to(text).unwrap_or_else(|| panic!("{text} is answered"));
            assert_eq!((&response["error"]["code"], &response["id"]), (&json!(code), &id), "{response}");
        }
        assert_eq!(response_to(r#"{"method":"notifications/x","params":{}}"#), None);
        assert_eq!(response_to(r#"{"id":1,"result":"\ud800"}"#), None, "responses get no answer");
    }

    #[test]
    fn invalid_params_are_reported_with_the_reason() {
        for (method, params, reason) in [
            ("prompts/get", Some(json!({"name": 5})), "string"),
            ("prompts/get", Some(json!({"name": "x", "arguments": []})), "map"),
            ("prompts/get", None, "missing"),
            ("prompts/get", Some(json!([])), "object"),
            (
                "completion/complete",
                Some(json!({"ref": {"type": "x"}, "argument": {"name": "a", "value": ""}})),
                "ref",
            ),
            ("resources/read", Some(json!({})), "uri"),
            ("prompts/list", Some(json!({"cursor": 5})), "string"),
        ] {
            let error = params_error(method, params.as_ref()).expect("is a served method");
            assert_eq!(error.code, ErrorCode::INVALID_PARAMS);
            assert!(error.message.contains(reason), "{method}: {}", error.message);
        }
        assert!(params_error("no/such", None).is_none());
    }
}
