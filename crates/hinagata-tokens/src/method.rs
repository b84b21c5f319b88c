//! How the tokens of a model are counted: by a vocabulary, by a file, or as an estimate from o200k.

use std::{path::Path, sync::Arc};

use crate::{
    TokenCount, TokenizerError, boundary,
    family::{BuiltIn, Factors, Family},
    file::{self, TokenizerFile},
    openai::{BytePairs, CL100K, O200K},
    tally::Tally,
};

#[derive(Clone, Debug)]
pub(crate) enum Method {
    BuiltIn(&'static BytePairs),
    File(Arc<TokenizerFile>),
    Estimate(&'static Factors),
}

impl Method {
    pub(crate) fn for_family(family: &'static Family) -> Self {
        match family.vocabulary {
            Some(BuiltIn::O200k) => Self::BuiltIn(&O200K),
            Some(BuiltIn::Cl100k) => Self::BuiltIn(&CL100K),
            None => Self::Estimate(&family.factors),
        }
    }

    pub(crate) fn from_file(path: &Path) -> Result<Self, TokenizerError> {
        file::open_tokenizer(path).map(Self::File)
    }

    pub(crate) fn is_exact(&self) -> bool {
        !matches!(self, Self::Estimate(_))
    }

    pub(crate) fn count_tokens(&self, text: &str) -> TokenCount {
        match self {
            Self::BuiltIn(tokenizer) => TokenCount::exact(tokenizer.count_tokens(text)),
            Self::File(file) => file.count_tokens(text),
            Self::Estimate(factors) => factors.estimate_tokens(&O200K.tally_text(text)),
        }
    }

    /// The bytes at which the tokens of a text start: exactly for vocabularies that are compiled in, else those of o200k.
    pub(crate) fn token_starts(&self, text: &str) -> Option<Vec<usize>> {
        Some(match self {
            Self::BuiltIn(tokenizer) => tokenizer.token_starts(text),
            Self::File(_) | Self::Estimate(_) => O200K.token_starts(text),
        })
    }

    /// What the count of a text consists of; files do not count by tallies.
    pub(crate) fn tally_text(&self, text: &str) -> Tally {
        match self {
            Self::BuiltIn(tokenizer) => tokenizer.tally_text(text),
            Self::File(_) | Self::Estimate(_) => O200K.tally_text(text),
        }
    }

    pub(crate) fn count_tally(&self, tally: &Tally) -> TokenCount {
        match self {
            Self::Estimate(factors) => factors.estimate_tokens(tally),
            Self::BuiltIn(_) | Self::File(_) => {
                TokenCount::exact(usize::try_from(tally.tokens()).unwrap_or(usize::MAX))
            }
        }
    }

    /// Whether tallies of `before` and of a text that starts with `next` can be added.
    pub(crate) fn splits_between(&self, before: &str, next: char) -> bool {
        !matches!(self, Self::File(_)) && boundary::splits_between(before, next)
    }
}
