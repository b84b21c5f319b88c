//! Documents of the caller as values that a template produced.

use hinagata_value::{Heap, Number, Result, Value};
use serde_json::Value as Json;

/// The document as produced values: lists and maps of the template's own, down to the leaves.
pub(crate) fn produced<'a>(heap: &Heap<'a>, document: &Json) -> Result<Value<'a>> {
    Ok(match document {
        Json::Null => Value::None,
        Json::Bool(flag) => Value::Bool(*flag),
        Json::Number(number) => heap.number(Number::from_json(number))?,
        Json::String(text) => heap.string(text)?,
        Json::Array(items) => {
            let items: Result<Vec<_>> = items.iter().map(|item| produced(heap, item)).collect();
            heap.list_of(items?)?
        }
        Json::Object(map) => {
            let mut copy = heap.map()?;
            for (key, value) in map {
                copy.insert(heap.string(key)?, produced(heap, value)?)?;
            }
            copy.finish()
        }
    })
}
