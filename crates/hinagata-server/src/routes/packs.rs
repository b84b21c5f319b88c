//! Managing packs.

use std::{io::Write as _, time::SystemTime};

use hinagata::{Code, Digest, Error, Result, definition::UndefinedMode};
use hinagata_check::CheckOptions;
use hinagata_packs::{InstallOptions, Packs};
use hyper::StatusCode;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{
    answer,
    call::{Answer, Call},
    problem::Problem,
    state::App,
};

fn open_packs(app: &App) -> Result<Packs> {
    let state = app.workspace.state.as_ref().ok_or_else(|| {
        Error::new(Code::Store, "no state directory to record approvals in")
            .with_hint("set HINAGATA_STATE to a directory")
    })?;
    Ok(Packs::new(&app.catalog(), state))
}

/// Reads packs. They show all prompts, so restricted keys are refused.
async fn read_packs<T: Serialize + Send + 'static>(
    call: &Call,
    look: impl FnOnce(&Packs) -> Result<T> + Send + 'static,
) -> Answer {
    call.require_unrestricted()?;
    answer::json_response(&call.app.run_exclusive(move |app| look(&open_packs(app)?)).await?)
}

/// Changes packs, and reloads the engine before it responds.
async fn change_packs<T: Serialize + Send + 'static>(
    call: &Call,
    status: StatusCode,
    change: impl FnOnce(&mut Packs) -> Result<T> + Send + 'static,
) -> Answer {
    call.require_unrestricted()?;
    let work = move |app: &App| {
        let changed = change(&mut open_packs(app)?)?;
        app.events.publish_catalog(&app.engine.reload());
        Ok(changed)
    };
    answer::json_with_status(
        status,
        &call.app.run_exclusive(work).await.map_err(|error| Problem::in_request_body(&error))?,
    )
}

fn pack_name(call: &Call) -> Result<String, Problem> {
    Ok(call.path_param("pack")?.to_owned())
}

/// `GET /api/packs`
pub(super) async fn list_packs(call: Call) -> Answer {
    read_packs(&call, |packs| Ok(packs.list())).await
}

/// `GET /api/packs/{pack}`
pub(super) async fn show_pack(call: Call) -> Answer {
    let pack = pack_name(&call)?;
    read_packs(&call, move |packs| packs.show(&pack)).await
}

/// `GET /api/packs/{pack}/review`
pub(super) async fn review_pack(call: Call) -> Answer {
    let pack = pack_name(&call)?;
    let code = match call.query_pairs().as_slice() {
        [] => false,
        [(name, value)] if name == "code" && value == "true" => true,
        [(name, value)] if name == "code" && value == "false" => false,
        _ => return Err(Problem::bad_request("unknown query parameter; only `code=true` is supported")),
    };
    call.require_unrestricted()?;
    let work = move |app: &App| open_packs(app)?.review(&pack, code, &check_options(app));
    answer::json_response(&call.app.run_exclusive(work).await?)
}

/// What a check of prompts needs besides the catalog.
fn check_options(app: &App) -> CheckOptions {
    let set = app.engine.tool_set();
    let names = set.iter().flat_map(|set| set.tools()).flat_map(|(name, tool)| {
        let module = tool.module.as_ref().map(|module| format!("tools.{module}.{}", tool.name));
        module.into_iter().chain([name.clone()])
    });
    let undefined = app.workspace.settings.undefined().and_then(UndefinedMode::from_name);
    CheckOptions::from_names(names, undefined)
}

/// `POST /api/packs/{pack}/verify`
pub(super) async fn verify_pack(call: Call) -> Answer {
    let pack = pack_name(&call)?;
    read_packs(&call, move |packs| packs.verify(&pack)).await
}

/// `POST /api/packs`
pub(super) async fn install_pack(mut call: Call) -> Answer {
    let replace = match call.query_pairs().as_slice() {
        [] => false,
        [(name, value)] if name == "replace" && value == "true" => true,
        [(name, value)] if name == "replace" && value == "false" => false,
        _ => return Err(Problem::bad_request("unknown query parameter; only `replace=true` is supported")),
    };
    let archive = call.read_body().await?;
    // The archive type comes from its first bytes, because the request has no file name.
    let ending = match archive.get(..4) {
        Some([0x1f, 0x8b, ..]) => ".tar.gz",
        Some(b"PK\x03\x04") => ".zip",
        _ => {
            return Err(
                Problem::bad_request("the body is not an archive").with_hint("send a .tar.gz or a .zip file")
            );
        }
    };
    change_packs(&call, StatusCode::CREATED, move |packs| {
        let write_error =
            |error: std::io::Error| Error::new(Code::Store, format!("cannot write the archive: {error}"));
        let mut file = tempfile::Builder::new().suffix(ending).tempfile().map_err(write_error)?;
        file.write_all(&archive).map_err(write_error)?;
        packs.install(file.path(), &InstallOptions { replace, ..InstallOptions::default() })
    })
    .await
}

/// `POST /api/packs/{pack}/approve`
pub(super) async fn approve_pack(mut call: Call) -> Answer {
    let pack = pack_name(&call)?;
    let body = call.read_object().await?;
    let expected = expected_content(&body)?;
    change_packs(&call, StatusCode::OK, move |packs| {
        packs.approve(&pack, expected.as_ref(), SystemTime::now())
    })
    .await
}

/// The SHA-256 of the content that the caller reviewed.
fn expected_content(body: &Map<String, Value>) -> Result<Option<Digest>, Problem> {
    match body.get("content") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => {
            text.parse().map(Some).map_err(|error| Problem::bad_request(format!("`content`: {error}")))
        }
        Some(_) => {
            Err(Problem::bad_request("`content` must be the SHA-256 that `GET /api/packs/{pack}` returns"))
        }
    }
}

/// `POST /api/packs/{pack}/reject`
pub(super) async fn reject_pack(call: Call) -> Answer {
    let pack = pack_name(&call)?;
    change_packs(&call, StatusCode::OK, move |packs| packs.reject(&pack, SystemTime::now())).await
}

/// `DELETE /api/packs/{pack}`
pub(super) async fn remove_pack(call: Call) -> Answer {
    let pack = pack_name(&call)?;
    change_packs(&call, StatusCode::OK, move |packs| packs.remove(&pack, SystemTime::now())).await
}

/// `PUT /api/packs/{pack}/replaces/{id}`
pub(super) async fn decide_replacement(mut call: Call) -> Answer {
    let (pack, id) = (pack_name(&call)?, call.path_param("id")?.to_owned());
    let Some(accept) = call.read_object().await?.get("accept").and_then(Value::as_bool) else {
        return Err(Problem::bad_request("the body must be `{\"accept\": true}` or `{\"accept\": false}`"));
    };
    change_packs(&call, StatusCode::OK, move |packs| {
        let now = SystemTime::now();
        if accept {
            packs.accept_replacement(&pack, &id, now)
        } else {
            packs.decline_replacement(&pack, &id, now)
        }
    })
    .await
}
