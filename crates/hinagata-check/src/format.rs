//! Formats files with a template.

use hinagata_document::{Result, front_matter::split_front_matter};
use hinagata_template::{Language, Options, format_source};

/// The text of a template file with formatted tags; see [`format_source`]. Front matter stays as it is. Its `engine`, or
/// else the name of the file, decides the language.
///
/// # Errors
/// The front matter is not valid.
pub fn format_file(name: &str, text: &str) -> Result<String> {
    let split = split_front_matter(name, text)?;
    let engine = split.matter.as_ref().and_then(|matter| matter.get("engine")?.as_str().map(str::to_owned));
    let language = match engine.as_deref() {
        Some("go") => Language::Go,
        Some(_) => Language::Jinja,
        None => Language::from_file_name(name),
    };
    // The template is the end of the text.
    let Some(before) = text.strip_suffix(split.template) else { return Ok(text.to_owned()) };
    Ok(format!("{before}{}", format_source(language, split.template, &Options::default())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn front_matter_stays_and_names_the_language() -> Result<()> {
        let text = "---\ndescription: '{{a}}'\n---\n{{a}}\n";
        assert_eq!(format_file("template.md", text)?, "---\ndescription: '{{a}}'\n---\n{{ a }}\n");
        let go = "---\nengine: go\n---\n{{.a}}{{- /* {{b}} */ -}}";
        assert_eq!(format_file("template.md", go)?, "---\nengine: go\n---\n{{ .a }}{{- /* {{b}} */ -}}");
        Ok(())
    }
}
