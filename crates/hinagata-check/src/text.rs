//! Invisible characters in texts.

/// Places of invisible characters, each with what is there.
#[must_use]
pub fn hidden_text(text: &str) -> Vec<((u32, u32), String)> {
    if text.is_ascii() {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut run: Option<Run> = None;
    let mut before = ' ';
    let mut rest = text.char_indices().peekable();
    while let Some((at, c)) = rest.next() {
        let next = rest.peek().map_or(' ', |(_, next)| *next);
        let kind = hidden_kind(c).filter(|kind| !is_needed(*kind, before, next));
        match (&mut run, kind) {
            (Some(open), Some(kind)) if open.kind == kind => open.add(at, c),
            (_, kind) => {
                found.extend(run.take().map(Run::into_finding));
                run = kind.map(|kind| Run::new(kind, at, c));
            }
        }
        if hidden_kind(c).is_none() {
            before = c;
        }
    }
    found.extend(run.map(Run::into_finding));
    found
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Hidden {
    Tag,
    Direction,
    ZeroWidth,
}

struct Run {
    kind: Hidden,
    start: usize,
    end: usize,
    count: usize,
    spelled: String,
}

impl Run {
    fn new(kind: Hidden, at: usize, c: char) -> Self {
        let mut run = Self { kind, start: at, end: at, count: 0, spelled: String::new() };
        run.add(at, c);
        run
    }

    fn add(&mut self, at: usize, c: char) {
        self.end = at + c.len_utf8();
        self.count += 1;
        let letter = (c as u32).checked_sub(0xe0000).and_then(char::from_u32);
        if let Some(letter) = letter.filter(|letter| matches!(letter, ' '..='~'))
            && self.spelled.len() < 80
        {
            self.spelled.push(letter);
        }
    }

    fn into_finding(self) -> ((u32, u32), String) {
        let characters = if self.count == 1 { "character" } else { "characters" };
        let what = match self.kind {
            Hidden::Tag => format!("{} invisible tag {characters} that spell `{}`", self.count, self.spelled),
            Hidden::Direction => {
                format!("{} invisible {characters} for the writing direction", self.count)
            }
            Hidden::ZeroWidth => format!("{} zero-width {characters}", self.count),
        };
        ((self.start as u32, self.end as u32), what)
    }
}

fn hidden_kind(c: char) -> Option<Hidden> {
    Some(match c {
        '\u{e0000}'..='\u{e007f}' => Hidden::Tag,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => Hidden::Direction,
        '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2064}' | '\u{180e}' => Hidden::ZeroWidth,
        '\u{feff}' => Hidden::ZeroWidth,
        _ => return None,
    })
}

/// Whether the text needs the character: flags are spelled with tags, emoji and several scripts join with zero-width
/// characters, and scripts without spaces break lines with them.
fn is_needed(kind: Hidden, before: char, next: char) -> bool {
    match kind {
        Hidden::Tag => before == '\u{1f3f4}',
        Hidden::Direction => is_right_to_left(before) || is_right_to_left(next),
        Hidden::ZeroWidth => is_joining(before) || is_joining(next),
    }
}

fn is_right_to_left(c: char) -> bool {
    matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}')
}

fn is_joining(c: char) -> bool {
    is_right_to_left(c)
        || matches!(c, '\u{900}'..='\u{1aff}' | '\u{2600}'..='\u{27bf}' | '\u{2190}'..='\u{21ff}' | '\u{fe0f}')
        || matches!(c, '\u{a8e0}'..='\u{abff}' | '\u{1f000}'..='\u{1faff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(text: &str) -> Vec<String> {
        hidden_text(text).into_iter().map(|(_, message)| message).collect()
    }

    #[test]
    fn tag_characters_are_spelled_out() {
        let text = "Be brief.\u{e0068}\u{e0069} And";
        assert_eq!(messages(text), ["2 invisible tag characters that spell `hi`"]);
        assert_eq!(hidden_text(text)[0].0, (9, 17));
    }

    #[test]
    fn directions_and_zero_width_characters_are_found_in_latin_text() {
        assert_eq!(messages("a\u{202e}b"), ["1 invisible character for the writing direction"]);
        assert_eq!(messages("a\u{200b}\u{200b}b"), ["2 zero-width characters"]);
    }

    #[test]
    fn emoji_flags_and_scripts_keep_what_they_need() {
        for text in [
            "👩\u{200d}🔬",
            "🏴\u{e0067}\u{e0062}\u{e007f}",
            "می\u{200c}خواهم",
            "क\u{200d}ष",
            "ក\u{200b}ខ",
            "雛形",
        ] {
            assert_eq!(messages(text), Vec::<String>::new(), "{text:?}");
        }
    }
}
