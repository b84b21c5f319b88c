//! Reading prompts, explaining and validating calls, choosing candidates.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use hinagata::{
    Catalog, Engine, Error, Listing, MapUnits, RenderJob, Rendered,
    module::driver::OutputFormat,
    source::{Entry, RootKind},
};
use serde_json::{Map, Value, json};

use super::modules::{NoFiles, unknown_format};
use crate::{
    answer::{self, ListQuery},
    call::{Answer, Call},
    fields::Fields,
    hints::hint_text,
    problem::Problem,
    state::App,
};

/// `GET /api/prompts`
pub(super) async fn list_prompts(call: Call) -> Answer {
    let known = ["type", "tag", "supports", "language", "view", "q", "limit", "cursor"];
    let list_query = ListQuery::from_call(&call, &known)?;
    let catalog = call.engine().catalog();
    let all = catalog.list().into_iter().filter(|listing| matches_query(&list_query, listing));
    let (page, next) =
        list_query.take_page(all.map(|listing| (listing.id.as_str().to_owned(), listing)).collect());
    let broken = if list_query.full { broken_sources(&call.app).await } else { HashSet::new() };
    let entry = |(id, listing): (String, Listing)| {
        if list_query.full { prompt_json(&catalog, &listing, &broken) } else { Value::String(id) }
    };
    let mut entries: Vec<Value> = page.into_iter().map(entry).collect();
    entries.iter_mut().for_each(|entry| call.app.places.hide_in_value(entry));
    list_query.page_response(&call, &entries, next.as_deref())
}

fn matches_query(list_query: &ListQuery, listing: &Listing) -> bool {
    let metadata = listing.definition.as_ref().ok().map(|definition| &definition.metadata);
    let said = metadata.map(|metadata| [metadata.title.as_deref(), metadata.description.as_deref()]);
    let texts = std::iter::once(listing.id.as_str()).chain(said.into_iter().flatten().flatten());
    list_query.filter.matches_listing(listing) && list_query.matches_text(texts)
}

/// The documents of the store with errors. They are checked once for each state of the store.
async fn broken_sources(app: &Arc<App>) -> HashSet<String> {
    let app = Arc::clone(app);
    let check = move || app.engine.store().map(|store| app.store_findings.broken_sources(&store));
    tokio::task::spawn_blocking(check).await.ok().flatten().unwrap_or_default()
}

/// A prompt in a list; `broken` are the documents of the store with errors.
fn prompt_json(catalog: &Catalog, listing: &Listing, broken: &HashSet<String>) -> Value {
    let entry = catalog.choose(listing.id.as_str()).ok().map(|choice| choice.entry);
    let definition = listing.definition.as_ref();
    let metadata = definition.ok().map(|definition| &definition.metadata);
    let settings = definition.ok().map(|definition| &definition.settings);
    let stored =
        entry.as_deref().filter(|entry| broken.contains(entry.source())).and_then(Entry::store_prompt);
    let error = definition.err().cloned().or_else(|| stored?.check().err());
    json!({
        "prompt_id": listing.id.as_str(),
        "type": metadata.map(|metadata| &metadata.kind),
        "version": metadata.map(|metadata| &metadata.version),
        "title": metadata.map(|metadata| &metadata.title),
        "description": metadata.map(|metadata| &metadata.description),
        "tags": metadata.map(|metadata| &metadata.tags),
        "supports": settings.map(|settings| &settings.supports),
        "languages": settings.map(|settings| &settings.languages),
        "origin": entry.as_deref().map(origin_name),
        "source": entry.as_deref().map(Entry::source),
        "pack_id": entry.as_deref().and_then(Entry::pack),
        "error": error.map(|error| Problem::from(error).to_json()),
    })
}

/// The origin of a prompt in one word; `direct` and `extension` are prompts of the store.
fn origin_name(entry: &Entry) -> &'static str {
    match (entry.root(), entry.store_prompt()) {
        (_, Some(stored)) if stored.is_contributed() => "extension",
        (_, Some(_)) | (RootKind::Store, None) => "direct",
        (RootKind::Shared, _) => "shared",
        (RootKind::Path(_), _) => "path",
        (RootKind::Library(_), _) => "library",
        (RootKind::Foreign(_) | RootKind::Named, _) => "foreign",
        (RootKind::Pack(_), _) => "pack",
        (RootKind::Builtin, _) => "builtin",
    }
}

