//! Writes Jinja whose literal text survives unchanged.

/// A Jinja template under construction.
#[derive(Clone, Debug, Default)]
pub(crate) struct JinjaText {
    written: String,
    /// Whether the last thing written is literal text.
    ends_with_text: bool,
}

impl JinjaText {
    /// Appends text that the template prints as it is.
    pub(crate) fn push_text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        let mut rest = text;
        // An open brace before this text and one at its start would become a delimiter.
        if self.ends_with_text && self.written.ends_with('{') && rest.starts_with(['{', '%', '#']) {
            self.guard_brace();
        }
        while let Some(at) = rest.find('{') {
            let next = rest[at + 1..].chars().next();
            match next {
                Some(second @ ('{' | '%' | '#')) => {
                    self.written.push_str(&rest[..at]);
                    self.written.push_str("{{ \"{");
                    self.written.push(second);
                    self.written.push_str("\" }}");
                    rest = &rest[at + 2..];
                }
                _ => {
                    self.written.push_str(&rest[..=at]);
                    rest = &rest[at + 1..];
                }
            }
        }
        self.written.push_str(rest);
        self.ends_with_text = !rest.is_empty() || self.written.ends_with('{');
    }

    /// Appends a tag that prints an expression.
    pub(crate) fn push_print(&mut self, expression: &str) {
        self.before_tag();
        self.written.push_str("{{ ");
        self.written.push_str(expression);
        self.written.push_str(" }}");
    }

    /// Appends a statement.
    pub(crate) fn push_tag(&mut self, statement: &str) {
        self.before_tag();
        self.written.push_str("{% ");
        self.written.push_str(statement);
        self.written.push_str(" %}");
    }

    /// Appends a template that was written by another `JinjaText`.
    pub(crate) fn push_template(&mut self, other: &Self) {
        if other.written.is_empty() {
            return;
        }
        if other.written.starts_with(['{', '%', '#']) {
            self.before_tag();
        }
        self.written.push_str(&other.written);
        self.ends_with_text = other.ends_with_text;
    }

    /// Appends a piece of a template that starts and ends with a tag, or is empty.
    pub(crate) fn push_statements(&mut self, template: &str) {
        if !template.is_empty() {
            self.before_tag();
            self.written.push_str(template);
        }
    }

    fn before_tag(&mut self) {
        if self.ends_with_text && self.written.ends_with('{') {
            self.guard_brace();
        }
        self.ends_with_text = false;
    }

    fn guard_brace(&mut self) {
        self.written.pop();
        self.written.push_str("{{ \"{\" }}");
    }

    /// How many bytes were written.
    pub(crate) fn len(&self) -> usize {
        self.written.len()
    }

    /// The template. Jinja removes the last line break of a source, so one is added.
    pub(crate) fn finish(mut self) -> String {
        if self.written.ends_with('\n') {
            self.written.push('\n');
        }
        self.written
    }

    /// The template as a part of another one.
    pub(crate) fn as_str(&self) -> &str {
        &self.written
    }
}

/// A string literal of Jinja.
pub(crate) fn quote_string(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            control if control < ' ' => quoted.push_str(&format!("\\x{:02x}", u32::from(control))),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

/// A literal text as a template of its own.
pub(crate) fn literal_template(text: &str) -> String {
    let mut written = JinjaText::default();
    written.push_text(text);
    written.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delimiters_in_text_are_printed() {
        let mut written = JinjaText::default();
        written.push_text("{\"a\": {");
        written.push_print("n");
        written.push_text("}} {{x}} {% y {# z");
        written.push_text("{");
        written.push_text("{ end\n");
        assert_eq!(
            written.finish(),
            "{\"a\": {{ \"{\" }}{{ n }}}} {{ \"{{\" }}x}} {{ \"{%\" }} y {{ \"{#\" }} z{{ \"{\" }}{ end\n\n"
        );
    }
}
