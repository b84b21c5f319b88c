//! Precedence and associativity: expressions and their trees, written with brackets.

use hinagata_jinja::{
    ParseOptions,
    ast::{
        BinaryOp, CallArgs, CompareOp, Const, Expr, ExprKind, PostfixOp, Stmt, StmtKind, Target, TargetKind,
        UnaryOp,
    },
    parse,
};
use hinagata_value::{Budget, Limits};

fn statements(source: &str) -> Vec<Stmt> {
    let options = ParseOptions { generation: true, ..ParseOptions::default() };
    let budget = Budget::new(Limits::default());
    parse("t", source, &options, &budget).unwrap_or_else(|error| panic!("{source}: {error}")).body
}

/// The tree of the only print tag of a template.
fn tree(inside: &str) -> String {
    match &statements(&format!("{{{{ {inside} }}}}"))[..] {
        [Stmt { kind: StmtKind::Print(expr), .. }] => show(expr),
        other => panic!("{inside}: {other:?}"),
    }
}

fn join(exprs: &[Expr], between: &str) -> String {
    exprs.iter().map(show).collect::<Vec<_>>().join(between)
}

fn show_args(args: &CallArgs) -> String {
    let mut all: Vec<String> = args.positional.iter().map(show).collect();
    all.extend(args.keywords.iter().map(|keyword| format!("{}={}", keyword.name.name, show(&keyword.value))));
    all.extend(args.args.iter().map(|expr| format!("*{}", show(expr))));
    all.extend(args.kwargs.iter().map(|expr| format!("**{}", show(expr))));
    all.join(" ")
}

fn show(expr: &Expr) -> String {
    match &expr.kind {
        ExprKind::Const(Const::None) => "none".into(),
        ExprKind::Const(Const::Bool(value)) => value.to_string(),
        ExprKind::Const(Const::Int(value)) => value.to_string(),
        ExprKind::Const(Const::HugeInt(digits)) => format!("huge {digits}"),
        ExprKind::Const(Const::Float(value)) => format!("{value:?}"),
        ExprKind::Const(Const::Str(value)) => format!("{value:?}"),
        ExprKind::Name(name) => name.to_string(),
        ExprKind::List(items) => format!("[{}]", join(items, " ")),
        ExprKind::Tuple(items) => format!("<{}>", join(items, " ")),
        ExprKind::Dict(pairs) => {
            let pairs: Vec<_> =
                pairs.iter().map(|(key, value)| format!("{}:{}", show(key), show(value))).collect();
            format!("{{{}}}", pairs.join(" "))
        }
        ExprKind::Postfix(postfix) => {
            let ops = postfix.ops.iter().map(|step| match &step.op {
                PostfixOp::Attr(name) => format!(".{name}"),
                PostfixOp::Item(key) => format!("[{}]", show(key)),
                PostfixOp::Slice(slice) => {
                    let part = |part: &Option<Expr>| part.as_ref().map_or(String::new(), show);
                    format!("[{}:{}:{}]", part(&slice.start), part(&slice.stop), part(&slice.step))
                }
                PostfixOp::Call(args) => format!("({})", show_args(args)),
                PostfixOp::Filter(filter) => format!("|{}({})", filter.name, show_args(&filter.args)),
                PostfixOp::Test(test) => {
                    format!(
                        " is{} {}({})",
                        if test.negated { "-not" } else { "" },
                        test.name,
                        show_args(&test.args)
                    )
                }
            });
            format!("({}{})", show(&postfix.base), ops.collect::<String>())
        }
        ExprKind::Unary(op, operand) => {
            let op = match op {
                UnaryOp::Not => "not ",
                UnaryOp::Neg => "-",
                UnaryOp::Pos => "+",
            };
            format!("({op}{})", show(operand))
        }
        ExprKind::Binary(node) => {
            let rest = node.rest.iter().map(|step| {
                let op = match step.op {
                    BinaryOp::Add => "+",
                    BinaryOp::Sub => "-",
                    BinaryOp::Mul => "*",
                    BinaryOp::Div => "/",
                    BinaryOp::FloorDiv => "//",
                    BinaryOp::Rem => "%",
                    BinaryOp::Pow => "**",
                };
                format!(" {op} {}", show(&step.right))
            });
            format!("({}{})", show(&node.first), rest.collect::<String>())
        }
        ExprKind::Concat(operands) => format!("({})", join(operands, " ~ ")),
        ExprKind::Compare(node) => {
            let rest = node.rest.iter().map(|step| {
                let op = match step.op {
                    CompareOp::Eq => "==",
                    CompareOp::Ne => "!=",
                    CompareOp::Lt => "<",
                    CompareOp::Le => "<=",
                    CompareOp::Gt => ">",
                    CompareOp::Ge => ">=",
                    CompareOp::In => "in",
                    CompareOp::NotIn => "not-in",
                };
                format!(" {op} {}", show(&step.right))
            });
            format!("({}{})", show(&node.first), rest.collect::<String>())
        }
        ExprKind::And(operands) => format!("({})", join(operands, " and ")),
        ExprKind::Or(operands) => format!("({})", join(operands, " or ")),
        ExprKind::Conditional(node) => {
            let otherwise =
                node.otherwise.as_ref().map_or(String::new(), |expr| format!(" else {}", show(expr)));
            format!("({} if {}{otherwise})", show(&node.value), join(&node.tests, " if "))
        }
    }
}

