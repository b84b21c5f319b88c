//! The extension `io.modelcontextprotocol/skills`: prompts as Agent Skills that clients list and read as resources.
//!
//! Implements the stable specification of September 2026 without its optional directories: every skill is one file.

use std::sync::Arc;

use hinagata::Digest;
use rmcp::{
    ErrorData,
    model::{CustomResult, PaginatedRequestParams, ResourceContents},
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    backend::Viewer,
    failure::{invalid_params, truncate_for_display},
    page::{LIST_TTL_MS, cache_scope, take_page},
    shared::Shared,
    skill::{Skill, SkillSet},
};

/// The methods of the extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SkillMethod {
    List,
    Get,
}

impl SkillMethod {
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        match name {
            "skills/list" => Some(Self::List),
            "skills/get" => Some(Self::Get),
            _ => None,
        }
    }

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::List => "skills/list",
            Self::Get => "skills/get",
        }
    }
}

/// The params of `skills/get`.
#[derive(Deserialize)]
struct GetSkill {
    uri: String,
}

fn skill_uri(skill: &Skill) -> String {
    format!("skill://{}/SKILL.md", skill.name)
}

/// The entry of a skill: its front matter, and its only file with digest and size.
fn skill_entry(skill: &Skill) -> Value {
    let uri = skill_uri(skill);
    let digest = format!("sha256:{}", Digest::sha256(skill.text.as_bytes()));
    let resources = match skill.is_stable {
        true => json!([{"uri": uri, "digest": digest, "size": skill.text.len()}]),
        // The text contains the time: a digest would be wrong when it is read.
        false => json!("dynamic"),
    };
    json!({"uri": uri, "frontmatter": skill.front_matter, "resources": resources})
}

fn read_params<T: serde::de::DeserializeOwned>(params: Option<Value>) -> Result<T, ErrorData> {
    let params = params.unwrap_or_else(|| json!({}));
    serde_json::from_value(params).map_err(|error| invalid_params(format!("invalid params: {error}")))
}

impl Shared {
    /// The skills that are visible to the viewer.
    async fn visible_skills(self: &Arc<Self>, viewer: &Viewer) -> Result<Vec<Skill>, ErrorData> {
        let state = self.state_with_list(viewer).await;
        let seen: Vec<_> =
            state.list().prompts.iter().filter(|prompt| viewer.can_see(&prompt.id)).cloned().collect();
        // Rendering blocks.
        let rendered =
            tokio::task::spawn_blocking(move || SkillSet::from_prompts(&state.engine, &seen, false)).await;
        let set = rendered.map_err(|_| ErrorData::internal_error("the skills cannot be rendered", None))?;
        for (prompt, reason) in &set.left_out {
            tracing::debug!(prompt, reason, "not a skill");
        }
        Ok(set.skills)
    }

    /// Answers a method of the extension.
    pub(crate) async fn answer_skills(
        self: &Arc<Self>,
        viewer: &Viewer,
        method: SkillMethod,
        params: Option<Value>,
    ) -> Result<CustomResult, ErrorData> {
        let mut result = match method {
            SkillMethod::List => {
                let params: PaginatedRequestParams = read_params(params)?;
                let skills = self.visible_skills(viewer).await?;
                let (page, next) = take_page(skills.iter(), |skill| &skill.name, Some(&params))?;
                let mut result = json!({"skills": page.into_iter().map(skill_entry).collect::<Vec<_>>()});
                if let Some(next) = next {
                    result["nextCursor"] = next.into();
                }
                result
            }
            SkillMethod::Get => {
                let GetSkill { uri } = read_params(params)?;
                let skills = self.visible_skills(viewer).await?;
                let skill = skills.iter().find(|skill| skill_uri(skill) == uri).ok_or_else(|| {
                    invalid_params(format!("no skill is served at `{}`", truncate_for_display(&uri)))
                })?;
                json!({"skill": skill_entry(skill)})
            }
        };
        result["resultType"] = "complete".into();
        result["ttlMs"] = LIST_TTL_MS.into();
        result["cacheScope"] = json!(cache_scope(viewer));
        Ok(CustomResult::new(result))
    }

    /// The content of the skill at `uri`; `None` if no skill is there, or skills are not served.
    pub(crate) async fn skill_contents(
        self: &Arc<Self>,
        viewer: &Viewer,
        uri: &str,
    ) -> Result<Option<ResourceContents>, ErrorData> {
        if !self.options.skills || !uri.starts_with("skill://") {
            return Ok(None);
        }
        let skills = self.visible_skills(viewer).await?;
        let skill = skills.into_iter().find(|skill| skill_uri(skill) == uri);
        Ok(skill.map(|skill| ResourceContents::text(skill.text, uri).with_mime_type("text/markdown")))
    }
}
