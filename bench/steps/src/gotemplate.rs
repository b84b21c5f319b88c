//! Go templates: every function, action and verb.

use std::sync::Arc;

use anyhow::Result;
use hinagata_gotemplate::{Context, Options, Set, builtin_names};
use hinagata_value::{
    Budget, Calls, Closure, Function, Functions, Heap, Limits, Output, Signature, Type, Value,
};
use serde_json::Value as Json;

use crate::{Case, Language, Spent, cases, processor_time, wide_limits};

const NAME: &str = "main";

/// What is no function: actions, operands, and verbs of `printf`.
#[rustfmt::skip]
const FORMS: &[&str] = &[
    "action print", "action variable", "action assign", "action if", "action else if", "action with", "action range",
    "action break", "action continue", "action template", "action block", "action text",
    "operand field", "operand variable", "operand chain", "operand pipe", "operand literal", "host function",
    "verb %v", "verb %+v", "verb %#v", "verb %T", "verb %t", "verb %b", "verb %c", "verb %d", "verb %o", "verb %O",
    "verb %q", "verb %x", "verb %X", "verb %U", "verb %e", "verb %E", "verb %f", "verb %F", "verb %g", "verb %G",
    "verb %s", "verb %p", "verb %%", "verb %!", "verb *", "verb []",
];

