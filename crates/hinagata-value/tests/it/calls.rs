//! Running a template again and again until all results are there gives what running it once with every
//! result at hand gives: the same output, the same calls that are not pure in the same order and each
//! once, and pure calls with equal arguments once.

use std::{collections::BTreeSet, fmt::Write};

use hinagata_value::{
    Arguments, Budget, Call, CallId, Calls, Closure, Error, ErrorKind, Functions, Heap, Host, LimitKind,
    Limits, Output, Pass, Request, Result, Site, Value, is_equal, to_json,
};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

/// Variables of the tiny language.
const VARIABLES: usize = 3;

#[derive(Clone, Debug)]
enum Expr {
    Const(i64),
    Variable(usize),
    /// A call; its argument has to be known.
    Call {
        site: u32,
        pure: bool,
        argument: Box<Expr>,
    },
    /// Needs both sides.
    Sum(Box<Expr>, Box<Expr>),
    /// A comparison of two lists that hold the values: needs both sides as well.
    Same(Box<Expr>, Box<Expr>),
}

#[derive(Clone, Debug)]
enum Step {
    /// Printing waits for nothing.
    Print(Expr),
    /// Nor does handing on.
    Let(usize, Expr),
    If(Expr, Vec<Step>, Vec<Step>),
    Times(u32, Vec<Step>),
    /// A loop whose length depends on a value.
    While(Expr, Vec<Step>),
    /// Captures what the body prints as a variable.
    Capture(usize, Vec<Step>),
}

fn expr() -> impl Strategy<Value = Expr> {
    let leaf = prop_oneof![(0..20_i64).prop_map(Expr::Const), (0..VARIABLES).prop_map(Expr::Variable)];
    leaf.prop_recursive(3, 6, 2, |inner| {
        let pair = || (inner.clone().prop_map(Box::new), inner.clone().prop_map(Box::new));
        prop_oneof![
            4 => (any::<bool>(), inner.clone().prop_map(Box::new))
                .prop_map(|(pure, argument)| Expr::Call { site: 0, pure, argument }),
            1 => pair().prop_map(|(a, b)| Expr::Sum(a, b)),
            1 => pair().prop_map(|(a, b)| Expr::Same(a, b)),
        ]
    })
}

fn step() -> impl Strategy<Value = Step> {
    let leaf = prop_oneof![
        3 => expr().prop_map(Step::Print),
        1 => (0..VARIABLES, expr()).prop_map(|(variable, value)| Step::Let(variable, value)),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        let body = || prop::collection::vec(inner.clone(), 0..4);
        prop_oneof![
            (expr(), body(), body()).prop_map(|(test, yes, no)| Step::If(test, yes, no)),
            (0..4_u32, body()).prop_map(|(times, body)| Step::Times(times, body)),
            (expr(), body()).prop_map(|(times, body)| Step::While(times, body)),
            (0..VARIABLES, body()).prop_map(|(variable, body)| Step::Capture(variable, body)),
        ]
    })
}

/// A template: steps in which every call has a site of its own.
fn template() -> impl Strategy<Value = Vec<Step>> {
    fn number_expr(expr: &mut Expr, next: &mut u32) {
        match expr {
            Expr::Const(_) | Expr::Variable(_) => {}
            Expr::Call { site, argument, .. } => {
                *site = *next;
                *next += 1;
                number_expr(argument, next);
            }
            Expr::Sum(a, b) | Expr::Same(a, b) => {
                number_expr(a, next);
                number_expr(b, next);
            }
        }
    }
    fn number(steps: &mut [Step], next: &mut u32) {
        for step in steps {
            match step {
                Step::Print(expr) | Step::Let(_, expr) => number_expr(expr, next),
                Step::Times(_, body) | Step::Capture(_, body) => number(body, next),
                Step::While(expr, body) => {
                    number_expr(expr, next);
                    number(body, next);
                }
                Step::If(expr, yes, no) => {
                    number_expr(expr, next);
                    number(yes, next);
                    number(no, next);
                }
            }
        }
    }
    prop::collection::vec(step(), 0..6).prop_map(|mut steps| {
        number(&mut steps, &mut 0);
        steps
    })
}

