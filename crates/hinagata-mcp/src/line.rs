//! Reads the line that a person typed after the name of a prompt: words for its arguments, and `--name=value`.

use rmcp::{ErrorData, model::JsonObject};
use serde_json::{Value, json};

use crate::{
    failure::{invalid_params_with, truncate_for_display},
    host::ArgumentStyle,
    parameters::{LineTarget, line_targets, word_places},
    prompt::PublicPrompt,
};

/// The argument that has the line where none is listed.
const WHOLE_LINE: &str = "input";

/// Arguments by name, read from what a host passes.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct LineArguments {
    pub(crate) arguments: JsonObject,
    /// The argument that may lack words, because the host passes on only so many.
    pub(crate) cut: Option<String>,
    /// Words for a prompt without arguments. They follow it.
    pub(crate) following: Option<String>,
}

/// The arguments by name, from those that a host of the style passes.
pub(crate) fn read_arguments(
    style: ArgumentStyle,
    prompt: &PublicPrompt,
    arguments: JsonObject,
) -> Result<LineArguments, ErrorData> {
    let targets = line_targets(&prompt.inherited.parameters, &prompt.undeclared);
    match style {
        ArgumentStyle::Words => read_words(prompt, &targets, arguments),
        ArgumentStyle::Line => match whole_line(&targets, &arguments) {
            Some(line) => {
                let line = line.to_owned();
                assign_line(prompt, &targets, &line, JsonObject::new()).map(LineArguments::complete)
            }
            None => Ok(LineArguments::complete(arguments)),
        },
        ArgumentStyle::Unlisted => read_unlisted(prompt, &targets, arguments),
        ArgumentStyle::Declared | ArgumentStyle::OneRequired | ArgumentStyle::Placeholders => {
            Ok(LineArguments::complete(arguments))
        }
    }
}

impl LineArguments {
    fn complete(arguments: JsonObject) -> Self {
        Self { arguments, ..Self::default() }
    }
}

/// Rebuilds the line from its words. Arguments that are not the words of a line are taken by name.
fn read_words(
    prompt: &PublicPrompt,
    targets: &[LineTarget<'_>],
    mut arguments: JsonObject,
) -> Result<LineArguments, ErrorData> {
    let places = word_places(targets);
    let is_word = |value: &Value| value.as_str().is_some_and(|text| !text.contains(char::is_whitespace));
    let filled = places.iter().take_while(|place| arguments.get(*place).is_some_and(is_word)).count();
    if filled == 0 || places[filled..].iter().any(|place| arguments.contains_key(place)) {
        return Ok(LineArguments::complete(arguments));
    }
    let words: Vec<String> = places[..filled]
        .iter()
        .filter_map(|place| arguments.remove(place))
        .filter_map(|word| word.as_str().map(str::to_owned))
        .collect();
    let last_text = targets.iter().rev().find(|target| target.is_text).map(|target| target.name.to_owned());
    let cut = last_text.filter(|_| filled == places.len());
    let arguments = assign_line(prompt, targets, &words.join(" "), arguments)?;
    Ok(LineArguments { arguments, cut, following: None })
}

/// The line, if it is the only argument.
fn whole_line<'a>(targets: &[LineTarget<'_>], arguments: &'a JsonObject) -> Option<&'a str> {
    let first = targets.first().filter(|_| arguments.len() == 1)?;
    arguments.get(first.name).and_then(Value::as_str)
}

