//! Random expressions: every operator, filter, test and method, with valid and some invalid arguments.

use super::pieces::Random;

/// Filters: the kind of their input, the name, the parameters with their kinds.
///
/// Kinds: `S` text, `I` integer, `F` float, `B` boolean, `L` list, `D` map, `N` name of an attribute, `T`
/// name of a test, `P` name of a filter, `A` anything, `*` more of the same kind.
const FILTERS: &[(char, &str, &str)] = &[
    ('I', "abs", ""),
    ('D', "attr", "name:N"),
    ('L', "batch", "linecount:I fill_with:A"),
    ('S', "capitalize", ""),
    ('S', "center", "width:I"),
    ('L', "count", ""),
    ('A', "default", "default_value:A boolean:B"),
    ('A', "d", "default_value:A boolean:B"),
    ('D', "dictsort", "case_sensitive:B by:K reverse:B"),
    ('A', "escape", ""),
    ('A', "e", ""),
    ('I', "filesizeformat", "binary:B"),
    ('L', "first", ""),
    ('A', "float", "default:A"),
    ('A', "forceescape", ""),
    ('S', "format", "*A"),
    ('O', "groupby", "attribute:N default:A case_sensitive:B"),
    ('S', "indent", "width:I first:B blank:B"),
    ('A', "int", "default:A base:I"),
    ('D', "items", ""),
    ('L', "join", "d:S attribute:N"),
    ('L', "last", ""),
    ('L', "length", ""),
    ('L', "list", ""),
    ('S', "lower", ""),
    ('O', "map", "attribute=N default=A"),
    ('L', "map", "filter:P *A"),
    ('L', "max", "case_sensitive:B attribute:N"),
    ('L', "min", "case_sensitive:B attribute:N"),
    ('A', "pprint", ""),
    ('L', "reject", "test:T *A"),
    ('O', "rejectattr", "attr:N test:T *A"),
    ('S', "replace", "old:S new:S count:I"),
    ('L', "reverse", ""),
    ('F', "round", "precision:I method:M"),
    ('A', "safe", ""),
    ('L', "select", "test:T *A"),
    ('O', "selectattr", "attr:N test:T *A"),
    ('L', "slice", "slices:I fill_with:A"),
    ('L', "sort", "reverse:B case_sensitive:B attribute:N"),
    ('A', "string", ""),
    ('S', "striptags", ""),
    ('L', "sum", "attribute:N start:I"),
    ('S', "title", ""),
    ('A', "tojson", "indent:I"),
    ('S', "trim", "chars:S"),
    ('S', "truncate", "length:I killwords:B end:S leeway:I"),
    ('L', "unique", "case_sensitive:B attribute:N"),
    ('S', "upper", ""),
    ('S', "urlencode", ""),
    ('S', "urlize", "trim_url_limit:I nofollow:B target:S rel:S"),
    ('S', "wordcount", ""),
    ('S', "wordwrap", "width:I break_long_words:B wrapstring:S break_on_hyphens:B"),
    ('D', "xmlattr", "autospace:B"),
];

/// Lazy filters of Jinja2, which fail only when their result is read. The generated expressions read it at
/// once.
const LAZY: &[&str] =
    &["batch", "items", "map", "reject", "rejectattr", "select", "selectattr", "slice", "unique"];

const TESTS: &[(char, &str, &str)] = &[
    ('A', "boolean", ""),
    ('A', "callable", ""),
    ('A', "defined", ""),
    ('I', "divisibleby", "num:I"),
    ('A', "eq", "A"),
    ('A', "equalto", "A"),
    ('A', "==", "A"),
    ('A', "escaped", ""),
    ('I', "even", ""),
    ('A', "false", ""),
    ('P', "filter", ""),
    ('A', "float", ""),
    ('I', "ge", "I"),
    ('I', "gt", "I"),
    ('I', "greaterthan", "I"),
    ('S', "in", "seq:L"),
    ('S', "in", "seq:S"),
    ('A', "integer", ""),
    ('A', "iterable", ""),
    ('I', "le", "I"),
    ('I', "lt", "I"),
    ('I', "lessthan", "F"),
    ('S', "lower", ""),
    ('A', "mapping", ""),
    ('A', "ne", "A"),
    ('A', "none", ""),
    ('A', "number", ""),
    ('I', "odd", ""),
    ('A', "sameas", "other:A"),
    ('A', "sequence", ""),
    ('A', "string", ""),
    ('T', "test", ""),
    ('A', "true", ""),
    ('A', "undefined", ""),
    ('S', "upper", ""),
];