/// `GET /api/prompts/{id}`
pub(super) async fn get_prompt(call: Call) -> Answer {
    let name = call.prompt_name()?;
    let catalog = call.engine().catalog();
    let choice = catalog.choose(&name)?;
    let entry = &choice.entry;
    let prompt = match entry.store_prompt() {
        Some(stored) => stored.document().clone(),
        None => definition_json(&call, &catalog, &name)?,
    };
    let body = json!({
        "prompt_id": choice.id.as_str(),
        "origin": origin_name(entry),
        "source": entry.source(),
        "prompt": prompt,
    });
    answer::json_with_etag(&call.parts, &body)
}

fn definition_json(call: &Call, catalog: &Catalog, name: &str) -> Result<Value, Problem> {
    let found = call.engine().definition(name)?;
    Ok(found.to_json(&catalog.defaults()?.limits_of(&found, &call.app.workspace.settings)))
}

/// `GET /api/prompts/{id}/definition`
pub(super) async fn get_definition(call: Call) -> Answer {
    let name = call.prompt_name()?;
    let engine = call.engine();
    let mut definition = definition_json(&call, &engine.catalog(), &name)?;
    definition["effects"] = engine.prompt_effects(&name)?.into();
    // Templates that cannot be compiled are reported by the findings.
    definition["reads"] = engine.template_variables(&name).unwrap_or_default().into();
    answer::json_with_etag(&call.parts, &definition)
}

/// `GET /api/prompts/{id}/candidates`
pub(super) async fn list_candidates(call: Call) -> Answer {
    let name = call.prompt_name()?;
    let found = call.engine().catalog().candidates_json(&name)?;
    answer::json_with_etag(&call.parts, &found)
}

/// `POST /api/prompts/{id}/explain`
pub(super) async fn explain_prompt(mut call: Call) -> Answer {
    let mut fields = Fields::new(call.read_object().await?);
    let is_mapped = fields.take_boolean("map")?.unwrap_or(true);
    let units = read_units(fields.take_string("units")?)?;
    let format = read_format(fields.take_string("format")?)?;
    let may_have_effects = fields.take_boolean("effects")?.unwrap_or(true);
    let job = RenderJob { is_mapped, ..call.job_from_fields(fields)? };
    if !may_have_effects {
        refuse_effects(&job.engine, &job.prompt).await?;
    }
    let rendered = call.explain_job(job).await?;
    answer::json_response(&explained_json(&rendered, units, format)?)
}

/// Refuses a prompt with effects, for callers that render while a person types.
pub(super) async fn refuse_effects(engine: &Engine, prompt: &str) -> Result<(), Problem> {
    let (engine, prompt) = (engine.clone(), prompt.to_owned());
    // Templates may have to be compiled, which blocks.
    let found =
        tokio::task::spawn_blocking(move || Ok::<_, Error>((engine.prompt_effects(&prompt)?, prompt)));
    let found = found.await.map_err(|_| {
        Problem::new(hyper::StatusCode::INTERNAL_SERVER_ERROR, "request", "the prompt cannot be analysed")
    })?;
    let (effects, prompt) = found?;
    if effects.is_empty() {
        return Ok(());
    }
    let message = format!("rendering `{prompt}` uses {}", effects.join(", "));
    Err(Problem::new(hyper::StatusCode::CONFLICT, "effects", message)
        .with_member("effects", effects)
        .with_hint("leave out `effects` to render it all the same"))
}

/// The format of the request that is explained besides the result.
pub(super) fn read_format(name: Option<String>) -> Result<Option<OutputFormat>, Problem> {
    name.map(|name| OutputFormat::from_name(&name).ok_or_else(|| unknown_format(&name))).transpose()
}

/// An explained prompt, with the request in `format`.
pub(super) fn explained_json(
    rendered: &Rendered,
    units: MapUnits,
    format: Option<OutputFormat>,
) -> Result<Value, Problem> {
    let request = match format {
        Some(format) => rendered.explain_request(format, &rendered.request_options().with_files(NoFiles))?,
        None => None,
    };
    Ok(rendered.to_mapped_request_json(hint_text, units, request.as_ref()))
}

/// The units of the lengths in a source map.
pub(super) fn read_units(name: Option<String>) -> Result<MapUnits, Problem> {
    let Some(name) = name else { return Ok(MapUnits::default()) };
    MapUnits::from_name(&name).ok_or_else(|| {
        Problem::bad_request(format!("`units` must be `utf8`, `utf16` or `chars`, not `{name}`"))
    })
}

