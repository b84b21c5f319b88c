//! One difference.

use serde_json::{Value, json};

use crate::output;

/// Something that differs from the older daemon.
pub(super) struct Finding {
    /// What it belongs to, such as `chat`.
    pub(super) topic: &'static str,
    /// Whether it stops working until somebody decides what to do.
    pub(super) needs_decision: bool,
    /// The setting, host, key or prompt that it is about.
    pub(super) subject: String,
    pub(super) message: String,
    /// What to do.
    pub(super) advice: Option<String>,
    /// The prompts that cannot be used because of it.
    pub(super) hidden_prompts: Vec<String>,
}

impl Finding {
    /// A finding that somebody must decide about.
    pub(super) fn decision(
        topic: &'static str,
        subject: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self { needs_decision: true, ..Self::note(topic, subject, message) }
    }

    /// A finding to know.
    pub(super) fn note(topic: &'static str, subject: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            topic,
            needs_decision: false,
            subject: subject.into(),
            message: message.into(),
            advice: None,
            hidden_prompts: Vec::new(),
        }
    }

    pub(super) fn with_advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    pub(super) fn to_json(&self) -> Value {
        json!({
            "topic": self.topic,
            "needs_decision": self.needs_decision,
            "subject": self.subject,
            "message": self.message,
            "hint": self.advice,
            "hidden_prompts": self.hidden_prompts,
        })
    }

    pub(super) fn to_text(&self) -> String {
        let mut text = format!("{}: {}\n    {}\n", self.topic, self.subject, self.message);
        if !self.hidden_prompts.is_empty() {
            text.push_str(&format!("    hidden: {}\n", self.hidden_prompts.join(", ")));
        }
        if let Some(advice) = &self.advice {
            text.push_str(&format!("    to do: {advice}\n"));
        }
        // Keys and messages contain what others wrote; each line is one of ours.
        let clean = |line: &str| format!("{}\n", output::sanitize_text(line));
        text.lines().map(clean).collect()
    }
}
