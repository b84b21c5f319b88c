//! Makes templates: mostly right ones, some wrong ones, using everything the language has.

use serde_json::{Value as Json, json};

use super::run::Case;

/// A small generator of random numbers: the same seed gives the same cases.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    fn below(&mut self, n: usize) -> usize {
        self.next() as usize % n
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<'s>(&mut self, from: &[&'s str]) -> &'s str {
        from[self.below(from.len())]
    }
}

/// A template of `corpus` in which words were left out, doubled, or replaced by words of another one.
pub(crate) fn case_with_mistakes(seed: u64, corpus: &[&str]) -> Case {
    let mut random = Random::new(seed);
    let mut words = split_words(random.pick(corpus));
    let others = split_words(random.pick(corpus));
    for _ in 0..=random.below(3) {
        let at = random.below(words.len());
        match random.below(4) {
            0 if words.len() > 1 => drop(words.remove(at)),
            1 => words.insert(at, words[at]),
            2 => words[at] = random.pick(&others),
            _ => words.insert(at, random.pick(&others)),
        }
    }
    let mut case = Case::single(&words.concat(), data(random.below(6)));
    case.ints = random.chance(50);
    case.missing_key = random.pick(&["default", "zero", "error"]).to_owned();
    case
}

/// A template cut where delimiters, spaces, dots and parentheses stand.
fn split_words(template: &str) -> Vec<&str> {
    template
        .split_inclusive("}}")
        .flat_map(|part| part.split_inclusive("{{"))
        .flat_map(|part| part.split_inclusive([' ', '(', ')', '|', '.', '$']))
        .collect()
}

const TEXTS: &[&str] = &[
    "a", " ", "\n", "\n\n", "  x  ", "\t", "é", "日本", "}", "{ x", "-", "text ", "100% ", "\r\n", "<b>",
    "\u{a0}", "🚀",
];
const FIELDS: &[&str] = &[
    ".s",
    ".n",
    ".f",
    ".t",
    ".no",
    ".l",
    ".m",
    ".nul",
    ".zz",
    ".m.k",
    ".m.l",
    ".m.deep.x",
    ".users",
    ".es",
    ".neg",
    ".big",
    ".u",
    ".m.nul",
    ".m.zz",
    ".l.x",
    ".s.x",
    ".nul.x",
    ".zz.y",
    ".m.deep",
    ".nest",
    ".el",
    ".em",
    ".k",
    ".name",
    ".x",
    ".html",
    ".0",
    ".i",
];
const STRINGS: &[&str] = &[
    r#""""#,
    r#""abc""#,
    r#""%d""#,
    "`raw`",
    r#""é\n""#,
    r#""\xff""#,
    r#""k""#,
    r#""a\"b""#,
    "`a\nb`",
    r#""<&'\">""#,
    r#""name""#,
    r#""alice""#,
    r#""nil""#,
    r#""upper""#,
    r#""add""#,
    r#""%v %q""#,
    r#""日本語""#,
    r#""zz""#,
    r#""\u00e9\x00""#,
];
/// Integers are small: in Go a range over a huge one does not end.
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "-1",
    "10",
    "1_0",
    "0xF",
    "1.5",
    "'a'",
    "1e3",
    "2i",
    "1+2i",
    "0.0",
    "-0.0",
    "0b11",
    "1e21",
    "1e-7",
    "0x1p4",
    "'\\n'",
    ".5",
    "3.",
    "+5",
    "12345678.9",
];
const FORMATS: &[&str] = &[
    "%v",
    "%d",
    "%s",
    "%q",
    "%x",
    "%X",
    "%T",
    "%t",
    "%f",
    "%e",
    "%g",
    "%b",
    "%o",
    "%c",
    "%U",
    "%%",
    "%5d",
    "%-5d|",
    "%05d",
    "%+d",
    "% d",
    "%x",
    "%#x",
    "%#v",
    "%+v",
    "%.2f",
    "%8.3f",
    "%-8.3f|",
    "%08.3f",
    "%+.1e",
    "%.3g",
    "%#g",
    "%G",
    "%E",
    "%F",
    "%O",
    "%#o",
    "%#q",
    "%+q",
    "%.3s",
    "%10s",
    "%-10s|",
    "%010s",
    "%.0f",
    "%*d",
    "%.*f",
    "%[1]d",
    "%[2]v",
    "%[3]*.[2]*[1]f",
    "%[5]d",
    "%[x]d",
    "%[1",
    "%!",
    "%z",
    "%",
    "%5",
    "%.",
    "%-",
    "%#U",
    "% x",
    "%# x",
    "%#b",
    "%5t",
    "%q",
    "%w",
    "%5v",
    "%-5v|",
    "%05v",
    "%.1v",
    "%6.2v",
    "%#.3x",
    "%x",
    "%é",
    "%1000d",
    "%5%",
    "%[2]d %[1]d",
    "%[1]*d",
    "%d %d %d",
    "%s %v",
    "%!d",
    "%08b",
    "%+q",
    "%#+v",
    "%.5q",
    "%6.3q",
    "%20q",
    "%-20q|",
    "%6U",
    "%.6U",
    "%+x",
];
const VARIABLES: &[&str] = &["$", "$x", "$y", "$i", "$e", "$x.k", "$.s", "$.m.k", "$x.zz", "$.zz", "$e.name"];

