//! Every production of the grammar as a template of any length.
//!
//! The tests of `hinagata-template` use this file too.

/// A production: its name, and the template in which it stands `n` times.
pub(crate) struct Production {
    pub name: &'static str,
    before: &'static str,
    /// Repeated; `#` is its number.
    piece: &'static str,
    /// What stands in the middle, between the pieces and what closes them.
    inner: &'static str,
    /// Repeated as often, behind.
    close: &'static str,
    after: &'static str,
}

impl Production {
    /// The template of at most `bytes` bytes, at least with one piece.
    pub(crate) fn source(&self, bytes: usize) -> String {
        let fixed = self.before.len() + self.inner.len() + self.after.len();
        // A number has up to six digits where one `#` stands.
        let numbers = 5 * self.piece.matches('#').count();
        let count = (bytes.saturating_sub(fixed) / (self.piece.len() + numbers + self.close.len())).max(1);
        let mut source = String::with_capacity(bytes);
        source.push_str(self.before);
        for number in 0..count {
            match numbers {
                0 => source.push_str(self.piece),
                _ => source.push_str(&self.piece.replace('#', &number.to_string())),
            }
        }
        source.push_str(self.inner);
        source.push_str(&self.close.repeat(count));
        source.push_str(self.after);
        source
    }
}

/// Pieces one after another.
const fn row(
    name: &'static str,
    before: &'static str,
    piece: &'static str,
    after: &'static str,
) -> Production {
    Production { name, before, piece, inner: "", close: "", after }
}

/// Pieces inside each other.
const fn nest(
    name: &'static str,
    piece: &'static str,
    inner: &'static str,
    close: &'static str,
) -> Production {
    Production { name, before: "", piece, inner, close, after: "" }
}

/// Pieces inside each other, inside one action.
const fn nest_in_action(
    name: &'static str,
    before: &'static str,
    piece: &'static str,
    inner: &'static str,
    close: &'static str,
) -> Production {
    Production { name, before, piece, inner, close, after: "}}" }
}

