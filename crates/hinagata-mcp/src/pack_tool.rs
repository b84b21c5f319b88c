//! The tool `pack_context`: files of the served workspace as one text, beneath its root alone.

use std::{path::Path, sync::Arc};

use hinagata::{Code, Error, LocalPlaces, Result, Settings, Warning};
use hinagata_agent::{PackRequest, Project, context_error};
use hinagata_context::{FileState, PackedContext, Packer};
use rmcp::{
    ErrorData,
    model::{CallToolResponse, CallToolResult, ContentBlock, JsonObject, MetaObject, Tool, ToolAnnotations},
};
use serde_json::json;

use crate::{
    failure::{from_engine_error, hide_paths, invalid_params},
    messages::warnings_meta,
};

/// The name of the tool.
pub(crate) const PACK_TOOL: &str = "pack_context";

/// The project whose files are packed, or why it cannot be read, and the settings that it is in.
#[derive(Clone, Debug)]
pub struct PackedProject(Arc<(Result<Project>, Settings)>);

impl PackedProject {
    /// The project in the settings of the workspace at `root`. Invalid settings are an error of each call.
    #[must_use]
    pub fn from_settings(settings: &Settings, root: &Path, trusted: bool) -> Self {
        Self(Arc::new((Project::from_settings(settings, root, trusted), settings.clone())))
    }

    /// Packs what `request` asks for.
    fn pack(&self, request: &PackRequest) -> Result<(PackedContext, Vec<Warning>)> {
        let (project, settings) = &*self.0;
        let project = project.as_ref().map_err(Clone::clone)?;
        let (options, mut warnings) = request.apply_to(project, settings)?;
        let packed = Packer::new(&options).pack().map_err(context_error)?;
        warnings.extend(project.settings_warnings());
        warnings.extend(project.warnings(&packed.report));
        Ok((packed, warnings))
    }
}

/// The tool, as it is listed.
pub(crate) fn pack_tool() -> Tool {
    let patterns = |what: &str| json!({"type": "array", "items": {"type": "string"}, "description": what});
    let flag = |what: &str| json!({"type": "boolean", "description": what});
    let count = |what: &str| json!({"type": "integer", "minimum": 0, "description": what});
    let text = |what: &str| json!({"type": "string", "description": what});
    let schema = json!({
        "type": "object",
        "properties": {
            "include": patterns("patterns and directories to pack, such as src/**/*.rs; default: all text files"),
            "exclude": patterns("patterns of files to leave out"),
            "focus": patterns("files and directories that are chosen first"),
            "format": {"enum": ["plain", "markdown", "xml", "json"], "description": "how files are delimited"},
            "max_tokens": count("maximum tokens of the text"),
            "max_bytes": count("maximum bytes of all files"),
            "max_files": count("maximum number of files"),
            "model": text("the model whose tokens are counted"),
            "encoding": text("encoding of files that are not UTF-8"),
            "kinds": {"type": "object", "description": "rules for lock, generated, vendored, minified, data: take, last or omit"},
            "tree": flag("whether the text starts with the tree of files"),
            "header_text": text("a text at the start"),
            "include_diffs": flag("whether the text has the changes that are not committed"),
            "include_logs": count("the number of commits that the text lists"),
            "diff": text("two revisions, such as main..HEAD, whose changes the text has"),
            "line_numbers": flag("whether lines start with their numbers"),
            "remove_empty_lines": flag("whether empty lines are removed"),
            "truncate_base64": flag("whether long runs of Base64 are shortened"),
            "compress": flag("whether outlines replace the texts of files"),
        },
        "additionalProperties": false,
    });
    let schema = schema.as_object().cloned().unwrap_or_default();
    Tool::new(PACK_TOOL, "Pack files of the workspace into one text", Arc::new(schema))
        .with_annotations(ToolAnnotations::default().read_only(true))
}

/// Calls the tool. Failures are reported to the model, without the paths of `places`.
pub(crate) async fn call_pack_tool(
    project: &PackedProject,
    arguments: JsonObject,
    places: &LocalPlaces,
) -> Result<CallToolResponse, ErrorData> {
    let request = PackRequest::from_fields(arguments).map_err(|error| invalid_params(error.message()))?;
    let project = project.clone();
    let packed = tokio::task::spawn_blocking(move || project.pack(&request)).await;
    let packed = packed.unwrap_or_else(|_| Err(Error::new(Code::Store, "cannot read the files")));
    Ok(match packed {
        Ok((packed, warnings)) => tool_result(packed, &warnings, places).into(),
        Err(error) => {
            let error = from_engine_error(&error, places);
            CallToolResult::error(vec![ContentBlock::text(error.message.to_string())]).into()
        }
    })
}

/// The text, and what became of the files.
fn tool_result(packed: PackedContext, warnings: &[Warning], places: &LocalPlaces) -> CallToolResult {
    let counted = FileState::all().map(|state| (state, packed.report.count_state(state)));
    let counts: Vec<String> = counted
        .filter(|(_, count)| *count > 0)
        .map(|(state, count)| format!("{count} {}", state.as_str()))
        .collect();
    let tokens = packed.report.total_tokens.map(|tokens| match packed.report.tokens_error_percent {
        Some(error) => format!("; about {tokens} tokens (±{error} %)"),
        None => format!("; {tokens} tokens"),
    });
    let warned: String =
        warnings.iter().map(|warning| hide_paths(&format!("\nwarning: {}", warning.error), places)).collect();
    let summary = format!("files: {}{}{warned}", counts.join(", "), tokens.unwrap_or_default());
    let blocks = vec![ContentBlock::text(packed.text), ContentBlock::text(summary)];
    let mut result = match packed.report.has_packed() {
        true => CallToolResult::success(blocks),
        false => CallToolResult::error(blocks),
    };
    result.meta = warnings_meta(warnings, places).map(MetaObject);
    result
}