/// What is outside: answers calls, and remembers them.
#[derive(Debug, Default)]
struct Outside {
    /// Arguments that calls fail with.
    bad: BTreeSet<i64>,
    pure: Vec<i64>,
    impure: Vec<i64>,
}

impl Outside {
    fn new(bad: BTreeSet<i64>) -> Self {
        Self { bad, ..Self::default() }
    }

    fn call(&mut self, pure: bool, argument: i64) -> Result<i64, String> {
        if pure {
            self.pure.push(argument);
        } else {
            self.impure.push(argument);
        }
        if self.bad.contains(&argument) {
            return Err(format!("{argument} is bad"));
        }
        // What is not pure gives another answer each time.
        Ok((argument * 7 + if pure { 3 } else { self.impure.len() as i64 }) % 20)
    }

    fn answer(&mut self, calls: &Calls, call: &Call) {
        let argument = call.request.arguments[0].as_i64().expect("a number");
        calls.resolve_call(call.id, self.call(call.request.pure, argument).map(Json::from));
    }
}

/// Evaluates with every result at hand.
struct Direct {
    outside: Outside,
    output: String,
    variables: [Known; VARIABLES],
}

/// A value of direct evaluation.
#[derive(Clone, Debug)]
enum Known {
    Int(i64),
    Text(String),
}

impl Known {
    /// What arithmetic makes of it.
    fn number(&self) -> i64 {
        match self {
            Self::Int(int) => *int,
            Self::Text(text) => text.len() as i64,
        }
    }
}

impl Direct {
    fn new(outside: Outside) -> Self {
        Self { outside, output: String::new(), variables: [0; VARIABLES].map(Known::Int) }
    }

    fn eval(&mut self, expr: &Expr) -> Result<Known, String> {
        Ok(Known::Int(match expr {
            Expr::Const(int) => *int,
            Expr::Variable(variable) => return Ok(self.variables[*variable].clone()),
            Expr::Call { pure, argument, .. } => {
                let argument = self.eval(argument)?.number();
                self.outside.call(*pure, argument).map_err(|error| format!("`f` failed: {error}"))?
            }
            Expr::Sum(a, b) => (self.eval(a)?.number() + self.eval(b)?.number()) % 20,
            Expr::Same(a, b) => i64::from(self.eval(a)?.number() == self.eval(b)?.number()),
        }))
    }

    fn run(&mut self, steps: &[Step]) -> Result<(), String> {
        for step in steps {
            match step {
                Step::Print(expr) => match self.eval(expr)? {
                    Known::Int(int) => write!(self.output, "{int} ").expect("a string takes it"),
                    Known::Text(text) => self.output.push_str(&text),
                },
                Step::Let(variable, expr) => self.variables[*variable] = self.eval(expr)?,
                Step::If(test, yes, no) => {
                    let branch = if self.eval(test)?.number() % 2 == 0 { yes } else { no };
                    self.run(branch)?;
                }
                Step::Times(times, body) => (0..*times).try_for_each(|_| self.run(body))?,
                Step::While(times, body) => {
                    let times = self.eval(times)?.number() % 4;
                    (0..times).try_for_each(|_| self.run(body))?;
                }
                Step::Capture(variable, body) => {
                    let before = std::mem::take(&mut self.output);
                    self.run(body)?;
                    self.variables[*variable] = Known::Text(std::mem::replace(&mut self.output, before));
                }
            }
        }
        Ok(())
    }
}