/// `GET /api/prompts/{id}/explain`
pub(super) async fn explain_query(call: Call) -> Answer {
    let prompt = call.prompt_name()?;
    let mut variables = Map::new();
    let mut texts = Vec::new();
    for (name, value) in call.query_pairs() {
        match name.as_str() {
            "variables" => match serde_json::from_str(&value) {
                Ok(Value::Object(passed)) => variables.extend(passed),
                _ => {
                    return Err(Problem::bad_request(
                        "the query parameter `variables` must be a JSON object",
                    ));
                }
            },
            _ => texts.push((name, value)),
        }
    }
    let pairs = texts.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    variables.extend(call.engine().variables_from_text(&prompt, pairs)?);
    let context = call.app.check_context(&Map::new())?;
    let job = RenderJob { variables, context, ..RenderJob::new(call.engine(), prompt) };
    answer::json_response(&call.explain_job(job).await?.to_mapped_json(hint_text, MapUnits::default()))
}

/// `POST /api/prompts/{id}/validate`
pub(super) async fn validate_variables(mut call: Call) -> Answer {
    let job = call.read_render_job().await?;
    answer::json_response(&job.engine.validate(&job.to_request())?)
}

/// `POST /api/prompts/{id}/complete`
pub(super) async fn complete_value(mut call: Call) -> Answer {
    let prompt = call.prompt_name()?;
    let mut fields = Fields::new(call.read_object().await?);
    let name = fields.take_string("parameter")?.ok_or_else(|| Problem::bad_request("missing `parameter`"))?;
    let typed = fields.take_string("value")?.unwrap_or_default();
    let given = fields.take_object("variables")?;
    fields.check_unknown()?;
    let engine = call.engine();
    let inherited = engine.definition(&prompt)?;
    if inherited.parameters.get(&name).is_none() {
        let names = inherited.parameters.iter().map(|parameter| parameter.name.as_str());
        return Err(Problem::not_found(format!("`{prompt}` has no parameter `{name}`"))
            .with_member("near", hinagata_value::near_names(&name, names)));
    }
    let given: HashMap<String, String> = given
        .into_iter()
        .filter_map(|(name, value)| match value {
            Value::String(text) => Some((name, text)),
            Value::Bool(_) | Value::Number(_) => Some((name, value.to_string())),
            _ => None,
        })
        .collect();
    // Proposed files are looked for, which blocks.
    let propose = move || {
        let parameter = inherited.parameters.get(&name)?;
        Some(hinagata_mcp::propose_values(&engine, parameter, &typed, &given))
    };
    let found = tokio::task::spawn_blocking(propose).await.map_err(|_| {
        let message = "the values could not be looked for";
        Problem::new(hyper::StatusCode::INTERNAL_SERVER_ERROR, "request", message)
    })?;
    let (values, total) = found.map(|found| (found.values, found.total)).unwrap_or_default();
    answer::json_response(&json!({"values": values, "total": total}))
}

/// `PUT /api/prompts/{id}/resolution`
pub(super) async fn set_resolution(mut call: Call) -> Answer {
    let name = call.prompt_name()?;
    let body = call.read_object().await?;
    let Some(source) = body.get("source").and_then(Value::as_str).map(str::to_owned) else {
        return Err(
            Problem::bad_request("missing `source`").with_hint("`GET …/candidates` lists the sources")
        );
    };
    let engine = call.engine();
    let found = call.app.run_exclusive(move |app| {
        let catalog = engine.set_resolution(&name, &source)?;
        app.events.publish_catalog(&app.catalog());
        Ok((catalog, name))
    });
    let (catalog, name) = found.await?;
    answer::json_response(&catalog.candidates_json(&name)?)
}

/// `POST /api/prompts/{id}/resolution/undo`
pub(super) async fn undo_resolution(call: Call) -> Answer {
    let name = call.prompt_name()?;
    let engine = call.engine();
    let undone = call.app.run_exclusive(move |app| {
        let catalog = engine.undo_resolution(&name)?;
        app.events.publish_catalog(&app.catalog());
        Ok((catalog, name))
    });
    let (catalog, name) = undone.await?;
    let Some(catalog) = catalog else {
        let message = format!("nothing was decided about `{name}`");
        return Err(Problem::new(hyper::StatusCode::CONFLICT, "nothing_to_undo", message));
    };
    answer::json_response(&catalog.candidates_json(&name)?)
}

/// `DELETE /api/prompts/{id}/resolution`
pub(super) async fn remove_resolution(call: Call) -> Answer {
    let name = call.prompt_name()?;
    let (app, engine) = (Arc::clone(&call.app), call.engine());
    app.run_exclusive(move |app| {
        let id = engine.catalog().resolve_id(&name)?;
        let now = std::time::SystemTime::now();
        let catalog = app.engine.update_catalog(|catalog| catalog.unset_resolution(&id, now))?;
        app.events.publish_catalog(&catalog);
        Ok(())
    })
    .await?;
    Ok(answer::no_content())
}
