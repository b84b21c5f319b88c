//! Random templates: nested statements with few names, so that scopes share names.

use serde_json::{Map, Value as Json, json};

use super::{
    expressions::{DATA, Names, expression},
    pieces::{Case, Options, Piece, Random, Undefined},
};

/// The names that templates set; some are also variables of the data.
const NAMES: &[&str] = &["a", "b", "x", "y", "c"];

/// Uses of scope names in an expression.
const SCOPED: Names<'static> = Names {
    any: &["a", "b", "x", "y", "c", "loop.index", "xs", "ns.v", "loop.first"],
    texts: &["b", "x", "y"],
    integers: &["a", "loop.index0", "x"],
    lists: &["c", "x", "xs"],
    maps: &["d", "x"],
    objects: &["xs"],
};

/// The case with this number.
pub(crate) fn case(seed: u64) -> Case {
    let mut random = Random::new(seed);
    let options = options(&mut random);
    let profile = random.weighted(&[45, 30, 15, 5, 5]);
    let mut generator = Generator { random, template: 0, templates: 1, count: 0, profile };
    let templates = match profile {
        1 => vec![generator.library()],
        3 => vec![generator.whitespace()],
        4 => vec![generator.broken()],
        _ => generator.templates(),
    };
    let data = data(&mut generator.random);
    Case { templates, data, options }
}

fn options(random: &mut Random) -> Options {
    Options {
        undefined: match random.below(10) {
            0 => Undefined::Strict,
            1 | 2 => Undefined::Chainable,
            _ => Undefined::Default,
        },
        autoescape: random.chance(15),
        trim_blocks: random.chance(15),
        lstrip_blocks: random.chance(15),
        keep_trailing_newline: random.chance(15),
    }
}

fn data(random: &mut Random) -> Map<String, Json> {
    let pick = |random: &mut Random, values: &[Json]| values[random.below(values.len())].clone();
    let mut data = Map::new();
    let mut set = |name: &str, value: Json| data.insert(name.to_owned(), value);
    set("a", pick(random, &[json!(1), json!(0), json!(42), json!(-3), json!(true)]));
    set(
        "b",
        pick(random, &[json!("text"), json!("<i>&"), json!(""), json!("日本 語"), json!("Hello World")]),
    );
    set(
        "c",
        pick(random, &[json!([1, 2, 3]), json!([]), json!(["b", "a", "C"]), json!([[1, "x"], [2, "y"]])]),
    );
    set(
        "d",
        json!({"k": "v<1>", "i": 7, "l": [3, 1, 2], "m": {"x": {"y": null}, "z": 1.5}, "B": 0, "name": "dn"}),
    );
    set("e", pick(random, &[json!({}), json!([]), json!(""), json!(null), json!(0)]));
    set("n", Json::Null);
    set("t", json!(random.chance(50)));
    set(
        "u",
        pick(
            random,
            &[json!("Ünï 🎉\u{301}"), json!("a\tb\r\nc"), json!("ǅ ß ﬁ İ"), json!("\u{1f}\u{85}\u{2028}x")],
        ),
    );
    set("fl", pick(random, &[json!(1.5), json!(-0.0), json!(1e16), json!(0.1), json!(1e-7), json!(100.0)]));
    set("neg", json!(-9));
    set(
        "mixed",
        pick(
            random,
            &[json!([1, 2.5, 0]), json!([null, "x", 1]), json!([true, 1, 1.0]), json!([[2], [1, 1]])],
        ),
    );
    set("words", json!(["beta", "Alpha", "gamma", "alpha", ""]));
    set(
        "xs",
        json!([
            {"name": "one", "v": 1, "kind": "p", "m": {"x": 2}},
            {"name": "Two", "v": 2, "kind": "q", "m": {"x": 1}},
            {"name": "three", "v": 1, "kind": "p"}
        ]),
    );
    set("tree", json!({"v": 1, "children": [{"v": 2, "children": [{"v": 3}]}, {"v": 4, "children": []}]}));
    set("dyn", json!(format!("t{}", 1 + random.below(3))));
    data
}

struct Generator {
    random: Random,
    /// The template that is being generated. It may load only templates with a higher number.
    template: usize,
    templates: usize,
    /// Makes all constants different, so that a wrong one shows where it came from.
    count: usize,
    profile: usize,
}