/// Evaluates one pass, on values that may be pending.
struct Replayed<'p, 'a> {
    heap: &'p Heap<'a>,
    calls: &'a Calls,
    variables: [Value<'a>; VARIABLES],
}

impl<'a> Replayed<'_, 'a> {
    /// The value as arithmetic sees it; stops the pass where it is not there yet.
    fn number(value: &Value<'a>) -> Result<i64> {
        if value.is_pending() {
            return Err(Error::suspended());
        }
        match value {
            Value::Pieces(pieces) => Ok(pieces.text().len() as i64),
            value => Ok(value.as_i64().or_else(|| value.as_str().map(|text| text.len() as i64)).unwrap_or(0)),
        }
    }

    fn eval(&mut self, expr: &Expr) -> Result<Value<'a>> {
        Ok(match expr {
            Expr::Const(int) => Value::Int(*int),
            Expr::Variable(variable) => self.variables[*variable].clone(),
            Expr::Call { site, pure, argument } => {
                let argument = Self::number(&self.eval(argument)?)?;
                let request = Request { function: "f".into(), arguments: json!([argument]), pure: *pure };
                let site = Site { template: 0, node: *site };
                self.calls.start_call(site, request, self.heap.budget().limits())?
            }
            Expr::Sum(a, b) => {
                let (a, b) = (self.eval(a)?, self.eval(b)?);
                Value::Int((Self::number(&a)? + Self::number(&b)?) % 20)
            }
            Expr::Same(a, b) => {
                let (a, b) = (self.eval(a)?, self.eval(b)?);
                // Text counts as its length here too; what is pending goes into the list as it is.
                let wrap = |value: Value<'a>| match Self::number(&value) {
                    Ok(number) => self.heap.list_of([Value::Int(number)]),
                    Err(_) => self.heap.list_of([value]),
                };
                Value::Int(i64::from(is_equal(self.heap, &wrap(a)?, &wrap(b)?)?))
            }
        })
    }

    fn print(&self, value: &Value<'a>, output: &mut Output<'a>) -> Result<()> {
        let site = Site::default();
        match value {
            // The space belongs to the number: a hole stands for both here.
            Value::Pending(call) => output.write_pending(*call),
            Value::Pieces(pieces) => output.write_pieces(pieces, site),
            value => match value.as_str() {
                Some(text) => output.write(text, site),
                None => output.write(&format!("{} ", value.as_i64().unwrap_or(0)), site),
            },
        }
    }

    fn run(&mut self, steps: &[Step], output: &mut Output<'a>) -> Result<()> {
        for step in steps {
            match step {
                Step::Print(expr) => {
                    let value = self.eval(expr)?;
                    self.print(&value, output)?;
                }
                Step::Let(variable, expr) => self.variables[*variable] = self.eval(expr)?,
                Step::If(test, yes, no) => {
                    let branch = if Self::number(&self.eval(test)?)? % 2 == 0 { yes } else { no };
                    self.run(branch, output)?;
                }
                Step::Times(times, body) => (0..*times).try_for_each(|_| self.run(body, output))?,
                Step::While(times, body) => {
                    let times = Self::number(&self.eval(times)?)? % 4;
                    (0..times).try_for_each(|_| self.run(body, output))?;
                }
                Step::Capture(variable, body) => {
                    let mut capture = Output::new_capture(self.heap.budget());
                    self.run(body, &mut capture)?;
                    self.variables[*variable] = capture.into_value(false)?;
                }
            }
        }
        Ok(())
    }
}

/// One pass over the template.
fn pass(steps: &[Step], calls: &Calls, limits: &Limits) -> Result<String> {
    let budget = Budget::new(limits.clone());
    let text = {
        let heap = Heap::new(&budget);
        let mut output = Output::new(&budget);
        let variables = [0; VARIABLES].map(Value::Int);
        Replayed { heap: &heap, calls, variables }.run(steps, &mut output)?;
        // Holes are no failure of the pass.
        output.finish().text
    };
    assert_eq!(budget.bytes_alive(), 0);
    Ok(text)
}

