//! Tests of the whole library: every name is found, and no operation uses a pending value. The results of
//! each part are compared with Python in `tests/library`.

use hinagata_value::{
    Arguments, Budget, CallId, EngineRef, ErrorKind, Heap, Kind, Limits, Owner, Result, Undefined, Value,
};
use serde_json::json;

use super::{
    filters, methods,
    ops::{self, Order},
    print, tests,
};
use crate::context::{Context, Objects, Random, Settings, UndefinedMode};

/// A running template without objects.
struct NoObjects;

impl<'a> Objects<'a> for NoObjects {
    fn repr(&self, _: EngineRef) -> String {
        "<object>".to_owned()
    }

    fn type_name(&self, _: EngineRef) -> &'static str {
        "object"
    }

    fn is_callable(&self, _: EngineRef) -> bool {
        false
    }

    fn is_module(&self, _: EngineRef) -> bool {
        false
    }

    fn attribute(&self, _: EngineRef, _: &str) -> Option<Value<'a>> {
        None
    }

    fn method(&self, _: Value<'a>, _: &'static str) -> Result<Value<'a>> {
        Ok(Value::Engine(EngineRef { kind: 0, index: 0 }))
    }
}

/// Runs `check` with a context for these settings.
fn with_context(settings: &Settings, check: impl for<'a> FnOnce(&Context<'_, 'a>)) {
    let budget = Budget::new(Limits::default());
    let heap = Heap::new(&budget);
    let random = Random::new(7);
    let autoescape = settings.autoescape;
    check(&Context { heap: &heap, settings, autoescape, objects: &NoObjects, random: &random });
}

fn is_suspended<T>(result: &Result<T>) -> bool {
    result.as_ref().is_err_and(|error| error.kind() == ErrorKind::Suspended)
}

/// The result of a call that has not returned yet.
fn pending<'a>() -> Value<'a> {
    Value::Pending(CallId(0))
}

#[test]
fn every_name_is_found() {
    let sorted = |names: Vec<&str>| names.is_sorted() && !names.is_empty();
    assert!(sorted(filters::filter_names().collect()));
    assert!(sorted(tests::test_names().collect()));
    assert!(filters::filter_names().all(|name| filters::find_filter(name).is_some()));
    assert!(tests::test_names().all(|name| tests::find_test(name).is_some()));
    assert_eq!((filters::filter_names().count(), tests::test_names().count()), (64, 40));
    assert!(filters::find_filter("nosuch").is_none() && tests::find_test("").is_none());
    assert_eq!(filters::unknown_filter("uper").near(), ["upper"]);
    methods::check_tables();
}

#[test]
fn no_filter_uses_a_value_that_is_not_there_yet() {
    with_context(&Settings::default(), |cx| {
        let attribute = cx.heap.string("upper").expect("fits");
        for name in filters::filter_names() {
            let filter = filters::find_filter(name).expect("is known");
            let test_arguments: &[Value<'_>] = match name {
                "attr" | "groupby" | "map" | "select" | "selectattr" | "rejectattr" | "reject" => {
                    std::slice::from_ref(&attribute)
                }
                "batch" | "slice" => &[Value::Int(2)],
                "replace" => &[attribute.clone(), attribute.clone()],
                _ => &[],
            };
            let result = filter(cx, pending(), &Arguments::from_positional(test_arguments));
            match name {
                // A pending value is defined, whatever its result will be.
                "default" | "d" => assert_eq!(result.expect("is passed on").kind(), Kind::Pending),
                _ => assert!(is_suspended(&result), "{name}: {result:?}"),
            }
        }
    });
}

