//! Which prompts are served over MCP. Every prompt of a workspace is a command in the menus of its users' hosts, so
//! definitions and settings can keep prompts out; commands and the HTTP API still render them.

use globset::{Glob, GlobSet, GlobSetBuilder};
use hinagata::{
    BUILTIN_PROMPTS, Catalog, Error, Reason, Result, Settings, definition::Definition, source::RootKind,
};

/// The prefix of a pattern for tags.
const TAG_PREFIX: &str = "tag:";

/// Which prompts are served, by the settings `mcp.expose` and `mcp.builtin_prompts`.
#[derive(Clone, Debug, Default)]
pub struct Exposure {
    /// Patterns of ids and of tags; without any, all prompts are served.
    patterns: Option<(GlobSet, GlobSet)>,
    /// Whether built-in prompts are served; without it, they are where there are no others.
    builtin: Option<bool>,
}

impl Exposure {
    /// Reads the settings.
    ///
    /// # Errors
    /// Code `definition`, reason `settings`, for an invalid pattern.
    pub fn from_settings(settings: &Settings) -> Result<Self> {
        let written = settings.texts("mcp.expose");
        let builtin = settings.get("mcp.builtin_prompts").and_then(|found| found.value.as_bool());
        if written.is_empty() {
            return Ok(Self { patterns: None, builtin });
        }
        let (tags, ids): (Vec<&str>, Vec<&str>) =
            written.iter().map(String::as_str).partition(|pattern| pattern.starts_with(TAG_PREFIX));
        let tags = tags.into_iter().map(|pattern| &pattern[TAG_PREFIX.len()..]);
        Ok(Self { patterns: Some((compile_patterns(ids)?, compile_patterns(tags)?)), builtin })
    }

    /// Why the prompt `id` of `catalog` is not served, if it is not.
    #[must_use]
    pub fn hidden_reason(
        &self,
        catalog: &Catalog,
        id: &str,
        definition: &Definition,
    ) -> Option<&'static str> {
        if !definition.metadata.expose {
            return Some("its definition has `expose: false`");
        }
        if let Some((ids, tags)) = &self.patterns
            && !ids.is_match(id)
            && !definition.metadata.tags.iter().any(|tag| tags.is_match(tag))
        {
            return Some("the setting `mcp.expose` does not list it");
        }
        match self.builtin {
            _ if !is_builtin(definition) => None,
            Some(true) => None,
            Some(false) => Some("the setting `mcp.builtin_prompts` is false"),
            None if has_other_prompts(catalog) => Some(
                "it is built in, and the workspace has prompts of its own; `mcp.builtin_prompts = true` serves both",
            ),
            None => None,
        }
    }
}

fn compile_patterns<'p>(patterns: impl IntoIterator<Item = &'p str>) -> Result<GlobSet> {
    let invalid = |problem: String| {
        Error::definition(Reason::Settings, problem)
            .with("setting", "mcp.expose")
            .with_hint("use ids, or tags as `tag:NAME`; `*` stands for any characters")
    };
    let mut all = GlobSetBuilder::new();
    for pattern in patterns {
        let glob = Glob::new(pattern);
        all.add(
            glob.map_err(|error| invalid(format!("invalid pattern `{pattern}` in `mcp.expose`: {error}")))?,
        );
    }
    all.build().map_err(|error| invalid(format!("invalid patterns in `mcp.expose`: {error}")))
}

fn is_builtin(definition: &Definition) -> bool {
    definition.source.strip_prefix(BUILTIN_PROMPTS).is_some_and(|rest| rest.starts_with('/'))
}

/// Whether the catalog has a prompt that is not built in.
fn has_other_prompts(catalog: &Catalog) -> bool {
    let others = catalog.roots().iter().filter(|index| index.root.kind != RootKind::Builtin);
    others.flat_map(hinagata::source::Index::iter).any(|entry| catalog.is_usable(entry))
}
