//! Speaks to a server as a host does: starts or reaches it, lists the prompts, gets one of them.

use std::{
    collections::HashMap,
    io,
    pin::Pin,
    process::Stdio,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, ready},
    time::{Duration, Instant},
};

use http::{HeaderName, HeaderValue};
use rmcp::{
    RoleClient,
    model::{GetPromptRequestParams, GetPromptResponse, Prompt, ProtocolVersion},
    service::{ClientLifecycleMode, ClientServiceExt as _, RunningService},
    transport::streamable_http_client::{StreamableHttpClientTransport, StreamableHttpClientTransportConfig},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, ReadBuf},
    process::{Child, Command},
};

use super::super::entry::Server;
use crate::output::sanitize_text;

/// Bytes of the output of a program that are kept for messages.
const KEPT_OUTPUT: usize = 400;

/// How long to wait for the last output of a program that was ended.
const OUTPUT_TIME: Duration = Duration::from_secs(1);

/// The generations of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Era {
    /// Without sessions, since 2026-07-28.
    Modern,
    /// With a handshake, until 2025-11-25.
    Legacy,
}

impl Era {
    pub(super) const ALL: [Self; 2] = [Self::Modern, Self::Legacy];

    pub(super) const fn revision(self) -> &'static str {
        match self {
            Self::Modern => "2026-07-28",
            Self::Legacy => "2025-11-25",
        }
    }

    fn lifecycle(self) -> ClientLifecycleMode {
        match self {
            Self::Modern => {
                ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] }
            }
            Self::Legacy => ClientLifecycleMode::Initialize,
        }
    }
}

/// What a server answered.
#[derive(Debug)]
pub(super) struct Answers {
    /// The time from the start of the program, or of the connection, to the first answer.
    pub(super) first_answer: Duration,
    /// The name and version of the server.
    pub(super) server: Option<(String, String)>,
    pub(super) prompts: Vec<Prompt>,
    /// The prompt that was rendered, and why that failed.
    pub(super) rendered: Option<(String, Result<(), String>)>,
}

/// Asks `server` in one era, for at most `limit`.
///
/// # Errors
/// What went wrong, in one sentence.
pub(super) async fn ask_server(server: &Server, era: Era, limit: Duration) -> Result<Answers, String> {
    match server {
        Server::Program { .. } => ask_program(server, era, limit).await,
        Server::Remote { url, headers } => {
            let mut map = HashMap::new();
            for (name, value) in headers {
                let name = HeaderName::try_from(name)
                    .map_err(|_| format!("`{name}` is not the name of a header"))?;
                let value =
                    HeaderValue::try_from(value).map_err(|_| format!("the header `{name}` is invalid"))?;
                map.insert(name, value);
            }
            hinagata_http::install_tls();
            let config = StreamableHttpClientTransportConfig::with_uri(url.as_str()).custom_headers(map);
            let work = async {
                let started = Instant::now();
                let transport = StreamableHttpClientTransport::from_config(config);
                let client = ().serve_with_lifecycle(transport, era.lifecycle()).await;
                let client = client.map_err(|error| hinagata_http::with_causes(&error))?;
                ask_client(&client, started.elapsed()).await
            };
            let answered = tokio::time::timeout(limit, work).await;
            answered.unwrap_or_else(|_| Err(format!("no answer within {} s", limit.as_secs())))
        }
    }
}

async fn ask_program(server: &Server, era: Era, limit: Duration) -> Result<Answers, String> {
    let started = Instant::now();
    let mut program = StartedProgram::from_server(server)?;
    let (Some(input), Some(output)) = (program.child.stdin.take(), program.child.stdout.take()) else {
        return Err("its pipes are missing".to_owned());
    };
    let printed = KeptOutput::default();
    let output = RecordedOutput { inner: output, kept: printed.clone() };
    let work = async {
        let client = ().serve_with_lifecycle((output, input), era.lifecycle()).await;
        let client = client.map_err(|error| hinagata_http::with_causes(&error))?;
        ask_client(&client, started.elapsed()).await
    };
    let problem = match tokio::time::timeout(limit, work).await {
        Ok(Ok(answers)) => return Ok(answers),
        Ok(Err(problem)) => problem,
        Err(_) => format!("no answer within {} s", limit.as_secs()),
    };
    let ended = program.child.try_wait().ok().flatten();
    let errors = program.end_and_read().await;
    let mut said = vec![problem];
    said.extend(ended.map(|status| format!("the program ended: {status}")));
    if let Some(first) = printed.first_line_without_message() {
        said.push(format!("it prints text that is not a message: `{first}`"));
    }
    if !errors.is_empty() {
        said.push(format!("its standard error ends with: {errors}"));
    }
    Err(said.join("; "))
}

