//! Fits messages to what a host passes on to its model, and to the contents that a revision of the protocol has.

use hinagata::{Code, Error, Warning};
use rmcp::model::{ContentBlock, PromptMessage, Resource, ResourceContents, Role};

use crate::{
    host::{ArgumentStyle, HostView, MessageStyle, Revision},
    placeholder::restore_placeholders,
};

/// The messages for a client. What had to be replaced is in the warnings.
pub(crate) fn adapt_messages(
    messages: Vec<PromptMessage>,
    view: HostView,
    warnings: &mut Vec<Warning>,
) -> Vec<PromptMessage> {
    let HostView { profile, revision, .. } = view;
    let MessageStyle { roles, media, several } = profile.messages;
    let mut messages: Vec<PromptMessage> =
        messages.into_iter().map(|message| supported_content(message, revision, warnings)).collect();
    if !media {
        messages =
            messages.into_iter().map(|message| text_content(message, profile.name, warnings)).collect();
    }
    if !roles {
        messages = head_turns(messages);
    }
    if !several {
        messages = join_texts(messages);
    }
    if profile.arguments == ArgumentStyle::Placeholders {
        guard_texts(&mut messages, warnings);
    }
    messages
}

fn replaced_warning(about: &str, message: String) -> Warning {
    Warning { about: about.to_owned(), error: Error::new(Code::Validation, message) }
}

/// The message with a content that the revision has.
fn supported_content(
    message: PromptMessage,
    revision: Revision,
    warnings: &mut Vec<Warning>,
) -> PromptMessage {
    let PromptMessage { role, content, .. } = message;
    let content = match content {
        ContentBlock::Audio(audio) if !revision.audio => {
            let note = "an audio content is sent as a resource: this revision of the protocol has no audio";
            warnings.push(replaced_warning("audio", note.to_owned()));
            let uri = format!("data:{};attached", audio.mime_type);
            ContentBlock::resource(ResourceContents::blob(audio.data, uri).with_mime_type(audio.mime_type))
        }
        ContentBlock::ResourceLink(link) if !revision.links => {
            let note = format!(
                "the link to `{}` is sent as text: this revision of the protocol has no links",
                link.uri
            );
            warnings.push(replaced_warning("resource_link", note));
            ContentBlock::text(link_text(&link))
        }
        other => other,
    };
    PromptMessage::new(role, content)
}

/// The message with a text instead of another content.
fn text_content(message: PromptMessage, host: &str, warnings: &mut Vec<Warning>) -> PromptMessage {
    let PromptMessage { role, content, .. } = message;
    let mut left_out = |what: String| {
        let note = format!("{what} is left out: the host {host} passes on only text");
        warnings.push(replaced_warning("content", note));
        format!("[{what}: left out, because this program passes on only text]")
    };
    let bytes = |data: &str| data.trim_end_matches('=').len() * 3 / 4;
    let text = match content {
        ContentBlock::Text(_) => return PromptMessage::new(role, content),
        ContentBlock::Image(image) => {
            left_out(format!("image, {}, {} bytes", image.mime_type, bytes(&image.data)))
        }
        ContentBlock::Audio(audio) => {
            left_out(format!("audio, {}, {} bytes", audio.mime_type, bytes(&audio.data)))
        }
        ContentBlock::ResourceLink(link) => link_text(&link),
        ContentBlock::Resource(embedded) => match embedded.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => format!("[resource {uri}]\n{text}"),
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                let kind = mime_type.as_deref().unwrap_or("application/octet-stream");
                left_out(format!("resource {uri}, {kind}, {} bytes", bytes(&blob)))
            }
            _ => left_out("resource".to_owned()),
        },
        _ => left_out("content".to_owned()),
    };
    PromptMessage::new_text(role, text)
}

fn link_text(link: &Resource) -> String {
    let name = link.title.as_deref().unwrap_or(&link.name);
    match &link.description {
        Some(description) => format!("[link {name}: {}] {description}", link.uri),
        None => format!("[link {name}: {}]", link.uri),
    }
}

