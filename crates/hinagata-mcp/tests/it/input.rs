//! Missing and wrong arguments are requested if the client supports forms.

use rmcp::model::{ErrorCode, GetPromptRequestParams, GetPromptResponse};
use serde_json::{Value, json};

use crate::support::{ERAS, Era, Served, refused};

/// A prompt with every kind of field.
const FIELDS: &str = "parameters:
  - {name: title, type: string, required: true, schema: {minLength: 2, maxLength: 20, pattern: '^[a-z ]+$'}}
  - {name: count, type: integer, required: true, schema: {minimum: 1, maximum: 9}}
  - {name: size, type: integer, enum: [1, 2, 3], default: 2, description: How large}
  - {name: parts, type: list, schema: {items: {enum: [door, lamp, 5]}}}
  - {name: more, type: dict}
  - {name: token, type: string, secret: true}
  - {name: quiet, type: boolean, default: false}
messages: [{role: user, content: '{{ title }}/{{ count }}/{{ size }}/{{ parts }}/{{ quiet }}'}]
";

const SECRET: &str = "parameters:
  - {name: token, type: string, secret: true, required: true}
  - {name: text, type: string, required: true}
messages: [{role: user, content: '{{ text }}{{ token }}'}]
";

#[tokio::test]
async fn a_client_with_forms_is_asked_for_missing_arguments() {
    let served = Served::fixtures();
    for era in ERAS {
        let client = served.answering(era, json!({"context": "the roof"})).await;
        let text = client.text("test_input_required_result_prompt", json!({})).await;
        assert_eq!(text, "Please answer with this context in mind: the roof", "{era:?}");
    }
}

#[tokio::test]
async fn an_incomplete_form_is_shown_three_times() {
    let served = Served::fixtures();
    for era in ERAS {
        for answer in [json!({"other": "x"}), json!({"context": ""})] {
            let mut client = served.answering(era, answer).await;
            let error = client.get("test_input_required_result_prompt", json!({})).await;
            let error = error.expect_err("is missing still");
            assert_eq!(error.code, ErrorCode::INVALID_PARAMS, "{era:?}");
            assert_eq!(error.data.expect("has data")["missing"], json!(["context"]));
            assert_eq!(client.forms().len(), 3);
        }
    }
}

#[tokio::test]
async fn a_wrong_answer_is_asked_again_and_what_was_typed_is_kept() {
    let served = Served::with(&[("fields/prompt.yaml", FIELDS)]);
    for era in ERAS {
        let answers = vec![
            json!({"title": "a lamp", "count": 12, "size": "3", "parts": ["lamp", "5"], "quiet": true}),
            json!({"title": "A Lamp", "count": 7, "size": "3", "parts": ["lamp", "5"], "quiet": true}),
            json!({"title": "a lamp", "count": 7, "size": "3", "parts": ["lamp", "5"], "quiet": true}),
        ];
        let mut client = served.host_with_forms(era, "test", answers).await;
        assert_eq!(client.text("fields", json!({})).await, "a lamp/7/3/['lamp', 5]/True", "{era:?}");
        let forms = client.forms();
        assert_eq!(forms.len(), 3);
        assert!(forms[1]["message"].as_str().is_some_and(|text| text.contains("`count`")), "{}", forms[1]);
        assert!(forms[2]["message"].as_str().is_some_and(|text| text.contains("`title`")), "{}", forms[2]);
        let typed = &forms[2]["requestedSchema"]["properties"];
        assert_eq!(
            [&typed["title"]["default"], &typed["count"]["default"], &typed["size"]["default"]],
            [&json!("A Lamp"), &json!(7), &json!("3")]
        );
        assert_eq!(
            (&typed["parts"]["default"], &typed["quiet"]["default"]),
            (&json!(["lamp", "5"]), &json!(true))
        );
    }
}

