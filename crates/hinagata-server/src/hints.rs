//! Hints as the daemon words them: with the route to call.

use hinagata::Hint;

/// The text of a hint.
pub(crate) fn hint_text(hint: &Hint) -> String {
    hint.to_text(route_text)
}

/// The step with its route; `None` where the common wording serves a caller who has no access to the machine.
fn route_text(step: &Hint) -> Option<String> {
    Some(match step {
        Hint::PassVariable { name, .. } => format!("add `{name}` to `variables`"),
        Hint::ListPrompts => "`GET /api/prompts` lists the prompts".to_owned(),
        Hint::ListPacks => "`GET /api/packs` lists the packs".to_owned(),
        Hint::ShowCandidates { id } => format!("`GET /api/prompts/{id}/candidates` lists the candidates"),
        Hint::ChooseCandidate { id, source } => {
            format!("choose one with `PUT /api/prompts/{id}/resolution` and the source `{source}`")
        }
        Hint::ShowPack { pack } => format!("review it with `GET /api/packs/{pack}`"),
        Hint::ApprovePack { pack } => {
            format!("review it with `GET /api/packs/{pack}`, then send `POST /api/packs/{pack}/approve`")
        }
        Hint::VerifyPack { pack } => {
            format!(
                "see what changed with `POST /api/packs/{pack}/verify`, then send `POST /api/packs/{pack}/approve`"
            )
        }
        Hint::DiagnoseWorkspace => "`GET /api/diagnostics` lists what is wrong".to_owned(),
        Hint::NameFormat => "add `format` to the request".to_owned(),
        Hint::RemovePack { pack } => format!("remove it with `DELETE /api/packs/{pack}`"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_of_a_hint_exists() {
        let (pack, id) = ("{pack}".to_owned(), "{id}".to_owned());
        let hints = [
            Hint::ListPrompts,
            Hint::ListPacks,
            Hint::DiagnoseWorkspace,
            Hint::ShowCandidates { id: id.clone() },
            Hint::ChooseCandidate { id, source: "source".to_owned() },
            Hint::ShowPack { pack: pack.clone() },
            Hint::ApprovePack { pack: pack.clone() },
            Hint::VerifyPack { pack: pack.clone() },
            Hint::RemovePack { pack },
        ];
        let document = crate::openapi_document();
        for text in hints.iter().map(hint_text) {
            let routes = text.split('`').filter_map(|part| part.split_once(" /"));
            let found = routes.map(|(method, path)| {
                let operation = &document["paths"][format!("/{path}")][method.to_ascii_lowercase()];
                assert!(operation.is_object(), "{text}");
            });
            assert!(found.count() > 0, "{text}");
        }
    }
}