/// Drives a template to its end; gives the output and how many calls were handed out each time.
fn render(steps: &[Step], limits: &Limits, outside: &mut Outside) -> (Result<String>, Vec<usize>) {
    let calls = Calls::new();
    let mut waits = Vec::new();
    let result = loop {
        let passed = calls.begin_pass(limits).and_then(|()| calls.end_pass(pass(steps, &calls, limits)));
        match passed {
            Ok(Pass::Done(text)) => break Ok(text),
            Ok(Pass::Wait(new)) => {
                assert!(new.is_sorted_by_key(|call| call.id), "in the order they were started");
                waits.push(new.len());
                new.into_iter().for_each(|call| outside.answer(&calls, call));
            }
            Err(error) => break Err(error),
        }
    };
    (result, waits)
}

fn no_limits() -> Limits {
    Limits { passes: u32::MAX, requests: usize::MAX, ..Limits::default() }
}

proptest! {
    #[test]
    fn running_again_until_all_is_there_is_running_once_with_all_at_hand(
        steps in template(),
        bad in prop_oneof![4 => Just(BTreeSet::new()), 1 => prop::collection::btree_set(0..20_i64, 1..3)],
    ) {
        let mut direct = Direct::new(Outside::new(bad.clone()));
        let expected = direct.run(&steps);
        let mut outside = Outside::new(bad);
        let (result, waits) = render(&steps, &no_limits(), &mut outside);
        match (expected, result) {
            (Ok(()), Ok(text)) => {
                prop_assert_eq!(text, direct.output);
                prop_assert_eq!(&outside.impure, &direct.outside.impure, "each once, and in order");
                let wanted: BTreeSet<_> = direct.outside.pure.iter().copied().collect();
                let made: BTreeSet<_> = outside.pure.iter().copied().collect();
                prop_assert_eq!(made, wanted);
            }
            (Err(expected), Err(error)) => {
                prop_assert_eq!(error.message(), &expected);
                // Calls behind the failing one may have been started in the same pass.
                prop_assert!(outside.impure.starts_with(&direct.outside.impure));
            }
            (expected, result) => prop_assert!(false, "{expected:?}, {result:?}"),
        }
        let distinct: BTreeSet<_> = outside.pure.iter().collect();
        prop_assert_eq!(distinct.len(), outside.pure.len(), "pure calls are made once");
        prop_assert!(waits.iter().all(|new| *new > 0), "every wait brings something");
    }

    #[test]
    fn a_limit_on_passes_changes_nothing_but_whether_the_render_ends(steps in template(), passes in 1..6_u32) {
        let (_, waits) = render(&steps, &no_limits(), &mut Outside::default());
        let needed = waits.len() as u32 + 1;
        let limits = Limits { passes, ..no_limits() };
        let (result, _) = render(&steps, &limits, &mut Outside::default());
        match result {
            Ok(_) => prop_assert!(needed <= passes),
            Err(error) => {
                prop_assert_eq!(error.limit(), Some(LimitKind::Passes));
                prop_assert!(needed > passes);
            }
        }
    }

    #[test]
    fn a_limit_on_requests_counts_calls_that_are_made(steps in template(), requests in 0..6_usize) {
        let mut outside = Outside::default();
        render(&steps, &no_limits(), &mut outside).0.expect("nothing is bad");
        let needed = outside.pure.len() + outside.impure.len();
        let limits = Limits { requests, ..no_limits() };
        match render(&steps, &limits, &mut Outside::default()).0 {
            Ok(_) => prop_assert!(needed <= requests),
            Err(error) => {
                prop_assert_eq!(error.limit(), Some(LimitKind::Requests));
                prop_assert!(needed > requests);
            }
        }
    }
}

fn call(site: u32, pure: bool, argument: Expr) -> Expr {
    Expr::Call { site, pure, argument: Box::new(argument) }
}

