//! The messages of a prompt as pieces.

use hinagata_document::Result;

use super::Exporter;
use super::keys::START;
use super::pieces::{Piece, PieceKind, read_pieces};
use crate::jinja_text::quote_string;
use crate::prompt::{PortableBody, PortableLayout, PortableMessage, PortablePart};
use crate::report::LossCode;

/// A message to write: its role, or the variable with earlier messages.
pub(super) enum Turn {
    Message(String, Vec<Piece>),
    History(String),
}

/// The messages of a prompt. Text before the first role is a message of `default_role`.
pub(super) fn read_turns(exporter: &mut Exporter<'_>, default_role: &str) -> Result<Vec<Turn>> {
    let mut turns = Vec::new();
    match exporter.prompt.body.clone() {
        PortableBody::Text(text) => {
            let pieces = read_pieces(exporter, &exporter.prompt.from, &text)?;
            let mut open: Option<(String, Vec<Piece>)> = None;
            for piece in pieces {
                match piece.kind {
                    PieceKind::Role(role) => {
                        turns.extend(open.take().map(|(role, pieces)| Turn::Message(role, pieces)));
                        open = Some((role, Vec::new()));
                    }
                    PieceKind::History(name) => {
                        turns.extend(open.take().map(|(role, pieces)| Turn::Message(role, pieces)));
                        turns.push(Turn::History(name));
                    }
                    PieceKind::Text(text)
                        if open.is_none() && text.trim().is_empty() && !turns.is_empty() => {}
                    _ => open.get_or_insert_with(|| (default_role.to_owned(), Vec::new())).1.push(piece),
                }
            }
            turns.extend(open.map(|(role, pieces)| Turn::Message(role, pieces)));
        }
        PortableBody::Messages(messages) => {
            for message in messages {
                match message {
                    PortableMessage::History(name) => turns.push(Turn::History(name)),
                    PortableMessage::Message { role, parts } => {
                        let mut pieces = Vec::new();
                        for part in &parts {
                            pieces.extend(match part {
                                PortablePart::Text(text) => {
                                    read_pieces(exporter, &exporter.prompt.from, text)?
                                }
                                PortablePart::Media(url) => vec![media_piece(exporter, url)?],
                            });
                        }
                        turns.push(Turn::Message(role, pieces));
                    }
                }
            }
        }
    }
    // The layout is about the messages of a text; those of a list keep their whitespace.
    let is_text = matches!(exporter.prompt.body, PortableBody::Text(_));
    if is_text && exporter.prompt.is_structured() {
        turns.iter_mut().for_each(|turn| trim_turn(turn, exporter.prompt.layout));
    }
    Ok(turns)
}

/// The media part whose URL is the template `url`.
fn media_piece(exporter: &Exporter<'_>, url: &str) -> Result<Piece> {
    let pieces = read_pieces(exporter, &exporter.prompt.from, url)?;
    let argument = match pieces.as_slice() {
        [Piece { kind: PieceKind::Print(_), source, .. }] => Some(source.clone()),
        [Piece { kind: PieceKind::Text(text), .. }] => Some(quote_string(text)),
        _ => None,
    };
    if let Some(argument) = argument {
        let call = format!("{{{{ media({argument}) }}}}");
        if let Some(piece) = read_pieces(exporter, &exporter.prompt.from, &call)?.pop() {
            return Ok(piece);
        }
    }
    let kind = PieceKind::Other("media whose URL has several parts");
    Ok(Piece { kind, at: START, source: url.to_owned() })
}

/// Removes whitespace at one end of a text.
type TrimText = fn(&str) -> &str;

/// Applies the layout to the literal text at both ends of a message.
fn trim_turn(turn: &mut Turn, layout: PortableLayout) {
    let Turn::Message(_, pieces) = turn else { return };
    let (start, end): (TrimText, TrimText) = match layout {
        PortableLayout::Keep => return,
        PortableLayout::Lines => {
            (|text| text.trim_start_matches(['\n', '\r']), |text| text.trim_end_matches(['\n', '\r']))
        }
        PortableLayout::Strip => (str::trim_start, str::trim_end),
        PortableLayout::Trim => (
            |text| match text.rfind(|character: char| !character.is_whitespace()) {
                Some(_) => {
                    let first = text.len() - text.trim_start().len();
                    &text[text[..first].rfind('\n').map_or(0, |at| at + 1)..]
                }
                None => "",
            },
            str::trim_end,
        ),
    };
    if let Some(Piece { kind: PieceKind::Text(text), .. }) = pieces.first_mut() {
        *text = start(text).to_owned();
    }
    if let Some(Piece { kind: PieceKind::Text(text), .. }) = pieces.last_mut() {
        *text = end(text).to_owned();
    }
}

/// All pieces of a prompt that is one text for the user; others lose their roles.
pub(super) fn read_plain(exporter: &mut Exporter<'_>) -> Result<Vec<Piece>> {
    let turns = read_turns(exporter, "user")?;
    let several = turns.len() > 1;
    let mut all = Vec::new();
    for turn in turns {
        match turn {
            Turn::Message(role, pieces) => {
                if several || role != "user" {
                    exporter.lose(LossCode::Role, START, format!("the role `{role}`"), "one text");
                }
                if !all.is_empty() {
                    all.push(Piece {
                        kind: PieceKind::Text("\n\n".to_owned()),
                        at: START,
                        source: String::new(),
                    });
                }
                all.extend(pieces);
            }
            Turn::History(name) => {
                exporter.lose(LossCode::Part, START, format!("earlier messages in `{name}`"), "");
            }
        }
    }
    Ok(all)
}
