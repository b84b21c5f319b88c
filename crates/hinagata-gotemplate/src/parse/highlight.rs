//! The tokens of a source for editors, also behind an error.

use hinagata_value::{HighlightKind, HighlightToken};

use super::{
    lex::{Delims, Lexer, LoopWords},
    token::{Keyword, Kind},
};

/// The pieces of `source` that an editor colours, in order. Behind an error, they go on with the next action.
#[must_use]
pub fn highlight_source(source: &str, delims: (&str, &str)) -> Vec<HighlightToken> {
    let delims = Delims::new(delims.0, delims.1);
    let mut tokens = Vec::new();
    let mut base = 0;
    while let Some(error_at) = read_tokens(source, base, &delims, &mut tokens) {
        let from = (error_at.max(base) + 1..=source.len()).find(|at| source.is_char_boundary(*at));
        let next = from.and_then(|from| Some(from + source.get(from..)?.find(&*delims.left)?));
        match next {
            Some(next) => base = next,
            None => break,
        }
    }
    tokens
}

/// Reads the tokens from `base` on; returns where it failed.
fn read_tokens(
    source: &str,
    base: usize,
    delims: &Delims,
    tokens: &mut Vec<HighlightToken>,
) -> Option<usize> {
    let text = source.get(base..)?;
    let mut lexer = Lexer::new(text, delims, LoopWords { break_: true, continue_: true });
    let (mut end, mut is_piped) = (0, false);
    loop {
        let token = lexer.next_token();
        let start = token.start as usize;
        // Comments are between tokens.
        if let Some(gap) = text.get(end..start).filter(|gap| gap.contains("/*")) {
            let trimmed = gap.trim_start();
            let at = base + end + (gap.len() - trimmed.len());
            tokens.push(HighlightToken {
                start: at,
                end: at + trimmed.trim_end().len(),
                kind: HighlightKind::Comment,
            });
        }
        let kind = match token.kind {
            Kind::Eof => return None,
            Kind::Error => return Some(base + start.max(end)),
            Kind::Text | Kind::Space => None,
            Kind::LeftDelim | Kind::RightDelim => Some(HighlightKind::Tag),
            Kind::Bool => Some(HighlightKind::Boolean),
            Kind::Number | Kind::Complex | Kind::CharConstant => Some(HighlightKind::Number),
            Kind::String | Kind::RawString => Some(HighlightKind::String),
            Kind::Identifier if is_piped => Some(HighlightKind::Filter),
            Kind::Identifier => Some(HighlightKind::Function),
            Kind::Field => Some(HighlightKind::Property),
            Kind::Variable | Kind::Keyword(Keyword::Dot) => Some(HighlightKind::Variable),
            Kind::Keyword(Keyword::Nil) => Some(HighlightKind::Null),
            Kind::Keyword(_) => Some(HighlightKind::Keyword),
            Kind::Assign | Kind::Declare | Kind::Pipe | Kind::LeftParen | Kind::RightParen | Kind::Char => {
                Some(HighlightKind::Operator)
            }
        };
        if token.kind != Kind::Space {
            is_piped = token.kind == Kind::Pipe;
        }
        end = start + token.text.len();
        if let Some(kind) = kind.filter(|_| text.is_char_boundary(start) && text.is_char_boundary(end)) {
            tokens.push(HighlightToken { start: base + start, end: base + end, kind });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn highlight(source: &str) -> Vec<(&str, &'static str)> {
        let tokens = highlight_source(source, ("", ""));
        tokens.iter().map(|token| (&source[token.start..token.end], token.kind.as_str())).collect()
    }

    #[test]
    fn names_are_told_apart_by_their_place() {
        let found = highlight("a {{ if .user.name }}{{ len $x | printf \"%d\" }}{{ end }}{{/* c */}}");
        for expected in [
            ("if", "keyword"),
            (".user", "property"),
            ("len", "function"),
            ("$x", "variable"),
            ("printf", "filter"),
            ("\"%d\"", "string"),
            ("end", "keyword"),
        ] {
            assert!(found.contains(&expected), "{expected:?}: {found:?}");
        }
        assert!(found.iter().any(|(text, kind)| text.contains("/* c */") && *kind == "comment"), "{found:?}");
    }

    #[test]
    fn colours_go_on_behind_an_error() {
        let found = highlight("{{ \"open }}\n{{ .after }}");
        assert!(found.contains(&(".after", "property")), "{found:?}");
        for source in ["{{", "{{ é", "{{/*", "}}", "{{ 'é", ""] {
            let _ = highlight(source);
        }
    }
}
