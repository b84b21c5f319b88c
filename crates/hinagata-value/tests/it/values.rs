//! The laws of values: equality, order, numbers, ranges, lookups.

use std::cmp::Ordering;

use hinagata_value::{
    Budget, Digits, EngineRef, Error, Heap, Keep, Key, Kind, Limits, Number, Object, Output, Range, Result,
    Site, Value, is_equal, near_names, order_numbers, order_values, write_float_repr,
};
use proptest::{prelude::*, sample::Index};
use serde_json::{Map, Value as Json};

use crate::support::{json as documents, produced};

/// How a value is made; values themselves belong to a heap.
#[derive(Clone, Debug)]
enum Recipe {
    Undefined,
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(String, bool),
    Bytes(Vec<u8>),
    Range(i64, i64, i64),
    Engine(u32),
    List(Vec<Recipe>),
    Tuple(Vec<Recipe>),
    Map(Vec<(i64, Recipe)>),
}

fn recipe() -> impl Strategy<Value = Recipe> {
    use Recipe::*;
    let leaf = prop_oneof![
        Just(Undefined),
        Just(None),
        any::<bool>().prop_map(Bool),
        (-2..3_i128).prop_map(Int),
        any::<i128>().prop_map(Int),
        prop_oneof![Just(0.0), Just(-0.0), Just(1.0), Just(0.5), any::<f64>()].prop_map(Float),
        ("[ab]{0,2}", any::<bool>()).prop_map(|(text, safe)| Text(text, safe)),
        prop::collection::vec(0x7e..0x82_u8, 1..3).prop_map(Bytes),
        (0..3_i64, 0..5_i64, 1..3_i64).prop_map(|(start, stop, step)| Range(start, stop, step)),
        (0..2_u32).prop_map(Engine),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(List),
            prop::collection::vec(inner.clone(), 0..4).prop_map(Tuple),
            prop::collection::vec((0..4_i64, inner), 0..4).prop_map(Map),
        ]
    })
}

fn make<'a>(heap: &Heap<'a>, recipe: &Recipe) -> Result<Value<'a>> {
    let all = |items: &[Recipe]| items.iter().map(|item| make(heap, item)).collect::<Result<Vec<_>>>();
    Ok(match recipe {
        Recipe::Undefined => Value::UNDEFINED,
        Recipe::None => Value::None,
        Recipe::Bool(flag) => Value::Bool(*flag),
        Recipe::Int(int) => heap.int(*int)?,
        Recipe::Float(float) => Value::Float(*float),
        Recipe::Text(text, safe) => if *safe { heap.safe(text) } else { heap.string(text) }?,
        Recipe::Bytes(bytes) => heap.bytes(bytes)?,
        Recipe::Range(start, stop, step) => heap.range(Range::new(*start, *stop, *step).expect("a step"))?,
        Recipe::Engine(index) => Value::Engine(EngineRef { kind: 1, index: *index }),
        Recipe::List(items) => heap.list_of(all(items)?)?,
        Recipe::Tuple(items) => heap.tuple_of(all(items)?)?,
        Recipe::Map(entries) => {
            let mut map = heap.map()?;
            for (key, value) in entries {
                map.insert(Value::Int(*key), make(heap, value)?)?;
            }
            map.finish()
        }
    })
}

/// Whether a NaN is anywhere in it.
fn has_nan(recipe: &Recipe) -> bool {
    match recipe {
        Recipe::Float(float) => float.is_nan(),
        Recipe::List(items) | Recipe::Tuple(items) => items.iter().any(has_nan),
        Recipe::Map(entries) => entries.iter().any(|(_, value)| has_nan(value)),
        _ => false,
    }
}

