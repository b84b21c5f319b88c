//! Prompts as Agent Skills, by the extension `io.modelcontextprotocol/skills`.

use hinagata::Digest;
use rmcp::{
    ErrorData,
    model::{ClientRequest, CustomRequest, ErrorCode, ReadResourceRequestParams, ServerResult},
};
use serde_json::{Value, json};

use crate::support::{Client, ERAS, Served, refused};

async fn ask(client: &Client, method: &str, params: Value) -> Result<Value, ErrorData> {
    let request = ClientRequest::CustomRequest(CustomRequest::new(method, Some(params)));
    match client.client.send_request(request).await {
        Ok(ServerResult::CustomResult(result)) => Ok(result.0),
        Ok(other) => Ok(serde_json::to_value(other).expect("is JSON")),
        Err(error) => Err(refused(error)),
    }
}

const GREET: (&str, &str) = (
    "greet_all/template.md",
    "---\ndescription: Greets everybody\ninputs:\n  who: {type: string, required: true}\n---\nGreet {{ who }}.\n",
);

#[tokio::test]
async fn skills_are_listed_with_the_digest_of_what_is_read() {
    let served = Served::with(&[GREET, ("today/template.md", "It is {{ system.date }}.\n")]);
    for era in ERAS {
        let client = served.client(era).await;
        let capabilities = client.client.peer().peer_info().expect("is known").capabilities.clone();
        let extensions = capabilities.extensions.expect("are declared");
        assert!(extensions.contains_key("io.modelcontextprotocol/skills"), "{era:?}");
        let listed = ask(&client, "skills/list", json!({})).await.expect("lists");
        let skill = |name: &str| {
            let all = listed["skills"].as_array().expect("a list");
            all.iter().find(|skill| skill["frontmatter"]["name"] == name).cloned().unwrap_or_default()
        };
        let greet = skill("greet-all");
        assert_eq!(greet["uri"], "skill://greet-all/SKILL.md", "{listed}");
        assert_eq!(greet["frontmatter"]["description"], "Greets everybody");
        assert_eq!(skill("today")["resources"], "dynamic", "its text changes with the time");
        let uri = "skill://greet-all/SKILL.md";
        let read = client.client.read_resource(ReadResourceRequestParams::new(uri)).await.expect("reads");
        let text = serde_json::to_value(&read).expect("is JSON")["contents"][0]["text"].clone();
        let text = text.as_str().expect("a text").to_owned();
        assert!(text.contains("Greet [who]."), "{text}");
        let file = &greet["resources"][0];
        assert_eq!(file["size"], text.len());
        assert_eq!(file["digest"], format!("sha256:{}", Digest::sha256(text.as_bytes())));
        let got = ask(&client, "skills/get", json!({"uri": uri})).await.expect("is there");
        assert_eq!((&got["skill"], &got["resultType"]), (&greet, &json!("complete")));
    }
}

#[tokio::test]
async fn unknown_skills_and_invalid_params_are_rejected() {
    let served = Served::with(&[GREET]);
    for era in ERAS {
        let client = served.client(era).await;
        for (method, params) in [
            ("skills/get", json!({"uri": "skill://none/SKILL.md"})),
            ("skills/get", json!({"uri": 5})),
            ("skills/list", json!({"cursor": "x"})),
        ] {
            let error = ask(&client, method, params.clone()).await.expect_err("is refused");
            assert_eq!(error.code, ErrorCode::INVALID_PARAMS, "{method} {params}");
        }
    }
}