/// The surroundings of a statement.
#[derive(Clone, Copy)]
struct Place {
    depth: usize,
    /// Macros and blocks call only those of a lower rank, so that recursion ends.
    rank: usize,
    in_loop: bool,
    in_macro: bool,
    in_block: bool,
    /// Whether a block is allowed here: each name once in a template.
    blocks: bool,
    /// Whether the output is captured here. In Jinja2 an include without context bypasses the capture.
    caught: bool,
}

impl Generator {
    fn templates(&mut self) -> Vec<Vec<Piece>> {
        self.templates = 1 + self.random.below(4);
        (0..self.templates)
            .map(|number| {
                self.template = number;
                let mut used = Vec::new();
                let count = 2 + self.random.below(6);
                let place = Place {
                    depth: 3,
                    rank: 7,
                    in_loop: false,
                    in_macro: false,
                    in_block: false,
                    blocks: true,
                    caught: false,
                };
                let mut body = self.body(count, place, &mut used);
                if self.loads() && self.random.chance(if number == 0 { 40 } else { 20 }) {
                    let at = if self.random.chance(70) { 0 } else { self.random.below(body.len() + 1) };
                    let extends = self.extends();
                    body.insert(at, extends);
                }
                body
            })
            .collect()
    }

    /// Whether this template may load another.
    fn loads(&self) -> bool {
        self.template + 1 < self.templates
    }

    fn extends(&mut self) -> Piece {
        let parent = self.template_name();
        let tag = format!("{{% extends {parent} %}}");
        match self.random.below(8) {
            0 => Piece::group("{% if t %}", vec![Piece::text(tag)], "{% endif %}"),
            1 => Piece::group("{% if x is not defined %}", vec![Piece::text(tag)], "{% endif %}"),
            _ => Piece::text(tag),
        }
    }

    fn template_name(&mut self) -> String {
        let number = self.template + 1 + self.random.below(self.templates - self.template - 1);
        format!("'t{number}'")
    }

    fn constant(&mut self) -> String {
        self.count += 1;
        match self.random.below(12) {
            0 => format!("[{}, 'l{}']", self.count, self.count),
            1 => format!("{{'k': {}}}", self.count),
            2 => self.count.to_string(),
            3 => random_name(&mut self.random),
            4 => format!("{} ~ 's{}'", random_name(&mut self.random), self.count),
            _ => format!("'s{}'", self.count),
        }
    }

    fn body(&mut self, count: usize, place: Place, used: &mut Vec<String>) -> Vec<Piece> {
        let mut pieces = Vec::new();
        for _ in 0..count {
            self.statement(place, used, &mut pieces);
        }
        pieces
    }

    fn inner(&mut self, place: Place, used: &mut Vec<String>) -> Vec<Piece> {
        let count = 1 + self.random.below(4);
        self.body(count, Place { depth: place.depth - 1, ..place }, used)
    }

    fn name(&mut self) -> String {
        random_name(&mut self.random)
    }

    /// An expression that is usually a name.
    fn value(&mut self) -> String {
        let depth = if self.profile == 2 { 2 } else { 0 };
        match self.random.below(10) {
            0..=4 => self.name(),
            5..=7 => self.constant(),
            _ => expression(&mut self.random, &SCOPED, 'A', depth),
        }
    }

    fn print(&mut self, place: Place) -> Piece {
        let name = self.name();
        let inside = match self.random.below(if place.in_macro { 24 } else { 20 }) {
            0..=7 => name,
            8 | 9 => format!("{name}|default('-')"),
            10 => format!("{name} is defined"),
            11 => "loop.index if loop is defined else 'no'".to_owned(),
            12 if place.in_loop => self
                .random
                .pick(&[
                    "loop.index",
                    "loop.first",
                    "loop.last",
                    "loop.length",
                    "loop.cycle('p', 'q')",
                    "loop.depth",
                    "loop.changed(x)",
                    "loop.previtem",
                    "loop.nextitem|default('end')",
                    "loop.revindex",
                    "loop.revindex0",
                    "loop.depth0",
                    "loop.cycle",
                    "loop.missing",
                    "loop['index']",
                ])
                .to_owned(),
            13 if self.profile == 2 => expression(&mut self.random, &DATA, 'A', 2),
            13 => format!("{name}, {}", self.name()),
            14 => self.value(),
            15 if place.in_block => {
                self.random.pick(&["super()", "super()|upper", "super.super()", "self.b1()"]).to_owned()
            }
            16 => "ns.v|default('nov')".to_owned(),
            17 => format!("m{}", 1 + self.random.below(3)) + " is defined",
            18 => format!("lib.{}|default('nolib')", self.name()),
            20 => "varargs".to_owned(),
            21 => "kwargs".to_owned(),
            22 => "caller is defined".to_owned(),
            23 => "caller(1)|default('')".to_owned(),
            _ => self.name(),
        };
        let (open, close) = match self.random.below(20) {
            0 => ("{{- ", " -}}"),
            1 => ("{{ ", " -}}"),
            2 => ("{{+ ", " }}"),
            _ => ("{{ ", " }}"),
        };
        Piece::text(format!("[{open}{inside}{close}]"))
    }

