//! `dialogue`: the next answer in a conversation.

use hinagata::{
    Result,
    definition::module_error,
    module::{Message, PromptModule, Role, merge_modules},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{
    Answer, Ask, Note, Outcome, Phase, Running, State, Step,
    data::{conversation, message_tokens},
    modules,
};

/// Continues a conversation; with two passes the model first writes a note that prepares the answer.
///
/// The prompts read `messages`, and `materials`, `state` and `preparationNote` if they are set. The answer is appended to the messages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Dialogue {
    /// The conversation and the progress.
    pub context: DialogueContext,
    /// The options.
    #[serde(default)]
    pub options: DialogueOptions,
}

/// The conversation of a [`Dialogue`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DialogueContext {
    /// The messages, the oldest first.
    #[serde(default, with = "conversation")]
    pub messages: Vec<Message>,
    /// Texts to refer to: id, title, content.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub materials: Vec<Value>,
    /// The state of the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// The note of the first pass, until the answer is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preparation_note: Option<Note>,
    /// The answer, which is also the last message, until [`Process::run_calls`](crate::Process::run_calls) has returned it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<State>,
    /// Other variables of the prompts.
    #[serde(flatten)]
    pub variables: Map<String, Value>,
}

/// The options of a [`Dialogue`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DialogueOptions {
    /// Whether a note prepares the answer.
    pub two_pass: bool,
    /// Whether the process adds the state to the prompt.
    pub maintain_state: bool,
    /// Whether the process adds the materials to the prompt.
    pub include_materials: bool,
    /// Most tokens of the messages: the oldest turns are left out, but never the last one.
    pub target_tokens: Option<u64>,
}

impl Dialogue {
    /// A process for this conversation.
    #[must_use]
    pub fn new(messages: Vec<Message>) -> Self {
        Self { context: DialogueContext { messages, ..DialogueContext::default() }, ..Self::default() }
    }

    pub(crate) async fn run_calls(&mut self, running: &Running<'_>) -> Result<Outcome> {
        let mut left_out = 0;
        if self.context.answer.is_none() {
            running.keep_begin(self)?;
            left_out = self.make_calls(running).await?;
        }
        let preparation = self.context.preparation_note.take().map(|note| note.content);
        let answer = self.context.answer.take().unwrap_or_default();
        Ok(Outcome { left_out, preparation, ..Outcome::from_state(&answer) })
    }

    /// Asks for the note and the answer; returns how many messages were left out.
    async fn make_calls(&mut self, running: &Running<'_>) -> Result<usize> {
        let (messages, left_out) = self.within(running.model);
        let mut context = json!(self.context);
        context["messages"] = messages.into_iter().flat_map(Message::to_documents).collect();
        let total = if self.options.two_pass && self.context.preparation_note.is_none() { 2 } else { 1 };
        if total == 2 {
            let step = Step { phase: Phase::Preparation, number: 0, total, chunks: None };
            let answer = self.ask(running, &context, step, modules::preparation_module()).await?;
            self.context.preparation_note = Some(Note { content: answer.content });
            running.keep_answer(self, step)?;
            context["preparationNote"] = json!(self.context.preparation_note);
        }
        let says =
            if self.options.two_pass { modules::prepared_answer_module() } else { PromptModule::new() };
        let step = Step { phase: Phase::Reply, number: total - 1, total, chunks: None };
        let answer = self.ask(running, &context, step, says).await?;
        self.context.messages.push(Message::assistant(answer.content.as_str()));
        self.context.answer = Some(State::from_answer(answer, running.model));
        running.keep_answer(self, step)?;
        Ok(left_out)
    }

    async fn ask(
        &self,
        running: &Running<'_>,
        context: &Value,
        step: Step,
        says: PromptModule<Value>,
    ) -> Result<Answer> {
        let state = self.options.maintain_state.then(modules::state_module);
        let materials = self.options.include_materials.then(modules::materials_module);
        let says = merge_modules(state.into_iter().chain(materials).chain([says])).map_err(module_error)?;
        running.ask_model(step, &says, context).await
    }

