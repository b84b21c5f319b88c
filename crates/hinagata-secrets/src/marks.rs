//! Replaces secrets by marks.
//!
//! A value has the same mark everywhere in one output, so a reader can tell which places have the same secret. A value
//! that was found once is replaced in everything that follows, in other spellings too: a diff may show a line of a
//! private key, and an address the base64 of a password.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    ops::Range,
};

use aho_corasick::{AhoCorasick, MatchKind};

use crate::{
    allow::{hash_value, shorten_hash},
    encoded::{encoded_forms, is_base64},
    find::FoundSecrets,
    placeholder::MARK_START,
    shape::Shape,
};

/// How many bytes of a value are looked for; the others are compared.
const NEEDLE: usize = 48;

/// Values shorter than this are replaced only where a rule finds them.
const SHORTEST: usize = 8;

/// The longest value whose other spellings are looked for.
const LONGEST: usize = 1 << 10;

/// Most spellings that are looked for; a rule of a stranger may match every word.
const MOST_FORMS: usize = 4_000;

/// Lines of a value with several lines that are looked for on their own have at least this length.
const SHORTEST_LINE: usize = 40;

/// The marks of one output.
#[derive(Default)]
pub struct Marks {
    by_value: HashMap<Vec<u8>, usize>,
    marks: Vec<Mark>,
    /// How many values each rule has.
    counts: HashMap<String, usize>,
    forms: Vec<Form>,
    /// Finds the starts of `forms`; `None` if a form was added since.
    search: Option<AhoCorasick>,
}

/// Values are secret, so only their number is shown.
impl fmt::Debug for Marks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Marks").field("values", &self.marks.len()).finish_non_exhaustive()
    }
}

struct Mark {
    rule: String,
    text: String,
    hash: String,
}

/// A spelling of a value.
struct Form {
    text: Vec<u8>,
    mark: usize,
    /// Whether the rest of the base64 text around it belongs to it.
    is_part: bool,
}

/// A text whose secrets are replaced by marks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedactedText {
    /// The text with marks.
    pub text: String,
    /// What was replaced, in the order of the places.
    pub secrets: Vec<RedactedSecret>,
}

/// A secret that was replaced by a mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedactedSecret {
    /// The rule that found the value.
    pub rule: String,
    /// The line of the text before it was changed, counted from 1.
    pub line: usize,
    /// The mark.
    pub mark: String,
    /// The hash by which an exception can allow the value.
    pub hash: String,
}

impl RedactedSecret {
    /// The shortest hash by which an exception can allow the value.
    #[must_use]
    pub fn short_hash(&self) -> &str {
        shorten_hash(&self.hash)
    }
}

impl Marks {
    /// Replaces the secrets that were found in `text`, and values that were found in earlier texts; `None` if it has
    /// none.
    pub fn redact_text(&mut self, text: &str, found: &FoundSecrets<'_>) -> Option<RedactedText> {
        if found.is_empty() && self.marks.is_empty() {
            return None;
        }
        let bytes = text.as_bytes();
        let mut places: Vec<(Range<usize>, usize)> = Vec::new();
        for secret in found.iter() {
            let mark = self.mark_value(secret.rule, &bytes[secret.range.clone()]);
            places.push((secret.range.clone(), mark));
        }
        let known = self.find_known(bytes).into_iter();
        let is_allowed = |range: &Range<usize>| found.allowed.iter().any(|allowed| overlap(allowed, range));
        places.extend(known.filter(|(range, _)| !is_allowed(range)));
        places.sort_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
        (!places.is_empty()).then(|| self.replace_places(text, &places))
    }

    /// The mark of a value; a new value gets the next number of its rule.
    fn mark_value(&mut self, rule: &str, value: &[u8]) -> usize {
        if let Some(mark) = self.by_value.get(value) {
            return *mark;
        }
        let count = self.counts.entry(rule.to_owned()).or_default();
        *count += 1;
        let number = if *count == 1 { String::new() } else { format!("-{count}") };
        let text = format!("{MARK_START}{rule}{number}»");
        let mark = self.marks.len();
        self.marks.push(Mark { rule: rule.to_owned(), text, hash: hash_value(value) });
        self.by_value.insert(value.to_owned(), mark);
        self.add_forms(value, mark);
        mark
    }