#[test]
fn operators_bind_as_in_jinja2() {
    for (source, expected) in [
        ("1 + 2 * 3 - 4", "(1 + (2 * 3) - 4)"),
        ("a ~ b + c ~ d", "((a ~ b) + (c ~ d))"),
        ("a ~ b * c", "(a ~ (b * c))"),
        ("2 ** 3 ** 2", "(2 ** 3 ** 2)"),
        ("-2 ** 2", "((-2) ** 2)"),
        ("2 ** -1", "(2 ** (-1))"),
        ("-x.y|abs", "((-(x.y))|abs())"),
        ("- -x", "(-(-x))"),
        ("a % b // c / d", "(a % b // c / d)"),
        ("a < b <= c != d", "(a < b <= c != d)"),
        ("a in b not in c", "(a in b not-in c)"),
        ("not a in b", "(not (a in b))"),
        ("not not a == b", "(not (not (a == b)))"),
        ("a or b and not c or d", "(a or (b and (not c)) or d)"),
        ("(a or b) or c", "((a or b) or c)"),
        ("a if b else c if d else e", "(a if b else (c if d else e))"),
        ("a if b if c else d", "(a if b if c else d)"),
        ("a or b if c and d", "((a or b) if (c and d))"),
        ("if if if else else", "(if if if else else)"),
        ("not in", "(not in)"),
        ("1 == not", "(1 == not)"),
    ] {
        assert_eq!(tree(source), expected, "{source}");
    }
}

#[test]
fn what_follows_an_operand_is_one_chain() {
    for (source, expected) in [
        ("a.b[0](c)|d(e)|f.g is h", "(a.b[0](c)|d(e)|f.g() is h())"),
        ("a.0.b.1_0", "(a[0].b[10])"),
        ("a[1, 2][]", "(a[<1 2>][<>])"),
        ("a[:][1:][:2][::3][1:2:3]", "(a[::][1::][:2:][::3][1:2:3])"),
        ("a|f(b)(c)", "(a|f(b)(c))"),
        ("a is not b.c(d)", "(a is-not b.c(d))"),
        ("a is b c.d[0](1)|e", "(a is b((c.d[0](1)))|e())"),
        ("a is divisibleby 3 and b", "((a is divisibleby(3)) and b)"),
        ("a is sameas -1", "((a is sameas()) - 1)"),
        ("a is in [1]", "(a is in([1]))"),
        ("f(a, b=c, *d, **e,)", "(f(a b=c *d **e))"),
        ("f(*d, b=c)", "(f(b=c *d))"),
        ("'a' \"b\" 'c'.d", "(\"abc\".d)"),
        ("[].a + {}.b", "(([].a) + ({}.b))"),
        ("(a).b", "(a.b)"),
        ("(a.b).c", "((a.b).c)"),
    ] {
        assert_eq!(tree(source), expected, "{source}");
    }
}

#[test]
fn literals_and_brackets() {
    for (source, expected) in [
        ("true, True, false, none, None", "<true true false none none>"),
        ("1_000, 0xff, 0b11, 0o17, 1.5, 1e3", "<1000 255 3 15 1.5 1000.0>"),
        ("(), (a), (a,), (a, b,)", "<<> a <a> <a b>>"),
        ("[a, b,], [], {}, {a: b, 'c': d,}", "<[a b] [] {} {a:b \"c\":d}>"),
        ("a,", "<a>"),
        ("170141183460469231731687303715884105728", "huge 170141183460469231731687303715884105728"),
        ("{'}}': '%}'}", "{\"}}\":\"%}\"}"),
    ] {
        assert_eq!(tree(source), expected, "{source}");
    }
}

