//! A produced map behaves like a list of pairs in which equal keys are one, as in Python.

use std::rc::Rc;

use hinagata_value::{Budget, EngineRef, Heap, Key, Limits, Map, Owner, Result, Undefined, Value, is_equal};
use proptest::{prelude::*, sample::Index};

/// Every key of the test, many of them equal to another one of a different type.
fn keys<'a>(heap: &Heap<'a>) -> Result<Vec<Value<'a>>> {
    let big = 1_i128 << 100;
    let mut keys =
        vec![Value::None, Value::Bool(false), Value::Bool(true), Value::Float(0.5), Value::Float(-0.0)];
    keys.extend((0..8).flat_map(|n: i32| [Value::Int(i64::from(n)), Value::Float(f64::from(n))]));
    keys.extend([heap.int(big)?, Value::Float(big as f64), heap.int(big + 1)?]);
    // Beyond 10^38, and the largest float that an integer of 128 bits is equal to.
    keys.extend([Value::Float(1.5e38), heap.int(1.5e38 as i128)?]);
    keys.extend([Value::Float(-(2_f64.powi(127))), heap.int(i128::MIN)?, Value::Float(2_f64.powi(127))]);
    keys.extend([Value::Float(f64::INFINITY), Value::Float(1e300)]);
    for text in ["", "0", "a", "b", "a longer key than the others"] {
        keys.extend([heap.string(text)?, heap.safe(text)?]);
    }
    keys.extend([heap.bytes(b"\xff")?, heap.bytes(b"\xfe")?]);
    keys.extend((0..2).map(|index| Value::Engine(EngineRef { kind: 3, index })));
    keys.extend([heap.tuple_of([])?, heap.tuple_of([heap.tuple_of([])?])?]);
    for n in 0..3 {
        keys.push(heap.tuple_of([Value::Int(n), heap.string("x")?])?);
        keys.push(heap.tuple_of([Value::Float(n as f64), heap.safe("x")?])?);
        keys.push(heap.tuple_of([heap.tuple_of([Value::Int(n)])?, Value::None])?);
    }
    Ok(keys)
}

#[derive(Clone, Debug)]
enum Operation {
    Insert(Index, i64),
    Remove(Index),
    Pop,
    Clear,
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        30 => (any::<Index>(), any::<i64>()).prop_map(|(key, value)| Operation::Insert(key, value)),
        10 => any::<Index>().prop_map(Operation::Remove),
        5 => Just(Operation::Pop),
        1 => Just(Operation::Clear),
    ]
}

/// The pairs that a map should have.
struct Model<'p, 'a> {
    heap: &'p Heap<'a>,
    pairs: Vec<(Value<'a>, i64)>,
}

impl<'a> Model<'_, 'a> {
    fn find(&self, key: &Value<'a>) -> Option<usize> {
        // Tuples of equal items are equal keys; comparing knows nothing of hashing.
        self.pairs.iter().position(|(other, _)| is_equal(self.heap, other, key).expect("no limit is near"))
    }
}

fn assert_same<'a>(heap: &Heap<'a>, map: &Rc<Map<'a>>, model: &Model<'_, 'a>, keys: &[Value<'a>]) {
    assert_eq!((map.len(), map.is_empty()), (model.pairs.len(), model.pairs.is_empty()));
    let value = Value::Map(map.clone());
    let entries: Vec<_> = heap.entries(&value).expect("a map").collect();
    assert_eq!(entries.len(), model.pairs.len());
    for ((key, value), (wanted, number)) in entries.iter().zip(&model.pairs) {
        assert!(is_equal(heap, key, wanted).expect("no limit is near"));
        assert_eq!(key.kind(), wanted.kind(), "the first of equal keys stays");
        assert_eq!(value.as_i64(), Some(*number));
    }
    for key in keys {
        let wanted = model.find(key).map(|at| model.pairs[at].1);
        let found = heap.lookup(&value, key).expect("a key");
        assert_eq!(found.and_then(|value| value.as_i64()), wanted, "{key:?}");
        if let Some(text) = key.as_str() {
            assert_eq!(heap.entry(&value, text).and_then(|value| value.as_i64()), wanted);
            assert_eq!(heap.attribute(&value, &Key::new(text)).and_then(|value| value.as_i64()), wanted);
        }
    }
    assert!(
        heap.iter(&value).expect("a map").map(|key| key.kind()).eq(entries.iter().map(|(key, _)| key.kind()))
    );
}