    fn statement(&mut self, place: Place, used: &mut Vec<String>, pieces: &mut Vec<Piece>) {
        if place.depth == 0 {
            let piece = match self.random.weighted(&[6, 1, 4, 2]) {
                0 => self.print(place),
                1 => Piece::text(self.random.pick(&["\n", " ", "t\n", "日", "\n  "])),
                2 => self.set(),
                _ => self.call(place),
            };
            return pieces.push(piece);
        }
        let piece =
            match self.random.weighted(&[22, 4, 14, 3, 10, 12, 6, 8, 10, 4, 2, 2, 3, 3, 2, 6, 6, 5, 2, 2, 3])
            {
                0 => self.print(place),
                1 => Piece::text(self.random.pick(&[
                    "\n",
                    " ",
                    "text\n",
                    "日",
                    "\n  ",
                    "{# c #}",
                    "{#- c -#}",
                    "{% raw %}{{ r }}{% endraw %}",
                ])),
                2 => self.set(),
                3 => {
                    let name = self.name();
                    let filter = self.random.pick(&["", "", "|upper", "|trim|length", "|e"]);
                    let inner = self.inner(Place { caught: true, ..place }, used);
                    Piece::group(format!("{{% set {name}{filter} %}}"), inner, "{% endset %}")
                }
                4 => self.if_(place, used),
                5 => self.for_(place, used),
                6 => self.with(place, used),
                7 => self.macro_(place),
                8 => self.call(place),
                9 => self.call_block(place, used),
                10 => {
                    let filter = self.random.pick(&[
                        "upper",
                        "trim",
                        "replace('s', 'S')",
                        "length",
                        "default(x)|upper",
                        "e",
                    ]);
                    let inner = self.inner(Place { caught: true, ..place }, used);
                    Piece::group(format!("{{% filter {filter} %}}"), inner, "{% endfilter %}")
                }
                11 => {
                    let on = self.random.pick(&["true", "false", "t", "a"]);
                    Piece::group(
                        format!("{{% autoescape {on} %}}"),
                        self.inner(place, used),
                        "{% endautoescape %}",
                    )
                }
                12 => self.do_(),
                13 if place.in_loop => {
                    let test = self.value();
                    let tag = self.random.pick(&["break", "continue"]);
                    Piece::text(format!("{{% if {test} %}}{{% {tag} %}}{{% endif %}}"))
                }
                14 => Piece::text("{% set ns = namespace(v=1) %}"),
                15 => self.block(place, used),
                16 if self.loads() => self.include(place),
                17 if self.loads() => self.import(),
                18 => {
                    let value = self.value();
                    Piece::text(format!("{{% set ns.v = {value} %}}"))
                }
                19 => {
                    let value = self.value();
                    Piece::text(format!("{{% print {value} %}}"))
                }
                20 => self.recursive(),
                _ => self.print(place),
            };
        pieces.push(piece);
    }

    fn set(&mut self) -> Piece {
        let name = self.name();
        let value = self.value();
        Piece::text(match self.random.below(12) {
            0 => format!("{{% set {name}, {} = {value}, {} %}}", self.name(), self.constant()),
            1 => format!("{{% set {name} = {name} %}}"),
            2 => format!("{{% set ({name}, {}) = xs[0].items()|first %}}", self.name()),
            _ => format!("{{% set {name} = {value} %}}"),
        })
    }

    fn condition(&mut self) -> String {
        let name = self.name();
        match self.random.below(9) {
            0 => "t".to_owned(),
            1 => "not t".to_owned(),
            2 => format!("{name} is defined"),
            3 => format!("{name} is not defined"),
            4 => name,
            5 => format!("{name} == {}", self.value()),
            6 => "true".to_owned(),
            7 => "false".to_owned(),
            _ => self.value(),
        }
    }