/// Equality of documents as templates see it, written down a second time.
fn same(a: &Json, b: &Json) -> bool {
    fn number(value: &Json) -> Option<Number> {
        match value {
            Json::Bool(flag) => Some(Number::Int(i128::from(*flag))),
            Json::Number(number) => Some(Number::from_json(number)),
            _ => None,
        }
    }
    match (a, b) {
        (Json::Array(a), Json::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Json::Object(a), Json::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        (Json::String(a), Json::String(b)) => a == b,
        (Json::Null, Json::Null) => true,
        _ => match (number(a), number(b)) {
            (Some(a), Some(b)) => exact_order(a, b) == Some(Ordering::Equal),
            _ => false,
        },
    }
}

/// The order of two numbers by hand: as sign, and integer times a power of two.
fn exact_order(a: Number, b: Number) -> Option<Ordering> {
    /// Whether it is below zero, its digits in base two, and how far they are shifted.
    fn parts(number: Number) -> (bool, u128, i32) {
        match number {
            Number::Int(int) => (int < 0, int.unsigned_abs(), 0),
            Number::Float(float) => {
                let bits = float.to_bits();
                let exponent = ((bits >> 52) & 0x7ff) as i32;
                let fraction = u128::from(bits & ((1 << 52) - 1));
                match exponent {
                    0 => (float < 0.0, fraction, -1074),
                    _ => (float < 0.0, fraction | 1 << 52, exponent - 1075),
                }
            }
        }
    }
    fn order_magnitudes((a, shift_a): (u128, i32), (b, shift_b): (u128, i32)) -> Ordering {
        match (a, b) {
            (0, _) | (_, 0) => return a.cmp(&b),
            _ => {}
        }
        // The place of the highest bit decides, and where that is the same the bits from there on.
        let place = |digits: u128, shift: i32| 128 - digits.leading_zeros() as i32 + shift;
        place(a, shift_a)
            .cmp(&place(b, shift_b))
            .then_with(|| (a << a.leading_zeros()).cmp(&(b << b.leading_zeros())))
    }
    for number in [a, b] {
        if let Number::Float(float) = number {
            if float.is_nan() {
                return None;
            }
            if float.is_infinite() {
                // Nothing but the same infinity is beside it.
                return a.as_f64().partial_cmp(&b.as_f64());
            }
        }
    }
    let ((negative_a, a, shift_a), (negative_b, b, shift_b)) = (parts(a), parts(b));
    let sign = |negative: bool, digits: u128| {
        if digits == 0 {
            0
        } else if negative {
            -1
        } else {
            1
        }
    };
    let (sign_a, sign_b) = (sign(negative_a, a), sign(negative_b, b));
    Some(sign_a.cmp(&sign_b).then_with(|| {
        let order = order_magnitudes((a, shift_a), (b, shift_b));
        if sign_a < 0 { order.reverse() } else { order }
    }))
}

/// Numbers of every size, and close to each other.
fn number() -> impl Strategy<Value = Number> {
    let near = |float: f64| prop_oneof![Just(float), Just(float.next_up()), Just(float.next_down())];
    let edge = (0..128_i32, any::<bool>(), -1..2_i128).prop_map(|(power, negative, off)| {
        let magnitude = i128::MAX >> (127 - power);
        if negative { (-magnitude).saturating_add(off) } else { magnitude.saturating_add(off) }
    });
    prop_oneof![
        any::<i128>().prop_map(Number::Int),
        any::<i64>().prop_map(|int| Number::Int(i128::from(int))),
        edge.clone().prop_map(Number::Int),
        any::<f64>().prop_map(Number::Float),
        edge.prop_flat_map(move |int| near(int as f64)).prop_map(Number::Float),
        (-4..5_i8).prop_map(|half| Number::Float(f64::from(half) / 2.0)),
        prop_oneof![Just(f64::NAN), Just(f64::INFINITY), Just(f64::NEG_INFINITY), Just(-0.0)]
            .prop_map(Number::Float),
    ]
}

fn lists() -> impl Strategy<Value = Vec<Vec<Vec<i8>>>> {
    let inner = prop::collection::vec(prop::collection::vec(-1..2_i8, 0..3), 0..3);
    prop::collection::vec(inner, 0..3)
}

fn order_ints(a: &Value<'_>, b: &Value<'_>) -> Result<Ordering> {
    match (a.as_i64(), b.as_i64()) {
        (Some(a), Some(b)) => Ok(a.cmp(&b)),
        _ => Err(Error::runtime("no order")),
    }
}

proptest! {
    #[test]
    fn equality_is_reflexive_but_for_nan_and_symmetric(a in recipe(), b in recipe()) {
        let budget = Budget::new(Limits::default());
        let heap = Heap::new(&budget);
        let [first, again] = [(); 2].map(|()| make(&heap, &a).expect("no limit is near"));
        let other = make(&heap, &b).expect("no limit is near");
        let equal = |a, b| is_equal(&heap, a, b).expect("no limit is near");
        prop_assert_eq!(equal(&first, &again), !has_nan(&a));
        prop_assert_eq!(equal(&first, &other), equal(&other, &first));
        // The very same container is equal to itself whatever it holds, as in Python.
        let container = matches!(first.kind(), Kind::List | Kind::Tuple | Kind::Map);
        prop_assert_eq!(equal(&first, &first), container || !has_nan(&a));
    }

    #[test]
    fn equality_does_not_tell_data_of_the_caller_from_produced_values(
        a in documents::document(),
        b in documents::document(),
    ) {
        let copy = a.clone();
        let budget = Budget::new(Limits::default());
        let heap = Heap::new(&budget);
        let both = |document| [Value::Json(document), produced::produced(&heap, document).expect("no limit is near")];
        for (left, right, expected) in [(&a, &b, same(&a, &b)), (&a, &copy, true)] {
            for x in both(left) {
                for y in both(right) {
                    prop_assert_eq!(is_equal(&heap, &x, &y).expect("no limit is near"), expected);
                    prop_assert_eq!(is_equal(&heap, &y, &x).expect("no limit is near"), expected);
                }
            }
        }
    }

    #[test]
    fn the_order_of_numbers_is_exact(a in number(), b in number()) {
        prop_assert_eq!(order_numbers(a, b), exact_order(a, b));
        prop_assert_eq!(order_numbers(a, b), order_numbers(b, a).map(Ordering::reverse));
    }

    #[test]
    fn the_order_of_numbers_is_transitive(a in number(), b in number(), c in number()) {
        if let (Some(ab), Some(bc), Some(ac)) = (order_numbers(a, b), order_numbers(b, c), order_numbers(a, c)) {
            if ab == bc {
                prop_assert_eq!(ac, ab);
            }
            if ab == Ordering::Equal {
                prop_assert_eq!(ac, bc);
            }
        }
    }

    #[test]
    fn lists_are_ordered_by_their_first_difference(a in lists(), b in lists()) {
        let (json_a, json_b) = (serde_json::json!(a), serde_json::json!(b));
        let budget = Budget::new(Limits::default());
        let heap = Heap::new(&budget);
        let both = |document| [Value::Json(document), produced::produced(&heap, document).expect("no limit is near")];
        for x in both(&json_a) {
            for y in both(&json_b) {
                let order = order_values(&heap, &x, &y, &mut order_ints).expect("no limit is near");
                prop_assert_eq!(order, a.cmp(&b));
            }
        }
    }

    #[test]
    fn only_the_first_pair_that_differs_is_put_in_order(
        shared in prop::collection::vec(recipe(), 0..3),
        rest in prop::collection::vec(recipe(), 0..3),
    ) {
        prop_assume!(!shared.iter().any(has_nan));
        let budget = Budget::new(Limits::default());
        let heap = Heap::new(&budget);
        let list = |middle| {
            let parts = shared.iter().chain([&middle]).chain(&rest).map(|part| make(&heap, part));
            let parts: Result<Vec<_>> = parts.collect();
            heap.list_of(parts.expect("no limit is near")).expect("no limit is near")
        };
        let (a, b) = (list(Recipe::Int(1)), list(Recipe::Text("x".into(), false)));
        let mut asked = 0;
        let result = order_values(&heap, &a, &b, &mut |a, b| {
            asked += 1;
            assert_eq!((a.as_i64(), b.as_str()), (Some(1), Some("x")));
            Err(Error::runtime("no order"))
        });
        prop_assert!(result.is_err() && asked == 1);
    }

    #[test]
    fn a_range_holds_what_counting_gives(
        start in prop_oneof![-9..10_i64, any::<i64>()],
        stop in prop_oneof![-9..10_i64, any::<i64>()],
        step in prop_oneof![-4..5_i64, any::<i64>()].prop_filter("not 0", |step| *step != 0),
        probe in any::<Index>(),
        number in any::<i64>(),
    ) {
        let range = Range::new(start, stop, step).expect("a step");
        let (wide_start, wide_stop, wide_step) = (i128::from(start), i128::from(stop), i128::from(step));
        let gap = if step > 0 { wide_stop - wide_start } else { wide_start - wide_stop };
        let len = if gap <= 0 { 0 } else { (gap - 1) / wide_step.abs() + 1 };
        prop_assert_eq!(i128::from(range.len()), len);
        prop_assert_eq!(range.is_empty(), len == 0);
        prop_assert_eq!(range.get(range.len()), None);
        let is_in = |number: i64| {
            let distance = i128::from(number) - wide_start;
            distance % wide_step == 0 && (0..len).contains(&(distance / wide_step))
        };
        prop_assert_eq!(range.contains(number), is_in(number));
        if len > 0 {
            for at in [0, len - 1, probe.index(usize::try_from(len).unwrap_or(usize::MAX)) as i128] {
                let item = wide_start + wide_step * at;
                prop_assert_eq!(range.get(at as u64).map(i128::from), Some(item));
                prop_assert!(range.contains(item as i64));
            }
        }
    }

    #[test]
    fn ranges_are_equal_when_their_items_are(
        a in (-3..4_i64, -3..4_i64, 1..4_i64),
        b in (-3..4_i64, -3..4_i64, 1..4_i64),
    ) {
        let budget = Budget::new(Limits::default());
        let heap = Heap::new(&budget);
        let make = |(start, stop, step)| heap.range(Range::new(start, stop, step).expect("a step")).expect("fits");
        let (a, b) = (make(a), make(b));
        let items = |value| heap.iter(value).expect("a range").map(|item| item.as_i64()).collect::<Vec<_>>();
        prop_assert_eq!(is_equal(&heap, &a, &b).expect("no limit is near"), items(&a) == items(&b));
    }

    #[test]
    fn the_digits_of_a_float_are_the_shortest(float in any::<f64>()) {
        let Some(digits) = Digits::from_f64(float) else {
            prop_assert!(!float.is_finite());
            return Ok(());
        };
        let shown = format!("{:e}", float.abs());
        let (mantissa, exponent) = shown.split_once('e').expect("scientific");
        prop_assert_eq!(digits.point - 1, exponent.parse::<i32>().expect("a number"));
        let expected = mantissa.replace('.', "");
        if digits.as_str() != expected {
            // Half way between two texts Rust takes the higher one; Python and Go the even one.
            let even = expected.parse::<u64>().expect("digits") - 1;
            prop_assert_eq!(digits.as_str(), even.to_string());
            prop_assert_eq!(even % 2, 0);
        }
        prop_assert_eq!(digits.negative, float.is_sign_negative());
        let mut text = String::new();
        write_float_repr(float, &mut text);
        prop_assert_eq!(text.parse::<f64>().expect("a number").to_bits(), float.to_bits());
    }

    #[test]
    fn a_key_finds_what_the_map_has_whatever_its_hint_is(
        maps in prop::collection::vec(
            prop::collection::vec((prop_oneof!["[a-e]", "[a-z]{1,2}"], any::<u8>()), 0..40),
            1..6,
        ),
        names in prop::collection::vec("[a-f]{1,2}", 1..4),
        looks in prop::collection::vec((any::<Index>(), any::<Index>()), 0..40),
    ) {
        let maps: Vec<Map<String, Json>> = maps
            .into_iter()
            .map(|entries| entries.into_iter().map(|(key, value)| (key, Json::from(value))).collect())
            .collect();
        let keys: Vec<_> = names.into_iter().map(Key::new).collect();
        for (map, key) in looks {
            let (map, key) = (map.get(&maps), key.get(&keys));
            prop_assert_eq!(key.find_in(map), map.get(key.name()));
            prop_assert_eq!(key.clone().find_in(map), map.get(key.name()));
        }
    }

    #[test]
    fn kept_items_are_found_in_the_order_of_pushing(items in prop::collection::vec(any::<u16>(), 0..200)) {
        let keep = Keep::new();
        let references: Vec<&u16> = items.iter().map(|item| keep.push(*item)).collect();
        prop_assert!(references.into_iter().eq(&items));
        prop_assert_eq!((keep.len(), keep.is_empty()), (items.len(), items.is_empty()));
        prop_assert!(keep.iter().eq(&items));
        for index in 0..items.len() + 20 {
            prop_assert_eq!(keep.get(index), items.get(index));
        }
    }

    #[test]
    fn a_name_with_one_slip_is_found_among_strangers(
        name in "[a-m]{4,12}",
        at in any::<Index>(),
        slip in 0..4_u8,
        strangers in prop::collection::vec("[n-z]{12,20}", 0..5),
    ) {
        let mut letters: Vec<char> = name.chars().collect();
        let place = at.index(letters.len() - 1);
        match slip {
            0 => letters.insert(place, 'z'),
            1 => drop(letters.remove(place)),
            2 => letters[place] = 'z',
            _ => letters.swap(place, place + 1),
        }
        let wrong: String = letters.into_iter().collect();
        prop_assume!(wrong != name);
        let known = strangers.iter().map(String::as_str).chain([name.as_str()]);
        prop_assert_eq!(near_names(&wrong, known), std::slice::from_ref(&name));
    }

    #[test]
    fn near_names_are_at_most_three_known_ones_and_never_the_name_itself(
        wanted in "\\PC{0,80}",
        known in prop::collection::vec("\\PC{0,80}", 0..12),
    ) {
        let near = near_names(&wanted, known.iter().map(String::as_str).chain([wanted.as_str()]));
        prop_assert!(near.len() <= 3);
        prop_assert!(near.iter().all(|name| known.contains(name) && *name != wanted));
    }
}

#[derive(Debug)]
struct Thing;

impl Object for Thing {
    fn type_name(&self) -> &str {
        "thing"
    }
}

#[test]
fn what_has_no_contents_is_equal_to_itself_alone() {
    let budget = Budget::new(Limits::default());
    let heap = Heap::new(&budget);
    let pieces = || {
        let mut capture: Output<'_> = Output::new_capture(&budget);
        capture.write_bytes(b"\xff", Site::default()).expect("fits");
        capture.into_value(false).expect("fits")
    };
    let make = || {
        [
            heap.map().expect("fits").finish_namespace(),
            heap.list().expect("fits").finish_once(),
            heap.host_object(Thing).expect("fits"),
            pieces(),
        ]
    };
    for (a, b) in make().into_iter().zip(make()) {
        assert!(is_equal(&heap, &a, &a.clone()).expect("no limit is near"), "{a:?}");
        assert!(!is_equal(&heap, &a, &b).expect("no limit is near"), "{a:?}");
    }
}

#[test]
fn a_sequence_that_can_be_gone_over_once_goes_on_where_it_was_left() {
    let budget = Budget::new(Limits::default());
    let heap = Heap::new(&budget);
    let mut list = heap.list().expect("fits");
    for n in 0..4 {
        list.push(Value::Int(n)).expect("fits");
    }
    let once = list.finish_once();
    let ints = |value: &Value<'_>| value.as_i64();
    let mut first = heap.iter(&once).expect("a sequence");
    assert_eq!(first.next().as_ref().and_then(ints), Some(0));
    assert_eq!(first.size_hint(), (3, Some(3)));
    let mut second = heap.iter(&once).expect("a sequence");
    assert_eq!(second.next().as_ref().and_then(ints), Some(1));
    assert_eq!(first.map(|value| value.as_i64()).collect::<Vec<_>>(), [Some(2), Some(3)]);
    assert_eq!((second.next().is_none(), second.size_hint()), (true, (0, Some(0))));
    assert_eq!(heap.iter(&once).expect("a sequence").count(), 0);
    assert_eq!((heap.len(&once), heap.item(&once, 0).is_none()), (None, true));
}
