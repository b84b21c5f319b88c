//! How much of a result comes from each file, variable, layer and tool.

use std::{collections::BTreeMap, ops::Range};

use serde::Serialize;

use super::{ExplainMap, MASKED, MapText, TOOL, VALUE};
use crate::engine::trace::TokensOf;

/// What one file, variable, layer or tool adds to a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Share {
    /// Bytes.
    pub bytes: usize,
    /// Characters.
    pub characters: usize,
    /// Tokens whose first byte lies in it; `None` if the build cannot tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<usize>,
}

/// The shares of a result. Each piece counts once in each table; what comes from none of them is not listed.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Shares {
    /// All texts.
    pub all: Share,
    /// By file.
    pub files: BTreeMap<String, Share>,
    /// By path of a variable.
    pub variables: BTreeMap<String, Share>,
    /// By layer.
    pub layers: BTreeMap<String, Share>,
    /// By tool.
    pub tools: BTreeMap<String, Share>,
    /// The model whose tokens are counted.
    pub tokens_of: TokensOf,
}

impl ExplainMap {
    /// How much of the texts comes from each file, variable, layer and tool. A token counts where its first byte lies, so
    /// that tokens add up.
    #[must_use]
    pub fn shares(&self) -> Shares {
        let mut shares = Shares { tokens_of: self.tokens_of.clone(), ..Shares::default() };
        for (text, span, at) in self.pieces() {
            let piece = &text.text[at..at + span.length];
            let tokens = text.tokens_in(at..at + span.length);
            let grow = |share: &mut Share| {
                share.bytes += piece.len();
                share.characters += piece.chars().count();
                share.tokens = tokens.map(|tokens| share.tokens.unwrap_or_default() + tokens);
            };
            let add = |table: &mut BTreeMap<String, Share>, name: &str| match table.get_mut(name) {
                Some(share) => grow(share),
                None => grow(table.entry(name.to_owned()).or_default()),
            };
            grow(&mut shares.all);
            let value = span.of.filter(|_| matches!(span.kind, VALUE | TOOL | MASKED));
            if let Some(value) = value.and_then(|value| self.values.get(value as usize)) {
                match &value.tool {
                    Some(tool) => add(&mut shares.tools, tool),
                    None => add(&mut shares.variables, &value.path),
                }
                if let Some(layer) = value.layer {
                    add(&mut shares.layers, layer.as_str());
                }
            }
            if let Some(place) = span.place.and_then(|place| self.places.get(place as usize)) {
                add(&mut shares.files, &self.files[place.file as usize].file);
            }
        }
        shares
    }
}

impl MapText {
    /// The tokens that start in a range of the text.
    fn tokens_in(&self, range: Range<usize>) -> Option<usize> {
        let starts = self.token_starts.as_ref()?;
        let before = |byte: usize| starts.partition_point(|start| *start < byte);
        Some(before(range.end) - before(range.start))
    }
}