/// A function with the arguments it usually takes.
const FUNCTIONS: &[(&str, &str)] = &[
    ("print", "***"),
    ("println", "**"),
    ("printf", "f**"),
    ("printf", "f***"),
    ("printf", "f##*"),
    ("printf", "f#s"),
    ("printf", "f#"),
    ("printf", "fl"),
    ("printf", "fs"),
    ("html", "*"),
    ("js", "*"),
    ("urlquery", "*"),
    ("len", "c"),
    ("not", "*"),
    ("index", "c*"),
    ("index", "l#"),
    ("index", "ms"),
    ("index", "s#"),
    ("slice", "l##"),
    ("slice", "s#"),
    ("slice", "c#"),
    ("slice", "l###"),
    ("eq", "**"),
    ("eq", "ss"),
    ("eq", "##"),
    ("ne", "**"),
    ("ne", "ss"),
    ("lt", "##"),
    ("le", "**"),
    ("gt", "##"),
    ("ge", "ss"),
    ("and", "***"),
    ("or", "***"),
    ("and", "*"),
    ("or", "**"),
    ("call", "v*"),
    ("call", "v##"),
    ("call", "*"),
    ("upper", "s"),
    ("lower", "s"),
    ("join", "ls"),
    ("add", "##"),
    ("concat", "***"),
    ("fail", "s"),
    ("lookup", "s"),
    ("list", "***"),
    ("list", ""),
    ("dict", "s*"),
    ("dict", "s*s*"),
    ("half", "#"),
    ("yesno", "*"),
    ("version", ""),
    ("nothing", ""),
    ("echo", "*"),
    ("json", "*"),
    ("boom", ""),
];

/// The data that templates are run on.
pub(crate) fn data(which: usize) -> Json {
    match which {
        0 => json!({
            "s": "str", "n": 3, "f": 2.5, "t": true, "no": false, "l": ["a", 1, null, [2, "b"], {"x": 1}], "el": [], "em": {},
            "m": {"k": "v", "nul": null, "l": [1, 2, 3], "deep": {"x": {"y": "z"}}, "a b": 1, "é": 2},
            "nul": null, "users": [{"name": "Ann", "k": 1}, {"name": "Bo"}, "odd"], "es": "", "neg": -7, "big": 123456789.5, "u": "héllo 日本",
            "nest": [[1, 2], [], [3]], "html": "<a href='x'>&\"</a>", "i": 1, "x": "top", "name": "root", "k": "key"
        }),
        1 => Json::Null,
        2 => json!([1, "two", {"k": 3, "name": "n"}]),
        3 => json!("just text"),
        4 => json!(7),
        _ => {
            json!({"s": 1, "n": "text", "l": {"b": 1, "a": [1.5, 1e21, -0.0, 1e-9]}, "m": [1], "t": 0, "users": {}, "f": "1.5"})
        }
    }
}