/// Gives the line to the first target that was not passed by name. The host removed its quotes, so it is not divided.
fn read_unlisted(
    prompt: &PublicPrompt,
    targets: &[LineTarget<'_>],
    mut arguments: JsonObject,
) -> Result<LineArguments, ErrorData> {
    if prompt.has_argument(WHOLE_LINE) {
        return Ok(LineArguments::complete(arguments));
    }
    let Some(line) = arguments.remove(WHOLE_LINE) else { return Ok(LineArguments::complete(arguments)) };
    let line = line.as_str().unwrap_or_default().to_owned();
    match targets.iter().find(|target| !arguments.contains_key(target.name)) {
        Some(target) => {
            arguments.insert(target.name.to_owned(), line.into());
            Ok(LineArguments::complete(arguments))
        }
        None if targets.is_empty() => Ok(LineArguments { arguments, cut: None, following: Some(line) }),
        None => Err(surplus_error(prompt, &line)),
    }
}

/// Adds the arguments in the line to those passed by name.
fn assign_line(
    prompt: &PublicPrompt,
    targets: &[LineTarget<'_>],
    line: &str,
    mut arguments: JsonObject,
) -> Result<JsonObject, ErrorData> {
    let (named, text) = take_named(line, |name| prompt.has_argument(name));
    for (name, value) in named {
        arguments.insert(name, value.into());
    }
    let open: Vec<LineTarget<'_>> =
        targets.iter().copied().filter(|target| !arguments.contains_key(target.name)).collect();
    let (assigned, surplus) = divide_text(&open, &text);
    if !surplus.is_empty() {
        return Err(surplus_error(prompt, &surplus));
    }
    arguments.extend(assigned.into_iter().map(|(name, value)| (name, value.into())));
    Ok(arguments)
}

fn surplus_error(prompt: &PublicPrompt, surplus: &str) -> ErrorData {
    let surplus = truncate_for_display(surplus);
    invalid_params_with(
        format!("no argument of `{}` takes `{surplus}`; pass it by name, as `--name=\"…\"`", prompt.name),
        json!({"code": "validation", "surplus": surplus}),
    )
}

/// Takes every `--name=value` with a known name out of a line.
fn take_named(line: &str, is_known: impl Fn(&str) -> bool) -> (Vec<(String, String)>, String) {
    let (mut named, mut text, mut rest) = (Vec::new(), String::new(), line);
    while let Some(start) = rest.find("--") {
        let (before, found) = rest.split_at(start);
        text.push_str(before);
        let at_word_start = text.chars().next_back().is_none_or(char::is_whitespace);
        let option = found[2..].split_once('=').filter(|(name, _)| at_word_start && is_known(name));
        match option {
            Some((name, after)) => {
                let (value, after) = take_token(after);
                named.push((name.to_owned(), value));
                rest = after;
            }
            None => {
                text.push_str("--");
                rest = &found[2..];
            }
        }
    }
    text.push_str(rest);
    (named, text.trim().to_owned())
}

/// The first word, or the first text in quotes, and what follows it.
fn take_token(text: &str) -> (String, &str) {
    let text = text.trim_start();
    if let Some(quoted) = text.strip_prefix('"') {
        let (mut value, mut escaped) = (String::new(), false);
        for (place, character) in quoted.char_indices() {
            match character {
                '\\' if !escaped => escaped = true,
                '"' if !escaped => return (value, &quoted[place + 1..]),
                _ => {
                    // Only a quote and the backslash itself are escaped.
                    if escaped && !matches!(character, '"' | '\\') {
                        value.push('\\');
                    }
                    value.push(character);
                    escaped = false;
                }
            }
        }
    }
    // A quote without its end is a character like others.
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    (text[..end].to_owned(), &text[end..])
}

/// Divides a text among the targets: one word each, and all that is left to the last one that takes any text. Also
/// returns what no target takes.
fn divide_text(targets: &[LineTarget<'_>], text: &str) -> (Vec<(String, String)>, String) {
    let (mut assigned, mut rest) = (Vec::new(), text.trim());
    let greedy = targets.iter().rposition(|target| target.is_text);
    for target in &targets[..greedy.unwrap_or(targets.len())] {
        if rest.is_empty() {
            return (assigned, String::new());
        }
        let (value, after) = take_token(rest);
        assigned.push((target.name.to_owned(), value));
        rest = after.trim_start();
    }
    let Some(greedy) = greedy else { return (assigned, rest.to_owned()) };
    if rest.is_empty() {
        return (assigned, String::new());
    }
    // The words after the text belong to the targets after it, if there are enough.
    let mut after = Vec::new();
    for target in targets[greedy + 1..].iter().rev() {
        let Some((before, word)) = rest.rsplit_once(char::is_whitespace) else { break };
        after.push((target.name.to_owned(), word.to_owned()));
        rest = before.trim_end();
    }
    if after.len() < targets.len() - greedy - 1 {
        // There are too few words to tell which ones are missing.
        after.clear();
        rest = text.trim();
        for _ in 0..greedy {
            rest = take_token(rest).1.trim_start();
        }
    }
    assigned.push((targets[greedy].name.to_owned(), unquote(rest)));
    assigned.extend(after);
    (assigned, String::new())
}

/// The text without the quotes around all of it.
fn unquote(text: &str) -> String {
    match take_token(text) {
        (inner, "") if text.starts_with('"') => inner,
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: bool = true;

    fn divided(targets: &[(&'static str, bool)], text: &str) -> (Vec<String>, String) {
        let targets: Vec<_> = targets.iter().map(|&(name, is_text)| LineTarget { name, is_text }).collect();
        let (assigned, surplus) = divide_text(&targets, text);
        (assigned.into_iter().map(|(name, value)| format!("{name}={value}")).collect(), surplus)
    }

    #[test]
    fn the_last_text_takes_the_rest_of_the_line() {
        for (targets, text, assigned, surplus) in [
            (&[("a", TEXT)][..], "fixed the lamp", &["a=fixed the lamp"][..], ""),
            (&[("a", TEXT)], "\"fixed the lamp\"", &["a=fixed the lamp"], ""),
            (&[("a", TEXT)], "say \"hello\" now", &["a=say \"hello\" now"], ""),
            (&[("a", TEXT), ("b", TEXT)], "one two three", &["a=one", "b=two three"], ""),
            (&[("a", TEXT), ("b", TEXT)], "\"one two\" three", &["a=one two", "b=three"], ""),
            (&[("n", false), ("b", TEXT)], "7 the lamp", &["n=7", "b=the lamp"], ""),
            (&[("b", TEXT), ("n", false)], "the lamp 7", &["b=the lamp", "n=7"], ""),
            (&[("b", TEXT), ("n", false)], "lamp", &["b=lamp"], ""),
            (&[("n", false)], "7 apples", &["n=7"], "apples"),
            (&[("a", TEXT)], "it's 5\" wide", &["a=it's 5\" wide"], ""),
            (&[], "words", &[], "words"),
            (&[("a", TEXT)], "", &[], ""),
        ] {
            let expected = assigned.iter().map(|&part| part.to_owned()).collect();
            assert_eq!(divided(targets, text), (expected, surplus.to_owned()), "{text}");
        }
    }

    #[test]
    fn options_are_taken_out_of_the_line() {
        let is_known = |name: &str| matches!(name, "level" | "note");
        let taken = |line: &str| {
            let (named, text) = take_named(line, is_known);
            (named.into_iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>(), text)
        };
        assert_eq!(
            taken("fix it --level=high now"),
            (vec!["level=high".to_owned()], "fix it  now".to_owned())
        );
        assert_eq!(
            taken("--note=\"two \\\"words\\\"\" x"),
            (vec!["note=two \"words\"".to_owned()], "x".to_owned())
        );
        for prose in ["a --other=1 b", "a--level=high", "--level high", "-- x --"] {
            assert_eq!(taken(prose), (Vec::new(), prose.to_owned()), "{prose}");
        }
    }
}
