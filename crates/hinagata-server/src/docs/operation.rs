//! One operation of an OpenAPI document in HTML: what it takes and returns, and a form to try it.

use std::fmt::Write as _;

use serde_json::Value;

use super::{
    html::{code_html, escape_html},
    schema_fields::Schemas,
};

/// The address of the example calls, which [`super::docs_page`] replaces.
pub(super) const EXAMPLE_ADDRESS: &str = "http://127.0.0.1:8700";

/// An operation of the document.
pub(super) struct Operation<'d> {
    pub(super) method: String,
    pub(super) path: &'d str,
    pub(super) operation: &'d Value,
    schemas: Schemas<'d>,
}

/// All operations of a document, in its order.
pub(super) fn operations(document: &Value) -> impl Iterator<Item = Operation<'_>> {
    let paths = document["paths"].as_object().into_iter().flatten();
    paths.flat_map(move |(path, methods)| {
        methods.as_object().into_iter().flatten().map(move |(method, operation)| Operation {
            method: method.to_uppercase(),
            path,
            operation,
            schemas: Schemas::of_document(document),
        })
    })
}

impl Operation<'_> {
    /// Its id, which is also its anchor.
    pub(super) fn id(&self) -> &str {
        self.operation["operationId"].as_str().unwrap_or_default()
    }

    /// The group that it belongs to.
    pub(super) fn tag(&self) -> &str {
        self.operation["tags"][0].as_str().unwrap_or_default()
    }

    fn summary(&self) -> &str {
        self.operation["summary"].as_str().unwrap_or_default()
    }

    /// The body: its media type, its schema and example, and whether it is required.
    fn body(&self) -> Option<(&str, &Value, bool)> {
        let body = self.operation.get("requestBody")?;
        let (media, content) = body["content"].as_object()?.iter().next()?;
        Some((media, content, body["required"].as_bool().unwrap_or(false)))
    }

    fn parameters(&self) -> &[Value] {
        self.operation["parameters"].as_array().map(Vec::as_slice).unwrap_or_default()
    }

    /// The whole description, which opens below its summary.
    pub(super) fn push_details(&self, page: &mut String) {
        let Self { method, path, .. } = self;
        let _ = write!(
            page,
            "<details id=\"{}\"><summary><span class=method>{method}</span> <code>{}</code> \
             <span class=summary>{}</span></summary>",
            self.id(),
            escape_html(path),
            code_html(self.summary()),
        );
        let scope = match self.operation["x-scope"].as_str() {
            None => "No key is needed.".to_owned(),
            Some(scope) => format!("Scope of the key: <code>{}</code>", escape_html(scope)),
        };
        let _ = write!(page, "<p class=note>{scope}</p>");
        self.push_parameters(page);
        self.push_body(page);
        self.push_answers(page);
        let _ = write!(page, "<h3>Example call</h3><pre>{}</pre>", escape_html(&self.example_call()));
        self.push_form(page);
        page.push_str("</details>");
    }

    fn push_parameters(&self, page: &mut String) {
        if self.parameters().is_empty() {
            return;
        }
        page.push_str(
            "<h3>Parameters</h3><table><thead><tr><th>parameter<th>type<th>description</tr></thead><tbody>",
        );
        for parameter in self.parameters() {
            let text = |key: &str| parameter[key].as_str().unwrap_or_default();
            let required = if parameter["required"] == true { " <strong>required</strong>" } else { "" };
            let _ = write!(
                page,
                "<tr><td><code>{}</code> in the {}{required}<td>{}<td>{}</tr>",
                escape_html(text("name")),
                escape_html(text("in")),
                escape_html(&self.schemas.type_text(parameter_schema(parameter))),
                code_html(text("description")),
            );
        }
        page.push_str("</tbody></table>");
    }

    fn push_body(&self, page: &mut String) {
        let Some((media, content, required)) = self.body() else { return };
        let schema = &content["schema"];
        let _ = write!(
            page,
            "<h3>Body</h3><p><code>{}</code> {}{}. {}</p>{}",
            escape_html(media),
            schema_link(schema),
            if required { "" } else { ", optional" },
            self.schemas.description_html(schema),
            self.schemas.fields_table(schema),
        );
        if let Some(example) = content.get("example") {
            let _ =
                write!(page, "<p>Example:</p><pre class=example>{}</pre>", escape_html(&json_text(example)));
        }
    }

    fn push_answers(&self, page: &mut String) {
        page.push_str(
            "<h3>Answers</h3><table><thead><tr><th>status<th>body<th>description</tr></thead><tbody>",
        );
        for (status, answer) in self.operation["responses"].as_object().into_iter().flatten() {
            let content = answer["content"].as_object().into_iter().flatten();
            let bodies: Vec<String> = content
                .map(|(media, body)| {
                    format!("{} <code>{}</code>", schema_link(&body["schema"]), escape_html(media))
                })
                .collect();
            let _ = write!(
                page,
                "<tr><td>{}<td>{}<td>{}</tr>",
                escape_html(status),
                if bodies.is_empty() { "none".to_owned() } else { bodies.join("<br>") },
                code_html(answer["description"].as_str().unwrap_or_default()),
            );
        }
        page.push_str("</tbody></table>");
    }

    /// The media types of its answers with one of these statuses.
    fn answer_media(&self, has_status: impl Fn(&str) -> bool) -> String {
        let answers = self.operation["responses"].as_object().into_iter().flatten();
        let mut all: Vec<&str> = Vec::new();
        for (_, answer) in answers.filter(|(status, _)| has_status(status)) {
            let media = answer["content"].as_object().into_iter().flatten().map(|(media, _)| media.as_str());
            all.extend(media.filter(|media| !all.contains(media)).collect::<Vec<_>>());
        }
        all.join(", ")
    }

    /// A call with the examples of the document, for a shell.
    pub(super) fn example_call(&self) -> String {
        let mut path = self.path.to_owned();
        for parameter in self.parameters() {
            let (name, example) = (parameter["name"].as_str(), parameter["example"].as_str());
            if let (Some(name), Some(example)) = (name, example) {
                path = path.replace(&format!("{{{name}}}"), example);
            }
        }
        let method = match self.method.as_str() {
            "GET" => String::new(),
            "POST" if self.body().is_some() => String::new(),
            method => format!(" -X {method}"),
        };
        let mut call = format!("curl -s{method} {EXAMPLE_ADDRESS}{path}");
        if self.operation["x-scope"].is_string() {
            call.push_str(" \\\n     -H 'authorization: Bearer KEY'");
        }
        let media = self.answer_media(|status| status.starts_with('2'));
        if media.contains(',') {
            let _ = write!(call, " \\\n     -H 'accept: {media}'");
        }
        if let Some((media, content, _)) = self.body() {
            let _ = write!(call, " \\\n     -H 'content-type: {media}' \\\n     ");
            match content.get("example") {
                Some(example) => {
                    let _ = write!(call, "-d '{}'", example.to_string().replace('\'', "'\\''"));
                }
                None => call.push_str("--data-binary @FILE"),
            }
        }
        call
    }

    /// The form that the script sends; hidden without it.
    pub(super) fn push_form(&self, page: &mut String) {
        let _ = write!(
            page,
            "<form class=try data-script hidden data-method=\"{}\" data-path=\"{}\" data-accept=\"{}\"><h3>Try it</h3>",
            self.method,
            escape_html(self.path),
            escape_html(&self.answer_media(|_| true)),
        );
        for parameter in self.parameters() {
            let text = |key: &str| escape_html(parameter[key].as_str().unwrap_or_default());
            let is_list = parameter_schema(parameter)["type"] == "array";
            let _ = write!(
                page,
                "<label><span>{} ({}{})</span><input name=\"{0}\" data-in=\"{1}\" value=\"{}\" autocomplete=off \
                 spellcheck=false{}{}></label>",
                text("name"),
                text("in"),
                if is_list { ", separated by commas" } else { "" },
                text("example"),
                if is_list { " data-list" } else { "" },
                if parameter["required"] == true { " required" } else { "" },
            );
        }
        if let Some((media, content, required)) = self.body() {
            let (media, required) = (escape_html(media), if required { " required" } else { "" });
            let _ = match content.get("example") {
                Some(example) => {
                    let text = json_text(example);
                    let lines = text.lines().count().clamp(3, 20);
                    write!(
                        page,
                        "<label><span>body ({media})</span><textarea data-media=\"{media}\" rows={lines} \
                         spellcheck=false{required}>\n{}</textarea></label>",
                        escape_html(&text)
                    )
                }
                None => write!(
                    page,
                    "<label><span>body ({media})</span><input type=file data-media=\"{media}\"{required}></label>"
                ),
            };
        }
        page.push_str(
            "<button class=send>Send</button><button type=button class=stop hidden>Stop</button>\
             <div class=answer role=status hidden><p><strong class=status></strong></p>\
             <pre class=headers aria-label=\"headers of the answer\"></pre>\
             <pre class=body tabindex=0 aria-label=\"body of the answer\"></pre></div></form>",
        );
    }
}

/// The schema of a parameter, which is inside `content` for JSON.
fn parameter_schema(parameter: &Value) -> &Value {
    match parameter["content"].as_object().and_then(|content| content.values().next()) {
        Some(content) => &content["schema"],
        None => &parameter["schema"],
    }
}

fn schema_link(schema: &Value) -> String {
    let link = |name: &str| format!("<a href=\"#schema-{0}\">{0}</a>", escape_html(name));
    Schemas::referred_name(schema).map(link).unwrap_or_default()
}

fn json_text(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}
