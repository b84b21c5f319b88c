//! Looking at prompts.

use std::sync::Arc;

use hinagata::{
    Catalog, Listing, RenderJob,
    source::{Entry, RootKind},
};
use serde_json::{Map, Value, json};

use crate::{
    answer::{self, Wanted},
    call::{Answer, Call},
    problem::Problem,
};

/// `GET /api/prompts`
pub(super) async fn list(call: Call) -> Answer {
    let known = ["type", "tag", "supports", "language", "view", "q", "limit", "cursor"];
    let wanted = Wanted::read(&call, &known)?;
    let catalog = call.engine().catalog();
    let all = catalog.list().into_iter().filter(|listing| is_wanted(&wanted, listing));
    let (page, next) = wanted.page(all.map(|listing| (listing.id.as_str().to_owned(), listing)).collect());
    let entry = |(id, listing): (String, Listing)| match wanted.full {
        true => described(&catalog, &listing),
        false => Value::String(id),
    };
    let entries: Vec<Value> = page.into_iter().map(entry).collect();
    wanted.answer(&call, &entries, next.as_deref())
}

fn is_wanted(wanted: &Wanted, listing: &Listing) -> bool {
    let metadata = listing.definition.as_ref().ok().map(|definition| &definition.metadata);
    let said = metadata.map(|metadata| [metadata.title.as_deref(), metadata.description.as_deref()]);
    let texts = std::iter::once(listing.id.as_str()).chain(said.into_iter().flatten().flatten());
    wanted.filter.takes(listing) && wanted.has_text(texts)
}

fn described(catalog: &Catalog, listing: &Listing) -> Value {
    let entry = catalog.choose(listing.id.as_str()).ok().map(|choice| choice.entry);
    let definition = listing.definition.as_ref();
    let metadata = definition.ok().map(|definition| &definition.metadata);
    let settings = definition.ok().map(|definition| &definition.settings);
    json!({
        "prompt_id": listing.id.as_str(),
        "type": metadata.map(|metadata| &metadata.kind),
        "version": metadata.map(|metadata| &metadata.version),
        "title": metadata.map(|metadata| &metadata.title),
        "description": metadata.map(|metadata| &metadata.description),
        "tags": metadata.map(|metadata| &metadata.tags),
        "supports": settings.map(|settings| &settings.supports),
        "languages": settings.map(|settings| &settings.languages),
        "origin": entry.as_deref().map(origin),
        "source": entry.as_deref().map(Entry::source),
        "pack_id": entry.as_deref().and_then(Entry::pack),
        "error": definition.err().map(|error| Problem::from(error).to_json()),
    })
}

/// Where a prompt comes from, in a word; `direct` and `extension` are those of the store.
fn origin(entry: &Entry) -> &'static str {
    match (entry.root(), entry.stored()) {
        (_, Some(stored)) if stored.is_contributed() => "extension",
        (_, Some(_)) | (RootKind::Store, None) => "direct",
        (RootKind::Shared, _) => "shared",
        (RootKind::Path(_), _) => "path",
        (RootKind::Pack(_), _) => "pack",
        (RootKind::Builtin, _) => "builtin",
    }
}

/// `GET /api/prompts/{id}`
pub(super) async fn one(call: Call) -> Answer {
    let name = call.prompt()?;
    let catalog = call.engine().catalog();
    let choice = catalog.choose(&name)?;
    let entry = &choice.entry;
    let prompt = match entry.stored() {
        Some(stored) => stored.document().clone(),
        None => definition_json(&call, &catalog, &name)?,
    };
    let body = json!({
        "prompt_id": choice.id.as_str(),
        "origin": origin(entry),
        "source": entry.source(),
        "prompt": prompt,
    });
    answer::tagged(&call.parts, &body)
}

fn definition_json(call: &Call, catalog: &Catalog, name: &str) -> Result<Value, Problem> {
    let found = call.engine().definition(name)?;
    Ok(found.to_json(&catalog.defaults()?.limits_of(&found, &call.app.workspace.settings)))
}

/// `GET /api/prompts/{id}/definition`
pub(super) async fn definition(call: Call) -> Answer {
    let name = call.prompt()?;
    let definition = definition_json(&call, &call.engine().catalog(), &name)?;
    answer::tagged(&call.parts, &definition)
}

/// `GET /api/prompts/{id}/candidates`
pub(super) async fn candidates(call: Call) -> Answer {
    let name = call.prompt()?;
    let found = call.engine().catalog().candidates_json(&name)?;
    answer::tagged(&call.parts, &found)
}

/// `POST /api/prompts/{id}/explain`
pub(super) async fn explain(mut call: Call) -> Answer {
    let job = call.job().await?;
    answer::json(&call.app.explain(job).await?.to_json())
}

/// `GET /api/prompts/{id}/explain`
pub(super) async fn explain_query(call: Call) -> Answer {
    let prompt = call.prompt()?;
    let mut variables = Map::new();
    let mut texts = Vec::new();
    for (name, value) in call.query() {
        match name.as_str() {
            "variables" => match serde_json::from_str(&value) {
                Ok(Value::Object(given)) => variables.extend(given),
                _ => return Err(Problem::bad_request("`variables` of the query is no JSON object")),
            },
            _ => texts.push((name, value)),
        }
    }
    let pairs = texts.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    variables.extend(call.engine().variables_from_text(&prompt, pairs)?);
    let context = call.app.context(&Map::new())?;
    let job = RenderJob { variables, context, ..RenderJob::new(call.engine(), prompt) };
    answer::json(&call.app.explain(job).await?.to_json())
}

/// `POST /api/prompts/{id}/validate`
pub(super) async fn validate(mut call: Call) -> Answer {
    let job = call.job().await?;
    answer::json(&job.engine.validate(&job.to_request())?)
}

/// `PUT /api/prompts/{id}/resolution`
pub(super) async fn resolve(mut call: Call) -> Answer {
    let name = call.prompt()?;
    let body = call.object().await?;
    let Some(source) = body.get("source").and_then(Value::as_str).map(str::to_owned) else {
        return Err(Problem::bad_request("the body names no `source`")
            .hint("`GET …/candidates` tells the sources there are"));
    };
    let engine = call.engine();
    let found = call.app.change(move |app| {
        let catalog = engine.set_resolution(&name, &source)?;
        app.events.catalog(&app.catalog());
        Ok((catalog, name))
    });
    let (catalog, name) = found.await?;
    answer::json(&catalog.candidates_json(&name)?)
}

/// `DELETE /api/prompts/{id}/resolution`
pub(super) async fn unresolve(call: Call) -> Answer {
    let name = call.prompt()?;
    let (app, engine) = (Arc::clone(&call.app), call.engine());
    app.change(move |app| {
        let id = engine.catalog().resolve_id(&name)?;
        let now = std::time::SystemTime::now();
        let catalog = app.engine.update_catalog(|catalog| catalog.unset_resolution(&id, now))?;
        app.events.catalog(&catalog);
        Ok(())
    })
    .await?;
    Ok(answer::done())
}