/// A case for a seed.
pub(crate) fn case(seed: u64) -> Case {
    let mut random = Random::new(seed);
    let which = if random.chance(75) { 0 } else { random.below(6) };
    let room = 2 + random.below(30);
    let mut generator = Generator { random, loops: 0, room, defined: 0 };
    let mut source = generator.prelude();
    source += &generator.body(4);
    let mut random = generator.random;
    match random.below(100) {
        0..12 => source = mutated(&mut random, &source),
        12..20 => source = soup(&mut random),
        20..28 => source = literals(&mut random),
        _ => {}
    }
    let mut case = Case::single(&source, data(which));
    case.ints = random.chance(40);
    case.missing_key = random.pick(&["default", "default", "default", "invalid", "zero", "error"]).to_owned();
    if random.chance(4) {
        case.delims = ("<<".into(), ">>".into());
        case.sources[0].1 = source.replace("{{", "<<").replace("}}", ">>");
    }
    if random.chance(10) {
        more_sources(&mut random, &mut case);
    }
    if random.chance(3) {
        case.sources[0].0 = random.pick(&["a%%b", "x y", "q\"q", "é"]).to_owned();
        case.entry = case.sources[0].0.clone();
    }
    case
}

/// Adds sources that define templates again, and may call another one than the first.
fn more_sources(random: &mut Random, case: &mut Case) {
    const NAMES: &[&str] = &["other", "third", "d1", "d2", "main"];
    const BODIES: &[&str] = &[
        "",
        "  \n",
        "{{define \"d1\"}}new {{.}}{{end}}",
        "{{define \"d1\"}} {{end}}x",
        "{{template \"d1\" .s}}",
        "{{define \"main\"}}{{template \"d2\" .}}{{end}}",
        "{{define \"gone\"}}found {{.n}}{{end}}{{template \"d1\" 3}}",
        "a{{.s.x}}",
        "\n{{nosuch}}",
        "{{block \"d2\" .l}}{{index . 0}}{{end}}",
        "{{/* nothing */}}",
    ];
    for _ in 0..=random.below(2) {
        let name = random.pick(NAMES);
        if case.sources.iter().all(|(known, _)| known != name) {
            case.sources.push((name.to_owned(), random.pick(BODIES).to_owned()));
        }
    }
    if random.chance(30) {
        case.sources.reverse();
    }
    case.entry =
        random.pick(&["main", "main", "other", "third", "d1", "d2", "nobody", "no\"body"]).to_owned();
}

/// A source with some characters lost, doubled or replaced.
fn mutated(random: &mut Random, source: &str) -> String {
    let mut chars: Vec<char> = source.chars().collect();
    for _ in 0..=random.below(3) {
        if chars.is_empty() {
            break;
        }
        let at = random.below(chars.len());
        match random.below(4) {
            0 => {
                chars.remove(at);
            }
            1 => chars.insert(at, chars[at]),
            2 => {
                let noise: Vec<char> = "{}().$|:=\"'`%-+ \n\\,!#é\u{1}0ix_".chars().collect();
                chars.insert(at, noise[random.below(noise.len())]);
            }
            _ => chars.truncate(at),
        }
    }
    chars.into_iter().collect()
}

/// Tokens in no order.
fn soup(random: &mut Random) -> String {
    const TOKENS: &[&str] = &[
        "{{",
        "}}",
        "{{",
        "}}",
        "{{- ",
        " -}}",
        "-",
        "$x",
        "$",
        ".a",
        ".",
        "..",
        "(",
        ")",
        "|",
        ":=",
        "=",
        ",",
        ":",
        "if",
        "else",
        "end",
        "range",
        "with",
        "define",
        "template",
        "block",
        "break",
        "continue",
        "nil",
        "true",
        "1",
        "'a'",
        "\"s\"",
        "`r`",
        "/*",
        "*/",
        " ",
        " ",
        "\n",
        "%",
        "!",
        "é",
        "٣",
        "print",
        "eq",
        "{{end}}",
        "{{else}}",
        "{{if .s}}",
        "{{range .l}}",
        "{{$x := 1}}",
        "x",
        "\"",
        "'",
        "`",
        "\\",
        "#",
        "\u{1}",
        "“",
        "{{template \"t\" .}}",
        "{{define \"t\"}}",
        ".s.x",
    ];
    let mut out = String::new();
    for _ in 0..=random.below(24) {
        out += random.pick(TOKENS);
    }
    out
}