const METHODS: &[(char, &str, &str)] = &[
    ('S', "capitalize", ""),
    ('S', "casefold", ""),
    ('S', "center", "I C"),
    ('S', "count", "S I I"),
    ('S', "encode", ""),
    ('S', "endswith", "S I I"),
    ('S', "expandtabs", "tabsize:I"),
    ('S', "find", "S I I"),
    ('S', "format", "*A"),
    ('S', "index", "S I I"),
    ('S', "isalnum", ""),
    ('S', "isalpha", ""),
    ('S', "isascii", ""),
    ('S', "isdecimal", ""),
    ('S', "isdigit", ""),
    ('S', "isidentifier", ""),
    ('S', "islower", ""),
    ('S', "isnumeric", ""),
    ('S', "isprintable", ""),
    ('S', "isspace", ""),
    ('S', "istitle", ""),
    ('S', "isupper", ""),
    ('S', "join", "L"),
    ('S', "ljust", "I C"),
    ('S', "lower", ""),
    ('S', "lstrip", "S"),
    ('S', "partition", "S"),
    ('S', "removeprefix", "S"),
    ('S', "removesuffix", "S"),
    ('S', "replace", "S S I"),
    ('S', "rfind", "S I I"),
    ('S', "rindex", "S"),
    ('S', "rjust", "I C"),
    ('S', "rpartition", "S"),
    ('S', "rsplit", "sep:S maxsplit:I"),
    ('S', "rstrip", "S"),
    ('S', "split", "sep:S maxsplit:I"),
    ('S', "splitlines", "keepends:B"),
    ('S', "startswith", "S I I"),
    ('S', "strip", "S"),
    ('S', "swapcase", ""),
    ('S', "title", ""),
    ('S', "upper", ""),
    ('S', "zfill", "I"),
    ('L', "append", "A"),
    ('L', "clear", ""),
    ('L', "copy", ""),
    ('L', "count", "A"),
    ('L', "extend", "L"),
    ('L', "index", "A I I"),
    ('L', "insert", "I A"),
    ('L', "pop", "I"),
    ('L', "remove", "A"),
    ('L', "reverse", ""),
    ('L', "sort", "reverse=B"),
    ('D', "clear", ""),
    ('D', "copy", ""),
    ('D', "get", "N A"),
    ('D', "items", ""),
    ('D', "keys", ""),
    ('D', "pop", "N A"),
    ('D', "popitem", ""),
    ('D', "setdefault", "N A"),
    ('D', "update", "D"),
    ('D', "values", ""),
    ('F', "is_integer", ""),
    ('I', "bit_length", ""),
    ('F', "conjugate", ""),
    ('F', "as_integer_ratio", ""),
];

const TEXTS: &[&str] = &[
    "''",
    "'a'",
    "'Ab c'",
    "'hello world, Hello'",
    "'<b>x & \"y\"</b>'",
    "'日本語 テキスト'",
    "'ß ŉ ǆ İ é'",
    "'a\\nb\\n\\nc'",
    "'  pad\\t'",
    "'12'",
    "'-3.5'",
    "'1e3'",
    "'0x1f'",
    "'٣'",
    "'%s and %s'",
    "'%5.2f|%-5d|%x'",
    "'{} {}'",
    "'{0!r:>10} {a}'",
    "'{:,.2f}'",
    "'http://example.com/a?b=c&d=(e) www.x.org, me@mail.de'",
    "','",
    "'🎉e\\u0301'",
    "\"it's\"",
    "'x' ~ 1",
    "'one-two three-four five'",
    "'<!-- c --><p>a  b</p>'|safe",
    "'a&lt;b'|escape",
];

