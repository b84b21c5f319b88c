//! Finds literals that are assigned to names of secrets, in the syntaxes of configurations and programming languages.
//!
//! A rule has the last words of names: `password` stands for `DB_PASSWORD`, `dbPassword`, `"password"`, `--password`.
//! What follows a name decides whether something is assigned to it, and what.

use std::{ops::Range, sync::LazyLock};

use regex::bytes::Regex;

use crate::{
    literal::{Quoted, count_blanks, read_bare, read_block, read_quoted},
    syntax::Syntax,
    value::{NameKind, Writing, is_secret_value},
};

/// Words up to this length are also parts of other words, such as `monkey`; they count only as a word of their own.
const SHORT_WORD: usize = 4;

/// The longest name.
const LONGEST_NAME: usize = 80;

/// How much of a text is read to find what follows a name.
const LOOK_AHEAD: usize = 512;

/// Most values of one list.
const MOST_VALUES: usize = 64;

static FORMS: LazyLock<Forms> = LazyLock::new(Forms::new);

/// What may stand around a name and before a value.
struct Forms {
    /// What may follow the last word within a name.
    suffix: Regex,
    /// What closes a name: quotes and brackets.
    closers: Regex,
    /// What assigns a value.
    separator: Regex,
    /// The type of a variable, between its name and its value.
    kind: Regex,
    /// The same, without a separator before it.
    spaced_kind: Regex,
    /// The key of the value in a pair whose name is a value itself: `name: X, value: Y`.
    pair: Regex,
    /// The default of a variable of Terraform.
    default: Regex,
    /// Commands and words that take a name and a value, separated by a blank.
    command: Regex,
    /// The start of a comment.
    comment: Regex,
    /// The rest of the start tag of an element.
    tag: Regex,
}