/// Lists the prompts, and gets one that requires no arguments.
async fn ask_client(
    client: &RunningService<RoleClient, ()>,
    first_answer: Duration,
) -> Result<Answers, String> {
    let info = client.peer().peer_info();
    let server = info.and_then(|info| info.server_info.clone()).map(|server| (server.name, server.version));
    let prompts = client.list_all_prompts().await.map_err(|error| format!("prompts/list: {error}"))?;
    let is_plain = |prompt: &&Prompt| {
        prompt.arguments.as_ref().is_none_or(|all| all.iter().all(|one| one.required != Some(true)))
    };
    let mut rendered = None;
    if let Some(prompt) = prompts.iter().find(is_plain) {
        let answer = client.get_prompt_once(GetPromptRequestParams::new(&prompt.name)).await;
        let result = match answer {
            Ok(GetPromptResponse::Complete(_)) => Ok(()),
            // It asks for input, which it may.
            Ok(_) => Ok(()),
            Err(error) => Err(error.to_string()),
        };
        rendered = Some((prompt.name.clone(), result));
    }
    Ok(Answers { first_answer, server, prompts, rendered })
}

/// A program that ends when this is dropped, with the programs that it started.
struct StartedProgram {
    child: Child,
}

impl StartedProgram {
    fn from_server(server: &Server) -> Result<Self, String> {
        let Server::Program { command, arguments, environment, directory } = server else {
            return Err("it is not a program".to_owned());
        };
        let mut start = Command::new(command);
        start.args(arguments).envs(environment).kill_on_drop(true);
        start.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(directory) = directory {
            start.current_dir(directory);
        }
        #[cfg(unix)]
        start.process_group(0);
        let child = start.spawn().map_err(|error| format!("`{command}` cannot be started: {error}"))?;
        Ok(Self { child })
    }

    /// Ends the program and returns the end of its standard error.
    async fn end_and_read(&mut self) -> String {
        self.end_group();
        let Some(mut errors) = self.child.stderr.take() else { return String::new() };
        let mut bytes = Vec::new();
        let _ = tokio::time::timeout(OUTPUT_TIME, errors.read_to_end(&mut bytes)).await;
        let text = String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(KEPT_OUTPUT)..]).into_owned();
        sanitize_text(text.trim())
    }

    fn end_group(&mut self) {
        #[cfg(unix)]
        if let Some(group) =
            self.child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw)
        {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.child.start_kill();
    }
}

impl Drop for StartedProgram {
    fn drop(&mut self) {
        self.end_group();
    }
}

/// The beginning of what a program printed.
#[derive(Clone, Default)]
struct KeptOutput(Arc<Mutex<Vec<u8>>>);

impl KeptOutput {
    fn keep(&self, bytes: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let room = KEPT_OUTPUT.saturating_sub(kept.len());
        kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// The first line, if it does not start like a message.
    fn first_line_without_message(&self) -> Option<String> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&kept);
        let line = text.lines().find(|line| !line.trim().is_empty())?;
        (!line.trim_start().starts_with('{')).then(|| sanitize_text(line))
    }
}

/// Passes the output of a program on and keeps its beginning.
struct RecordedOutput<R> {
    inner: R,
    kept: KeptOutput,
}

impl<R: AsyncRead + Unpin> AsyncRead for RecordedOutput<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(context, buffer))?;
        self.kept.keep(&buffer.filled()[before..]);
        Poll::Ready(Ok(()))
    }
}
