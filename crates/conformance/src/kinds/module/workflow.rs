//! Processes: the calls that they make with scripted answers.
//!
//! The calls and the output, or the partial result of a failed process, are compared. The reference checks its limits
//! after it has taken a chunk, so that a call can exceed the limit by one chunk. The product does not. Where a
//! recorded call exceeds the limit, the expected calls are recomputed within it.

use serde_json::{Map, Value, json};

use super::Vector;

/// The processes of the product.
const KNOWN: [&str; 4] = ["stream", "concat", "dialogue", "summarize"];

/// The input and the expected answer of a vector, or `None` if it is not compared.
pub(super) fn expected_calls(vector: &Vector) -> Option<(Map<String, Value>, Value)> {
    let process = vector.input.get("workflow")?.as_str()?;
    if vector.has_tag("quirk") || !KNOWN.contains(&process) {
        return None;
    }
    let recorded = vector.expect.as_ref()?;
    let mut input = vector.input.clone();
    let mut calls = recorded.get("calls").cloned().unwrap_or_default();
    let limits = ChunkLimits::from_input(&input);
    if limits.exceeded_by(&calls) {
        calls = limits.calls(&calls, &mut input)?;
    }
    let answer = match recorded.get("error") {
        Some(error) => {
            json!({"calls": calls, "partial": error["partialResult"].as_str().unwrap_or_default()})
        }
        None => json!({"calls": calls, "output": recorded["result"]["output"]}),
    };
    Some((input, answer))
}

/// Chunks, and how many of them a call may contain.
struct ChunkLimits {
    chunks: Vec<Value>,
    most: u64,
    tokens: u64,
}

impl ChunkLimits {
    fn from_input(input: &Map<String, Value>) -> Self {
        let limit = |name: &str| input.get("options").and_then(|options| options[name].as_u64());
        let chunks = input.get("context").and_then(|context| context["chunks"].as_array());
        Self {
            chunks: chunks.cloned().unwrap_or_default(),
            most: limit("maxChunk").unwrap_or(u64::MAX),
            tokens: limit("tokenLimit").unwrap_or(u64::MAX),
        }
    }

    fn allows(&self, chunks: &[Value]) -> bool {
        let tokens: u64 = chunks.iter().filter_map(|chunk| chunk["usage"].as_u64()).sum();
        chunks.len() as u64 <= self.most && tokens <= self.tokens
    }

    /// Whether a recorded call exceeds the limit. Elements of calls have no usage, the chunks of the context do.
    fn exceeded_by(&self, calls: &Value) -> bool {
        let mut rest = self.chunks.as_slice();
        calls.as_array().into_iter().flatten().any(|call| {
            let (taken, behind) = rest.split_at(chunks_in(call).min(rest.len()));
            rest = behind;
            taken.len() > 1 && !self.allows(taken)
        })
    }

    /// The chunks of each call.
    fn groups(&self) -> Vec<&[Value]> {
        let (mut groups, mut rest) = (Vec::new(), self.chunks.as_slice());
        while !rest.is_empty() {
            let fits = |count: &usize| *count == 1 || self.allows(&rest[..*count]);
            let count = (1..=rest.len()).take_while(fits).count();
            let (group, behind) = rest.split_at(count);
            groups.push(group);
            rest = behind;
        }
        groups
    }

    /// The calls within the limit: like the first recorded one, each with its own chunks and the previous answer as
    /// its state. The last answer is repeated for additional calls.
    fn calls(&self, recorded: &Value, input: &mut Map<String, Value>) -> Option<Value> {
        let first = recorded.get(0)?;
        let groups = self.groups();
        let answers = input.get_mut("responses")?.as_array_mut()?;
        let said = |answer: &Value| answer.as_str().map(str::to_owned);
        let failing = answers.iter().position(|answer| said(answer).is_none());
        if failing.is_none() {
            answers.resize(groups.len(), answers.last()?.clone());
        }
        let count = failing.map_or(groups.len(), |at| (at + 1).min(groups.len()));
        let call = |(number, group): (usize, &&[Value])| {
            let before = number.checked_sub(1).and_then(|before| said(&answers[before])).unwrap_or_default();
            call_with(first, group, &before)
        };
        Some(groups.iter().take(count).enumerate().map(call).collect())
    }
}

fn is_chunk(element: &Value) -> bool {
    element["type"] == "chunk"
}

fn chunks_in(call: &Value) -> usize {
    call["data"].as_array().into_iter().flatten().filter(|element| is_chunk(element)).count()
}

/// A call like `first`, with these chunks and this state.
fn call_with(first: &Value, chunks: &[Value], state: &str) -> Value {
    let mut call = first.clone();
    let Some(data) = call["data"].as_array_mut() else { return call };
    data.retain(|element| !is_chunk(element));
    for element in data.iter_mut().filter(|element| element["title"] == "Current State") {
        let text = element["items"][0].as_str().unwrap_or_default();
        element["items"][0] = format!("{text}{state}").into();
    }
    data.extend(
        chunks
            .iter()
            .map(|chunk| json!({"type": "chunk", "content": chunk["content"], "partOf": chunk["partOf"]})),
    );
    call
}