#[test]
fn independent_calls_are_handed_out_at_once() {
    let print = |site| Step::Print(call(site, site % 2 == 0, Expr::Const(i64::from(site))));
    let steps: Vec<_> = (0..10).map(print).collect();
    let (result, waits) = render(&steps, &Limits::default(), &mut Outside::default());
    result.expect("within the limits");
    assert_eq!(waits, [10]);
}

#[test]
fn a_loop_starts_the_calls_of_all_its_turns_at_once() {
    let steps = [Step::Times(7, vec![Step::Print(call(0, false, Expr::Const(1)))])];
    let (result, waits) = render(&steps, &Limits::default(), &mut Outside::default());
    assert_eq!((result.expect("within the limits").split_whitespace().count(), waits), (7, vec![7]));
}

#[test]
fn a_call_whose_result_is_tested_is_waited_for_alone() {
    let test = call(0, true, Expr::Const(1));
    let inside = vec![Step::Print(call(1, true, Expr::Const(2))), Step::Print(call(2, true, Expr::Const(3)))];
    let steps = [Step::If(test, inside.clone(), inside)];
    let (result, waits) = render(&steps, &Limits::default(), &mut Outside::default());
    result.expect("within the limits");
    assert_eq!(waits, [1, 2]);
}

#[test]
fn calls_inside_each_other_take_a_pass_each_up_to_the_limit() {
    let chain = |length: u32| {
        let inside = (0..length).fold(Expr::Const(1), |argument, site| call(site, false, argument));
        render(&[Step::Print(inside)], &Limits::default(), &mut Outside::default())
    };
    let (result, waits) = chain(31);
    result.expect("the last pass is the thirty-second");
    assert_eq!(waits, [1; 31]);
    assert_eq!(chain(32).0.expect_err("one too many").limit(), Some(LimitKind::Passes));
}

#[test]
fn equal_pure_calls_in_a_long_loop_are_one_call() {
    let limits = Limits { requests: 1, ..Limits::default() };
    let steps = [Step::Times(5_000, vec![Step::Print(call(0, true, Expr::Const(1)))])];
    let mut outside = Outside::default();
    let (result, waits) = render(&steps, &limits, &mut outside);
    assert_eq!(result.expect("one call is made").split_whitespace().count(), 5_000);
    assert_eq!((waits, outside.pure), (vec![1], vec![1]));
}

#[test]
fn a_failing_call_fails_the_render_where_its_result_is_used() {
    let steps = [Step::Print(call(0, true, Expr::Const(13)))];
    let (result, waits) = render(&steps, &Limits::default(), &mut Outside::new([13].into()));
    let error = result.expect_err("the call fails");
    assert_eq!((error.kind(), error.message()), (ErrorKind::Runtime, "`f` failed: 13 is bad"));
    assert_eq!(waits, [1]);
}

#[test]
fn a_call_that_is_never_resolved_is_an_error_and_no_endless_loop() {
    let printed = [Step::Print(call(0, true, Expr::Const(1)))];
    let tested = [Step::If(call(0, true, Expr::Const(1)), vec![], vec![])];
    for steps in [&printed, &tested] {
        let (calls, limits) = (Calls::new(), Limits::default());
        calls.begin_pass(&limits).expect("the first");
        let first = calls.end_pass(pass(steps, &calls, &limits)).expect("waits");
        assert!(matches!(first, Pass::Wait(new) if new.len() == 1));
        calls.begin_pass(&limits).expect("the second");
        let error = calls.end_pass(pass(steps, &calls, &limits)).expect_err("nothing new");
        assert_eq!(error.message(), "the render waits for a result that no call returns");
    }
}

#[test]
fn the_first_result_of_a_call_counts() {
    let calls = Calls::new();
    let request = || Request { function: "f".into(), arguments: json!([]), pure: true };
    calls.start_call(Site::default(), request(), &Limits::default()).expect("starts");
    calls.resolve_call(CallId(0), Ok(json!("first")));
    calls.resolve_call(CallId(0), Ok(json!("second")));
    calls.resolve_call(CallId(7), Ok(json!("of no call")));
    let value = calls.start_call(Site::default(), request(), &Limits::default()).expect("is there");
    assert_eq!(value.as_str(), Some("first"));
}