    fn if_(&mut self, place: Place, used: &mut Vec<String>) -> Piece {
        let test = self.condition();
        let mut body = self.inner(place, used);
        for _ in 0..self.random.weighted(&[6, 2, 1]) {
            let test = self.condition();
            body.push(Piece::text(format!("{{% elif {test} %}}")));
            body.extend(self.inner(place, used));
        }
        if self.random.chance(40) {
            body.push(Piece::text("{% else %}"));
            body.extend(self.inner(place, used));
        }
        Piece::group(format!("{{% if {test} %}}"), body, "{% endif %}")
    }

    fn for_(&mut self, place: Place, used: &mut Vec<String>) -> Piece {
        let name = self.name();
        let (target, items) = match self.random.below(10) {
            0 => (format!("{name}, {}", self.name()), "d.items()".to_owned()),
            1 => (format!("{name}, {}", self.name()), "[(1, 'p'), (2, 'q')]".to_owned()),
            2 => (name, "[]".to_owned()),
            3 => (name, "range(3)".to_owned()),
            4 => (name.clone(), name),
            5 => (name, self.value()),
            6 => (name, "xs|map(attribute='v')".to_owned()),
            _ => (
                name,
                self.random.pick(&["c", "xs", "'ab'", "[1, 2]", "d", "c|reverse", "[x, y]"]).to_owned(),
            ),
        };
        let filter = match self.random.below(8) {
            0 => format!(" if {}", self.condition()),
            _ => String::new(),
        };
        let mut body = self.inner(Place { in_loop: true, ..place }, used);
        if self.random.chance(25) {
            body.push(Piece::text("{% else %}"));
            body.extend(self.inner(place, used));
        }
        Piece::group(format!("{{% for {target} in {items}{filter} %}}"), body, "{% endfor %}")
    }

    fn recursive(&mut self) -> Piece {
        let name = self.name();
        let other = self.name();
        let inner = self.random.pick(&[
            "[{{ loop.depth }}{{ loop(N.children) if N.children }}]",
            "[{{ N.v }}{% set O = N.v %}{{ loop(N.children|default([])) }}{{ O }}{{ loop.index }}]",
            "{% if N.children %}({{ loop(N.children)|upper }}){% endif %}{{ loop.depth0 }}{{ N.v }}",
            "{{ N.v }}{{ loop(N.children) }}",
            "{% for O in [1, 2] %}{{ O }}{{ loop.index }}{% endfor %}{{ N.v }}{{ loop(N.children or []) }}{% else %}none",
            "{% macro mm() %}{{ N.v }}{% endmacro %}{{ mm() }}{{ loop(N.children or []) }}{{ mm() }}",
            "{% set l = loop %}{% for O in [1] %}{{ l.index }}{{ l(N.children or []) }}{% endfor %}",
        ]);
        let inner = inner.replace('N', &name).replace('O', &other);
        Piece::group(
            format!("{{% for {name} in tree.children recursive %}}"),
            vec![Piece::text(inner)],
            "{% endfor %}",
        )
    }

    fn with(&mut self, place: Place, used: &mut Vec<String>) -> Piece {
        let count = self.random.below(3);
        let bindings: Vec<_> = (0..count).map(|_| format!("{} = {}", self.name(), self.value())).collect();
        Piece::group(
            format!("{{% with {} %}}", bindings.join(", ")),
            self.inner(place, used),
            "{% endwith %}",
        )
    }

    fn macro_(&mut self, place: Place) -> Piece {
        let number = 1 + self.random.below(3);
        let mut params: Vec<String> = Vec::new();
        let mut defaults = false;
        for _ in 0..self.random.below(3) {
            let name = self.name();
            if params.iter().any(|param| param.starts_with(&name)) {
                continue;
            }
            defaults |= self.random.chance(50);
            let default = if defaults { format!("={}", self.value()) } else { String::new() };
            params.push(name + &default);
        }
        if self.random.chance(5) {
            params.push(format!(
                "{}={}",
                self.random.pick(&["caller", "varargs", "kwargs"]),
                self.constant()
            ));
        }
        let inside = Place {
            rank: 2 * number - 1,
            in_loop: false,
            in_macro: true,
            blocks: false,
            caught: true,
            ..place
        };
        let body = self.inner(inside, &mut Vec::new());
        Piece::group(format!("{{% macro m{number}({}) %}}", params.join(", ")), body, "{% endmacro %}")
    }