#[test]
fn no_test_or_operator_uses_a_value_that_is_not_there_yet() {
    with_context(&Settings::default(), |cx| {
        for name in tests::test_names() {
            let test = tests::find_test(name).expect("is known");
            let test_arguments: &[Value<'_>] = match name {
                "divisibleby" | "eq" | "equalto" | "ge" | "greaterthan" | "gt" | "in" | "le" | "lessthan"
                | "lt" | "ne" | "sameas" => &[Value::Int(1)],
                _ if !name.starts_with(|first: char| first.is_ascii_alphabetic()) => &[Value::Int(1)],
                _ => &[],
            };
            let result = test(cx, &pending(), &Arguments::from_positional(test_arguments));
            match name {
                "defined" => assert!(result.expect("does not wait")),
                "undefined" => assert!(!result.expect("does not wait")),
                _ => assert!(is_suspended(&result), "{name}: {result:?}"),
            }
        }
        let waiting = pending();
        let list = cx.heap.list_of([Value::Int(1), pending()]).expect("fits");
        let text = cx.heap.string("%s").expect("fits");
        for other in [Value::Int(1), list.clone(), text] {
            for (a, b) in [(&waiting, &other), (&other, &waiting)] {
                let operators = [
                    ops::add,
                    ops::subtract,
                    ops::multiply,
                    ops::divide,
                    ops::floor_divide,
                    ops::remainder,
                    ops::power,
                    ops::get_item,
                ];
                for (at, operator) in operators.into_iter().enumerate() {
                    assert!(is_suspended(&operator(cx, a, b)), "operator {at} on {a:?} and {b:?}");
                }
                assert!(is_suspended(&ops::values_equal(cx, a, b)));
                assert!(is_suspended(&ops::compare_values(cx, Order::Less, a, b)));
                assert!(is_suspended(&ops::concat_values(cx, &[a.clone(), b.clone()])));
            }
            assert!(is_suspended(&ops::contains_value(cx, &pending(), &list)));
        }
        assert!(is_suspended(&ops::is_true(cx, &pending())));
        assert!(is_suspended(&ops::negate(cx, &pending())));
        assert!(is_suspended(&ops::iterate_value(cx, &pending())));
        assert!(is_suspended(&ops::value_length(cx, &pending())));
        assert!(is_suspended(&ops::get_attribute(cx, &pending(), "x", None)));
        assert!(is_suspended(&ops::slice_value(cx, &pending(), None, None, None)));
        assert!(is_suspended(&print::print_value(cx, &list, &mut cx.heap.text())));
    });
}

#[test]
fn a_debugging_run_shows_what_is_missing() {
    let settings = Settings { undefined: UndefinedMode::Debug, ..Settings::default() };
    let name = "nick".to_owned();
    with_context(&settings, |cx| {
        for (owner, expected) in [
            (Owner::Variables, "{{ nick }}"),
            (Owner::Map, "{{ no such element: dict object['nick'] }}"),
            (Owner::List, "{{ no such element: list object['nick'] }}"),
        ] {
            let mut text = cx.heap.text();
            // The name outlives the run, as constants of a template do.
            let name = Box::leak(Box::new(name.clone()));
            let missing = Value::Undefined(Undefined { owner, name: Some(name) });
            print::print_value(cx, &missing, &mut text).expect("prints");
            assert_eq!(text.as_str(), expected);
        }
    });
}

#[test]
fn what_a_template_must_not_change_stays() {
    let settings = Settings { immutable: true, ..Settings::default() };
    let data = Box::leak(Box::new(json!([3, 1, 2])));
    with_context(&settings, |cx| {
        let list = Value::Json(data);
        let refused = methods::call_method(cx, &list, "sort", &Arguments::from_positional(&[]));
        assert_eq!(refused.expect_err("is refused").kind(), ErrorKind::Security);
        let blocked_value = ops::get_attribute(cx, &list, "append", None).expect("is undefined");
        assert!(matches!(blocked_value, Value::Undefined(Undefined { owner: Owner::Unsafe, .. })));
        let error = cx.require_defined(&blocked_value).expect_err("is refused");
        assert_eq!(error.kind(), ErrorKind::Security);
        let count = methods::call_method(cx, &list, "count", &Arguments::from_positional(&[Value::Int(1)]));
        assert!(matches!(count, Ok(Some(Value::Int(1)))));
    });
}
