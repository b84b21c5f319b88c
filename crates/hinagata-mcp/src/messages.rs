//! Converts a render to protocol messages: one content block each, and only the roles user and assistant.

use hinagata::{Code, Content, Error, LocalPlaces, Message, Rendered, RenderedBody, Warning, media};
use rmcp::{
    ErrorData,
    model::{
        Annotations, ContentBlock, GetPromptResult, MetaObject, PromptMessage, Resource, ResourceContents,
        Role,
    },
};
use serde_json::{Map, Value, json};

use crate::{
    adapt::adapt_messages, failure::hide_paths, hints::hint_text, host::HostView, prompt::PublicPrompt,
};

/// Maximum bytes of all contents of a result.
const MAX_RESULT_BYTES: usize = 32 << 20;

/// What a URI in a message leads to.
pub(crate) enum LocalResource {
    /// A resource of this server.
    Found(Box<ResourceContents>),
    /// A resource of this server that cannot be read now, and why.
    Unreadable(&'static str),
    /// No resource that is read here.
    Elsewhere,
}

/// Looks up a resource by its URI.
pub(crate) type ResourceLookup<'l> = &'l (dyn Fn(&str) -> LocalResource + Sync);

/// What a result depends on besides the render.
pub(crate) struct ResultContext<'r> {
    pub(crate) lookup: ResourceLookup<'r>,
    pub(crate) places: &'r LocalPlaces,
    pub(crate) view: HostView,
    /// Words that follow the prompt.
    pub(crate) following: Option<&'r str>,
}

/// The key of the warnings in `_meta`.
pub(crate) const WARNINGS_KEY: &str = "hinagata/warnings";

/// Warnings as `_meta` of a result, without the paths of `places`; `None` without warnings.
pub(crate) fn warnings_meta(warnings: &[Warning], places: &LocalPlaces) -> Option<Map<String, Value>> {
    let to_public_json = |warning: &Warning| {
        let mut json = warning.to_json_with(hint_text);
        for key in ["message", "file", "hint"] {
            if let Some(Value::String(text)) = json.get_mut(key) {
                *text = hide_paths(text, places);
            }
        }
        json
    };
    let json: Vec<Value> = warnings.iter().map(to_public_json).collect();
    (!json.is_empty()).then(|| Map::from_iter([(WARNINGS_KEY.to_owned(), json.into())]))
}

/// Adds the warnings to the `_meta` of the contents.
pub(crate) fn with_warnings(
    contents: ResourceContents,
    warnings: &[Warning],
    places: &LocalPlaces,
) -> ResourceContents {
    match warnings_meta(warnings, places) {
        Some(meta) => contents.with_meta(MetaObject(meta)),
        None => contents,
    }
}

/// The result of `prompts/get`.
pub(crate) fn prompt_result(
    prompt: &PublicPrompt,
    rendered: Rendered,
    context: &ResultContext<'_>,
) -> Result<GetPromptResult, ErrorData> {
    let mut warnings = rendered.warnings.clone();
    let version = rendered.version().to_owned();
    let (mut messages, system) = match rendered.body {
        RenderedBody::Text(text) => (vec![PromptMessage::new_text(Role::User, text)], None),
        RenderedBody::Messages(messages) => to_conversation(&messages, context.lookup, &mut warnings)?,
    };
    messages.extend(context.following.map(|text| PromptMessage::new_text(Role::User, text)));
    let messages = adapt_messages(messages, context.view, &mut warnings);
    let mut meta = warnings_meta(&warnings, context.places).unwrap_or_default();
    meta.insert("hinagata/id".to_owned(), prompt.id.as_str().into());
    meta.insert("hinagata/version".to_owned(), version.into());
    if let Some(system) = system {
        meta.insert("hinagata/system".to_owned(), system.into());
    }
    let size: usize = messages.iter().map(|message| content_size(&message.content)).sum();
    if size > MAX_RESULT_BYTES {
        return Err(ErrorData::internal_error(
            format!("the result exceeds {} MiB", MAX_RESULT_BYTES >> 20),
            Some(json!({"code": "output_limit", "limit": MAX_RESULT_BYTES, "actual": size})),
        ));
    }
    let mut result = GetPromptResult::new(messages);
    result.description = prompt.inherited.definition.metadata.description.clone();
    result.meta = Some(MetaObject(meta));
    Ok(result)
}

