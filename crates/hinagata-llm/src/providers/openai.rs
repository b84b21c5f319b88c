//! OpenAI's chat completions, the API that the others are translated to.

use hinagata::module::{MessageFormat, driver::Driver};

use super::{ChatPath, ProviderSpec, StreamField};

pub(super) static SPEC: ProviderSpec = ProviderSpec {
    name: "openai",
    telemetry_name: "openai",
    driver: Driver::OpenAi,
    message_format: MessageFormat::OpenAi,
    answer_message: |answer| answer.pointer("/choices/0/message").cloned(),
    base_url: "https://api.openai.com/v1",
    base_url_env: "OPENAI_BASE_URL",
    parse_base_url: str::to_owned,
    key_env: &["OPENAI_API_KEY"],
    needs_key: true,
    key_header: ("authorization", "Bearer "),
    headers: &[],
    model_prefixes: &[],
    chat_path: ChatPath::Fixed("chat/completions"),
    stream_query: &[],
    stream_field: StreamField::OnlyIfTrue,
    translation: None,
};
