//! A limit may allow more memory than the machine has: that is an error then, not an abort.
//!
//! A binary of its own: the allocator that counts for the other tests panics where an allocation fails.

use hinagata_value::{Budget, Heap, LimitKind, Limits, Output, Result, Segments, Text, Value};

fn limit<T>(result: Result<T>) -> Option<LimitKind> {
    result.err().expect("over the limit").limit()
}

#[test]
fn more_memory_than_there_is_is_refused_where_the_limit_allows_it() {
    let limits = || Limits { bytes: usize::MAX, fill: usize::MAX, steps: u64::MAX, ..Limits::default() };
    let budget = Budget::new(limits());
    let heap = Heap::new(&budget);
    let mut text = heap.text();
    text.push_str("a").expect("fits");
    let mut list = heap.list().expect("fits");
    list.push(Value::None).expect("fits");
    let before = budget.bytes_alive();
    for much in [1 << 58, usize::MAX / 2, usize::MAX] {
        let bytes = Some(LimitKind::Bytes);
        assert_eq!(limit(Text::with_capacity(&budget, much)), bytes);
        assert_eq!(limit(text.reserve(much)), bytes);
        assert_eq!(limit(text.push_repeated("abc", much)), bytes);
        assert_eq!(limit(list.reserve(much)), bytes);
        assert_eq!(limit(Output::<Segments>::with_capacity(&budget, much)), bytes);
        assert_eq!(budget.bytes_alive(), before);
    }
    text.push_str("b").expect("still works");
    assert_eq!(text.as_str(), "ab");
    list.push(Value::None).expect("still works");
}