    /// The messages that fit, and the number of those that do not. System messages always stay. Turns are left out as a whole, so that
    /// every tool result keeps its call.
    fn within(&self, model: &dyn Ask) -> (Vec<&Message>, usize) {
        let all = &self.context.messages;
        let Some(limit) = self.options.target_tokens else { return (all.iter().collect(), 0) };
        let tokens: Vec<u64> = all.iter().map(|said| message_tokens(said, model)).collect();
        let mut sum: u64 = tokens.iter().sum();
        let mut from = 0;
        for start in turns(all).skip(1) {
            if sum <= limit {
                break;
            }
            let gone = (from..start).filter(|&at| !is_rule(&all[at]));
            sum -= gone.map(|at| tokens[at]).sum::<u64>();
            from = start;
        }
        let kept = |(at, said): &(usize, &Message)| *at >= from || is_rule(said);
        let kept: Vec<&Message> = all.iter().enumerate().filter(kept).map(|(_, said)| said).collect();
        let left_out = all.len() - kept.len();
        (kept, left_out)
    }
}

fn is_rule(said: &Message) -> bool {
    said.role() == Role::System
}

/// The starts of turns: the first message, and every user message after one of another role. Results of tools belong to
/// the turn of their calls.
fn turns(messages: &[Message]) -> impl Iterator<Item = usize> {
    let user = |at: usize| messages[at].role() == Role::User && messages[at].tool_results().next().is_none();
    (0..messages.len()).filter(move |&at| at == 0 || (user(at) && !user(at - 1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Answer;
    use hinagata::{module::CompiledPrompt, ports::PortFuture};

    struct Mute;

    impl Ask for Mute {
        fn ask_model<'a>(
            &'a self,
            _: CompiledPrompt,
            _: &'a (dyn Fn(&str) + Send + Sync),
        ) -> PortFuture<'a, Result<Answer>> {
            Box::pin(async { Ok(Answer::new("")) })
        }
    }

    fn said(role: &str, usage: u64) -> Message {
        Message::from_content(Role::from_name(role).expect("is a role"), role).with_usage(usage)
    }

    fn kept(messages: &[(&str, u64)], limit: u64) -> (String, usize) {
        let mut dialogue = Dialogue::new(messages.iter().map(|(role, usage)| said(role, *usage)).collect());
        dialogue.options.target_tokens = Some(limit);
        let (kept, left_out) = dialogue.within(&Mute);
        (kept.iter().map(|said| &said.role().name()[..1]).collect(), left_out)
    }

    #[test]
    fn the_oldest_turns_are_left_out_whole_and_the_rules_and_the_last_turn_stay() {
        let talk = [
            ("user", 10),
            ("assistant", 10),
            ("tool", 10),
            ("assistant", 10),
            ("system", 5),
            ("user", 10),
            ("assistant", 10),
            ("user", 10),
        ];
        assert_eq!(kept(&talk, 100), ("uatasuau".to_owned(), 0));
        assert_eq!(kept(&talk, 75), ("uatasuau".to_owned(), 0));
        assert_eq!(kept(&talk, 74), ("suau".to_owned(), 4));
        assert_eq!(kept(&talk, 34), ("su".to_owned(), 6));
        assert_eq!(kept(&talk, 1), ("su".to_owned(), 6));
    }

    #[test]
    fn what_is_not_counted_is_estimated() {
        let mut dialogue =
            Dialogue::new(vec![Message::user("x".repeat(400)), Message::assistant("y"), Message::user("z")]);
        dialogue.options.target_tokens = Some(99);
        assert_eq!(dialogue.within(&Mute).1, 2);
        dialogue.options.target_tokens = Some(102);
        assert_eq!(dialogue.within(&Mute).1, 0);
    }
}
