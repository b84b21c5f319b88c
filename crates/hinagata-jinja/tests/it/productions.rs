//! Every way to repeat or nest parts of a source in Jinja's grammar.

/// A repeated part of a source.
pub(crate) struct Production {
    start: String,
    again: &'static str,
    middle: &'static str,
    close: &'static str,
    end: String,
}

impl Production {
    /// The name of the repeated part in failure messages.
    pub(crate) fn name(&self) -> String {
        self.source(1)
    }

    /// The source with `count` repetitions. `#` in a piece is the number of the repetition, for names that
    /// must be unique.
    pub(crate) fn source(&self, count: usize) -> String {
        let pieces = |piece: &str| -> String {
            match piece.contains('#') {
                true => (0..count).map(|turn| piece.replace('#', &turn.to_string())).collect(),
                false => piece.repeat(count),
            }
        };
        [&*self.start, &pieces(self.again), self.middle, &pieces(self.close), &self.end].concat()
    }

    /// The maximum number of repetitions in `bytes` of source.
    pub(crate) fn most(&self, bytes: usize) -> usize {
        let (mut fits, mut over) = (0, bytes);
        while over - fits > 1 {
            let middle = usize::midpoint(fits, over);
            *(if self.source(middle).len() <= bytes { &mut fits } else { &mut over }) = middle;
        }
        fits
    }
}

/// Sequences inside `{{ }}`: the first part, and the repeated part.
const OPERATORS: &[(&str, &str)] = &[
    ("a", " + a"),
    ("1", " - 1"),
    ("1", " * 1"),
    ("1", " / 1"),
    ("1", " // 1"),
    ("1", " % 7"),
    ("1", " ** 1"),
    ("1", " ** -1"),
    ("'x'", " ~ a"),
    ("1", " and 1"),
    ("0", " or 0"),
    ("1", " == 1"),
    ("1", " != 2 != 1"),
    ("1", " <= 1"),
    ("1", " < 2 > 1"),
    ("'a'", " in 'a'"),
    ("'a'", " not in 'b'"),
    ("1", " if 1"),
    ("a", " if not a"),
    ("1", " + 1 - 1 ~ 1 * 1 ** 1"),
    ("'x'", "[0]"),
    ("'x'", ".0"),
    ("'x'", "[-1:]"),
    ("'x'", "[0:1:1]"),
    ("missing", ".a"),
    ("missing", "['a']"),
    ("missing", "[a]"),
    ("missing", "[0, 1]"),
    ("missing", ".a[0]"),
    ("data", ".next"),
    ("data", "['next']"),
    ("'x'", ".upper()"),
    ("'x'", ".upper().lower()[0]|upper"),
    ("f", "()"),
    ("f", "(1)"),
    ("f", "(1, *[2], a=3, **{})"),
    ("missing", "()"),
    ("'x'", "|upper"),
    ("'x'", "|replace('x', 'x')"),
    ("'x'", "|default('y', boolean=true)"),
    ("1", " is odd"),
    ("1", " is not odd"),
    ("1", " is eq(1)"),
    ("1", " is eq 1 is not none"),
    ("'x'", " 'x'"),
    ("1", ", 1"),
    ("loop", ".cycle()"),
    ("self", ".b()"),
    ("caller", "()"),
];

/// Sequences inside `{{ }}` with delimiters around them.
const LISTS: &[(&str, &str, &str)] = &[
    ("[", "1, ", "]"),
    ("(", "1, ", ")"),
    ("{", "#: 1, ", "}"),
    ("{", "'x': a, ", "}"),
    ("dict(", "a#=1, ", ")"),
    ("[].append(", "1, ", ")"),
    ("range(", "1, ", ")"),
    ("'x'|default(", "1, ", ")"),
    ("'x'|default(", "a#=1, ", ")"),
    ("1 is eq(", "1, ", ")"),
    ("missing[", "1, ", "1]"),
    ("'", "x", "'"),
    ("'", "\\x41", "'"),
    ("", "1", ""),
    ("0x0", "_f", ""),
    ("1e", "1", ""),
    ("", "a", ""),
    ("missing.", "a", ""),
    ("1|", "a.", "a"),
    ("1 is ", "a.", "a"),
    ("1", " ", ""),
    ("1", "\n", ""),
    ("1", "#\n", ""),
];

