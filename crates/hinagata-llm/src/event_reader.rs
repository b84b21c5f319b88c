//! Reads the answers of providers as neutral events.

use hinagata::Result;
use serde_json::Value;

use crate::{
    ProviderKind,
    completion::{completion_to_chunk, invalid_response, stream_error},
    events::{AnswerEvent, AnswerEvents, AnswerHead},
    failure::incomplete_error,
    providers::{StreamTranslator, openai_spec},
};

/// Turns the pieces of a provider's streamed answer into events.
pub(crate) struct EventReader {
    provider: ProviderKind,
    pieces: Box<dyn StreamTranslator>,
    events: AnswerEvents,
}

impl EventReader {
    /// A reader for one answer of a provider.
    pub(crate) fn new(provider: ProviderKind, model: &str) -> Self {
        Self { provider, pieces: (provider.spec().new_translator)(), events: AnswerEvents::new(model) }
    }

    /// Reads one piece.
    ///
    /// # Errors
    /// Code `model`: reason `answer` if it is not JSON, reason `stream` if it reports an error.
    pub(crate) fn push_piece(&mut self, data: &[u8]) -> Result<()> {
        if data == b"[DONE]" {
            return Ok(());
        }
        let piece: Value =
            serde_json::from_slice(data).map_err(|_| invalid_response(self.provider.name()))?;
        if let Some(error) = piece.get("error").filter(|error| !error.is_null()) {
            return Err(stream_error(error));
        }
        self.pieces.translate_piece(&piece, &mut self.events);
        Ok(())
    }

    /// What the answer is about, as far as it is known.
    pub(crate) fn head(&mut self) -> &mut AnswerHead {
        &mut self.events.head
    }

    /// Takes the events that are ready.
    pub(crate) fn take_events(&mut self) -> (&AnswerHead, Vec<AnswerEvent>) {
        (&self.events.head, std::mem::take(&mut self.events.list))
    }

    /// Ends the answer after the last piece.
    ///
    /// # Errors
    /// Code `model`, reason `stream`, if the answer is not complete.
    pub(crate) fn finish(&mut self) -> Result<()> {
        self.pieces.end_stream(&mut self.events);
        if self.events.finished { Ok(()) } else { Err(incomplete_error()) }
    }
}

/// The events of a complete chat completion; `None` if it is not one.
pub(crate) fn completion_events(completion: &Value) -> Option<AnswerEvents> {
    let chunk = completion_to_chunk(completion)?;
    let mut pieces = (openai_spec().new_translator)();
    let mut events = AnswerEvents::new("");
    pieces.translate_piece(&chunk, &mut events);
    pieces.end_stream(&mut events);
    // A completion is complete, whether it says why it ended or not.
    events.push_finish("stop", None);
    Some(events)
}