impl Forms {
    fn new() -> Self {
        let compile = |pattern: &str| {
            Regex::new(&format!("(?-u){pattern}")).expect("a test finds examples with each pattern")
        };
        Self {
            suffix: compile(
                "^(?i)s?(?:[_-]?(?:[0-9]{1,3}|base64|base|b64|value|val|string|str|text|raw|plaintext|plain|default|production|prod|development|dev|staging|stage|test|live|old|new))*",
            ),
            closers: compile(r#"^(?:\\*["'`]|[\]}]|\[[0-9]*\]){0,4}[?!]?"#),
            separator: compile(r"^(?::=|=>|===?|!==?|\?\?=|\?=|\|\|=|\+=|=|<-|:|,|\()"),
            kind: compile(r"^(?:&'static |[A-Za-z0-9_&*<>\[\]|?:. ]){1,48}=[ \t]*"),
            spaced_kind: compile(r"^[A-Za-z0-9_&*<>\[\]:.]{1,32}[ \t]*=[ \t]*"),
            pair: compile(r#"^\\?["']?[ \t]*[,;]?\s{0,80}\\?["']?(?i:value)\\?["']?\s{0,8}[:=]\s{0,8}"#),
            default: compile(r#"^["']?\s*\{[^{}]{0,400}?\bdefault\s*=\s*"#),
            command: compile(
                r#"(?i)(?:^|[\s;|&"'`])(?:env|arg|setenv|setx|set(?: -[a-z]+)+|machine .*|fastcgi_param|proxy_set_header)[ \t]+$"#,
            ),
            comment: compile(r"(?:^|\s)(?:#|//|/\*|--|<!--|;;?)|^\s*\*"),
            tag: compile(r"^(?:\s[^<>]{0,200})?>"),
        }
    }
}

/// A name that ends with a word of a rule.
struct Name<'t> {
    text: &'t [u8],
    range: Range<usize>,
    /// Whether it is an option of a command: `--password`.
    is_option: bool,
}

/// A value that is assigned to a name.
struct Assigned {
    range: Range<usize>,
    writing: Writing,
}

/// The secrets that are assigned to the name whose last word is at `word`; names with one of the words `unless` have
/// none.
pub(crate) fn find_assigned(
    text: &[u8],
    word: Range<usize>,
    kind: NameKind,
    unless: &[String],
    syntax: Syntax,
) -> Vec<Range<usize>> {
    let name = Name::read(text, word, kind).filter(|name| !name.has_word(unless));
    let values = name.map_or_else(Vec::new, |name| name.assigned_values(kind, syntax)).into_iter();
    values
        .filter(|value| is_secret_value(&text[value.range.clone()], kind, value.writing))
        .map(|value| value.range)
        .collect()
}

impl<'t> Name<'t> {
    fn read(text: &'t [u8], word: Range<usize>, kind: NameKind) -> Option<Self> {
        if word.len() <= SHORT_WORD && !starts_word(text, word.start) {
            return None;
        }
        let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_-.".contains(byte);
        let before = &text[word.start.saturating_sub(LONGEST_NAME)..word.start];
        let start = word.start - before.iter().rev().take_while(is_name).count();
        let dashes = text[start..word.start].iter().take_while(|byte| **byte == b'-').count();
        // `key` alone is the name of too many things.
        if kind == NameKind::Key && start + dashes == word.start {
            return None;
        }
        let end = word.end + FORMS.suffix.find(ahead(text, word.end)).map_or(0, |suffix| suffix.end());
        let goes_on =
            |at: usize| text.get(at).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
        let is_joined = matches!(text.get(end), Some(b'-' | b'.')) && goes_on(end + 1);
        let range = start + dashes..end;
        (!goes_on(end) && !is_joined).then_some(Self { text, range, is_option: dashes > 0 })
    }

    /// Whether one of `words` is in the name.
    fn has_word(&self, words: &[String]) -> bool {
        let name = self.text[self.range.clone()].to_ascii_lowercase();
        words.iter().any(|word| name.windows(word.len()).any(|window| window == word.as_bytes()))
    }

    fn byte_before(&self) -> Option<u8> {
        self.range.start.checked_sub(1).map(|before| self.text[before])
    }

    /// What precedes the name in its line.
    fn line_before(&self) -> &'t [u8] {
        let before = &self.text[self.range.start.saturating_sub(LOOK_AHEAD)..self.range.start];
        before.rsplit(|byte| *byte == b'\n').next().unwrap_or_default()
    }

    fn assigned_values(&self, kind: NameKind, syntax: Syntax) -> Vec<Assigned> {
        if let Some(range) = self.element_content() {
            return vec![Assigned { range, writing: Writing::Literal }];
        }
        let rest = ahead(self.text, self.range.end);
        if let Some(found) = FORMS.pair.find(rest).or_else(|| FORMS.default.find(rest)) {
            return self.values_at(self.range.end + found.end(), Some(Writing::Literal));
        }
        let closers = FORMS.closers.find(rest).map_or(0, |closers| closers.end());
        let is_quoted = rest[..closers].iter().any(|byte| b"\"'`".contains(byte));
        let blanks = count_blanks(&rest[closers..]);
        let at = self.range.end + closers + blanks;
        match FORMS.separator.find(ahead(self.text, at)) {
            Some(sign) => {
                let from = at + sign.end() + count_blanks(&self.text[at + sign.end()..]);
                self.separated_values(sign.as_bytes(), is_quoted, from, self.bare_writing(kind, syntax))
            }
            None if blanks > 0 && !self.is_verb() => self.spaced_values(at, syntax),
            None => Vec::new(),
        }
    }

    /// The content of an element with this name.
    fn element_content(&self) -> Option<Range<usize>> {
        let before = self.line_before();
        let prefix =
            before.iter().rev().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b':').count();
        let open = before.len().checked_sub(prefix + 1).filter(|open| before[*open] == b'<')?;
        // `(?<password>` is a group of a pattern.
        if open.checked_sub(1).is_some_and(|place| before[place] == b'?') {
            return None;
        }
        let start = self.range.end + FORMS.tag.find(ahead(self.text, self.range.end))?.end();
        let content = ahead(self.text, start);
        let content = &content[..content.iter().position(|byte| *byte == b'<')?];
        let blanks = content.len() - content.trim_ascii_start().len();
        let len = content.trim_ascii().len();
        (len > 0).then_some(start + blanks..start + blanks + len)
    }

    /// The values after a separator.
    fn separated_values(
        &self,
        sign: &[u8],
        is_quoted: bool,
        from: usize,
        bare: Option<Writing>,
    ) -> Vec<Assigned> {
        match sign {
            b"," if !self.is_argument(is_quoted) => Vec::new(),
            b"(" if self.is_verb() => Vec::new(),
            b"," | b"(" => self.values_at(from, None),
            b":" if self.text.get(from) == Some(&b':') => Vec::new(),
            b":" => {
                let typed = FORMS.kind.find(ahead(self.text, from)).map(|kind| from + kind.end());
                let typed = typed.filter(|after| read_quoted(self.text, *after).is_some());
                match read_quoted(self.text, from) {
                    None if typed.is_some() => self.values_at(typed.unwrap_or(from), None),
                    None => self.plain_values(from, bare),
                    Some(_) => self.values_at(from, bare),
                }
            }
            _ => self.values_at(from, bare),
        }
    }

