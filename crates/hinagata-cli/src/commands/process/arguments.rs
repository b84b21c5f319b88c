//! The arguments of a process.

use std::path::{Path, PathBuf};

use hinagata::module::Message;
use hinagata_process::{
    Ask, Chunk, Concat, ConcatOptions, Dialogue, DialogueOptions, Process, Stream, StreamOptions, Summarize,
    SummarizeOptions, split_text,
};
use serde_json::{Value, json};

use crate::{
    failure::Failure,
    input::{Inputs, read_conversation},
    variables::{self, Variables},
};

/// Process long texts and conversations with several model calls
///
/// If an error or Ctrl-C ends a process, its complete answers are saved, and --resume continues after them.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(super) process: Kind,
}

const EXAMPLES: &str = r#"Examples:
  hina process summarize report.md --model gpt-5-mini --target-tokens 300
  hina process concat book.txt --instruction 'Translate into Japanese.' --model ollama/qwen3 --parallel
  hina process stream minutes/*.md --instruction 'Keep a list of open questions.' --model gpt-5-mini
  hina process dialogue talk.json --say 'And tomorrow?' --two-pass --model anthropic/claude-sonnet-4-5
  hina process summarize --resume state.json"#;

#[derive(clap::Subcommand)]
pub(super) enum Kind {
    /// Analyse texts, then summarise them
    Summarize {
        #[command(flatten)]
        texts: Texts,
        #[command(flatten)]
        passes: Passes,
        /// Summarise at once, without an analysis
        #[arg(long)]
        no_analysis: bool,
        #[command(flatten)]
        common: Common,
    },
    /// Process texts in chunks and carry a state from answer to answer
    Stream {
        #[command(flatten)]
        texts: Texts,
        #[command(flatten)]
        passes: Passes,
        #[command(flatten)]
        common: Common,
    },
    /// Process every chunk on its own and join the answers
    Concat {
        #[command(flatten)]
        texts: Texts,
        /// Chunks of one call
        #[arg(long, value_name = "N", default_value_t = 1)]
        batch: usize,
        /// Make several calls at the same time; they do not know the answers before them
        #[arg(long, conflicts_with = "batch")]
        parallel: bool,
        /// Separator between answers [default: newline]
        #[arg(long, value_name = "TEXT")]
        separator: Option<String>,
        #[command(flatten)]
        common: Common,
    },
    /// Continue a conversation
    Dialogue {
        /// The conversation: JSON with a list of messages, each with role and content; - for standard input
        #[arg(value_name = "FILE", conflicts_with = "resume")]
        conversation: Option<PathBuf>,
        /// A message of the user behind the conversation
        #[arg(long, value_name = "TEXT", conflicts_with = "resume")]
        say: Option<String>,
        /// A text that the answer can rely on; several are possible
        #[arg(long = "material", value_name = "FILE", conflicts_with = "resume")]
        materials: Vec<PathBuf>,
        /// Let the model write a note for itself before it answers
        #[arg(long)]
        two_pass: bool,
        /// Most tokens of the conversation that are sent; the oldest turns are left out
        #[arg(long, value_name = "N")]
        target_tokens: Option<u64>,
        #[command(flatten)]
        common: Common,
    },
}

/// Options of every process.
#[derive(clap::Args)]
pub(super) struct Common {
    /// The model [default: the model of the resumed process, then llm.model]
    #[arg(long, value_name = "NAME")]
    pub(super) model: Option<String>,
    /// What to do, in your own words; several are possible
    #[arg(long, value_name = "TEXT", conflicts_with = "resume")]
    instruction: Vec<String>,
    /// A module file that says what to do, in the place of the preset; several are merged
    #[arg(long = "module", value_name = "FILE", conflicts_with = "resume")]
    modules: Vec<PathBuf>,
    /// A variable of the modules: name=text, name:=json, name=@file, name:=@file
    #[arg(long = "var", value_name = "NAME=VALUE", conflicts_with = "resume")]
    variables: Vec<String>,
    /// Request option under its OpenAI name, such as temperature=0
    #[arg(long = "option", short = 'o', value_name = "NAME=VALUE")]
    pub(super) options: Vec<String>,
    /// Resume a process from its saved state
    #[arg(long, value_name = "FILE")]
    pub(super) resume: Option<PathBuf>,
    /// Where the state is kept if the process ends before its result [default: the resumed file, or one in the state directory]
    #[arg(long, value_name = "FILE")]
    pub(super) state: Option<PathBuf>,
}

/// Texts, and how they are cut.
#[derive(clap::Args)]
pub(super) struct Texts {
    /// The texts, in their order; - for standard input
    #[arg(value_name = "FILE", required_unless_present = "resume", conflicts_with = "resume")]
    files: Vec<PathBuf>,
    /// Maximum tokens per chunk
    #[arg(long, value_name = "N", default_value_t = 2000)]
    chunk_tokens: u64,
}

/// How much one call looks at.
#[derive(clap::Args)]
pub(super) struct Passes {
    /// Maximum tokens per call
    #[arg(long, value_name = "N", default_value_t = 8000)]
    token_limit: u64,
    /// Maximum chunks per call
    #[arg(long, value_name = "N")]
    max_chunks: Option<usize>,
    /// Approximate length of the result, in tokens
    #[arg(long, value_name = "N")]
    target_tokens: Option<u64>,
}

impl Kind {
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Summarize { .. } => "summarize",
            Self::Stream { .. } => "stream",
            Self::Concat { .. } => "concat",
            Self::Dialogue { .. } => "dialogue",
        }
    }

    pub(super) const fn common(&self) -> &Common {
        match self {
            Self::Summarize { common, .. }
            | Self::Stream { common, .. }
            | Self::Concat { common, .. }
            | Self::Dialogue { common, .. } => common,
        }
    }

    /// The instructions of the user. Some processes require them.
    pub(super) fn instructions(&self) -> Result<Vec<String>, Failure> {
        let common = self.common();
        let mut all = common.instruction.clone();
        let says_nothing = all.is_empty() && common.modules.is_empty();
        match self {
            Self::Stream { .. } | Self::Concat { .. } if says_nothing => {
                Err(Failure::usage_error("no instruction for the texts")
                    .with_hint("pass `--instruction` or `--module`"))
            }
            Self::Stream { passes: Passes { target_tokens: Some(tokens), .. }, .. } => {
                all.push(format!("Keep the new state to about {tokens} tokens."));
                Ok(all)
            }
            _ => Ok(all),
        }
    }

    /// The process, at its beginning.
    pub(super) fn process(&self, model: &dyn Ask, inputs: &Inputs) -> Result<Process, Failure> {
        Ok(match self {
            Self::Summarize { texts, passes, no_analysis, .. } => {
                let mut process = Summarize::new(texts.chunks(model, inputs)?);
                process.options = SummarizeOptions {
                    token_limit: Some(passes.token_limit),
                    max_chunk: passes.max_chunks,
                    target_tokens: passes.target_tokens,
                    enable_analysis: !no_analysis,
                };
                process.into()
            }
            Self::Stream { texts, passes, .. } => {
                let mut process = Stream::new(texts.chunks(model, inputs)?);
                process.options = StreamOptions {
                    token_limit: Some(passes.token_limit),
                    max_chunk: passes.max_chunks,
                    target_tokens: passes.target_tokens,
                };
                process.into()
            }
            Self::Concat { texts, batch, parallel, separator, .. } => {
                let mut process = Concat::new(texts.chunks(model, inputs)?);
                process.options = ConcatOptions {
                    batch_size: *batch,
                    parallel: *parallel,
                    separator: separator.clone().unwrap_or(ConcatOptions::default().separator),
                };
                process.into()
            }
            Self::Dialogue { conversation, say, materials, two_pass, target_tokens, .. } => {
                let mut process = Dialogue::new(messages(conversation.as_deref(), say.as_deref(), inputs)?);
                let numbered = (1..).zip(materials);
                let material = |(number, path): (usize, &PathBuf)| material(number, path, inputs);
                process.context.materials = numbered.map(material).collect::<Result<_, _>>()?;
                process.options = DialogueOptions {
                    two_pass: *two_pass,
                    maintain_state: false,
                    include_materials: !materials.is_empty(),
                    target_tokens: *target_tokens,
                };
                process.into()
            }
        })
    }
}

impl Common {
    /// The module files, by paths that are the same from everywhere.
    pub(super) fn modules(&self) -> Result<Vec<PathBuf>, Failure> {
        let absolute = |path: &PathBuf| {
            std::path::absolute(path)
                .map_err(|error| Failure::usage_error(format!("{}: {error}", path.display())))
        };
        self.modules.iter().map(absolute).collect()
    }

    pub(super) fn variables(&self) -> Result<Variables, Failure> {
        variables::read_variables(&[], &self.variables, &Inputs::default())
    }
}

impl Texts {
    fn chunks(&self, model: &dyn Ask, inputs: &Inputs) -> Result<Vec<Chunk>, Failure> {
        let mut all = Vec::new();
        for file in &self.files {
            let name = file.display().to_string();
            all.extend(split_text(&name, &inputs.read_text(file, &name)?, self.chunk_tokens, model));
        }
        Ok(all)
    }
}

/// The messages so far, and the new one.
fn messages(path: Option<&Path>, say: Option<&str>, inputs: &Inputs) -> Result<Vec<Message>, Failure> {
    let mut all: Vec<Message> = match path {
        Some(path) => read_conversation(path, inputs)?,
        None => Vec::new(),
    };
    all.extend(say.map(Message::user));
    match all.is_empty() {
        true => Err(Failure::usage_error("no conversation to continue")
            .with_hint("pass a file with messages, or a message with `--say`")),
        false => Ok(all),
    }
}

fn material(number: usize, path: &Path, inputs: &Inputs) -> Result<Value, Failure> {
    let name = path.display().to_string();
    let content = inputs.read_text(path, &name)?;
    Ok(json!({"id": format!("m{number}"), "title": name, "content": content}))
}