#[rustfmt::skip]
pub(crate) const PRODUCTIONS: &[Production] = &[
    // Text, comments, delimiters.
    row("text", "", "x", ""), row("lines", "", "\n", ""), row("braces", "", "{", ""), row("closing braces", "", "}}", ""),
    row("comments", "", "{{/**/}}", ""), row("trimmed comments", "", "{{- /* c */ -}} ", ""), row("one comment", "{{/*", "c*", "*/}}"),
    row("trimmed actions", "", " {{- .a -}} ", ""), row("trimmed spaces", "{{- 1 -}}", " ", "x"), row("spaces before", "x", " ", "{{- 1}}"),
    row("spaces inside", "{{", " ", "1}}"), row("lines inside", "{{", "\n", "1}}"), row("empty actions", "", "{{}}", ""),
    // Actions.
    row("actions", "", "{{.a}}", ""), row("print calls", "", "{{print 1 .a}}", ""), row("declarations", "", "{{$v# := 1}}", ""),
    row("declarations of one name", "", "{{$v := 1}}", "{{$v}}"), row("declarations of each other", "{{$v0 := 1}}", "{{$v := $v0}}", "{{$v}}"),
    row("assignments", "{{$v := 1}}", "{{$v = 2}}", "{{$v}}"), row("declarations in arguments", "{{and", " ($v# := 1)", "}}"),
    row("declarations of one name in arguments", "{{$v := 1}}{{or", " ($v := 0)", "}}{{$v}}"),
    row("if", "", "{{if .a}}x{{end}}", ""), row("if else", "", "{{if .n}}{{else}}x{{end}}", ""), row("with", "", "{{with .a}}x{{end}}", ""),
    row("with else", "", "{{with .n}}{{else}}x{{end}}", ""), row("range", "", "{{range .l}}{{.}}{{end}}", ""),
    row("range with variables", "", "{{range $i, $e := .l}}{{$i}}{{$e}}{{else}}{{end}}", ""), row("range over a count", "", "{{range 2}}{{.}}{{end}}", ""),
    row("break", "", "{{range .l}}{{break}}{{end}}", ""), row("breaks", "{{range .l}}", "{{break}}", "{{end}}"), row("continues", "{{range .l}}", "{{continue}}", "{{end}}"),
    row("else if", "{{if .n}}", "{{else if .n}}", "{{else}}x{{end}}"), row("else with", "{{with .n}}", "{{else with .n}}", "{{else}}x{{end}}"),
    row("else if with declarations", "{{if $v := .n}}", "{{else if $v# := .n}}", "{{end}}"), row("elses", "{{if .n}}", "{{else}}", "{{end}}"),
    row("comparisons", "{{if eq .a 1}}", "{{else if lt .b 2}}", "{{end}}"),
    row("defines", "", "{{define \"d#\"}}x{{end}}", ""), row("empty defines", "", "{{define \"d\"}}{{end}}", ""), row("blocks", "", "{{block \"b#\" .}}x{{end}}", ""),
    row("template calls", "{{define \"d\"}}x{{end}}", "{{template \"d\" .}}", ""), row("unknown templates", "", "{{template \"d\"}}", ""),
    row("templates that call one", "{{define \"d\"}}x{{end}}", "{{define \"d#\"}}{{template \"d\"}}{{end}}", "{{template \"d0\"}}"),
    // Operands.
    row("fields", "{{.m", ".m", "}}"), row("fields of a variable", "{{$v := .}}{{$v", ".m", "}}"), row("fields of the root", "{{$", ".m", "}}"),
    row("fields of parentheses", "{{(.)", ".m", "}}"), row("fields of a call", "{{(index .l 0)", ".m", "}}"), row("fields of a function", "{{print", ".m", "}}"),
    row("fields of an argument", "{{print .m", ".m", "}}"), row("fields of a condition", "{{if .m", ".m", "}}x{{end}}"), row("fields of a loop", "{{range .m", ".m", "}}x{{end}}"),
    row("fields of a constant", "{{1", ".m", "}}"), row("dots", "{{print", " .", "}}"), row("dots in a row", "{{", ".", "}}"),
    row("arguments", "{{print", " 1", "}}"), row("arguments of and", "{{and", " 1", "}}"), row("arguments of or", "{{or", " 0", "}}"), row("arguments of eq", "{{eq .a", " .b", "}}"),
    row("indexes", "{{index .deep", " 0", "}}"), row("slices", "{{slice .l", " 0", "}}"), row("arguments of a format", "{{printf \"%d\"", " 1", "}}"), row("arguments of a field", "{{.a", " 1", "}}"),
    row("arguments in parentheses", "{{print", " (1)", "}}"), row("calls in arguments", "{{print", " (len .l)", "}}"), row("paths in arguments", "{{print", " .m.m", "}}"),
    row("strings", "{{print", " \"s\"", "}}"), row("raw strings", "{{print", " `s`", "}}"), row("characters", "{{print", " 'c'", "}}"), row("booleans", "{{print", " true", "}}"),
    row("nils", "{{print", " nil", "}}"), row("complex numbers", "{{print", " 1+2i", "}}"), row("variables", "{{$v := 1}}{{print", " $v", "}}"), row("functions", "{{print", " print", "}}"),
    row("stages", "{{1", " | print", "}}"), row("stages with arguments", "{{1", " | printf \"%v\"", "}}"), row("stages of parentheses", "{{(1)", " | print (1)", "}}"), row("stages of fields", "{{.a", " | .a", "}}"), row("pipes", "{{1 ", "|", "}}"),
    row("a long number", "{{", "1", "}}"), row("a long fraction", "{{1.", "1", "}}"), row("a long exponent", "{{1e", "1", "}}"), row("a long hexadecimal", "{{0x", "f", "}}"), row("underscores", "{{1", "_1", "}}"),
    row("a long string", "{{\"", "s", "\"}}"), row("escapes", "{{\"", "\\n", "\"}}"), row("a long raw string", "{{`", "\n", "`}}"), row("a long name", "{{.", "n", "}}"), row("a long variable", "{{$", "v", " := 1}}"),
    row("a long function", "{{", "f", "}}"), row("a long template", "{{template \"", "t", "\"}}"), row("a long format", "{{printf \"", "%d", "\" 1}}"), row("indexes of a format", "{{printf \"", "%[", "\" 1}}"), row("flags of a format", "{{printf \"%", "0", "d\" 1}}"),
    row("signs", "{{", "-", "1}}"), row("commas", "{{range $a", ", $a", " := .l}}{{end}}"), row("assigns", "{{$v := ", "$v = ", "1}}"),
    // Nesting.
    nest("nested if", "{{if .a}}", "x", "{{end}}"), nest("nested with", "{{with .m}}", "x", "{{end}}"), nest("nested range", "{{range .l}}", "x", "{{end}}"), nest("nested blocks", "{{block \"b\" .}}", "x", "{{end}}"),
    nest("blocks of all names", "{{block \"b#\" .}}", "x", "{{end}}"), nest("nested defines", "{{define \"d#\"}}", "x", "{{end}}"), nest("if in else", "{{if .n}}{{else}}", "x", "{{end}}"), nest("with in else", "{{with .n}}{{else}}", "x", "{{end}}"),
    nest("range in else", "{{range .n}}{{else}}", "x", "{{end}}"), nest("else if with in", "{{if .n}}{{else if .a}}", "x", "{{end}}"), nest("with in else of if", "{{if .n}}{{else with .a}}", "x", "{{end}}{{end}}"), nest("mixed blocks", "{{if .a}}{{with .}}{{range .l}}", "x", "{{end}}{{end}}{{end}}"),
    nest_in_action("parentheses", "{{", "(", "1", ")"), nest_in_action("parentheses with fields", "{{", "(", ".m", ").m"), nest_in_action("calls in calls", "{{", "print (", "1", ")"), nest_in_action("and in and", "{{", "and 1 (", "1", ")"), nest_in_action("or in or", "{{", "or 0 (", "1", ")"),
    nest_in_action("not in not", "{{", "not (", "1", ")"), nest_in_action("pipelines in pipelines", "{{", "1 | print (", "1", ")"), nest_in_action("declarations in declarations", "{{", "$v# := (", "1", ")"), nest_in_action("parentheses in a condition", "{{if ", "(", "1", ")"), nest_in_action("parentheses in a call", "{{template \"t\" ", "(", "1", ")"),
    // What is never closed, or never opened.
    row("open actions", "", "{{", ""), row("open parentheses", "{{", "(", ""), row("closing parentheses", "{{1", ")", "}}"), row("open ifs", "", "{{if 1}}", ""), row("open ranges", "", "{{range .l}}", ""), row("open withs", "", "{{with 1}}", ""),
    row("open blocks", "", "{{block \"b\" .}}", ""), row("open defines", "", "{{define \"d#\"}}", ""), row("ends", "", "{{end}}", ""), row("ends behind", "{{if 1}}", "{{end}}", ""), row("open comments", "", "{{/*", ""), row("open strings", "{{", "\"", ""), row("open raw strings", "{{print ", "`", ""), row("open characters", "{{", "'", ""),
    row("words", "{{", "if ", "}}"), row("open calls", "{{", "print (", ""), row("declarations without end", "{{", "$v := ", ""),
];

/// Data that most productions find something in.
pub(crate) fn data() -> serde_json::Value {
    serde_json::json!({
        "a": 1, "b": 2.5, "n": null, "l": [1, {"m": {}}], "m": {"m": {"m": {"l": [1], "a": 1}}},
        "deep": (0..50).fold(serde_json::json!(1), |inner, _| serde_json::json!([inner])),
    })
}
