use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn module(text: &str) -> Module {
    read_python("prompt.py", text).expect("is Python")
}

fn metadata(text: &str) -> Value {
    let module = module(&format!("METADATA = {text}\n"));
    module.constants.get("METADATA").map_or_else(|| json!({"computed": true}), Node::to_value)
}

#[test]
fn literals_are_read() {
    let cases = [
        ("{}", json!({})),
        ("{'a': 1, \"b\": [True, False, None,],}", json!({"a": 1, "b": [true, false, null]})),
        ("('a' \"b\"\n  r'\\n' '''c\nd''')", json!("ab\\nc\nd")),
        (
            "[-1, +2, 1_000, 0xff, 0o17, 0b11, 1.5, .5, 1e3, -2.5e-1]",
            json!([-1, 2, 1000, 255, 15, 3, 1.5, 0.5, 1000.0, -0.25]),
        ),
        ("(1, (2,), ())", json!([1, [2], []])),
        ("1, 2", json!([1, 2])),
        ("('one')", json!("one")),
        (r#"'\x41\u706f\U0001F600\101\t\'\"\\ \q'"#, json!("A灯😀A\t'\"\\ \\q")),
        ("'a\\\nb'", json!("ab")),
        ("{'k': 1, 'k': 2}", json!({"k": 2})),
        ("u'x'", json!("x")),
        ("\\\n  7", json!(7)),
        ("{ # comment }\n 'a': '# no comment', # and one\n}", json!({"a": "# no comment"})),
    ];
    for (text, value) in cases {
        assert_eq!(metadata(text), value, "{text}");
    }
}

#[test]
fn what_has_to_be_computed_is_named() {
    for text in [
        "name()",
        "{'a': name}",
        "f'{x}'",
        "b'x'",
        "{'a', 'b'}",
        "{**other}",
        "[x for x in y]",
        "'a' + 'b'",
        "{1: 2}",
        "1j",
        "'\\N{BULLET}'",
        "'\\ud800'",
        "not True",
        "99999999999999999999",
        "-x",
        "dict(a=1)",
        "[*a]",
        "'a'.upper()",
        "x if y else z",
    ] {
        let module = module(&format!("\nMETADATA = {text}\n"));
        assert!(module.constants.is_empty(), "{text}");
        assert_eq!(module.computed["METADATA"].line, 2, "{text}");
    }
}

#[test]
fn a_constant_that_is_changed_afterwards_has_to_be_computed() {
    for more in [
        "METADATA['a'] = 2",
        "METADATA.update(a=2)",
        "METADATA |= {}",
        "if x:\n    METADATA = {}",
        "try:\n  x = 1\nexcept E:\n  METADATA = 3",
        "from base import METADATA",
        "from base import *",
        "del METADATA",
        "change(METADATA)",
        "A, METADATA = 1, 2",
        "x = METADATA = {}",
    ] {
        let module = module(&format!("METADATA = {{'a': 1}}\n{more}\n"));
        assert!(module.computed.contains_key("METADATA"), "{more}");
    }
}

#[test]
fn what_does_not_run_on_import_changes_nothing() {
    let module = module(
        "METADATA: dict[str, int] = {'a': 1}\n\
         def helper():\n    METADATA['a'] = 2\n    if x:\n        METADATA = 1\n    METADATA = 3\n\
         class A:\n    METADATA = 2\n    def pre_render(self): pass\n\
         if __name__ == '__main__':\n    print(METADATA)\n    TEMPLATE = 'x'\n\
         '''METADATA = {'a': 3}'''\nx = 'METADATA'\n",
    );
    assert_eq!(module.constants["METADATA"].to_value(), json!({"a": 1}));
    assert!(module.computed.is_empty(), "{:?}", module.computed);
    assert_eq!(module.pre_render, None);
}

#[test]
fn the_last_literal_counts() {
    let module = module("TEMPLATE = 'a'; TEMPLATE = 'b'\nTEMPLATE = x()\nTEMPLATE = \"\"\"\nc\n\"\"\"\n");
    assert_eq!(module.constants["TEMPLATE"].as_str(), Some("\nc\n"));
    assert!(module.computed.is_empty());
}

#[test]
fn hooks_are_seen() {
    let cases = [
        ("def pre_render(v, c):\n    return v\n", Some(Hook::Plain), None),
        ("async def post_render(t, v, c): return t\n", None, Some(Hook::Async)),
        (
            "@decorated\nasync  def pre_render(\n  v,\n c):\n    pass\ndef post_render(a): pass",
            Some(Hook::Async),
            Some(Hook::Plain),
        ),
        ("if x:\n    def pre_render(v, c): pass\n", Some(Hook::Plain), None),
        ("pre_render = make()\n", Some(Hook::Assigned), None),
        ("from shared import post_render\n", None, Some(Hook::Assigned)),
        ("def outer():\n    def pre_render(v, c): pass\n", None, None),
        ("# def pre_render\n'''\ndef pre_render(): pass\n'''\nother = 1\n", None, None),
    ];
    for (text, pre, post) in cases {
        let module = module(text);
        assert_eq!((module.pre_render, module.post_render), (pre, post), "{text}");
    }
}

#[test]
fn strings_in_f_strings_do_not_end_them() {
    let module = module("x = f\"{a[\"]\"]} {{ {b!r:>{w}} \\\" '\"\nTEMPLATE = 'read'\n");
    assert_eq!(module.constants["TEMPLATE"].as_str(), Some("read"));
}

#[test]
fn broken_files_are_errors_with_their_place() {
    let cases = [
        ("x = 'abc\ny = 1\n", 1, 5),
        ("x = 1\ny = (1,\n", 2, 5),
        ("x = 1)\n", 1, 6),
        ("a = '''never\n", 1, 5),
        ("a = $b\n", 1, 5),
        ("TEMPLATE = '\\xZZ'\n", 1, 12),
    ];
    for (text, line, column) in cases {
        let error = read_python("prompt.py", text).expect_err(text);
        let place = error.place().expect("has a place");
        assert_eq!((place.line, place.column), (line, column), "{text}: {error:?}");
        assert_eq!(error.reason(), Some(Reason::Syntax));
    }
}

#[test]
fn depth_is_bounded_and_costs_no_stack() {
    for text in ["(", "[", "{'a':", "-", "not ", "a.", "f'{"] {
        let deep = format!("METADATA = {}", text.repeat(200_000 / text.len()));
        let _ = read_python("prompt.py", &deep);
    }
    let closed = format!("METADATA = {}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(read_python("prompt.py", &closed).is_err());
}

proptest! {
    #[test]
    fn no_text_panics(text in "(METADATA|TEMPLATE|def |async |pre_render|[ =:;\\[\\]{}()'\"\\\\\n\rfrbx0-9a-zé灯#.,*+-]){0,60}") {
        let _ = read_python("prompt.py", &text);
    }

    #[test]
    fn strings_come_back(text in "\\PC{0,40}") {
        let quoted = text.replace('\\', "\\\\").replace('\'', "\\'");
        prop_assert_eq!(metadata(&format!("'{quoted}'")), json!(text));
    }
}