fn check(operations: &[Operation], keys_used: usize) {
    let budget = Budget::new(Limits { steps: u64::MAX, ..Limits::default() });
    let heap = Heap::new(&budget);
    let keys = keys(&heap).expect("no limit is near");
    let used = &keys[..keys_used.min(keys.len())];
    let Value::Map(map) = heap.map().expect("no limit is near").finish() else {
        unreachable!("a map was built")
    };
    let mut model = Model { heap: &heap, pairs: Vec::new() };
    for operation in operations {
        match operation {
            Operation::Insert(key, value) => {
                let key = key.get(used);
                heap.insert(&map, key.clone(), Value::Int(*value)).expect("no limit is near");
                match model.find(key) {
                    Some(at) => model.pairs[at].1 = *value,
                    None => model.pairs.push((key.clone(), *value)),
                }
            }
            Operation::Remove(key) => {
                let key = key.get(used);
                let removed = heap.remove(&map, key).expect("a key").and_then(|value| value.as_i64());
                assert_eq!(removed, model.find(key).map(|at| model.pairs.remove(at).1));
            }
            Operation::Pop => {
                let popped = heap.pop_entry(&map);
                let wanted = model.pairs.pop();
                assert_eq!(
                    popped.as_ref().and_then(|(_, value)| value.as_i64()),
                    wanted.as_ref().map(|pair| pair.1)
                );
            }
            Operation::Clear => {
                heap.clear_map(&map);
                model.pairs.clear();
            }
        }
        assert_same(&heap, &map, &model, &keys);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_map_is_a_list_of_pairs(operations in prop::collection::vec(operation(), 1..80)) {
        check(&operations, usize::MAX);
    }

    #[test]
    fn a_map_around_the_size_where_its_index_starts_is_one_too(operations in prop::collection::vec(operation(), 1..80)) {
        // Some ten different keys.
        check(&operations, 17);
    }
}

#[test]
fn a_map_of_many_entries_finds_each_of_them() {
    let budget = Budget::new(Limits::default());
    let heap = Heap::new(&budget);
    let mut map = heap.map().expect("fits");
    for n in 0..5_000 {
        map.insert(heap.string(&format!("key {n}")).expect("fits"), Value::Int(n)).expect("fits");
    }
    let map = map.finish();
    for n in 0..5_000 {
        assert_eq!(heap.entry(&map, &format!("key {n}")).and_then(|value| value.as_i64()), Some(n));
    }
    assert!(heap.entry(&map, "key 5000").is_none());
}

#[test]
fn what_can_change_cannot_be_a_key() {
    let budget = Budget::new(Limits::default());
    let heap = Heap::new(&budget);
    let Value::Map(map) = heap.map().expect("fits").finish() else { unreachable!("a map was built") };
    let list = heap.list().expect("fits").finish();
    let refused = [
        (Value::Map(map.clone()), "a map cannot be a key"),
        (heap.tuple_of([Value::Map(map.clone())]).expect("fits"), "a map cannot be a key"),
        (
            heap.tuple_of([heap.tuple_of([list.clone()]).expect("fits")]).expect("fits"),
            "a list cannot be a key",
        ),
        (list, "a list cannot be a key"),
        (heap.map().expect("fits").finish_namespace(), "a namespace cannot be a key"),
    ];
    for (key, message) in refused {
        let insert = heap.insert(&map, key.clone(), Value::None).expect_err("no key");
        assert_eq!(insert.message(), message);
        assert!(map.get(&key).is_err() && heap.remove(&map, &key).is_err());
        assert!(map.is_empty());
    }
}

#[test]
fn all_undefined_values_are_one_key() {
    let budget = Budget::new(Limits::default());
    let heap = Heap::new(&budget);
    let Value::Map(map) = heap.map().expect("fits").finish() else { unreachable!("a map was built") };
    let of_a_list = Value::Undefined(Undefined { owner: Owner::List, name: None });
    heap.insert(&map, Value::UNDEFINED, Value::Int(1)).expect("is a key");
    heap.insert(&map, of_a_list.clone(), Value::Int(2)).expect("is a key");
    assert_eq!(map.len(), 1);
    assert_eq!(map.get(&Value::UNDEFINED).expect("is a key").and_then(|value| value.as_i64()), Some(2));
    assert!(map.get(&Value::None).expect("is a key").is_none(), "none is another");
}

#[test]
fn a_nan_is_found_again_as_the_key_it_is() {
    let budget = Budget::new(Limits::default());
    let heap = Heap::new(&budget);
    let mut map = heap.map().expect("fits");
    map.insert(Value::Float(f64::NAN), Value::Int(1)).expect("fits");
    map.insert(Value::Float(f64::NAN), Value::Int(2)).expect("fits");
    assert_eq!(map.get(&Value::Float(f64::NAN)).expect("a key").and_then(|value| value.as_i64()), Some(2));
    assert_eq!(heap.len(&map.finish()), Some(1));
}