/// Nesting inside `{{ }}`: the parts before and after the nested expression.
const NESTED: &[(&str, &str)] = &[
    ("(", ")"),
    ("[", "]"),
    ("(1, ", ")"),
    ("{1: ", "}"),
    ("{", ": 1}"),
    ("not ", ""),
    ("-", ""),
    ("+ -", ""),
    ("- not ", ""),
    ("x|default(", ")"),
    ("x|default(a=", ")"),
    ("x is eq(", ")"),
    ("x is eq [", "]"),
    ("f(", ")"),
    ("f(a=", ")"),
    ("f(*", ")"),
    ("f(**", ")"),
    ("x[", "]"),
    ("x[1:", "]"),
    ("x[::", "]"),
    ("x[1, ", "]"),
    ("1 if 0 else ", ""),
    ("1 if ", ""),
    ("1 if (", ") else 1"),
    ("(1 if 1 else ", ")"),
    ("1 + (", ")"),
    ("1 ** -(", ")"),
    ("(", ")|list"),
    ("(", ")[0]"),
    ("(", ")()"),
    ("(", ").a"),
    ("(", ")[0]|first is eq 1"),
    ("(", ")[0][0][0][0]|first|first|first()[0]"),
    ("(", ").a ** 1 * 1 ~ 1 + 1 < 1 and 1 or 1 if 1 else 1"),
];

