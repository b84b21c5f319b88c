//! Missing arguments are requested if the client supports forms.

use rmcp::model::{ErrorCode, GetPromptRequestParams, GetPromptResponse};
use serde_json::{Value, json};

use crate::support::{ERAS, Era, Served, refused};

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
async fn an_incomplete_form_is_not_shown_again() {
    let served = Served::fixtures();
    for era in ERAS {
        let client = served.answering(era, json!({"other": "x"})).await;
        let error =
            client.get("test_input_required_result_prompt", json!({})).await.expect_err("is missing still");
        assert_eq!(error.code, ErrorCode::INVALID_PARAMS, "{era:?}");
        assert_eq!(error.data.expect("has data")["missing"], json!(["context"]));
    }
}

#[tokio::test]
async fn the_form_follows_the_parameters() {
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
}
