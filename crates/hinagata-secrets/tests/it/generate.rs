//! Makes the texts of the corpus: values are random, so that no secret is stored.

use serde::Deserialize;

/// The cases of a file of the corpus.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    case: Vec<Written>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: String,
    path: String,
    text: String,
}

/// A text with its secrets.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) path: String,
    pub(crate) text: String,
    /// The values of secrets, and each random part of them.
    pub(crate) secrets: Vec<String>,
}

/// The cases in `toml`, with values made from `seed`.
pub(crate) fn read_cases(toml: &str, seed: u64) -> Vec<Case> {
    let cases: Cases = toml::from_str(toml).expect("the corpus is TOML");
    cases.case.into_iter().map(|written| written.into_case(seed)).collect()
}

impl Written {
    fn into_case(self, seed: u64) -> Case {
        let seed = self.name.bytes().fold(seed, |seed, byte| seed.wrapping_mul(31).wrapping_add(byte.into()));
        let mut maker = Maker { random: Random(seed), parts: Vec::new() };
        let (mut text, mut secrets) = (String::new(), Vec::new());
        let mut rest = self.text.as_str();
        while let Some((before, after)) = rest.split_once('⟦') {
            text.push_str(&maker.fill(before));
            maker.parts.clear();
            let (inner, after) = after.split_once('⟧').expect("a closing bracket");
            let value = maker.fill(inner);
            text.push_str(&value);
            secrets.append(&mut maker.parts);
            secrets.push(value);
            rest = after;
        }
        text.push_str(&maker.fill(rest));
        // Short parts occur by chance.
        secrets.retain(|secret| secret.len() >= 6);
        Case { name: self.name, path: self.path, text, secrets }
    }
}

/// Fills in random parts, and remembers them.
struct Maker {
    random: Random,
    parts: Vec<String>,
}

impl Maker {
    fn fill(&mut self, text: &str) -> String {
        let Some((before, rest)) = text.split_once(['⟨', '⟪']) else { return text.to_owned() };
        let is_encoded = text[before.len()..].starts_with('⟪');
        let (inner, after) = rest.split_once(if is_encoded { '⟫' } else { '⟩' }).expect("a closing bracket");
        let made = match is_encoded {
            true => {
                let plain = self.fill(inner.strip_prefix("base64 ").expect("base64"));
                self.parts.clear();
                encode_base64(plain.as_bytes())
            }
            false => self.make_part(inner),
        };
        format!("{before}{made}{}", self.fill(after))
    }

    /// Makes a part such as `a 36`.
    fn make_part(&mut self, written: &str) -> String {
        let (kind, len) = written.split_once(' ').expect("kind and length");
        let part = self.random.text(kind, len.parse().expect("a length"));
        self.parts.push(part.clone());
        part
    }
}

const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The generator splitmix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn pick(&mut self, from: &str) -> char {
        let place = self.next() % from.len() as u64;
        char::from(from.as_bytes()[usize::try_from(place).expect("is small")])
    }

    fn text(&mut self, kind: &str, len: usize) -> String {
        let digits = "0123456789";
        let all = format!("{LETTERS}{digits}");
        let from = match kind {
            "a" => all,
            "m" => LETTERS.to_owned(),
            "l" => LETTERS[26..].to_owned(),
            "x" => format!("{digits}abcdef"),
            "u" => format!("{}{digits}", &LETTERS[..26]),
            "d" => digits.to_owned(),
            "s" => format!("{all}-_"),
            "b" => format!("{all}+/"),
            "p" => return self.password(&all, len),
            other => panic!("unknown kind {other}"),
        };
        (0..len).map(|_| self.pick(&from)).collect()
    }

    /// Letters and digits, with a digit and punctuation in the middle.
    fn password(&mut self, all: &str, len: usize) -> String {
        let punctuation = "!#%*+-.=?@^_~";
        let mut text: Vec<char> = (0..len).map(|_| self.pick(all)).collect();
        text[len / 2] = self.pick(punctuation);
        text[len / 3] = self.pick(punctuation);
        text[len - 2] = self.pick("0123456789");
        text.into_iter().collect()
    }
}

fn encode_base64(bytes: &[u8]) -> String {
    let digits = format!("{LETTERS}0123456789+/");
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits =
            (0..3).fold(0_u32, |bits, place| bits << 8 | chunk.get(place).copied().map_or(0, u32::from));
        for place in 0..4 {
            let digit = usize::try_from(bits >> (18 - 6 * place) & 63).expect("is small");
            text.push(if place <= chunk.len() { char::from(digits.as_bytes()[digit]) } else { '=' });
        }
    }
    text
}