const INTEGERS: &[&str] = &[
    "0", "1", "2", "3", "5", "-1", "-2", "10", "16", "100", "1_000", "-7", "2**31", "2**63", "-(2**63)",
    "255",
];

const FLOATS: &[&str] = &[
    "0.0",
    "1.5",
    "-2.5",
    "0.1",
    "2.675",
    "1e16",
    "1e-5",
    "123456.789",
    "-0.0",
    "1e22",
    "3.0",
    "1e100",
    "0.5",
    "5e-324",
];

/// The names that an expression can refer to.
pub(crate) struct Names<'n> {
    pub(crate) any: &'n [&'n str],
    pub(crate) texts: &'n [&'n str],
    pub(crate) integers: &'n [&'n str],
    pub(crate) lists: &'n [&'n str],
    pub(crate) maps: &'n [&'n str],
    pub(crate) objects: &'n [&'n str],
}

/// The variables of the data.
pub(crate) const DATA: Names<'static> = Names {
    any: &[
        "a",
        "b",
        "c",
        "d",
        "e",
        "n",
        "t",
        "u",
        "xs",
        "fl",
        "neg",
        "missing",
        "d.k",
        "xs[0]",
        "d.missing",
        "range",
    ],
    texts: &["b", "u", "d.k", "xs[0].name", "e"],
    integers: &["a", "neg", "d.i", "xs[1].v"],
    lists: &["c", "xs", "d.l", "e", "mixed", "words"],
    maps: &["d", "xs[0]", "e", "d.m"],
    objects: &["xs", "tree.children"],
};

/// An expression of some kind.
pub(crate) fn expression(random: &mut Random, names: &Names<'_>, kind: char, depth: usize) -> String {
    // Sometimes an expression of another kind than requested.
    let kind = if random.chance(4) { random_kind(random) } else { kind };
    if depth == 0 || random.chance(25) {
        return simple(random, names, kind);
    }
    let depth = depth - 1;
    let sub = |random: &mut Random, kind| expression(random, names, kind, depth);
    match random.weighted(&[26, 14, 10, 12, 8, 8, 4, 4, 6, 4, 4]) {
        0 => filtered(random, names, kind, depth),
        1 => method(random, names, kind, depth),
        2 => test(random, names, depth),
        3 => {
            let op = random.pick(&["+", "-", "*", "/", "//", "%", "~"]);
            let kind = random.pick(&["II", "IF", "SS", "SI", "LL", "FI", "AA", "SA"]).as_bytes();
            let (left, right) = (sub(random, kind[0] as char), sub(random, kind[1] as char));
            format!("{left} {op} {right}")
        }
        4 => {
            let op = random.pick(&["==", "!=", "<", "<=", ">", ">=", "in", "not in"]);
            let kind = random.pick(&["II", "SS", "IF", "LL", "AA", "SL", "ND", "SS"]).as_bytes();
            let (left, right) = (sub(random, kind[0] as char), sub(random, kind[1] as char));
            if random.chance(15) {
                return format!("{left} < {right} <= {}", sub(random, 'I'));
            }
            format!("{left} {op} {right}")
        }
        5 => {
            let op = random.pick(&["and", "or"]);
            let right = random_kind(random);
            format!("{} {op} {}", sub(random, 'A'), sub(random, right))
        }
        6 => format!("({} if {} else {})", sub(random, kind), sub(random, 'B'), sub(random, 'A')),
        7 => format!("{}{}", random.pick(&["-", "+", "not "]), sub(random, kind)),
        8 => {
            let kind = if random.chance(50) { 'L' } else { 'S' };
            let base = sub(random, kind);
            let part = |random: &mut Random| {
                if random.chance(35) {
                    String::new()
                } else {
                    random.pick(&["0", "1", "2", "-1", "-2", "100"]).to_owned()
                }
            };
            match random.below(3) {
                0 => format!("({base})[{}]", sub(random, 'I')),
                1 => format!("({base})[{}:{}]", part(random), part(random)),
                _ => format!("({base})[{}:{}:{}]", part(random), part(random), part(random)),
            }
        }
        9 => format!("({})[{}]", sub(random, 'D'), sub(random, 'N')),
        _ => match random.below(4) {
            0 => format!("({})", sub(random, 'A')),
            1 => format!("{} ** {}", random.pick(INTEGERS), random.pick(&["0", "1", "2", "3", "-1", "0.5"])),
            2 => format!("dict({}, k={})", random.pick(&["d", "[('a', 1)]", ""]).trim(), sub(random, 'A'))
                .replace("dict(, ", "dict("),
            _ => {
                format!("range({})|list", random.pick(&["3", "1, 5", "5, 0, -2", "a", "0", "1, 2, 0", "'x'"]))
            }
        },
    }
}