#[rustfmt::skip]
const CASES: &[(&str, &str, &str)] = &[
    ("and", "", "and 1 .t .l .m"), ("or", "", "or 0 .nothing .m"), ("not", "", "not .t"),
    ("and", "", "and 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"),
    ("call", "{{$f := getter}}", "{{$a := call $f .t}}"), ("call", "{{$f := getter}}", "{{$a := call $f (print .l)}}"), ("len", "", "len .t"), ("len", "", "len .u"), ("len", "", "len .l"), ("len", "", "len .m"),
    ("eq", "", "eq .one .other"), ("eq", "", "eq .t .short"), ("eq", "", "eq .i 1.0 2.0 3.0 4.0 5.0 6.0 7.0 8.0 12345.0"),
    ("eq", "", "eq .one .t .u .t .u .other"),
    ("ne", "", "ne .one .other"), ("lt", "", "lt .one .other"), ("le", "", "le .one .other"),
    ("gt", "", "gt .one .other"), ("ge", "", "ge .one .other"), ("lt", "", "lt .i .f"),
    ("html", "", "html .t"), ("html", "", "html .html"), ("html", "", "html .amps"), ("html", "", "html .u"),
    ("html", "", "html .control"), ("html", "", "html .l"), ("html", "", "html .quotes"), ("html", "", "html .short"),
    ("js", "", "js .t"), ("js", "", "js .html"), ("js", "", "js .control"), ("js", "", "js .u"), ("js", "", "js .astral"),
    ("js", "", "js .quotes"), ("js", "", "js .m"), ("js", "", "js .uone"), ("js", "", "js .short"),
    ("urlquery", "", "urlquery .t"), ("urlquery", "", "urlquery .u"), ("urlquery", "", "urlquery .html"),
    ("urlquery", "", "urlquery .spaces"), ("urlquery", "", "urlquery .one .u .l"),
    ("index", "", "index .l 5000"), ("index", "", r#"index .m "k4000""#), ("index", "", "index .t 70000"),
    ("index", "", "index .long_keys .one"), ("index", "", "index .ll 1 2"),
    ("index", "", "index .deep 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"),
    ("slice", "", "slice .l 10 9000"), ("slice", "", "slice .t 10 90000"), ("slice", "", "slice .u 3"),
    ("slice", "", "slice .l 1 2 3"), ("slice", "", "slice .t"),
    ("print", "", "print .t"), ("print", "", "print .u"), ("print", "", "print .l"), ("print", "", "print .fl"),
    ("print", "", "print .lm"), ("print", "", "print .m"), ("print", "", "print .long_keys"), ("print", "", "print .deep"),
    ("print", "", "print .wide"), ("print", "", "print 1 2 3 4 5 6 7 8 9"), ("print", "", "print .tiny .huge .f .i"),
    ("println", "", "println .t .l .m"), ("println", "", "println .wide"),
    ("printf", "", r#"printf "%s and %d" .short .i"#), ("printf", "", "printf .t"), ("printf", "", "printf .u"),
    ("printf", "", "printf .escaped_percents"), ("printf", "", "printf .percents"), ("printf", "", "printf .t .l .m .i"),
    ("verb %v", "", r#"printf "%v" .t"#), ("verb %v", "", r#"printf "%v" .m"#), ("verb %v", "", r#"printf "%v" .wide"#),
    ("verb %v", "", r#"printf "%1000v" .same"#), ("verb %v", "", r#"printf "%1000000v" .i"#),
    ("verb %v", "", r#"printf "%.1000000v" .t"#), ("verb %v", "", r#"printf "%.1000v" .tiny"#),
    ("verb %v", "", r#"printf "%.1000000v" .tiny"#), ("verb %v", "", r#"printf "%.100v" .fl"#),
    ("verb %+v", "", r#"printf "%+v" .lm"#), ("verb %#v", "", r#"printf "%#v" .lm"#), ("verb %#v", "", r#"printf "%#v" .t"#),
    ("verb %#v", "", r#"printf "%#v" .u"#), ("verb %#v", "", r#"printf "%#v" .control"#), ("verb %#v", "", r#"printf "%#v" .deep"#),
    ("verb %#v", "", r#"printf "%#v" .fl"#),
    ("verb %T", "", r#"printf "%T" .m"#), ("verb %T", "", r#"printf "%1000000T" .m"#),
    ("verb %t", "", r#"printf "%t" .yes"#), ("verb %t", "", r#"printf "%1000000t" .yes"#), ("verb %t", "", r#"printf "%t" .ls"#),
    ("verb %b", "", r#"printf "%b" .i"#), ("verb %b", "", r#"printf "%b" .tiny"#), ("verb %b", "", r#"printf "%.1000000b" .i"#),
    ("verb %b", "", r#"printf "%.1000000b" 7"#), ("verb %b", "", r#"printf "%b" .fl"#), ("verb %b", "", r#"printf "%b" 123456789012"#),
    ("verb %c", "", r#"printf "%c" 100"#), ("verb %c", "", r#"printf "%1000000c" 100"#), ("verb %c", "", r#"printf "%c" .l"#),
    ("verb %d", "", r#"printf "%d" 12345"#), ("verb %d", "", r#"printf "%1000000d" 12345"#),
    ("verb %d", "", r#"printf "%.1000000d" 12345"#), ("verb %d", "", r#"printf "%01000000d" 12345"#),
    ("verb %d", "", r#"printf "%-1000000d" 12345"#), ("verb %d", "", r#"printf "%d" .l"#), ("verb %d", "", r#"printf "%d" .t"#),
    ("verb %o", "", r#"printf "%o" 12345"#), ("verb %o", "", r#"printf "%.1000000o" 12345"#),
    ("verb %O", "", r#"printf "%O" 12345"#), ("verb %O", "", r#"printf "%#.100000O" 12345"#),
    ("verb %q", "", r#"printf "%q" .t"#), ("verb %q", "", r#"printf "%q" .u"#), ("verb %q", "", r#"printf "%+q" .u"#),
    ("verb %q", "", r#"printf "%q" .control"#), ("verb %q", "", r#"printf "%#q" .t"#), ("verb %q", "", r#"printf "%#q" .one"#),
    ("verb %q", "", r#"printf "%q" .astral"#), ("verb %q", "", r#"printf "%q" 100"#), ("verb %q", "", r#"printf "%.10q" .t"#),
    ("verb %q", "", r#"printf "%q" .ls"#), ("verb %q", "", r#"printf "%1000000q" .short"#), ("verb %q", "", r#"printf "%q" .quotes"#),
    ("verb %x", "", r#"printf "%x" .t"#), ("verb %x", "", r#"printf "% x" .t"#), ("verb %x", "", r#"printf "%# x" .t"#),
    ("verb %x", "", r#"printf "%x" 12345"#), ("verb %x", "", r#"printf "%x" .f"#), ("verb %x", "", r#"printf "%.1000000x" .f"#),
    ("verb %x", "", r#"printf "%x" .fl"#), ("verb %x", "", r#"printf "%x" .ls"#), ("verb %x", "", r#"printf "%.1000000x" 12"#),
    ("verb %X", "", r#"printf "%X" .t"#), ("verb %X", "", r#"printf "%# X" .u"#), ("verb %X", "", r#"printf "%X" .f"#),
    ("verb %U", "", r#"printf "%U" 100"#), ("verb %U", "", r#"printf "%#U" 100"#), ("verb %U", "", r#"printf "%.1000000U" 100"#),
    ("verb %e", "", r#"printf "%e" .f"#), ("verb %e", "", r#"printf "%.1000000e" .f"#), ("verb %e", "", r#"printf "%.1000e" .tiny"#),
    ("verb %e", "", r#"printf "%.1000000e" .tiny"#), ("verb %e", "", r#"printf "%.1000e" .huge"#), ("verb %e", "", r#"printf "%.20e" .fl"#),
    ("verb %e", "", r#"printf "%.17e" .tiny"#), ("verb %e", "", r#"printf "%.18e" .tiny"#), ("verb %e", "", r#"printf "%.18e" .huge"#),
    ("verb %E", "", r#"printf "%E" .f"#), ("verb %E", "", r#"printf "%.1000E" .tiny"#),
    ("verb %f", "", r#"printf "%f" .f"#), ("verb %f", "", r#"printf "%.1000000f" .f"#), ("verb %f", "", r#"printf "%.1100f" .tiny"#),
    ("verb %f", "", r#"printf "%.0f" .huge"#), ("verb %f", "", r#"printf "%f" .huge"#), ("verb %f", "", r#"printf "%.2f" .fl"#),
    ("verb %f", "", r#"printf "%.400f" .tiny"#), ("verb %f", "", r#"printf "%01000000f" .f"#), ("verb %f", "", r#"printf "%.30f" .fl"#),
    ("verb %f", "", r#"printf "%#.1000000f" .huge"#), ("verb %f", "", r#"printf "%.1000000f" .tiny"#),
    ("verb %F", "", r#"printf "%F" .f"#), ("verb %F", "", r#"printf "%.1100F" .tiny"#),
    ("verb %g", "", r#"printf "%g" .f"#), ("verb %g", "", r#"printf "%g" .tiny"#), ("verb %g", "", r#"printf "%.1000000g" .f"#),
    ("verb %g", "", r#"printf "%#.1000000g" .f"#), ("verb %g", "", r#"printf "%.1000g" .tiny"#), ("verb %g", "", r#"printf "%g" .fl"#),
    ("verb %g", "", r#"printf "%.17g" .fl"#), ("verb %g", "", r#"printf "%.18g" .fl"#), ("verb %g", "", r#"printf "%.1000000g" .tiny"#),
    ("verb %G", "", r#"printf "%G" .f"#), ("verb %G", "", r#"printf "%#.1000G" .tiny"#),
    ("verb %s", "", r#"printf "%s" .t"#), ("verb %s", "", r#"printf "%s" .u"#), ("verb %s", "", r#"printf "%1000000s" .t"#),
    ("verb %s", "", r#"printf "%1000000s" .u"#), ("verb %s", "", r#"printf "%.90000s" .u"#), ("verb %s", "", r#"printf "%.90000s" .t"#),
    ("verb %s", "", r#"printf "%-1000000s" .short"#), ("verb %s", "", r#"printf "%s" .ls"#), ("verb %s", "", r#"printf "%s" .l"#),
    ("verb %s", "", r#"printf "%s" .wide"#), ("verb %s", "", r#"printf "%10s" .u"#),
    ("verb %p", "", r#"printf "%p" .l"#), ("verb %p", "", r#"printf "%1000000p" .m"#), ("verb %p", "", r#"printf "%p" .lm"#),
    ("verb %%", "", r#"printf "%%%%%%%%""#), ("verb %!", "", r#"printf "%z %y" .t .m"#), ("verb %!", "", r#"printf "%d" .u"#),
    ("verb *", "", r#"printf "%*d" 1000000 .i"#), ("verb *", "", r#"printf "%.*f" 1000 .tiny"#),
    ("verb []", "", r#"printf "%[2]s %[1]s %[2]s %[1]s" .t .u"#), ("verb []", "", r#"printf "%[1]q%[1]q%[1]q%[1]q" .t"#),
    ("action print", "", "{{.t}}"), ("action print", "", "{{.u}}"), ("action print", "", "{{.l}}"), ("action print", "", "{{.m}}"),
    ("action print", "", "{{.i}}"), ("action print", "", "{{.f}}"), ("action print", "", "{{.wide}}"), ("action print", "", "{{.fl}}"),
    ("action variable", "", "{{$a := .t}}{{$b := $a}}"), ("action assign", "{{$a := 1}}", "{{$a = .l}}"),
    ("action if", "", "{{if .t}}{{end}}{{if .l}}{{end}}"), ("action if", "", "{{if eq .one .other}}{{end}}"),
    ("action else if", "", "{{if eq .i 1.0}}{{else if eq .i 2.0}}{{else if eq .one .t}}{{else if lt .one .other}}{{end}}"),
    ("action with", "", "{{with .m}}{{end}}{{with .t}}{{.}}{{end}}"),
    ("action range", "", "{{range .l}}{{end}}"), ("action range", "", "{{range $k, $v := .m}}{{end}}"),
    ("action range", "", "{{range $k, $v := .long_keys}}{{end}}"), ("action range", "", "{{range .lm}}{{.k}}{{end}}"),
    ("action range", "", "{{range $i, $e := .ls}}{{$e}}{{end}}"), ("action range", "", "{{range .m}}{{break}}{{end}}"),
    ("action range", "", "{{range 10000}}{{end}}"), ("action range", "", "{{range .long_keys}}{{break}}{{end}}"),
    ("action break", "", "{{range .l}}{{break}}{{end}}"), ("action continue", "", "{{range .l}}{{continue}}{{end}}"),
    ("action template", "", r#"{{template "called" .t}}"#), ("action template", "", r#"{{template "called"}}"#),
    ("action block", "", r#"{{block "blocked" .l}}{{len .}}{{end}}"#),
    ("action text", "", "{{if true}}some text and {{end}} more"),
    ("operand field", "", "{{.wide.a}}{{.none}}"), ("operand field", "", "{{$a := .m.k7000}}{{$a = .m.none}}"),
    ("operand variable", "{{$a := .m}}", "{{$b := $a.k7000}}{{$b = $a.none}}"),
    ("operand chain", "", "{{$a := (index .lm 9000).sub.x}}"), ("operand pipe", "", "{{$a := .t | len | printf \"%d\" | len}}"),
    ("operand literal", "", "{{$a := 1}}{{$a = 1.5}}{{$a = \"text\"}}{{$a = 'x'}}{{$a = true}}"),
    ("and", "", "and «1 »"), ("or", "", "or «0 »"), ("eq", "", "eq .i «.f »"), ("print", "", "print «.i »"), ("html", "", "html «.i »"),
    ("printf", "", "printf .short «.i »"), ("index", "", "index .deep 0 0 0"), ("operand pipe", "", "print .i «|print»"),
    ("printf", "", "printf .brackets .i"), ("printf", "", "printf .flags .i"), ("printf", "", "printf .stars .i"),
    ("action else if", "", "{{if 0}}«{{else if 0}}»{{end}}"), ("action else if", "", "{{with 0}}«{{else with 0}}»{{end}}"),
    ("action template", r#"{{define "frame"}}{{if .nothing}}«{{$a# := 1}}»{{end}}{{end}}"#, r#"{{template "frame" .}}"#),
    ("action template", r#"{{define "maybe"}}{{if .nothing}}«{{$a# := 1}}»{{end}}{{end}}"#, r#"{{template "maybe"}}"#),
    ("call", "{{$f := getter}}", "{{$a := call $f (index .l 1 | printf \"«x»\")}}"),
    ("operand variable", "{{$x := 1}}", "{{$a := and 0 «($x := 1) »}}{{$a = $x}}"),
    ("operand field", "", "{{$a := .m.none}}«{{$a = $.m.none}}»"),
    ("slice", "{{$l := .l}}«{{$s# := slice $l 0 1}}»", "{{$a := slice $s500 0 1}}"),
    ("host function", "", "same .t"), ("host function", "", "same .m"), ("host function", "", "length .t"), ("host function", "", "length .u"),
];

pub(crate) struct Go<'d> {
    data: &'d Json,
    functions: Functions,
}

impl<'d> Go<'d> {
    pub(crate) fn new(data: &'d Json) -> Self {
        let mut functions = Functions::new();
        let takes =
            |parameter, result| Signature { parameters: vec![parameter], result, ..Signature::default() };
        functions.insert(Closure::with_signature("same", takes(Type::Any, Type::Any), |_, arguments| {
            Ok(arguments.positional[0].clone())
        }));
        functions.insert(Closure::with_signature(
            "length",
            takes(Type::String, Type::Int),
            |_, arguments| Ok(Value::Int(arguments.positional[0].as_str().map_or(0, str::len) as i64)),
        ));
        // A function as a value, for `call`; it lives as long as the process.
        let callee: Arc<dyn Function> =
            Arc::new(Closure::with_signature("callee", takes(Type::Any, Type::Any), |_, arguments| {
                Ok(arguments.positional[0].clone())
            }));
        let callee: &'static Arc<dyn Function> = Box::leak(Box::new(callee));
        let getter = Signature { result: Type::Any, ..Signature::default() };
        functions.insert(Closure::with_signature("getter", getter, |_, _| Ok(Value::Function(callee))));
        Self { data, functions }
    }
}

impl Language for Go<'_> {
    fn label(&self) -> &'static str {
        "go"
    }

    fn cases(&self) -> Vec<Case> {
        cases(CASES)
    }

    fn names(&self) -> Vec<String> {
        builtin_names().chain(FORMS.iter().copied()).map(str::to_owned).collect()
    }

    fn run(&self, case: &Case, repeats: u64) -> Result<Spent> {
        let (setup, body) = case.written();
        let body = if body.contains("{{") { body } else { format!("{{{{$_ := {body}}}}}") };
        // The dot of the body is the data, not the number of its turn.
        let source = format!(
            r#"{{{{define "called"}}}}{{{{len "x"}}}}{{{{end}}}}{setup}{{{{range {repeats}}}}}{{{{with $}}}}{body}{{{{end}}}}{{{{end}}}}"#
        );
        let mut set = Set::new(Options::default(), &self.functions);
        set.parse(NAME, &source, &Budget::new(Limits { range_items: u64::MAX, ..wide_limits() }))?;
        let start = processor_time();
        let budget = Budget::new(wide_limits());
        {
            let calls = Calls::new();
            let heap = Heap::new(&budget);
            let mut output: Output<'_> = Output::with_capacity(&budget, 0)?;
            let context = Context {
                heap: &heap,
                functions: &self.functions,
                calls: &calls,
                templates: &(),
                first_template: 0,
            };
            set.execute(NAME, self.data, &context, &mut output)?;
        }
        Ok(Spent { time: processor_time() - start, steps: budget.steps_used() })
    }
}