    fn arguments(&mut self) -> String {
        let mut arguments: Vec<String> = Vec::new();
        for _ in 0..self.random.weighted(&[4, 4, 2, 1]) {
            arguments.push(self.value());
        }
        if self.random.chance(25) {
            arguments.push(format!("{}={}", self.name(), self.constant()));
        }
        if self.random.chance(4) {
            arguments.push(self.random.pick(&["*c", "**d", "*[1]", "**{'x': 1}", "z=1"]).to_owned());
        }
        arguments.join(", ")
    }

    /// A call of a macro of a lower rank, often only if it is defined.
    fn callee(&mut self, place: Place) -> Option<(String, String)> {
        let macros = place.rank / 2;
        let number = 1 + self.random.below(macros.max(1));
        let callee = match self.random.below(12) {
            _ if macros == 0 => return None,
            0 => format!("lib.m{number}"),
            1 => {
                let name = self.name();
                return Some((name.clone(), name));
            }
            _ => format!("m{number}"),
        };
        Some((callee.split('.').next().unwrap_or_default().to_owned(), callee))
    }

    fn call(&mut self, place: Place) -> Piece {
        let Some((name, callee)) = self.callee(place) else { return self.print(place) };
        let arguments = self.arguments();
        let filter = self.random.pick(&["", "", "", "", "|upper", "|length"]);
        let call = format!("[{{{{ {callee}({arguments}){filter} }}}}]");
        match self.random.chance(75) {
            true => {
                Piece::group(format!("{{% if {name} is defined %}}"), vec![Piece::text(call)], "{% endif %}")
            }
            false => Piece::text(call),
        }
    }

    fn call_block(&mut self, place: Place, used: &mut Vec<String>) -> Piece {
        let Some((name, callee)) = self.callee(place) else { return self.print(place) };
        let arguments = self.arguments();
        let params = match self.random.below(4) {
            0 => format!("({})", self.name()),
            1 => format!("({}={})", self.name(), self.constant()),
            _ => String::new(),
        };
        let inside = Place { in_loop: false, in_macro: true, blocks: false, caught: true, ..place };
        let block = Piece::group(
            format!("{{% call{params} {callee}({arguments}) %}}"),
            self.inner(inside, used),
            "{% endcall %}",
        );
        match self.random.chance(75) {
            true => Piece::group(format!("{{% if {name} is defined %}}"), vec![block], "{% endif %}"),
            false => block,
        }
    }

    fn do_(&mut self) -> Piece {
        let value = self.value();
        let statement = match self.random.below(5) {
            0 => format!("c.append({value})"),
            1 => format!("d.update({{'k': {value}}})"),
            2 => format!("{}.append({value})", self.name()),
            3 => "c.pop()".to_owned(),
            _ => value,
        };
        Piece::text(format!("{{% do {statement} %}}"))
    }

    fn block(&mut self, place: Place, used: &mut Vec<String>) -> Piece {
        let highest = (place.rank.saturating_sub(1) / 2).min(3);
        let number = 1 + self.random.below(highest.max(1));
        let name = format!("b{number}");
        if highest == 0 || !place.blocks || used.contains(&name) {
            return match place.blocks || highest == 0 {
                true => self.print(place),
                false => Piece::text(format!("{{{{ self.{name}() }}}}")),
            };
        }
        used.push(name.clone());
        let flags = self.random.pick(&["", "", "", " scoped", " scoped", " required", " scoped required"]);
        if flags.contains("required") {
            return Piece::text(format!("{{% block {name}{flags} %}} {{% endblock %}}"));
        }
        let inside = Place {
            rank: 2 * number,
            in_block: true,
            in_loop: false,
            in_macro: false,
            caught: false,
            ..place
        };
        let body = self.inner(inside, used);
        Piece::group(format!("{{% block {name}{flags} %}}"), body, format!("{{% endblock {name} %}}"))
    }

    fn include(&mut self, place: Place) -> Piece {
        let name = self.template_name();
        let context = match place.caught {
            true => "",
            false => self.random.pick(&["", "", "", " without context", " with context"]),
        };
        Piece::text(match self.random.below(10) {
            0 => format!("{{% include ['missing', {name}]{context} %}}"),
            1 => format!("{{% include 'missing' ignore missing{context} %}}"),
            2 => format!("{{% include {name} ignore missing{context} %}}"),
            3 => "{% include 'missing' %}".to_owned(),
            _ => format!("{{% include {name}{context} %}}"),
        })
    }