fn random_kind(random: &mut Random) -> char {
    random.pick(&["S", "I", "F", "B", "L", "D", "A", "O"]).as_bytes()[0] as char
}

fn simple(random: &mut Random, names: &Names<'_>, kind: char) -> String {
    let literal = random.chance(50);
    match kind {
        'S' if literal => random.pick(TEXTS).to_owned(),
        'S' => random.pick(names.texts).to_owned(),
        'I' if literal => random.pick(INTEGERS).to_owned(),
        'I' => random.pick(names.integers).to_owned(),
        'F' => random.pick(FLOATS).to_owned(),
        'B' => random.pick(&["true", "false", "True", "a", "none", "1", "''"]).to_owned(),
        'L' if literal => {
            let count = random.below(4);
            let kind = random.pick(&["S", "I", "A", "A", "L"]).as_bytes()[0] as char;
            let items: Vec<_> = (0..count).map(|_| simple(random, names, kind)).collect();
            match random.below(3) {
                0 if count > 0 => format!("({},)", items.join(", ")),
                _ => format!("[{}]", items.join(", ")),
            }
        }
        'L' => random.pick(names.lists).to_owned(),
        'D' if literal => {
            let count = random.below(3);
            let entries: Vec<_> = (0..count)
                .map(|_| format!("{}: {}", simple(random, names, 'N'), simple(random, names, 'A')))
                .collect();
            format!("{{{}}}", entries.join(", "))
        }
        'D' => random.pick(names.maps).to_owned(),
        'O' => random.pick(names.objects).to_owned(),
        'N' => random
            .pick(&[
                "'name'",
                "'k'",
                "'v'",
                "'m.x'",
                "'missing'",
                "0",
                "'1'",
                "'a'",
                "'name,v'",
                "none",
                "'kind'",
            ])
            .to_owned(),
        'K' => random.pick(&["'key'", "'value'", "'x'"]).to_owned(),
        'M' => random.pick(&["'common'", "'ceil'", "'floor'", "'x'"]).to_owned(),
        'C' => random.pick(&["'*'", "'日'", "' '", "'ab'", "''"]).to_owned(),
        'T' => format!("'{}'", TESTS[random.below(TESTS.len())].1),
        'P' => {
            let name = FILTERS[random.below(FILTERS.len())].1;
            format!("'{}'", if LAZY.contains(&name) { "upper" } else { name })
        }
        _ => match random.below(4) {
            0 => {
                let kind = random.pick(&["S", "I", "F", "B", "L", "D"]).as_bytes()[0] as char;
                simple(random, names, kind)
            }
            1 => random.pick(&["none", "true", "false"]).to_owned(),
            _ => random.pick(names.any).to_owned(),
        },
    }
}