    fn add_forms(&mut self, value: &[u8], mark: usize) {
        if !is_distinctive(value) || self.forms.len() >= MOST_FORMS {
            return;
        }
        self.search = None;
        if value.contains(&b'\n') || value.windows(2).any(|pair| pair == b"\\n") {
            let lines = value.split(|byte| !is_base64(*byte)).filter(|line| line.len() >= SHORTEST_LINE);
            self.forms.extend(lines.map(|line| Form { text: line.to_owned(), mark, is_part: true }));
            return;
        }
        self.forms.push(Form { text: value.to_owned(), mark, is_part: false });
        let others = if value.len() > LONGEST { Vec::new() } else { encoded_forms(value) };
        for text in others {
            let is_part = text.iter().all(|byte| is_base64(*byte));
            self.forms.push(Form { text, mark, is_part });
        }
    }

    /// The places of known values.
    fn find_known(&mut self, text: &[u8]) -> Vec<(Range<usize>, usize)> {
        if self.forms.is_empty() {
            return Vec::new();
        }
        let forms = &self.forms;
        let search = self.search.get_or_insert_with(|| {
            let needles = forms.iter().map(|form| &form.text[..form.text.len().min(NEEDLE)]);
            let search = AhoCorasick::builder().match_kind(MatchKind::Standard).build(needles);
            search.expect("the needles are short")
        });
        let mut places = Vec::new();
        let mut covered = 0;
        for found in search.find_overlapping_iter(text).filter(|found| !found.is_empty()) {
            if found.end() > covered {
                let place = forms[found.pattern().as_usize()].place_in(text, found.start());
                covered = covered.max(place.0.end);
                places.push(place);
            }
        }
        places
    }

    /// A mark takes the place of a value; the ends of its lines stay behind the mark, so that lines keep their numbers.
    fn replace_places(&self, text: &str, places: &[(Range<usize>, usize)]) -> RedactedText {
        let mut redacted = String::with_capacity(text.len());
        let mut secrets = Vec::new();
        let mut seen = HashSet::new();
        let (mut done, mut line) = (0, 1);
        for (range, mark) in join_places(text, places) {
            let before = &text[done..range.start];
            redacted.push_str(before);
            line += line_ends(before);
            let Mark { rule, text: mark_text, hash } = &self.marks[mark];
            redacted.push_str(mark_text);
            if seen.insert((line, mark)) {
                let (rule, mark, hash) = (rule.clone(), mark_text.clone(), hash.clone());
                secrets.push(RedactedSecret { rule, line, mark, hash });
            }
            let ends = line_ends(&text[range.clone()]);
            redacted.extend(std::iter::repeat_n('\n', ends));
            line += ends;
            done = range.end;
        }
        redacted.push_str(&text[done..]);
        RedactedText { text: redacted, secrets }
    }
}

/// The places without overlaps, from character to character: what overlaps the place before belongs to its mark.
fn join_places(text: &str, places: &[(Range<usize>, usize)]) -> Vec<(Range<usize>, usize)> {
    let mut joined: Vec<(Range<usize>, usize)> = Vec::new();
    for (range, mark) in places {
        // Patterns match bytes, so a match may start within a character.
        let (start, end) = (text.floor_char_boundary(range.start), text.ceil_char_boundary(range.end));
        match joined.last_mut().filter(|(last, _)| start < last.end) {
            Some((last, _)) => last.end = last.end.max(end),
            None => joined.push((start..end, *mark)),
        }
    }
    joined
}

fn line_ends(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

impl Form {
    /// The place of the spelling whose start is at `start`, and its mark.
    fn place_in(&self, text: &[u8], start: usize) -> (Range<usize>, usize) {
        let is_digit = |byte: &&u8| is_base64(**byte);
        let equal = self.text.iter().zip(&text[start..]).take_while(|(own, found)| own == found).count();
        let (mut from, mut to) = (start, start + equal);
        if self.is_part {
            from -= text[..from].iter().rev().take_while(is_digit).count();
            to += text[to..].iter().take_while(is_digit).count();
        }
        (from..to, self.mark)
    }
}

/// Whether a value hardly occurs by chance, so that it is replaced wherever it is.
fn is_distinctive(value: &[u8]) -> bool {
    let shape = Shape::from_value(value);
    shape.len >= SHORTEST && (shape.digits > 0 || shape.looks_random() || !shape.is_wordy())
}

const fn overlap(one: &Range<usize>, other: &Range<usize>) -> bool {
    one.start < other.end && other.start < one.end
}