/// Literals put together from the characters that literals have.
fn literals(random: &mut Random) -> String {
    const DIGITS: &[&str] = &[
        "0", "1", "2", "7", "8", "9", "a", "f", "e", "E", "x", "X", "o", "b", "p", "P", "i", "_", "+", "-",
        ".", "0x", "0b", "0o", "1e", "p-",
    ];
    const ESCAPES: &[&str] = &[
        "a",
        "\\n",
        "\\x41",
        "\\xff",
        "\\u00e9",
        "\\U0001F600",
        "\\101",
        "\\400",
        "\\q",
        "\\'",
        "\\\"",
        "\\",
        "é",
        "\\ud800",
        "\\x4",
    ];
    let mut out = "{{printf \"%T %v|\"".to_owned();
    let quote = random.pick(&["", "", "'", "\"", "\""]);
    out += " ";
    out += quote;
    for _ in 0..=random.below(6) {
        out += random.pick(if quote.is_empty() { DIGITS } else { ESCAPES });
    }
    out + quote + random.pick(&["}}", "}}", " | add 1}}", " | half}}", ".x}}"])
}

struct Generator {
    random: Random,
    loops: usize,
    /// Pieces that may still be made: nesting must not explode.
    room: usize,
    /// Definitions so far.
    defined: usize,
}

impl Generator {
    /// Definitions and variables, so that most of what follows is defined.
    fn prelude(&mut self) -> String {
        let mut out = String::new();
        if self.random.chance(80) {
            out += &self.define();
            out += &self.define();
        }
        if self.random.chance(97) {
            for name in ["$x", "$y", "$i", "$e"] {
                let value = self.random.pick(&[
                    ".",
                    ".m",
                    ".l",
                    "1",
                    "\"v\"",
                    ".users",
                    "2.5",
                    "(lookup \"bob\")",
                    "(nothing)",
                    "true",
                ]);
                out += &format!("{{{{{name} := {value}}}}}");
            }
        }
        out
    }

    fn body(&mut self, depth: usize) -> String {
        let mut out = String::new();
        for _ in 0..=self.random.below(4) {
            if self.room == 0 {
                break;
            }
            self.room -= 1;
            out += &self.item(depth);
        }
        out
    }