/// The messages and the system text, which precedes the user's first text because the protocol has no such role.
fn to_conversation(
    messages: &[Message],
    lookup: ResourceLookup<'_>,
    warnings: &mut Vec<Warning>,
) -> Result<(Vec<PromptMessage>, Option<String>), ErrorData> {
    let is_rule = |message: &&Message| matches!(message.role.as_str(), "system" | "developer");
    let rules: Vec<String> =
        messages.iter().filter(is_rule).map(Message::text).filter(|text| !text.trim().is_empty()).collect();
    let system = (!rules.is_empty()).then(|| rules.join("\n\n"));
    let mut all = Vec::new();
    for message in messages {
        let is_rule = is_rule(&message);
        let role =
            if matches!(message.role.as_str(), "assistant" | "model") { Role::Assistant } else { Role::User };
        for content in &message.content {
            match content {
                // The user sends the media of a system message.
                Content::Text(_) if is_rule => {}
                Content::Text(text) if text.trim().is_empty() && message.content.len() > 1 => {}
                other => all.push(PromptMessage::new(role.clone(), content_block(other, lookup, warnings)?)),
            }
        }
    }
    if let Some(system) = &system {
        prepend_system(&mut all, system);
    }
    Ok((all, system))
}

/// Prepends the system text to the user's first text.
fn prepend_system(messages: &mut Vec<PromptMessage>, system: &str) {
    match messages.iter_mut().find(|message| message.role == Role::User) {
        Some(PromptMessage { content: ContentBlock::Text(said), .. }) => {
            said.text = format!("{system}\n\n{}", said.text);
        }
        _ => messages.insert(0, PromptMessage::new_text(Role::User, system)),
    }
}

/// Converts a part of a message to a content block.
fn content_block(
    content: &Content,
    lookup: ResourceLookup<'_>,
    warnings: &mut Vec<Warning>,
) -> Result<ContentBlock, ErrorData> {
    let (kind, fields) = match content {
        Content::Text(text) => return Ok(ContentBlock::text(text)),
        Content::Part { kind, content } => (kind.as_str(), content),
    };
    let text = |key: &str| fields.get(key).and_then(Value::as_str);
    let mime = text("mime_type").or_else(|| text("type")).or_else(|| text("media_type"));
    let block = match kind {
        "resource" => resource_block(fields, lookup, warnings)?,
        "resource_link" => {
            let uri = text("uri").unwrap_or_default();
            match lookup(uri) {
                LocalResource::Unreadable(reason) => unreadable_block(uri, reason, warnings),
                _ => link_block(uri, fields)?,
            }
        }
        "image" | "audio" | "media" => match (text("data"), mime, text("url")) {
            (Some(data), Some(mime), _) => media_block(data, mime)?,
            (_, _, Some(url)) => match data_url(url) {
                Some((mime, data)) => media_block(data, mime)?,
                None => link_block(url, fields)?,
            },
            _ => {
                return Err(prompt_error(&format!(
                    "a part of type `{kind}` has neither `data` with a `mime_type` nor a `url`"
                )));
            }
        },
        _ => ContentBlock::text(json!({"type": kind, "content": fields}).to_string()),
    };
    with_annotations(block, fields, warnings)
}