#[test]
fn arguments_are_told_apart_by_every_part_of_them() {
    let calls = Calls::new();
    let documents = [
        json!([]),
        json!([[]]),
        json!([[], []]),
        json!([[[]]]),
        json!({}),
        json!([{}]),
        json!(["a", "b"]),
        json!(["a,b"]),
        json!(["a\",\"b"]),
        json!({"a": 1, "b": 2}),
        json!({"a": {"b": 2}}),
        json!({"a\":1,\"b": 2}),
        json!([1]),
        json!([1.0]),
        json!(["1"]),
        json!([null]),
        json!([true]),
        json!(["true"]),
    ];
    for function in ["f", "g"] {
        for arguments in documents.iter().cloned() {
            let request = Request { function: function.into(), arguments, pure: true };
            calls.start_call(Site::default(), request, &Limits::default()).expect("starts");
        }
    }
    assert_eq!(calls.iter().count(), 2 * documents.len());
}

#[test]
fn a_function_of_the_host_waits_for_what_it_is_given() {
    let mut functions = Functions::new();
    functions.insert(Closure::new("ask", |host: &Host<'_, '_>, arguments: &Arguments<'_, '_>| {
        let arguments = arguments.positional.iter().map(|value| to_json(host.heap, value));
        let arguments = Json::Array(arguments.collect::<Result<_>>()?);
        host.start_call(Request { function: "ask".into(), arguments, pure: true })
    }));
    let calls = Calls::new();
    let pass = |expected: &str| {
        let budget = Budget::new(Limits::default());
        let heap = Heap::new(&budget);
        let host =
            Host { heap: &heap, functions: &functions, calls: &calls, site: Site::default(), literal: false };
        let ask = functions.get("ask").expect("was added");
        let inner = ask.call(&host, &Arguments::from_positional(&[Value::Int(1)])).expect("starts");
        let list = heap.list_of([inner]).expect("fits");
        match ask.call(&host, &Arguments::from_positional(&[list])) {
            Ok(value) => assert_eq!(format!("{value:?}"), expected),
            Err(error) => assert_eq!(error.kind().as_str(), expected),
        }
    };
    pass("suspended");
    calls.resolve_call(CallId(0), Ok(json!(2)));
    pass("Pending");
    assert_eq!(
        calls.iter().map(|call| call.request.arguments.clone()).collect::<Vec<_>>(),
        [json!([1]), json!([[2]])]
    );
    calls.resolve_call(CallId(1), Ok(json!(3)));
    pass("3");
}

#[test]
fn a_capture_with_a_hole_is_pending_until_the_hole_is_filled() {
    let budget = Budget::new(Limits::default());
    let heap = Heap::new(&budget);
    let mut capture: Output<'_> = Output::new_capture(&budget);
    capture.write("before", Site::default()).expect("fits");
    capture.write_pending(CallId(0)).expect("fits");
    let captured = capture.into_value(false).expect("fits");
    assert!(captured.is_pending());
    let kind = |result: Result<_>| result.map(drop).expect_err("waits").kind();
    assert_eq!(kind(to_json(&heap, &captured).map(|_| ())), ErrorKind::Suspended);
    let text = heap.string("before").expect("fits");
    assert_eq!(kind(is_equal(&heap, &captured, &text).map(|_| ())), ErrorKind::Suspended);
    let mut map = heap.map().expect("fits");
    assert_eq!(kind(map.insert(captured.clone(), Value::None)), ErrorKind::Suspended);
    let tuple = heap.tuple_of([captured]).expect("fits");
    assert_eq!(kind(map.get(&tuple).map(|_| ())), ErrorKind::Suspended);
}