#[tokio::test]
async fn the_form_follows_the_declarations() {
    let served = Served::with(&[("fields/prompt.yaml", FIELDS)]);
    for era in ERAS {
        let mut client = served.host_with_forms(era, "test", vec![Value::Null]).await;
        // A wrong value and a missing one are in the same form.
        let error = client.get("fields", json!({"count": "many"})).await.expect_err("is declined");
        assert!(error.message.contains("the form of `fields` was declined"), "{}", error.message);
        let form = client.forms().pop().expect("is shown");
        assert_eq!(
            form["message"], "The prompt `fields` requires a value. `count` must be an integer, not `many`",
            "{era:?}"
        );
        let schema = &form["requestedSchema"];
        assert_eq!(schema["required"], json!(["title", "count"]));
        assert_eq!(
            schema["properties"],
            json!({
                "title": {"type": "string", "title": "title", "description": "matching ^[a-z ]+$", "minLength": 2, "maxLength": 20},
                "count": {"type": "integer", "title": "count", "minimum": 1, "maximum": 9},
                "size": {"type": "string", "title": "size", "description": "How large", "enum": ["1", "2", "3"], "default": "2"},
                "parts": {"type": "array", "title": "parts", "items": {"type": "string", "enum": ["door", "lamp", "5"]}},
                "more": {"type": "string", "title": "more", "description": "as JSON"},
                "quiet": {"type": "boolean", "title": "quiet", "default": false},
            })
        );
        let names: Vec<&String> = schema["properties"].as_object().expect("is one").keys().collect();
        assert_eq!(names, ["title", "count", "size", "parts", "more", "quiet"], "required fields are first");
    }
}

#[tokio::test]
async fn given_arguments_are_not_asked_for() {
    let served = Served::fixtures();
    let client = served.answering(Era::Modern, json!({})).await;
    let request = GetPromptRequestParams::new("test_prompt_with_arguments")
        .with_arguments(json!({"arg1": "a"}).as_object().expect("is one").clone());
    let GetPromptResponse::InputRequired(asks) = client.client.get_prompt_once(request).await.expect("asks")
    else {
        panic!("is not asked")
    };
    let asks: Value = serde_json::to_value(asks).expect("is JSON");
    assert_eq!(asks["resultType"], "input_required");
    let form = &asks["inputRequests"]["user_context"]["params"]["requestedSchema"];
    assert_eq!(form["required"], json!(["arg2"]));
    assert_eq!(form["properties"]["arg2"]["type"], "string");
    assert!(form["properties"].get("arg1").is_none());
}

#[tokio::test]
async fn a_secret_is_never_asked_for() {
    let served = Served::with(&[("secret/prompt.yaml", SECRET)]);
    for era in ERAS {
        let mut client = served.answering(era, json!({"token": "t", "text": "x"})).await;
        let error = client.get("secret", json!({})).await.expect_err("is refused");
        assert!(error.message.contains("`token` is secret"), "{era:?}: {}", error.message);
        assert_eq!(error.data.expect("has data")["missing"], json!(["token", "text"]));
        assert!(client.forms().is_empty());
        assert_eq!(client.text("secret", json!({"token": "t"})).await, "xt");
        let form = client.forms().pop().expect("is shown");
        assert!(form["requestedSchema"]["properties"].get("token").is_none());
    }
}

#[tokio::test]
async fn blank_values_count_as_absent() {
    let blank = "parameters:
  - {name: text, type: string, required: true}
  - {name: count, type: integer, default: 3}
  - {name: empty, type: string, required: true, schema: {minLength: 0}}
messages: [{role: user, content: '{{ text }}/{{ count }}/{{ empty }}'}]
";
    let served = Served::with(&[("blank/prompt.yaml", blank)]);
    for era in ERAS {
        let client = served.client(era).await;
        assert_eq!(
            client.text("blank", json!({"text": "x", "count": "", "empty": ""})).await,
            "x/3/",
            "{era:?}"
        );
        let error = client.get("blank", json!({"text": "", "empty": ""})).await.expect_err("is missing");
        assert_eq!(error.data.expect("has data")["missing"], json!(["text"]));
        let client = served.answering(era, json!({"text": "the roof"})).await;
        assert_eq!(client.text("blank", json!({"text": "", "empty": ""})).await, "the roof/3/");
    }
}

#[tokio::test]
async fn invalid_form_responses_are_rejected() {
    let served = Served::fixtures();
    let client = served.client(Era::Modern).await;
    for responses in [
        json!({"user_context": 5}),
        json!({"other": {"action": "accept"}}),
        json!({"user_context": {"action": "accept", "content": 1}}),
    ] {
        let responses = serde_json::from_value(responses).expect("is a map");
        let request =
            GetPromptRequestParams::new("test_input_required_result_prompt").with_input_responses(responses);
        let error = client.client.get_prompt_once(request).await.map_err(refused).expect_err("is refused");
        assert_eq!(error.code, ErrorCode::INVALID_PARAMS);
    }
    let mut request = GetPromptRequestParams::new("test_input_required_result_prompt");
    request.request_state = Some("no state".to_owned());
    let error = client.client.get_prompt_once(request).await.map_err(refused).expect_err("is refused");
    assert!(error.message.contains("requestState"), "{}", error.message);
}