/// The type and the data of a `data:` URL in base64.
fn data_url(url: &str) -> Option<(&str, &str)> {
    let (kind, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
    Some((kind, data))
}

/// The block with the annotations of the part: `audience`, `priority` and `lastModified`.
fn with_annotations(
    mut block: ContentBlock,
    fields: &Value,
    warnings: &mut Vec<Warning>,
) -> Result<ContentBlock, ErrorData> {
    let Some(written) = fields.get("annotations") else { return Ok(block) };
    let annotations: Annotations = serde_json::from_value(written.clone()).map_err(|_| {
        prompt_error("`annotations` must be an object with `audience`, `priority` or `lastModified`")
    })?;
    let place = match &mut block {
        ContentBlock::Text(content) => &mut content.annotations,
        ContentBlock::Image(content) => &mut content.annotations,
        ContentBlock::Audio(content) => &mut content.annotations,
        ContentBlock::Resource(content) => &mut content.annotations,
        ContentBlock::ResourceLink(content) => &mut content.annotations,
        _ => {
            let error = Error::new(Code::Validation, "this content has no annotations");
            warnings.push(Warning { about: "annotations".to_owned(), error });
            return Ok(block);
        }
    };
    *place = Some(annotations);
    Ok(block)
}

/// The text that stands for a resource that cannot be read.
fn unreadable_block(uri: &str, reason: &str, warnings: &mut Vec<Warning>) -> ContentBlock {
    let message = format!("the resource `{uri}` cannot be read: {reason}");
    let text = format!("[resource {uri}: cannot be read, {reason}]");
    warnings.push(Warning { about: uri.to_owned(), error: Error::new(Code::NotFound, message) });
    ContentBlock::text(text)
}

fn prompt_error(message: &str) -> ErrorData {
    ErrorData::internal_error(
        format!("invalid prompt definition: {message}"),
        Some(json!({"code": "definition"})),
    )
}

/// A block of image, audio or file data.
fn media_block(data: &str, mime: &str) -> Result<ContentBlock, ErrorData> {
    if !media::is_base64(data) || !media::is_type(mime) {
        return Err(prompt_error("`data` must be base64 and the media type valid"));
    }
    Ok(match mime.split('/').next() {
        Some("image") => ContentBlock::image(data, mime),
        Some("audio") => ContentBlock::audio(data, mime),
        _ => {
            let uri = format!("data:{mime};attached");
            ContentBlock::resource(ResourceContents::blob(data, uri).with_mime_type(mime))
        }
    })
}

fn resource_block(
    fields: &Value,
    lookup: ResourceLookup<'_>,
    warnings: &mut Vec<Warning>,
) -> Result<ContentBlock, ErrorData> {
    let text = |key: &str| fields.get(key).and_then(Value::as_str);
    let uri = text("uri")
        .filter(|uri| media::is_uri(uri))
        .ok_or_else(|| prompt_error("a resource requires a valid `uri`"))?;
    let contents = match (text("text"), text("blob")) {
        (Some(said), _) => ResourceContents::text(said, uri),
        (None, Some(blob)) if media::is_base64(blob) => ResourceContents::blob(blob, uri),
        (None, Some(_)) => return Err(prompt_error("the `blob` of a resource must be base64")),
        (None, None) => match lookup(uri) {
            LocalResource::Found(contents) => return Ok(ContentBlock::resource(*contents)),
            LocalResource::Unreadable(reason) => return Ok(unreadable_block(uri, reason, warnings)),
            LocalResource::Elsewhere => return link_block(uri, fields),
        },
    };
    Ok(ContentBlock::resource(match text("mime_type") {
        Some(mime) => contents.with_mime_type(mime),
        None => contents,
    }))
}

fn link_block(uri: &str, fields: &Value) -> Result<ContentBlock, ErrorData> {
    if !media::is_uri(uri) {
        return Err(prompt_error("a link requires a valid `uri`"));
    }
    let text = |key: &str| fields.get(key).and_then(Value::as_str).map(str::to_owned);
    let last = uri.rsplit(['/', ':']).find(|part| !part.is_empty()).unwrap_or(uri);
    let mut resource = Resource::new(uri, text("name").unwrap_or_else(|| last.to_owned()));
    resource.title = text("title");
    resource.description = text("description");
    resource.mime_type = text("mime_type").filter(|mime| media::is_type(mime));
    Ok(ContentBlock::resource_link(resource))
}

fn content_size(content: &ContentBlock) -> usize {
    match content {
        ContentBlock::Text(text) => text.text.len(),
        ContentBlock::Image(image) => image.data.len(),
        ContentBlock::Audio(audio) => audio.data.len(),
        ContentBlock::Resource(embedded) => match &embedded.resource {
            ResourceContents::TextResourceContents { text, .. } => text.len(),
            ResourceContents::BlobResourceContents { blob, .. } => blob.len(),
            _ => 0,
        },
        _ => 256,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elsewhere(_: &str) -> LocalResource {
        LocalResource::Elsewhere
    }

    fn said(role: &str, text: &str) -> Message {
        Message { role: role.to_owned(), content: vec![Content::Text(text.to_owned())] }
    }

    fn converted(messages: &[Message]) -> (Vec<(Role, String)>, Option<String>) {
        let (messages, system) = to_conversation(messages, &elsewhere, &mut Vec::new()).expect("converts");
        let plain = messages.into_iter().map(|message| {
            let text = message.content.as_text().map(|text| text.text.clone());
            (message.role, text.unwrap_or_default())
        });
        (plain.collect(), system)
    }

    #[test]
    fn system_text_precedes_the_first_user_text() {
        let (messages, system) =
            converted(&[said("system", "Be brief."), said("assistant", "Hello"), said("user", "Why?")]);
        assert_eq!(
            messages,
            [(Role::Assistant, "Hello".to_owned()), (Role::User, "Be brief.\n\nWhy?".to_owned())]
        );
        assert_eq!(system.as_deref(), Some("Be brief."));
    }

    #[test]
    fn system_text_alone_becomes_a_user_message() {
        let (messages, _) = converted(&[said("system", "A"), said("developer", "B")]);
        assert_eq!(messages, [(Role::User, "A\n\nB".to_owned())]);
    }

    #[test]
    fn each_part_becomes_a_message() {
        let image =
            Content::Part { kind: "media".to_owned(), content: json!({"data": "QUJD", "type": "image/png"}) };
        let message =
            Message { role: "user".to_owned(), content: vec![Content::Text("Look".to_owned()), image] };
        let (messages, _) = to_conversation(&[message], &elsewhere, &mut Vec::new()).expect("converts");
        assert_eq!(messages.len(), 2);
        assert!(messages[1].content.as_image().is_some_and(|image| image.mime_type == "image/png"));
    }

    fn part(kind: &str, content: Value) -> Result<ContentBlock, ErrorData> {
        content_block(&Content::Part { kind: kind.to_owned(), content }, &elsewhere, &mut Vec::new())
    }

    #[test]
    fn a_data_url_is_an_image() {
        let block = part("image", json!({"url": "data:image/png;base64,QUJD"})).expect("converts");
        assert!(block.as_image().is_some_and(|image| image.data == "QUJD" && image.mime_type == "image/png"));
        assert!(part("image", json!({"url": "data:image/png;base64,no base64"})).is_err());
        let link = part("image", json!({"url": "https://example.com/a.png"})).expect("converts");
        assert!(link.as_resource_link().is_some());
    }

    #[test]
    fn annotations_are_kept() {
        let annotations =
            json!({"audience": ["user"], "priority": 0.5, "lastModified": "2026-01-02T03:04:05Z"});
        for (kind, mut fields) in [
            ("image", json!({"data": "QUJD", "mime_type": "image/png"})),
            ("audio", json!({"data": "QUJD", "mime_type": "audio/wav"})),
            ("resource", json!({"uri": "a://b", "text": "x"})),
            ("resource_link", json!({"uri": "a://b", "name": "b"})),
        ] {
            fields["annotations"] = annotations.clone();
            let block = serde_json::to_value(part(kind, fields).expect("converts")).expect("is JSON");
            assert_eq!(block["annotations"], annotations, "{kind}");
        }
        let wrong =
            json!({"data": "QUJD", "mime_type": "image/png", "annotations": {"audience": ["nobody"]}});
        assert!(part("image", wrong).is_err());
    }

    #[test]
    fn a_resource_that_cannot_be_read_is_no_link() {
        let lookup = |_: &str| LocalResource::Unreadable("its file is missing");
        for (kind, fields) in
            [("resource", json!({"uri": "a://b"})), ("resource_link", json!({"uri": "a://b", "name": "b"}))]
        {
            let mut warnings = Vec::new();
            let content = Content::Part { kind: kind.to_owned(), content: fields };
            let block = content_block(&content, &lookup, &mut warnings).expect("converts");
            let text = &block.as_text().expect("is a text").text;
            assert_eq!(text, "[resource a://b: cannot be read, its file is missing]");
            assert_eq!(warnings[0].about, "a://b");
        }
    }

    #[test]
    fn invalid_media_and_uris_are_rejected() {
        assert!(part("media", json!({"data": "no base 64!", "type": "image/png"})).is_err());
        assert!(part("media", json!({"data": "QUJD", "type": "image"})).is_err());
        assert!(part("resource", json!({"uri": "no uri", "text": "x"})).is_err());
        assert!(part("resource", json!({"uri": "a://b"})).expect("is a link").as_resource_link().is_some());
    }
}