/// Starts each turn with its role and gives all turns to the user, if the assistant speaks, too.
pub(crate) fn head_turns(messages: Vec<PromptMessage>) -> Vec<PromptMessage> {
    if messages.iter().all(|message| message.role == Role::User) {
        return messages;
    }
    let (mut headed, mut speaker) = (Vec::with_capacity(messages.len()), None);
    for PromptMessage { role, content, .. } in messages {
        let heading = if role == Role::Assistant { "Assistant:" } else { "User:" };
        let starts = speaker.replace(role.clone()) != Some(role);
        match content {
            ContentBlock::Text(mut text) if starts => {
                text.text = format!("{heading}\n{}", text.text);
                headed.push(PromptMessage::new(Role::User, ContentBlock::Text(text)));
            }
            other => {
                headed.extend(starts.then(|| PromptMessage::new_text(Role::User, heading)));
                headed.push(PromptMessage::new(Role::User, other));
            }
        }
    }
    headed
}

/// All texts as one message of the user.
fn join_texts(messages: Vec<PromptMessage>) -> Vec<PromptMessage> {
    if messages.len() == 1 {
        return messages;
    }
    let texts: Vec<String> = messages
        .into_iter()
        .filter_map(|message| match message.content {
            ContentBlock::Text(text) => Some(text.text),
            _ => None,
        })
        .collect();
    vec![PromptMessage::new_text(Role::User, texts.join("\n\n"))]
}

/// Leaves only the placeholders of the call to a host that fills them in.
fn guard_texts(messages: &mut [PromptMessage], warnings: &mut Vec<Warning>) {
    let mut any_guarded = false;
    for message in messages {
        if let ContentBlock::Text(text) = &mut message.content {
            let (restored, guarded) = restore_placeholders(&text.text);
            text.text = restored;
            any_guarded |= guarded;
        }
    }
    if any_guarded {
        let note = "the text has `$` before a number or `!` before a command, which the host would replace or run; \
                    an invisible character keeps it as it is";
        warnings.push(replaced_warning("text", note.to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::HostProfile;

    const NEWEST: Revision = Revision { audio: true, links: true, multi_select: true };

    fn conversation() -> Vec<PromptMessage> {
        let note = ResourceContents::text("A note", "docs://note");
        vec![
            PromptMessage::new_text(Role::User, "Look."),
            PromptMessage::new(Role::User, ContentBlock::image("QUJD", "image/png")),
            PromptMessage::new(Role::Assistant, ContentBlock::resource(note)),
            PromptMessage::new(
                Role::User,
                ContentBlock::resource_link(Resource::new("docs://guide", "guide")),
            ),
            PromptMessage::new(Role::User, ContentBlock::audio("QUJD", "audio/wav")),
        ]
    }

    fn adapted(host: &str, revision: Revision) -> (Vec<PromptMessage>, usize) {
        let profile = HostProfile::from_name(host).expect("is a profile");
        let mut warnings = Vec::new();
        let messages =
            adapt_messages(conversation(), HostView { profile, forms: false, revision }, &mut warnings);
        (messages, warnings.len())
    }

    #[test]
    fn a_host_with_one_text_gets_every_word() {
        for host in ["gemini-cli", "qwen-code", "opencode", "zed"] {
            let (messages, warnings) = adapted(host, NEWEST);
            let [message] = messages.as_slice() else { panic!("{messages:?}") };
            let text = &message.content.as_text().expect("is a text").text;
            assert_eq!(
                text,
                "User:\nLook.\n\n[image, image/png, 3 bytes: left out, because this program passes on only text]\n\n\
                 Assistant:\n[resource docs://note]\nA note\n\nUser:\n[link guide: docs://guide]\n\n\
                 [audio, audio/wav, 3 bytes: left out, because this program passes on only text]"
            );
            assert_eq!((message.role.clone(), warnings), (Role::User, 2));
        }
    }

    #[test]
    fn only_roles_are_lost_in_claude_code() {
        let (messages, warnings) = adapted("claude-code", NEWEST);
        assert!(messages.iter().all(|message| message.role == Role::User));
        let texts: Vec<&str> = messages
            .iter()
            .filter_map(|message| message.content.as_text())
            .map(|text| text.text.as_str())
            .collect();
        assert_eq!(texts, ["User:\nLook.", "Assistant:", "User:"]);
        assert!(messages[1].content.as_image().is_some());
        assert_eq!((messages.len(), warnings), (7, 0));
    }

    #[test]
    fn contents_that_a_revision_lacks_are_replaced() {
        let old = Revision { audio: false, links: false, multi_select: false };
        let (messages, warnings) = adapted("default", old);
        assert_eq!(messages[3].content.as_text().expect("is a text").text, "[link guide: docs://guide]");
        assert!(messages[4].content.as_resource().is_some());
        assert_eq!((messages.len(), warnings), (5, 2));
        assert_eq!(adapted("default", NEWEST), (conversation(), 0));
    }
}
