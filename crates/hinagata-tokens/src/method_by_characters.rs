//! How the tokens of a model are estimated in a build without vocabularies: by characters.

use std::path::Path;

use crate::{
    TokenCount, TokenizerError,
    approximate::approximate_text,
    family::{Factors, Family},
    tally::Tally,
};

/// The error of approximating o200k, in percent; that of the family comes on top.
const APPROXIMATION_ERROR: u8 = 25;

#[derive(Clone, Debug)]
pub(crate) struct Method(&'static Factors);

impl Method {
    pub(crate) fn for_family(family: &'static Family) -> Self {
        Self(&family.factors)
    }

    pub(crate) fn from_file(path: &Path) -> Result<Self, TokenizerError> {
        let hint = "use a build with the feature `tokens`, or remove the file from the settings";
        Err(TokenizerError::new(path, "cannot be used: this build has no tokenizers", hint))
    }

    pub(crate) fn is_exact(&self) -> bool {
        false
    }

    pub(crate) fn count_tokens(&self, text: &str) -> TokenCount {
        self.count_tally(&self.tally_text(text))
    }

    /// An estimate by characters has no tokens of its own.
    pub(crate) fn token_starts(&self, _text: &str) -> Option<Vec<usize>> {
        None
    }

    /// Hundredths, so that sums are not sums of rounded numbers.
    pub(crate) fn tally_text(&self, text: &str) -> Tally {
        approximate_text(text)
    }

    pub(crate) fn count_tally(&self, hundredths: &Tally) -> TokenCount {
        let count = self.0.estimate_tokens(&Tally(hundredths.0.map(|count| (count + 50) / 100)));
        TokenCount { error_percent: count.error_percent.map(|error| error + APPROXIMATION_ERROR), ..count }
    }

    /// Whether tallies of `before` and of a text behind it can be added.
    pub(crate) fn splits_between(&self, before: &str, _next: char) -> bool {
        before.ends_with('\n')
    }
}
