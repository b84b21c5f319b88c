//! Test cases: templates as trees of pieces, so that a failing case can be reduced.

use serde_json::{Map, Value as Json, json};

/// A random generator with the same choices for the same seed on every machine.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(mixed ^ (mixed >> 31)) * bound as u128) >> 64) as usize
    }

    /// True `percent` times in a hundred.
    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn pick<'t, T: ?Sized>(&mut self, items: &[&'t T]) -> &'t T {
        items[self.below(items.len())]
    }

    /// The index of an item, chosen by weight.
    pub(crate) fn weighted(&mut self, weights: &[usize]) -> usize {
        let mut left = self.below(weights.iter().sum());
        for (at, weight) in weights.iter().enumerate() {
            if left < *weight {
                return at;
            }
            left -= weight;
        }
        0
    }
}

/// A part of a template: a text, or a body between two tags.
#[derive(Clone, Debug)]
pub(crate) enum Piece {
    Text(String),
    Group { open: String, body: Vec<Piece>, close: String },
}

impl Piece {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub(crate) fn group(open: impl Into<String>, body: Vec<Self>, close: impl Into<String>) -> Self {
        Self::Group { open: open.into(), body, close: close.into() }
    }

    fn write(&self, out: &mut String) {
        match self {
            Self::Text(text) => out.push_str(text),
            Self::Group { open, body, close } => {
                out.push_str(open);
                body.iter().for_each(|piece| piece.write(out));
                out.push_str(close);
            }
        }
    }
}

/// The source text of pieces.
pub(crate) fn source(pieces: &[Piece]) -> String {
    let mut out = String::new();
    pieces.iter().for_each(|piece| piece.write(&mut out));
    out
}

/// Everything that one render depends on.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// The templates `t0`, `t1`, …; the first one is rendered.
    pub(crate) templates: Vec<Vec<Piece>>,
    pub(crate) data: Map<String, Json>,
    pub(crate) options: Options,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    pub(crate) undefined: Undefined,
    pub(crate) autoescape: bool,
    pub(crate) trim_blocks: bool,
    pub(crate) lstrip_blocks: bool,
    pub(crate) keep_trailing_newline: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Undefined {
    #[default]
    Default,
    Strict,
    Chainable,
}

impl Case {
    /// The case in the form that the original reads.
    pub(crate) fn to_json(&self) -> Json {
        let templates: Map<String, Json> = self
            .templates
            .iter()
            .enumerate()
            .map(|(number, pieces)| (format!("t{number}"), source(pieces).into()))
            .collect();
        json!({
            "templates": templates,
            "entry": "t0",
            "data": self.data,
            "undefined": match self.options.undefined {
                Undefined::Default => "default",
                Undefined::Strict => "strict",
                Undefined::Chainable => "chainable",
            },
            "autoescape": self.options.autoescape,
            "trim_blocks": self.options.trim_blocks,
            "lstrip_blocks": self.options.lstrip_blocks,
            "keep_trailing_newline": self.options.keep_trailing_newline,
        })
    }

    /// The case that [`Case::to_json`] wrote.
    pub(crate) fn from_json(case: &Json) -> Self {
        let templates = case["templates"].as_object().expect("is a map").values();
        let on = |name: &str| case[name].as_bool().expect("is a flag");
        Self {
            templates: templates
                .map(|source| vec![Piece::text(source.as_str().expect("is a text"))])
                .collect(),
            data: case["data"].as_object().cloned().expect("is a map"),
            options: Options {
                undefined: match case["undefined"].as_str() {
                    Some("strict") => Undefined::Strict,
                    Some("chainable") => Undefined::Chainable,
                    _ => Undefined::Default,
                },
                autoescape: on("autoescape"),
                trim_blocks: on("trim_blocks"),
                lstrip_blocks: on("lstrip_blocks"),
                keep_trailing_newline: on("keep_trailing_newline"),
            },
        }
    }

    /// Reduces the case as long as `fails` is true.
    pub(crate) fn shrink(mut self, fails: &mut dyn FnMut(&Self) -> bool) -> Self {
        loop {
            let Some(smaller) = self.candidates().into_iter().find(|smaller| fails(smaller)) else {
                return self;
            };
            self = smaller;
        }
    }

    /// The cases with one part removed, for each part that can be removed.
    fn candidates(&self) -> Vec<Self> {
        let mut found = Vec::new();
        for number in 0..self.templates.len() {
            for smaller in smaller_bodies(&self.templates[number]) {
                let mut case = self.clone();
                case.templates[number] = smaller;
                found.push(case);
            }
        }
        for name in self.data.keys() {
            let mut case = self.clone();
            case.data.shift_remove(name);
            found.push(case);
        }
        found
    }
}

/// The pieces with one piece removed, or with one piece replaced by its contents.
fn smaller_bodies(pieces: &[Piece]) -> Vec<Vec<Piece>> {
    let mut found = Vec::new();
    if pieces.len() > 3 {
        found.push(pieces[..pieces.len() / 2].to_vec());
        found.push(pieces[pieces.len() / 2..].to_vec());
    }
    let with = |at: usize, new: &[Piece]| {
        let mut all = pieces[..at].to_vec();
        all.extend_from_slice(new);
        all.extend_from_slice(&pieces[at + 1..]);
        all
    };
    for at in 0..pieces.len() {
        found.push(with(at, &[]));
    }
    for (at, piece) in pieces.iter().enumerate() {
        if let Piece::Group { open, body, close } = piece {
            found.push(with(at, body));
            for body in smaller_bodies(body) {
                found.push(with(at, &[Piece::group(open, body, close)]));
            }
        }
    }
    found
}