    /// The value of a line of YAML, which ends with it.
    fn plain_values(&self, from: usize, bare: Option<Writing>) -> Vec<Assigned> {
        if let Some(range) = read_block(self.text, from) {
            return vec![Assigned { range, writing: Writing::Literal }];
        }
        let values = self.values_at(from, bare);
        let is_last = |value: &Assigned| {
            let line = ahead(self.text, value.range.end);
            let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
            matches!(
                line.trim_ascii().first(),
                None | Some(b'#' | b',' | b'}' | b')' | b']' | b'/' | b'.' | b'"' | b'`')
            )
        };
        values.into_iter().filter(is_last).collect()
    }

    /// The values after nothing but blanks.
    fn spaced_values(&self, at: usize, syntax: Syntax) -> Vec<Assigned> {
        let is_command = FORMS.command.is_match(self.line_before());
        let bare = match syntax {
            _ if !self.is_option && !is_command => None,
            Syntax::Config => Some(Writing::Literal),
            _ => Some(Writing::Bare),
        };
        // The type of a variable: `const apiKey string = "…"`.
        let typed = FORMS.spaced_kind.find(ahead(self.text, at)).filter(|_| syntax == Syntax::Code);
        let from = typed.map_or(at, |kind| at + kind.end());
        // In prose, backticks quote names, and the quote may be the end of a text.
        let is_prose =
            matches!(self.text.get(from..from + 2), Some([b'`', _] | [_, b',' | b';' | b'+' | b')' | b' ']));
        if is_prose { Vec::new() } else { self.values_at(from, bare) }
    }

    /// The value at `from`, or the values of the list there; `bare` is how a value without quotes is taken.
    fn values_at(&self, from: usize, bare: Option<Writing>) -> Vec<Assigned> {
        let is_list = self.text.get(from) == Some(&b'[');
        let mut from = from + usize::from(is_list);
        let mut values = Vec::new();
        while let Some(Quoted { range, end, is_argument }) = read_quoted(self.text, from) {
            let writing = if is_argument { Writing::Argument } else { Writing::Literal };
            values.push(Assigned { range, writing });
            let comma = ahead(self.text, end).iter().take(4).position(|byte| *byte == b',');
            match comma.filter(|_| is_list && values.len() < MOST_VALUES) {
                Some(comma) => from = end + comma + 1,
                None => return values,
            }
        }
        if values.is_empty()
            && let Some(writing) = bare
        {
            let range = read_bare(self.text, from, self.bare_ends());
            values.push(Assigned { range, writing });
        }
        values
    }

    /// Whether the name is more often a verb.
    fn is_verb(&self) -> bool {
        let name = &self.text[self.range.clone()];
        name.rsplit(|byte| *byte == b'.').next().is_some_and(|last| last.eq_ignore_ascii_case(b"pass"))
    }

    /// Whether the name is the first argument of a call or of a tuple: `set("X", …)`, `{x, …}`.
    fn is_argument(&self, is_quoted: bool) -> bool {
        let before = self.line_before();
        let before = &before[..before.len() - usize::from(is_quoted && !before.is_empty())];
        matches!(before.trim_ascii_end().last(), Some(b'(' | b'{'))
    }

    /// How a value without quotes is taken.
    fn bare_writing(&self, kind: NameKind, syntax: Syntax) -> Option<Writing> {
        match syntax {
            _ if self.is_in_address() && kind == NameKind::Password => Some(Writing::Parameter),
            _ if self.is_in_address() => Some(Writing::Bare),
            Syntax::Config => Some(Writing::Literal),
            Syntax::Unknown => Some(Writing::Bare),
            Syntax::Code => {
                (self.is_option || FORMS.comment.is_match(self.line_before())).then_some(Writing::Bare)
            }
        }
    }

    /// Whether it is a parameter of an address or a connection: `;Password=…`, `?password=…`.
    fn is_in_address(&self) -> bool {
        self.byte_before().is_some_and(|byte| b";?&".contains(&byte))
    }

    /// What ends a value without quotes, beside blanks and quotes.
    fn bare_ends(&self) -> &'static [u8] {
        match self.byte_before() {
            Some(b';') => b";",
            Some(b'?' | b'&') => b"&#)",
            _ => b"",
        }
    }
}

/// Whether a word starts at `place`: after a separator, or with a capital letter.
fn starts_word(text: &[u8], place: usize) -> bool {
    let Some(before) = place.checked_sub(1).map(|before| text[before]) else { return true };
    !before.is_ascii_alphanumeric() || (text[place].is_ascii_uppercase() && !before.is_ascii_uppercase())
}

fn ahead(text: &[u8], from: usize) -> &[u8] {
    &text[from.min(text.len())..(from + LOOK_AHEAD).min(text.len())]
}
