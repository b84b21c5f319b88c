//! The list of models: prompts, and the models of the settings that callers may name.

use serde_json::{Value, json};

use super::request::PREFIX;
use crate::{
    answer::json_response,
    call::{Answer, Call},
    problem::Problem,
};

/// The largest page, and the usual one of Anthropic's clients.
const MAX_PAGE: usize = 10_000;
const USUAL_PAGE: usize = 20;

/// When a prompt was made is unknown.
const UNKNOWN_TIME: &str = "1970-01-01T00:00:00Z";

struct ListedModel {
    id: String,
    title: String,
}

/// `GET /v1/models`
pub(in super::super) async fn list_models(call: Call) -> Answer {
    let catalog = call.engine().catalog();
    let title = |listing: &hinagata::Listing| {
        let metadata = listing.definition.as_ref().ok().map(|definition| &definition.metadata);
        metadata.and_then(|metadata| metadata.title.clone()).unwrap_or_else(|| listing.id.as_str().to_owned())
    };
    let listed = catalog.list().into_iter().filter(|listing| listing.definition.is_ok());
    let prompts = listed.map(|listing| ListedModel {
        id: format!("{PREFIX}{}", listing.id.as_str()),
        title: title(&listing),
    });
    let named = call.app.settings.listed_models.iter();
    let named = named.map(|name| ListedModel { id: name.clone(), title: name.clone() });
    let all: Vec<ListedModel> = prompts.chain(named).collect();
    let is_anthropic = call.parts.headers.contains_key("anthropic-version");
    let (page, has_more) = read_page(&call, &all, if is_anthropic { USUAL_PAGE } else { MAX_PAGE })?;
    let ends = [page.first(), page.last()].map(|model| model.map(|model| model.id.as_str()));
    json_response(&match is_anthropic {
        true => json!({
            "data": page.iter().map(anthropic_model).collect::<Vec<_>>(), "has_more": has_more,
            "first_id": ends[0], "last_id": ends[1],
        }),
        false => json!({"object": "list", "data": page.iter().map(openai_model).collect::<Vec<_>>()}),
    })
}

fn openai_model(model: &ListedModel) -> Value {
    json!({"id": model.id, "object": "model", "created": 0, "owned_by": "hinagata"})
}

fn anthropic_model(model: &ListedModel) -> Value {
    json!({"type": "model", "id": model.id, "display_name": model.title, "created_at": UNKNOWN_TIME})
}

/// The page that the query asks for, as Anthropic's clients do: `limit`, and the id behind or before which it is; and
/// whether more follow.
fn read_page<'m>(
    call: &Call,
    all: &'m [ListedModel],
    usual: usize,
) -> Result<(&'m [ListedModel], bool), Problem> {
    let (mut limit, mut range, mut is_from_end) = (usual, 0..all.len(), false);
    for (name, value) in call.query_pairs() {
        let place = || {
            let found = all.iter().position(|model| model.id == value);
            found.ok_or_else(|| {
                Problem::bad_request(format!("`{name}` is not the id of a model")).about_param(&name)
            })
        };
        match name.as_str() {
            "limit" => {
                let asked = value.parse().ok().filter(|limit| (1..=MAX_PAGE).contains(limit));
                limit = asked.ok_or_else(|| {
                    let message = format!("`limit` must be a number from 1 to {MAX_PAGE}, not `{value}`");
                    Problem::bad_request(message).about_param("limit")
                })?;
            }
            "after_id" => range.start = place()? + 1,
            "before_id" => {
                range.end = place()?;
                is_from_end = true;
            }
            _ => {
                return Err(
                    Problem::bad_request(format!("unknown query parameter `{name}`")).about_param(&name)
                );
            }
        }
    }
    let found = all.get(range).unwrap_or_default();
    let page = match is_from_end {
        true => &found[found.len().saturating_sub(limit)..],
        false => &found[..found.len().min(limit)],
    };
    Ok((page, page.len() < found.len()))
}