fn show_target(target: &Target) -> String {
    match &target.kind {
        TargetKind::Name(name) => name.to_string(),
        TargetKind::Attr { namespace, attr } => format!("{}.{}", namespace.name, attr.name),
        TargetKind::Tuple(targets) => {
            format!("<{}>", targets.iter().map(show_target).collect::<Vec<_>>().join(" "))
        }
    }
}

#[test]
fn targets_are_names_attributes_of_namespaces_and_tuples() {
    for (source, expected) in [
        ("a", "a"),
        ("(a)", "a"),
        ("a, b", "<a b>"),
        ("a, (b, c)", "<a <b c>>"),
        ("()", "<>"),
        ("ns.a", "ns.a"),
        ("ns.a, b", "<ns.a b>"),
    ] {
        match &statements(&format!("{{% set {source} = x %}}"))[..] {
            [Stmt { kind: StmtKind::Set(set), .. }] => {
                assert_eq!(show_target(&set.target), expected, "{source}");
            }
            other => panic!("{source}: {other:?}"),
        }
    }
}

#[test]
fn a_call_block_is_taken_apart() {
    let body = statements("{% call(a, b=1) x.y(1)(2, c=3) %}{{ a }}{% endcall %}");
    let [Stmt { kind: StmtKind::CallBlock(call), .. }] = &body[..] else { panic!("{body:?}") };
    assert_eq!(show(&call.callee), "(x.y(1))");
    assert_eq!(show_args(&call.args), "2 c=3");
    assert_eq!(call.params.len(), 2);
}

#[test]
fn spans_cover_what_was_written() {
    let source = "é{% if a.b %}\n{{ x.y|f(1) }}{% endif %}z";
    let body = statements(source);
    let text = |stmt: &Stmt| &source[stmt.span.start as usize..stmt.span.end as usize];
    assert_eq!(body.iter().map(text).collect::<Vec<_>>(), ["é", "if a.b %}\n{{ x.y|f(1) }}{% endif", "z"]);
    let StmtKind::If(node) = &body[1].kind else { panic!("{body:?}") };
    let inner = &node.arms[0].body[1];
    assert_eq!((text(inner), inner.span.line), ("{{ x.y|f(1) }}", 2));
    let StmtKind::Print(Expr { kind: ExprKind::Postfix(postfix), .. }) = &inner.kind else {
        panic!("{inner:?}")
    };
    let steps = postfix.ops.iter().map(|step| &source[step.span.start as usize..step.span.end as usize]);
    assert_eq!(steps.collect::<Vec<_>>(), [".y", "|f(1)"]);
}

/// The lines of the statements, nested ones after their parents.
fn lines(body: &[Stmt]) -> Vec<u32> {
    let mut found = Vec::new();
    for stmt in body.iter().filter(|stmt| !matches!(stmt.kind, StmtKind::Text(_))) {
        found.push(stmt.span.line);
        stmt.bodies().for_each(|body| found.extend(lines(body)));
    }
    found
}

#[test]
fn lines_are_those_that_jinja2_attributes() {
    for (source, expected) in [
        ("{{\n x }}", vec![2]),
        ("{{ a\n.b }}", vec![2]),
        ("{{ a\n|\nf }}", vec![3]),
        ("{{ a(\n1) }}", vec![1]),
        ("{{ a\n+ b }}", vec![1]),
        ("{{ a\n+ b\n+ c\n}}", vec![3]),
        ("{{ a\n== b\n}}", vec![3]),
        ("{{ a,\nb\n,c }}", vec![3]),
        ("{{ a\nif b }}", vec![1]),
        ("{{ [\n1] }}", vec![1]),
        ("{%\nset x = 1 %}", vec![2]),
        ("{% if\n a %}\n{{ b }}{% endif %}", vec![1, 3]),
        ("{% for a in b %}\n{%- for c in\n d %}\n{% endfor %}{% endfor %}\n{{ e }}", vec![1, 2, 5]),
        ("{# \n\n #}{% raw %}\n\n{% endraw %}\n{{ x }}", vec![6]),
        ("a\r\nb\rc\n{{ x }}", vec![4]),
    ] {
        assert_eq!(lines(&statements(source)), expected, "{source:?}");
    }
}