/// The arguments for parameters: some omitted at the end, some by name, rarely one too many.
fn arguments(random: &mut Random, names: &Names<'_>, params: &str, depth: usize, needed: usize) -> String {
    let params: Vec<&str> = params.split_ascii_whitespace().collect();
    let count = match random.below(10) {
        0 => random.below(params.len() + 1),
        _ => needed.min(params.len()) + random.below(params.len() - needed.min(params.len()) + 1),
    };
    let mut out = Vec::new();
    let mut by_name = false;
    for param in &params[..count] {
        if let Some(kind) = param.strip_prefix('*') {
            for _ in 0..random.below(3) {
                out.push(expression(random, names, first(kind), depth));
            }
            if random.chance(25) {
                out.push(format!("a={}", expression(random, names, 'A', depth)));
            }
        } else if let Some((name, kind)) = param.split_once('=') {
            by_name = true;
            out.push(format!("{name}={}", expression(random, names, first(kind), depth)));
        } else if let Some((name, kind)) = param.split_once(':') {
            by_name |= random.chance(25);
            let value = expression(random, names, first(kind), depth);
            out.push(if by_name { format!("{name}={value}") } else { value });
        } else {
            out.push(expression(random, names, first(param), depth));
        }
    }
    if random.chance(2) {
        out.push(format!("{}{}", random.pick(&["", "q=", "*", "**"]), expression(random, names, 'L', 0)));
    }
    out.join(", ")
}

fn first(kind: &str) -> char {
    kind.chars().next().unwrap_or('A')
}

fn filtered(random: &mut Random, names: &Names<'_>, _kind: char, depth: usize) -> String {
    let (base, name, params) = FILTERS[random.below(FILTERS.len())];
    let base = parenthesised(expression(random, names, base, depth), random);
    let arguments = arguments(random, names, params, depth.min(1), needed(name));
    let then = match name {
        _ if LAZY.contains(&name) => random.pick(&["|list", "|list", "|join('-')"]),
        _ if random.chance(20) => "|list",
        _ => "",
    };
    match arguments.is_empty() && random.chance(80) {
        true => format!("{base}|{name}{then}"),
        false => format!("{base}|{name}({arguments}){then}"),
    }
}

/// The number of required arguments of a filter, test or method.
fn needed(name: &str) -> usize {
    match name {
        "attr" | "batch" | "groupby" | "map" | "reject" | "rejectattr" | "select" | "selectattr"
        | "slice" => 1,
        "replace" | "insert" => 2,
        "join" | "index" | "center" | "count" | "append" | "extend" | "get" | "setdefault" => 1,
        "divisibleby" | "eq" | "equalto" | "==" | "ge" | "gt" | "greaterthan" | "in" | "le" | "lt"
        | "lessthan" => 1,
        "ne" | "sameas" | "startswith" | "endswith" | "find" | "rfind" | "ljust" | "rjust" | "zfill"
        | "remove" => 1,
        "partition" | "rpartition" | "removeprefix" | "removesuffix" | "rindex" | "update" => 1,
        _ => 0,
    }
}

fn parenthesised(expression: String, random: &mut Random) -> String {
    if expression.contains(' ') && random.chance(85) { format!("({expression})") } else { expression }
}

fn test(random: &mut Random, names: &Names<'_>, depth: usize) -> String {
    let (base, name, params) = TESTS[random.below(TESTS.len())];
    let name = if name == "==" { "eq" } else { name };
    let base = parenthesised(expression(random, names, base, depth), random);
    let not = if random.chance(20) { "not " } else { "" };
    let arguments = arguments(random, names, params, depth.min(1), needed(name));
    match arguments.is_empty() {
        true => format!("{base} is {not}{name}"),
        false if random.chance(20) && !arguments.contains(',') && !arguments.contains('=') => {
            format!("{base} is {not}{name} {arguments}")
        }
        false => format!("{base} is {not}{name}({arguments})"),
    }
}

fn method(random: &mut Random, names: &Names<'_>, kind: char, depth: usize) -> String {
    let fitting: Vec<_> = METHODS.iter().filter(|(base, ..)| *base == kind).collect();
    let (base, name, params) = match fitting.is_empty() || random.chance(50) {
        true => METHODS[random.below(METHODS.len())],
        false => *fitting[random.below(fitting.len())],
    };
    let base = expression(random, names, base, depth);
    let arguments = arguments(random, names, params, depth.min(1), needed(name));
    format!("({base}).{name}({arguments})")
}