    fn import(&mut self) -> Piece {
        let name = self.template_name();
        let context = self.random.pick(&["", " with context", " without context"]);
        let number = 1 + self.random.below(3);
        Piece::text(match self.random.below(5) {
            0 | 1 => format!("{{% import {name} as lib{context} %}}"),
            2 => format!("{{% from {name} import m{number}{context} %}}"),
            3 => format!(
                "{{% from {name} import {} as {}, m{number} as y{context} %}}",
                self.name(),
                self.name()
            ),
            _ => format!("{{% from {name} import {}{context} %}}", self.name()),
        })
    }

    /// Expressions over the whole library.
    fn library(&mut self) -> Vec<Piece> {
        (0..1 + self.random.below(2))
            .map(|_| {
                let depth = 1 + self.random.below(3);
                let kind = self.random.pick(&["A", "S", "I", "L", "D", "F"]).chars().next().unwrap_or('A');
                let expression = expression(&mut self.random, &DATA, kind, depth);
                match self.random.below(8) {
                    0 => Piece::text(format!("{{% for i in {expression} %}}[{{{{ i }}}}]{{% endfor %}}")),
                    1 => Piece::text(format!("{{% if {expression} %}}yes{{% else %}}no{{% endif %}}")),
                    2 => Piece::text(format!("{{% set z = {expression} %}}[{{{{ z }}}}{{{{ z }}}}]")),
                    _ => Piece::text(format!("[{{{{ {expression} }}}}]\n")),
                }
            })
            .collect()
    }

    /// Whitespace around tags of all kinds.
    fn whitespace(&mut self) -> Vec<Piece> {
        let count = 3 + self.random.below(12);
        let mut pieces = Vec::new();
        let mut open: Vec<&str> = Vec::new();
        for _ in 0..count {
            let start = self.random.pick(&["", "", "-", "+"]);
            let end = self.random.pick(&["", "", "-", "+"]);
            let end_variable = self.random.pick(&["", "", "-"]);
            let start_variable = self.random.pick(&["", "", "-"]);
            pieces.push(Piece::text(match self.random.below(9) {
                0 => format!("{{{{{start_variable} a {end_variable}}}}}"),
                1 => {
                    open.push("if");
                    format!("{{%{start} if true {end}%}}")
                }
                2 => {
                    open.push("for");
                    format!("{{%{start} for i in [1, 2] {end}%}}")
                }
                3 => format!("{{#{start} c {end}#}}"),
                4 => format!(
                    "{{%{start} raw {end_variable}%}} {{{{ r }}}} \n{{%{start_variable} endraw {end}%}}"
                ),
                5 if !open.is_empty() => {
                    format!("{{%{start} end{} {end}%}}", open.pop().unwrap_or_default())
                }
                6 => format!("{{%{start} set z = 1 {end}%}}"),
                _ => self
                    .random
                    .pick(&[" ", "\n", "\n\n", "  \n  ", "x", "\t", "x \n", "\r\n", "\u{a0}\n", "\r"])
                    .to_owned(),
            }));
            pieces.push(Piece::text(self.random.pick(&["", " ", "\n", " \n ", "x", "  "])));
        }
        while let Some(tag) = open.pop() {
            pieces.push(Piece::text(format!("{{% end{tag} %}}\n")));
        }
        pieces
    }

    /// A template with one error.
    fn broken(&mut self) -> Vec<Piece> {
        let whole = match self.random.chance(50) {
            true => self.library(),
            false => {
                let place = Place {
                    depth: 2,
                    rank: 7,
                    in_loop: false,
                    in_macro: false,
                    in_block: false,
                    blocks: true,
                    caught: false,
                };
                self.body(3, place, &mut Vec::new())
            }
        };
        let source: Vec<char> = super::pieces::source(&whole).chars().collect();
        let at = self.random.below(source.len().max(1));
        let end = (at + 1 + self.random.below(3)).min(source.len());
        let mut text: String = source[..at].iter().collect();
        text.push_str(match self.random.below(4) {
            0 => self.random.pick(&[
                "{%", "%}", "{{", "}}", "{#", "|", "(", ")", "'", ",", ".", "\n", " is ", "else", "in", "=",
                "endif", "1",
            ]),
            _ => "",
        });
        text.extend(&source[end..]);
        vec![Piece::text(text)]
    }
}

fn random_name(random: &mut Random) -> String {
    random.pick(NAMES).to_owned()
}