/// Statements in sequence or nested: the part before, the repeated part, the part after.
const STATEMENTS: &[(&str, &str, &str, &str)] = &[
    ("", "{{ a }}", "", ""),
    ("", "{% print a, a %}", "", ""),
    ("{% print 1", ", 1", "", " %}"),
    ("", "x{# x #}", "", ""),
    ("", "\n", "", ""),
    ("", "{% raw %}x{% endraw %}", "", ""),
    ("{% if a %}", "{% elif not a %}x", "", "{% endif %}"),
    ("{% if a", " and a", "", " %}{% endif %}"),
    ("", "{% if a %}x{% else %}y{% endif %}", "", ""),
    ("", "{% if a %}{% set x = a %}{% endif %}", "", ""),
    ("", "{% if a %}{% set x# = a %}{% endif %}", "", ""),
    ("", "{% set x = x.y %}", "", ""),
    ("", "{% set x# = a %}", "", ""),
    ("", "{% set x# = a %}{{ x# }}", "", ""),
    ("{% set x", ", x", "", " = 1 %}"),
    ("{% set x", ", x#", "", " = 1 %}"),
    ("{% set ", "(", ")", " = 1 %}"),
    ("{% set x = ", "1, ", "", "1 %}"),
    ("{% set ns = namespace() %}{% set ns.x", ", ns.x", "", " = 1 %}"),
    ("{% set x", "|upper", "", " %}a{% endset %}"),
    ("", "{% set x %}a{% endset %}", "", ""),
    ("{% filter upper", "|lower", "", " %}a{% endfilter %}"),
    ("{% filter upper", ".a", "", " %}a{% endfilter %}"),
    ("", "{% for x in [1] %}{{ loop.index }}{% else %}{% endfor %}", "", ""),
    ("{% for ", "x, ", "", " in [] %}{% endfor %}"),
    ("{% for ", "(", ")", " in [] %}{% endfor %}"),
    ("{% for x in ", "1, ", "", "1 %}{% endfor %}"),
    ("{% for x in [1] if 1", " and x", "", " %}{% endfor %}"),
    ("{% with ", "x#=1, ", "", "y=1 %}{% endwith %}"),
    ("", "{% with x = 1 %}{{ x }}{% endwith %}", "", ""),
    ("", "{% macro m() %}{% endmacro %}", "", ""),
    ("", "{% macro m#() %}{{ m#() }}{% endmacro %}", "", ""),
    ("{% macro m(", "a#, ", "", "b) %}{% endmacro %}{{ m(1) }}"),
    ("{% macro m(", "a#=1, ", "", "b=1) %}{% endmacro %}{{ m(1) }}"),
    ("{% macro m() %}{{ caller() }}{% endmacro %}", "{% call m() %}x{% endcall %}", "", ""),
    ("{% macro m() %}{% endmacro %}{% call(", "a#, ", "", "b) m() %}{% endcall %}"),
    ("{% call m", ".a", "", "() %}{% endcall %}"),
    ("{% call m", "()", "", "() %}{% endcall %}"),
    ("", "{% block b# %}{% endblock %}", "", ""),
    ("", "{% block b# scoped %}{% endblock %}", "", ""),
    ("{% block b %}", "{{ self.b }}", "", "{% endblock %}"),
    ("", "{% extends a %}", "", ""),
    ("{% extends a", "[0]", "", " %}"),
    ("{% extends a", ".b", "", " %}"),
    ("", "{% include 'other' %}", "", ""),
    ("", "{% include 'other' without context %}", "", ""),
    ("", "{% set x# = 1 %}{% include 'other' %}", "", ""),
    ("", "{% for x# in [1] %}{% include 'other' %}{% endfor %}", "", ""),
    ("{% include [", "'no', ", "", "'other'] %}"),
    ("{% include ", "'no' or ", "", "'other' %}"),
    ("{% include ", "'no' if 0 else ", "", "'other' %}"),
    ("", "{% import 'other' as o %}", "", ""),
    ("", "{% import 'other' as o# with context %}", "", ""),
    ("{% from 'other' import ", "a#, ", "", "b %}"),
    ("{% from 'other' import ", "a as a#, ", "", "b with context %}"),
    ("", "{% from 'other' import a %}", "", ""),
    ("", "{% do [].append(1) %}", "", ""),
    ("{% do ", "1, ", "", "1 %}"),
    ("{% for x in [1] %}", "{% continue %}", "", "{% endfor %}"),
    ("{% for x in [1] %}", "{% if x %}{% break %}{% endif %}", "", "{% endfor %}"),
    ("", "{% autoescape a %}{{ a }}{% endautoescape %}", "", ""),
    ("", "{% message 'user' %}{{ a }}{% endmessage %}", "", ""),
    ("{% message 'us", "e", "", "r' %}{% endmessage %}"),
    ("", "{% if 1 %}", "{% endif %}", ""),
    ("", "{% if 0 %}{% elif 1 %}", "{% endif %}", ""),
    ("", "{% if 0 %}{% else %}", "{% endif %}", ""),
    ("", "{% if 1 %}{% set x = 1 %}", "{% endif %}", ""),
    ("", "{% for x in [1] %}", "{% endfor %}", ""),
    ("", "{% for x in [1] recursive %}", "{% endfor %}", ""),
    ("", "{% for x in [] %}{% else %}", "{% endfor %}", ""),
    ("", "{% for x# in [1] %}{% set y# = x# %}", "{% include 'other' %}{% endfor %}", ""),
    ("", "{% with x = 1 %}", "{% endwith %}", ""),
    ("", "{% set x %}", "{% endset %}", ""),
    ("", "{% filter upper %}", "{% endfilter %}", ""),
    ("", "{% macro m() %}", "{% endmacro %}{{ m() }}", ""),
    ("", "{% macro m(a={% ", "", ""),
    ("{% macro m() %}{{ caller() }}{% endmacro %}", "{% call m() %}", "{% endcall %}", ""),
    ("", "{% block b# %}", "{% endblock %}", ""),
    ("", "{% block b# scoped %}{% set x# = 1 %}", "{% endblock %}", ""),
    ("", "{% autoescape 1 %}", "{% endautoescape %}", ""),
    ("", "{% message 'user' %}", "{% endmessage %}", ""),
    ("", "{% if 1 %}{% for x in [1] %}{% with y = x %}", "{% endwith %}{% endfor %}{% endif %}", ""),
    ("", "{{ ", "", ""),
    ("", "{% ", "", ""),
    ("", "{# ", "", ""),
    ("{{ ", "[", "", ""),
    ("{{ ", "a[", "", ""),
    ("{{ ", "a(", "", ""),
    ("", "{% if 1 %}", "", ""),
    ("", "{%- -%}", "", ""),
];

/// Sequences in an expression.
pub(crate) fn operators() -> Vec<Production> {
    OPERATORS.iter().map(|(first, again)| printed(first, again, "", "", "")).collect()
}

/// The items of brackets, the bytes of tokens.
pub(crate) fn lists() -> Vec<Production> {
    LISTS.iter().map(|(start, again, end)| printed(start, again, "", "", end)).collect()
}

/// Nesting in an expression.
pub(crate) fn nested() -> Vec<Production> {
    NESTED.iter().map(|(before, behind)| printed("", before, "1", behind, "")).collect()
}

/// Statements, nested and in sequence.
pub(crate) fn statements() -> Vec<Production> {
    let production = |&(start, again, close, end): &(&str, &'static str, &'static str, &str)| Production {
        start: start.to_owned(),
        again,
        middle: "",
        close,
        end: end.to_owned(),
    };
    STATEMENTS.iter().map(production).collect()
}

fn printed(
    start: &str,
    again: &'static str,
    middle: &'static str,
    close: &'static str,
    end: &str,
) -> Production {
    Production { start: format!("{{{{ {start}"), again, middle, close, end: format!("{end} }}}}") }
}
