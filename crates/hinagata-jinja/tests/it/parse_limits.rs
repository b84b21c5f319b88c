//! Every nested or long source ends in a tree or in an error with a place, with Rust's default stack size.
//! So do walks over the tree and its destruction.

use hinagata_jinja::{ParseOptions, Source, analyze_template, check_names, parse};
use hinagata_value::{Budget, Error, LimitKind, Limits};

/// Runs `test` on a thread with a stack of two megabytes, independent of the test runner.
fn on_small_stack(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(test).expect("a thread starts");
    thread.join().expect("neither panic nor overflow");
}

/// Parses, walks and drops.
fn read(source: &str) -> Result<(), Error> {
    let budget = Budget::new(Limits::default());
    let template = parse("t", source, &ParseOptions::default(), &budget)?;
    drop(analyze_template(&template, &Source::new("t", source)));
    assert_eq!(check_names(&template, &|_, _| true), None);
    let copy = template.clone();
    assert!(copy == template);
    Ok(())
}

/// Returns `count` times `before`, then `middle`, then `count` times `after`.
fn nested(before: &str, middle: &str, after: &str, count: usize) -> String {
    [&before.repeat(count), middle, &after.repeat(count)].concat()
}

/// Every way to nest: the parts before, in the middle and after, and the levels that one repetition takes.
const NESTED: &[(&str, &str, &str, usize)] = &[
    ("(", "1", ")", 1),
    ("[", "1", "]", 1),
    ("(1, ", "1", ")", 1),
    ("{1: ", "1", "}", 1),
    ("{", "1", ": 1}", 1),
    ("not ", "1", "", 1),
    ("-", "1", "", 1),
    ("- +", "1", "", 2),
    ("x|f(", "1", ")", 1),
    ("x is t(", "1", ")", 1),
    ("x is t [", "1", "]", 2),
    ("f(", "1", ")", 1),
    ("f(a=", "1", ")", 1),
    ("f(*", "1", ")", 1),
    ("f(**", "1", ")", 1),
    ("x[", "1", "]", 1),
    ("x[1:", "1", "]", 1),
    ("1 if 1 else ", "1", "", 1),
    ("1 if (", "1", ") else 1", 1),
    ("1 + (", "1", ")", 1),
    ("(", "1", ").a ** 1 * 1 ~ 1 + 1 < 1 and 1 or 1 if 1 else 1", 9),
    ("1 or 1 and not 1 < 1 + 1 ~ 1 * 1 ** -(", "1", ")", 9),
];

/// Every block, opened and closed.
const BLOCKS: &[(&str, &str)] = &[
    ("{% if 1 %}", "{% endif %}"),
    ("{% if 1 %}{% elif 1 %}", "{% endif %}"),
    ("{% if 1 %}{% else %}", "{% endif %}"),
    ("{% for x in y %}", "{% endfor %}"),
    ("{% for x in y %}{% else %}", "{% endfor %}"),
    ("{% with x = 1 %}", "{% endwith %}"),
    ("{% set x %}", "{% endset %}"),
    ("{% filter f %}", "{% endfilter %}"),
    ("{% macro m() %}", "{% endmacro %}"),
    ("{% call f() %}", "{% endcall %}"),
    ("{% autoescape x %}", "{% endautoescape %}"),
    ("{% message 'user' %}", "{% endmessage %}"),
];

#[test]
fn depth_ends_at_the_limit_and_not_before() {
    on_small_stack(|| {
        for &(before, middle, after, levels) in NESTED {
            // A print tag takes one level by itself.
            let fits = 199 / levels;
            let inside = |count| format!("{{{{ {} }}}}", nested(before, middle, after, count));
            read(&inside(fits - 1)).unwrap_or_else(|error| panic!("{before}…{after}: {error}"));
            for count in [fits + 2, 20_000 / (before.len() + after.len())] {
                let error = read(&inside(count)).expect_err(before);
                assert_eq!(error.limit(), Some(LimitKind::Nesting), "{before}…{after}: {error}");
                assert_eq!(error.place().expect("has a place").line, 1);
            }
        }
        for (before, after) in BLOCKS {
            read(&nested(before, "x", after, 199)).unwrap_or_else(|error| panic!("{before}: {error}"));
            for count in [201, 200_000 / (before.len() + after.len())] {
                let error = read(&nested(before, "x", after, count)).expect_err(before);
                assert_eq!(error.limit(), Some(LimitKind::Nesting), "{before}: {error}");
            }
        }
    });
}

#[test]
fn what_is_never_closed_is_no_danger() {
    on_small_stack(|| {
        for &(before, ..) in NESTED {
            assert!(read(&format!("{{{{ {}", before.repeat(20_000))).is_err(), "{before}");
        }
        for (before, _) in BLOCKS {
            assert!(read(&before.repeat(5_000)).is_err(), "{before}");
        }
    });
}

#[test]
fn length_is_no_depth() {
    on_small_stack(|| {
        for (first, again) in [
            ("a", " + b"),
            ("a", " - b"),
            ("a", " * b"),
            ("a", " ** b"),
            ("a", " ** -b"),
            ("a", " ~ b"),
            ("a", " and b"),
            ("a", " or b"),
            ("a", " < b"),
            ("a", " not in b"),
            ("a", " if b"),
            ("a", ".b"),
            ("a", "[0]"),
            ("a", "[1:2]"),
            ("a", "()"),
            ("a", "|f"),
            ("a", "|f(1)"),
            ("a", " is t()"),
            ("'a'", " 'b'"),
            ("a", ", b"),
            ("[a", ", b"),
        ] {
            let close = if first == "[a" { "]" } else { "" };
            let source = format!("{{{{ {first}{}{close} }}}}", again.repeat(20_000));
            read(&source).unwrap_or_else(|error| panic!("{again}: {error}"));
        }
        let arms = format!("{{% if a %}}{}{{% endif %}}", "{% elif b %}x".repeat(10_000));
        read(&arms).expect("arms lie side by side");
        read(&"{% set x = x.y %}".repeat(10_000)).expect("statements lie side by side");
        read(&"{% if a %}{% set x = a.b %}{% endif %}".repeat(5_000)).expect("names stay few");
    });
}

#[test]
fn a_source_over_the_limit_is_refused_before_it_is_read() {
    let limits = Limits { source: 10, ..Limits::default() };
    let budget = Budget::new(limits);
    assert!(parse("t", "{{ 1 + 2 }", &ParseOptions::default(), &budget).is_err());
    let error = parse("t", "{{ 1 + 2 }}", &ParseOptions::default(), &budget).expect_err("eleven bytes");
    assert_eq!(error.limit(), Some(LimitKind::Source));
    assert_eq!(error.place().expect("has a place").template, "t");
}

#[test]
fn parsing_is_charged() {
    let budget = Budget::new(Limits { steps: 1_000, ..Limits::default() });
    let error =
        parse("t", &"{{ x }}\n".repeat(1_000), &ParseOptions::default(), &budget).expect_err("too long");
    assert_eq!(error.limit(), Some(LimitKind::Steps));
    assert!(error.place().expect("has a place").line > 1);
}
