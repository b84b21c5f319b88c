//! The tokens of a source for editors, also behind an error.

use hinagata_value::{Budget, HighlightKind, HighlightToken};

use super::{
    Lexer,
    token::{Op, TokenKind},
};
use crate::{ParseOptions, source::Origin};

/// The words that are operators or parts of tags.
const KEYWORDS: [&str; 17] = [
    "and",
    "as",
    "context",
    "else",
    "elif",
    "endif",
    "if",
    "ignore",
    "import",
    "in",
    "is",
    "missing",
    "not",
    "or",
    "recursive",
    "with",
    "without",
];

/// What a token is before its neighbours are known.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Piece<'s> {
    Delimiter { starts_block: bool, ends: bool },
    Name(&'s str),
    Number,
    String,
    Op(Op),
    Comment,
}

/// The pieces of `source` that an editor colours, in order. Behind an error, they go on with the next tag.
pub fn highlight_source(source: &str, options: &ParseOptions, budget: &Budget) -> Vec<HighlightToken> {
    let mut pieces = Vec::new();
    let mut base = 0;
    while let Some(error_at) = read_pieces(source, base, options, budget, &mut pieces) {
        let openers = [&options.syntax.block, &options.syntax.variable, &options.syntax.comment];
        let from = (error_at.max(base) + 1..=source.len()).find(|at| source.is_char_boundary(*at));
        let rest = from.and_then(|from| Some((from, source.get(from..)?)));
        let next = rest.and_then(|(from, rest)| {
            openers.iter().filter_map(|delimiters| rest.find(delimiters.open)).min().map(|found| from + found)
        });
        match next {
            Some(next) => base = next,
            None => break,
        }
    }
    classify_pieces(&pieces)
}

/// Reads the pieces from `base` on; returns where it failed.
fn read_pieces<'s>(
    source: &'s str,
    base: usize,
    options: &'s ParseOptions,
    budget: &'s Budget,
    pieces: &mut Vec<(usize, usize, Piece<'s>)>,
) -> Option<usize> {
    let text = source.get(base..)?;
    let mut lexer = Lexer::new(Origin { name: "", text }, options, budget);
    let mut end = 0;
    loop {
        let Ok(token) = lexer.next_token() else { return Some(base + lexer.at.max(end)) };
        let (from, to) = (token.span.start as usize, token.span.end as usize);
        // Comments and the tags of raw blocks are between tokens.
        if from > end
            && let Some(gap) = text.get(end..from)
        {
            let trimmed = gap.trim_start();
            let at = base + end + (gap.len() - trimmed.len());
            if trimmed.starts_with(options.syntax.comment.open) {
                pieces.push((at, at + trimmed.trim_end().len(), Piece::Comment));
            } else if trimmed.starts_with(options.syntax.block.open) {
                let piece = Piece::Delimiter { starts_block: false, ends: true };
                pieces.push((at, at + trimmed.trim_end().len(), piece));
            }
        }
        let piece = match token.kind {
            TokenKind::Eof => return None,
            TokenKind::Data(_) => None,
            TokenKind::VariableBegin => Some(Piece::Delimiter { starts_block: false, ends: false }),
            TokenKind::BlockBegin => Some(Piece::Delimiter { starts_block: true, ends: false }),
            TokenKind::VariableEnd | TokenKind::BlockEnd => {
                Some(Piece::Delimiter { starts_block: false, ends: true })
            }
            TokenKind::Name(name) => Some(Piece::Name(name)),
            TokenKind::Int(_) | TokenKind::Float(_) => Some(Piece::Number),
            TokenKind::Str(_) => Some(Piece::String),
            TokenKind::Op(op) => Some(Piece::Op(op)),
        };
        if let Some(piece) = piece {
            // The lexer borrows `text`, which is a part of `source`.
            let piece = match piece {
                Piece::Name(_) => Piece::Name(source.get(base + from..base + to).unwrap_or_default()),
                other => other,
            };
            pieces.push((base + from, base + to, piece));
        }
        end = to;
    }
}

fn classify_pieces(pieces: &[(usize, usize, Piece<'_>)]) -> Vec<HighlightToken> {
    let at = |index: Option<usize>| index.and_then(|index| pieces.get(index)).map(|(_, _, piece)| *piece);
    let kind = |index: usize, piece: Piece<'_>| {
        let before = at(index.checked_sub(1));
        match piece {
            Piece::Delimiter { .. } => HighlightKind::Tag,
            Piece::Number => HighlightKind::Number,
            Piece::String => HighlightKind::String,
            Piece::Op(_) => HighlightKind::Operator,
            Piece::Comment => HighlightKind::Comment,
            Piece::Name(name) => match before {
                Some(Piece::Delimiter { starts_block: true, .. }) => HighlightKind::Keyword,
                Some(Piece::Op(Op::Pipe)) => HighlightKind::Filter,
                Some(Piece::Op(Op::Dot)) => match at(Some(index + 1)) {
                    Some(Piece::Op(Op::OpenParen)) => HighlightKind::Function,
                    _ => HighlightKind::Property,
                },
                Some(Piece::Name("is")) if name != "not" => HighlightKind::Test,
                Some(Piece::Name("not")) if at(index.checked_sub(2)) == Some(Piece::Name("is")) => {
                    HighlightKind::Test
                }
                _ if KEYWORDS.contains(&name) => HighlightKind::Keyword,
                _ if matches!(name, "true" | "false" | "True" | "False") => HighlightKind::Boolean,
                _ if matches!(name, "none" | "None") => HighlightKind::Null,
                _ => match at(Some(index + 1)) {
                    Some(Piece::Op(Op::OpenParen)) => HighlightKind::Function,
                    _ => HighlightKind::Variable,
                },
            },
        }
    };
    let token = |(index, (start, end, piece)): (usize, &(usize, usize, Piece<'_>))| HighlightToken {
        start: *start,
        end: *end,
        kind: kind(index, *piece),
    };
    pieces.iter().enumerate().map(token).collect()
}

#[cfg(test)]
mod tests {
    use hinagata_value::Limits;

    use super::*;

    fn highlight(source: &str) -> Vec<(&str, &'static str)> {
        let budget = Budget::new(Limits::default());
        let tokens = highlight_source(source, &ParseOptions::default(), &budget);
        tokens.iter().map(|token| (&source[token.start..token.end], token.kind.as_str())).collect()
    }

    #[test]
    fn names_are_told_apart_by_their_place() {
        let found =
            highlight("a {{ user.name|upper }}{% if x is not defined %}{{ f(1, 'b') }}{# c #}{% endif %}");
        for expected in [
            ("user", "variable"),
            ("name", "property"),
            ("upper", "filter"),
            ("if", "keyword"),
            ("x", "variable"),
            ("is", "keyword"),
            ("defined", "test"),
            ("f", "function"),
            ("1", "number"),
            ("'b'", "string"),
            ("{# c #}", "comment"),
            ("endif", "keyword"),
            ("%}", "tag"),
        ] {
            assert!(found.contains(&expected), "{expected:?}: {found:?}");
        }
    }

    #[test]
    fn colours_go_on_behind_an_error() {
        for source in [
            "{{ a ! b }} é {{ after }}",
            "{{ 'open }} {{ after }}",
            "{% raw %}{{ x }} {% endraw %}{{ after }}",
        ] {
            assert!(highlight(source).contains(&("after", "variable")), "{source}: {:?}", highlight(source));
        }
        for source in ["{{", "{% é", "{#", "}}", "{{ 'é", ""] {
            let _ = highlight(source);
        }
    }
}
