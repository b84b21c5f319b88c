//! The source map as JSON: tables, and spans as rows of numbers.

use serde_json::{Value, json};

use super::{ExplainMap, KINDS, MapUnits, TOOL, VALUE, units::UnitOffsets};

impl ExplainMap {
    /// The map as JSON: tables, and spans as rows of numbers `[length, kind, place, via, of, from]`, in which -1 means
    /// none. Lengths and offsets of texts count in `units`; places are bytes.
    #[must_use]
    pub fn to_json(&self, units: MapUnits) -> Value {
        let number = |number: Option<u32>| number.map_or(-1, i64::from);
        let values: Vec<_> = self
            .values
            .iter()
            .map(|value| value.text.as_deref().map(|text| UnitOffsets::new(text, units)))
            .collect();
        let texts = self.texts.iter().map(|text| {
            let mut at = 0;
            let rows = text.spans.iter().map(|span| {
                let piece = &text.text[at..at + span.length];
                at += span.length;
                let printed = span.of.filter(|_| matches!(span.kind, VALUE | TOOL));
                let printed = printed.and_then(|of| values.get(of as usize)?.as_ref());
                let from = printed.map_or(span.from, |printed| printed.units_before(span.from));
                json!([
                    units.length(piece),
                    span.kind,
                    number(span.place),
                    number(span.via),
                    number(span.of),
                    from
                ])
            });
            let rows: Vec<Value> = rows.collect();
            json!({"message": text.message, "part": text.part, "text": text.text, "spans": rows})
        });
        let texts: Vec<Value> = texts.collect();
        let whole: Vec<_> = self.texts.iter().map(|text| UnitOffsets::new(&text.text, units)).collect();
        let absent = self.absent.iter().map(|absent| {
            let text = whole.get(absent.text);
            json!({
                "text": text.map(|_| absent.text), "at": text.map(|text| text.units_before(absent.offset)),
                "place": absent.place, "via": number(absent.via), "reason": absent.reason, "inputs": absent.inputs,
            })
        });
        let absent: Vec<Value> = absent.collect();
        let places: Vec<_> =
            self.places.iter().map(|at| [at.file, at.start, at.end, at.line, at.column]).collect();
        let via = self.via.iter().map(|step| {
            let mut row = json!({"parent": number(step.parent), "kind": step.kind, "place": step.place});
            match &step.name {
                Some(name) => row["name"] = name.as_str().into(),
                None => row["turn"] = step.turn.into(),
            }
            row
        });
        let via: Vec<Value> = via.collect();
        let filters = self.filters.iter().filter(|(_, names)| !names.is_empty());
        let filters: Vec<Value> =
            filters.map(|(place, names)| json!({"place": place, "names": names})).collect();
        json!({
            "units": units.name(), "kinds": KINDS, "files": self.files, "places": places, "filters": filters,
            "values": self.values, "inputs": self.inputs, "sections": self.sections, "via": via, "texts": texts, "absent": absent, "shares": self.shares(),
            "complete": self.is_complete,
        })
    }
}