    fn open(&mut self) -> &'static str {
        self.random.pick(&["{{", "{{", "{{", "{{- ", "{{ ", "{{-\n"])
    }

    fn close(&mut self) -> &'static str {
        self.random.pick(&["}}", "}}", "}}", " -}}", " }}", "\n-}}"])
    }

    fn action(&mut self, inside: &str) -> String {
        format!("{}{inside}{}", self.open(), self.close())
    }

    fn item(&mut self, depth: usize) -> String {
        let kind = if depth == 0 { self.random.below(58) } else { self.random.below(100) };
        match kind {
            0..15 => self.random.pick(TEXTS).to_owned(),
            15..46 => {
                let pipeline = self.pipeline(3);
                self.action(&pipeline)
            }
            46..52 => {
                let variable = self.random.pick(&["$x", "$y", "$x", "$i"]);
                let operator = self.random.pick(&[":=", ":=", ":=", "="]);
                let pipeline = self.pipeline(2);
                self.action(&format!("{variable} {operator} {pipeline}"))
            }
            52..54 => self.random.pick(&["{{/* note */}}", "{{- /* a\nb */ -}}", "{{/*x*/}}"]).to_owned(),
            54..58 => {
                let word = self.random.pick(&["break", "continue"]);
                if self.loops > 0 || self.random.chance(1) { self.action(word) } else { String::new() }
            }
            58..70 => self.branch("if", depth),
            70..77 => self.branch("with", depth),
            77..90 => self.range(depth),
            90..94 if depth < 4 || self.loops > 0 => self.body(depth - 1),
            90..94 => self.define(),
            _ => {
                let name = self.random.pick(&["d1", "d2", "d1", "d2", "d1", "gone"]);
                let argument =
                    if self.random.chance(80) { format!(" {}", self.pipeline(1)) } else { String::new() };
                self.action(&format!("template \"{name}\"{argument}"))
            }
        }
    }

    fn branch(&mut self, word: &str, depth: usize) -> String {
        let mut out = String::new();
        let condition = self.condition();
        out += &self.action(&format!("{word} {condition}"));
        out += &self.body(depth - 1);
        while self.random.chance(25) {
            let condition = self.condition();
            out += &self.action(&format!("else {word} {condition}"));
            out += &self.body(depth - 1);
        }
        if self.random.chance(40) {
            out += &self.action("else");
            out += &self.body(depth - 1);
        }
        out + &self.action("end")
    }

    fn condition(&mut self) -> String {
        let pipeline = self.pipeline(2);
        if self.random.chance(20) { format!("$x := {pipeline}") } else { pipeline }
    }

    fn range(&mut self, depth: usize) -> String {
        let over = match self.random.below(4) {
            0 => self.pipeline(1),
            1 => self
                .random
                .pick(&["3", "0", "-1", "2.0", "(len .l)", "(list 1 2)", "(index \"\\x03\" 0)"])
                .to_owned(),
            _ => self
                .random
                .pick(&[".l", ".m", ".users", ".nest", ".", "$x", ".el", ".m.l", "(slice .l 1 3)"])
                .to_owned(),
        };
        let variables =
            self.random.pick(&["", "", "$e := ", "$i, $e := ", "$x = ", "$i, $x = ", "$x, $y := "]);
        let mut out = self.action(&format!("range {variables}{over}"));
        self.loops += 1;
        out += &self.body(depth - 1);
        self.loops -= 1;
        if self.random.chance(25) {
            out += &self.action("else");
            out += &self.body(depth - 1);
        }
        out + &self.action("end")
    }

    /// A definition or a block. Only d2 may call d1, so nothing calls itself.
    fn define(&mut self) -> String {
        let loops = std::mem::take(&mut self.loops);
        self.defined += 1;
        let name = match self.defined {
            1 => "d1".to_owned(),
            2 => "d2".to_owned(),
            n => format!("b{}", if self.random.chance(5) { 0 } else { n }),
        };
        let head = match self.random.below(3) {
            0 => format!("block \"{name}\" {}", self.random.pick(&[".", ".m", ".l", "$", "1", ".users"])),
            _ => format!("define \"{name}\""),
        };
        let variables = "{{$x := .}}{{$y := 1}}{{$i := \"i\"}}{{$e := $}}";
        let body = self.body(2).replace("template \"d2\"", "template \"gone\"");
        let body = if name == "d1" { body.replace("template \"d1\"", "template \"gone\"") } else { body };
        self.loops = loops;
        format!("{}{variables}{body}{}", self.action(&head), self.action("end"))
    }

    fn pipeline(&mut self, depth: usize) -> String {
        let mut out = self.command(depth);
        while self.random.chance(22) {
            let (name, arguments) = FUNCTIONS[self.random.below(FUNCTIONS.len())];
            let arguments = if arguments.is_empty() { arguments } else { &arguments[..arguments.len() - 1] };
            let call = self.call(name, arguments, depth);
            out += &format!(" | {call}");
        }
        out
    }

    fn command(&mut self, depth: usize) -> String {
        match self.random.below(10) {
            0..5 if depth > 0 => {
                let (name, arguments) = FUNCTIONS[self.random.below(FUNCTIONS.len())];
                self.call(name, arguments, depth)
            }
            0..7 => self.random.pick(FIELDS).to_owned(),
            7 => self.random.pick(VARIABLES).to_owned(),
            8 => self.operand('*', depth),
            _ => self
                .random
                .pick(&[".", ".", ".", "nil", "true", "(.m).k", "(nothing).x", ".s 1", "$x 2", "(print 1).y"])
                .to_owned(),
        }
    }

    fn call(&mut self, name: &str, arguments: &str, depth: usize) -> String {
        let mut out = name.to_owned();
        let mut arguments: Vec<char> = arguments.chars().collect();
        if self.random.chance(5) {
            arguments.push('*');
        }
        if self.random.chance(5) {
            arguments.pop();
        }
        for kind in arguments {
            out += " ";
            out += &self.operand(kind, depth.saturating_sub(1));
        }
        out
    }

    /// A directive of a format, put together by chance.
    fn directive(&mut self) -> String {
        let mut out = "%".to_owned();
        for _ in 0..self.random.below(4) {
            out += self.random.pick(&[
                "#", "0", "+", "-", " ", "7", "12", "3", ".", ".2", ".0", ".12", "*", ".*", "[1]", "[2]",
                "[3]",
            ]);
        }
        out + self.random.pick(&[
            "v", "d", "s", "q", "x", "X", "T", "t", "f", "e", "g", "b", "o", "c", "U", "E", "G", "F", "O",
            "%", "z",
        ])
    }

    fn operand(&mut self, kind: char, depth: usize) -> String {
        if depth > 0 && self.random.chance(20) {
            let inner = self.pipeline(depth - 1);
            let inner = if self.random.chance(6) { format!("$y := {inner}") } else { inner };
            let field = if self.random.chance(10) { self.random.pick(&[".k", ".x.y", ".zz"]) } else { "" };
            return format!("({inner}){field}");
        }
        if self.random.chance(8) {
            return self.operand('*', 0);
        }
        match kind {
            's' => match self.random.below(3) {
                0 => self.random.pick(&[".s", ".m.k", ".u", ".es", ".html", "$x"]).to_owned(),
                _ => self.random.pick(STRINGS).to_owned(),
            },
            '#' => match self.random.below(3) {
                0 => self.random.pick(&[".n", ".f", ".i", ".neg", "(len .l)", "$x"]).to_owned(),
                _ => self.random.pick(NUMBERS).to_owned(),
            },
            'l' => self
                .random
                .pick(&[".l", ".m.l", ".el", ".nest", "(list 1 2 3)", "(slice .l 0 2)", "nil"])
                .to_owned(),
            'm' => self
                .random
                .pick(&[".m", ".em", "(dict \"k\" 1)", "(lookup \"nil\")", "(lookup \"bob\")", "."])
                .to_owned(),
            'c' => self
                .random
                .pick(&[".l", ".m", ".s", ".u", ".em", "(lookup \"alice\")", ".nest", "\"abc\""])
                .to_owned(),
            'v' => {
                let name = self.random.pick(&["upper", "add", "concat", "fail", "version", "half", "zz"]);
                format!("(fnval \"{name}\")")
            }
            'f' => {
                let mut format = String::new();
                for _ in 0..=self.random.below(3) {
                    if self.random.chance(50) {
                        format += &self.directive();
                        continue;
                    }
                    format += self.random.pick(FORMATS);
                    format += self.random.pick(&["", " ", "|", "é"]);
                }
                format!("\"{format}\"")
            }
            _ => match self.random.below(8) {
                0 | 1 => self.random.pick(NUMBERS).to_owned(),
                2 | 3 => self.random.pick(STRINGS).to_owned(),
                4 => self.random.pick(VARIABLES).to_owned(),
                5 => self
                    .random
                    .pick(&[
                        "true",
                        "false",
                        "nil",
                        ".",
                        "nothing",
                        "version",
                        "(index .l 0)",
                        "(slice .l 1)",
                    ])
                    .to_owned(),
                _ => self.random.pick(FIELDS).to_owned(),
            },
        }
    }
}
