//! Levels that settings choose instead of the usual ones.

use globset::GlobMatcher;
use serde_json::Value as Json;

use crate::{
    codes::CODES,
    finding::Finding,
    level::Level,
    silence::{is_known, matches_code},
};

/// Levels by code and path. Of two rules for a finding, the later one counts.
#[derive(Clone, Debug, Default)]
pub struct LevelRules(Vec<Rule>);

#[derive(Clone, Debug)]
struct Rule {
    /// A code, or `group.*`.
    pattern: String,
    /// `None` for findings that are not reported.
    level: Option<Level>,
    /// The files that it is for.
    paths: Option<GlobMatcher>,
}

impl LevelRules {
    /// Adds a rule: the level of findings with a code, or of a group as `group.*`, in all files or in those that a
    /// glob matches. The level `off` silences them.
    ///
    /// # Errors
    /// What is wrong with the rule, as a sentence, and similar names.
    pub fn add_rule(
        &mut self,
        pattern: &str,
        level: &str,
        glob: Option<&str>,
    ) -> Result<(), (String, Vec<String>)> {
        let names = || Level::ALL.into_iter().map(Level::as_str).chain(["off"]);
        if !is_known(pattern) {
            let near = hinagata_value::near_names(pattern, CODES.iter().map(|spec| spec.code));
            return Err((format!("unknown code `{pattern}`"), near));
        }
        let level = match (level, Level::from_name(level)) {
            ("off", _) => None,
            (_, Some(level)) => Some(level),
            _ => {
                let near = hinagata_value::near_names(level, names());
                return Err((format!("unknown level `{level}`: use error, warning, hint or off"), near));
            }
        };
        let paths = match glob {
            None => None,
            Some(glob) => {
                let compiled = globset::GlobBuilder::new(glob).literal_separator(true).build();
                Some(compiled.map_err(|error| (format!("the path is not a glob: {error}"), Vec::new()))?)
            }
        };
        let paths = paths.map(|glob| glob.compile_matcher());
        self.0.push(Rule { pattern: pattern.to_owned(), level, paths });
        Ok(())
    }

    /// Reads the settings `check.levels`, a level by code or group, and `check.paths`, a list of tables with `path` and
    /// `levels`. A wrong rule is left out and reported as a sentence.
    #[must_use]
    pub fn from_settings(levels: &Json, paths: &Json) -> (Self, Vec<String>) {
        let (mut rules, mut problems) = (Self::default(), Vec::new());
        rules.add_table("check.levels", levels, None, &mut problems);
        let items = match paths {
            Json::Null => &[][..],
            Json::Array(items) => items,
            _ => {
                problems.push("`check.paths` must be a list of tables with `path` and `levels`".to_owned());
                &[]
            }
        };
        for (number, item) in items.iter().enumerate() {
            let name = format!("check.paths[{number}]");
            let unknown = item.as_object().into_iter().flatten().map(|(key, _)| key);
            for key in unknown.filter(|key| !matches!(key.as_str(), "path" | "levels")) {
                problems.push(format!("unknown key `{name}.{key}`: known keys are `path` and `levels`"));
            }
            match item.get("path").and_then(Json::as_str) {
                Some(glob) => {
                    let levels = item.get("levels").unwrap_or(&Json::Null);
                    rules.add_table(&format!("{name}.levels"), levels, Some(glob), &mut problems);
                }
                None => problems.push(format!("`{name}.path` must be a glob")),
            }
        }
        (rules, problems)
    }

    /// Adds the rules of a table. `variable.unused = "off"` is a table in a table.
    fn add_table(&mut self, name: &str, table: &Json, glob: Option<&str>, problems: &mut Vec<String>) {
        let Json::Object(entries) = table else {
            if !table.is_null() {
                problems.push(format!("`{name}` must be a table of levels by code"));
            }
            return;
        };
        // `group.*` comes first, so that the level of a single code counts more.
        let mut flat = Vec::new();
        for (key, value) in entries {
            match value {
                Json::Object(inner) => {
                    flat.extend(inner.iter().map(|(rest, value)| (format!("{key}.{rest}"), value)));
                }
                value => flat.push((key.clone(), value)),
            }
        }
        flat.sort_by_key(|(code, _)| (!code.ends_with(".*"), code.clone()));
        for (code, value) in flat {
            let Some(level) = value.as_str() else {
                problems.push(format!("`{name}.{code}` must be error, warning, hint or off"));
                continue;
            };
            if let Err((message, near)) = self.add_rule(&code, level, glob) {
                let near = near.first().map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
                problems.push(format!("`{name}`: {message}{near}"));
            }
        }
    }

    /// Whether there is no rule.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn apply(&self, findings: &mut Vec<Finding>) {
        if self.is_empty() {
            return;
        }
        findings.retain_mut(|finding| {
            let fits = |rule: &&Rule| {
                matches_code(&rule.pattern, finding.code)
                    && rule
                        .paths
                        .as_ref()
                        .is_none_or(|paths| paths.is_match(finding.file()) || paths.is_match(&finding.source))
            };
            match self.0.iter().rev().find(fits).map(|rule| rule.level) {
                None => true,
                Some(None) => false,
                Some(Some(level)) => {
                    finding.level = level;
                    true
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_rule_of_a_code_counts_more_than_that_of_its_group() {
        let levels = json!({"variable": {"unused": "error", "*": "off"}, "text.hidden": "hint"});
        let (rules, problems) = LevelRules::from_settings(&levels, &Json::Null);
        assert_eq!(problems, [""; 0]);
        let patterns: Vec<&str> = rules.0.iter().map(|rule| rule.pattern.as_str()).collect();
        assert_eq!(patterns, ["variable.*", "text.hidden", "variable.unused"]);
    }

    #[test]
    fn wrong_rules_are_reported_with_similar_names() {
        let levels = json!({"variable.unusd": "off", "variable.lost": "of"});
        let paths = json!([{"levels": {}}, {"path": "a[", "levels": {"text.*": "off"}, "level": 1}]);
        let (_, problems) = LevelRules::from_settings(&levels, &paths);
        assert_eq!(
            problems[..3],
            [
                "`check.levels`: unknown level `of`: use error, warning, hint or off; did you mean `off`?",
                "`check.levels`: unknown code `variable.unusd`; did you mean `variable.unused`?",
                "`check.paths[0].path` must be a glob",
            ]
        );
        assert_eq!(problems.len(), 5);
    }
}
