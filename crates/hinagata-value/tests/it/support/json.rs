//! Random JSON documents.

use proptest::prelude::*;
use serde_json::{Map, Number, Value as Json};

/// Any document of moderate size.
pub(crate) fn document() -> impl Strategy<Value = Json> {
    scalar().prop_recursive(4, 48, 12, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..12).prop_map(Json::Array),
            prop::collection::vec((key(), inner), 0..12)
                .prop_map(|entries| Json::Object(Map::from_iter(entries))),
        ]
    })
}

/// Anything but lists and maps.
pub(crate) fn scalar() -> impl Strategy<Value = Json> {
    prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        (-3_i64..4).prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        any::<u64>().prop_map(Json::from),
        prop_oneof![any::<f64>(), (-3_i8..4).prop_map(|n| f64::from(n) / 2.0)]
            .prop_filter_map("JSON has no infinity", |float| Number::from_f64(float).map(Json::Number)),
        text().prop_map(Json::String),
    ]
}

/// Keys that meet each other often.
pub(crate) fn key() -> impl Strategy<Value = String> {
    prop_oneof![3 => "[a-d]", 1 => text()]
}

/// Text with everything that JSON has to escape.
pub(crate) fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[ -~]{0,8}", "[\u{0}-\u{a0}é雛🎎\u{2028}<>&'\"\\\\/]{0,8}"]
}
