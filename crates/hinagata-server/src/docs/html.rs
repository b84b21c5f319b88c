//! Texts in HTML.

/// Escapes a text, also for the value of an attribute in double quotes.
pub(super) fn escape_html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// Escapes a text in which backticks enclose code.
pub(super) fn code_html(text: &str) -> String {
    let parts = text.split('`').enumerate();
    let part = |(index, part): (usize, &str)| {
        let part = escape_html(part);
        if index % 2 == 1 { format!("<code>{part}</code>") } else { part }
    };
    parts.map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_leave_its_place() {
        assert_eq!(escape_html("<a b=\"&\">"), "&lt;a b=&quot;&amp;&quot;&gt;");
        assert_eq!(code_html("use `<x>` & go"), "use <code>&lt;x&gt;</code> &amp; go");
    }
}
