//! The commands: one file each.

mod agent;
mod bisect;
mod candidates;
#[cfg(feature = "llm")]
mod chat;
pub(crate) mod check;
mod completions;
mod config;
mod context;
mod diff;
mod doctor;
mod explain;
mod export;
mod fmt;
mod import;
mod init;
#[cfg(feature = "server")]
mod key;
mod limits;
mod list;
mod lock;
#[cfg(feature = "lsp")]
mod lsp;
mod man;
#[cfg(feature = "mcp")]
mod mcp;
#[cfg(feature = "server")]
mod migrate;
mod module;
mod new;
pub(crate) mod pack;
#[cfg(feature = "llm")]
mod process;
mod render;
mod render_file;
mod resolve;
#[cfg(feature = "server")]
mod serve;
mod show;
mod store;
mod test;
mod trust;
mod validate;
mod vocab;
mod why;

#[cfg(not(feature = "llm"))]
crate::absent::absent_command!(chat, "llm");
#[cfg(not(feature = "server"))]
crate::absent::absent_command!(key, "server");
#[cfg(not(feature = "lsp"))]
crate::absent::absent_command!(lsp, "lsp");
#[cfg(not(feature = "mcp"))]
crate::absent::absent_command!(mcp, "mcp");
#[cfg(not(feature = "server"))]
crate::absent::absent_command!(migrate, "server");
#[cfg(not(feature = "llm"))]
crate::absent::absent_command!(process, "llm");
#[cfg(not(feature = "server"))]
crate::absent::absent_command!(serve, "server");

use clap::Subcommand;

use crate::{failure::Failure, workspace::Globals};

#[derive(Subcommand)]
pub(crate) enum Command {
    Render(Box<render::Arguments>),
    Chat(Box<chat::Arguments>),
    Explain(Box<explain::Arguments>),
    Validate(Box<validate::Arguments>),
    Check(check::Arguments),
    Fmt(fmt::Arguments),
    Test(Box<test::Arguments>),
    Diff(diff::Arguments),
    Bisect(bisect::Arguments),
    Why(why::Arguments),
    List(list::Arguments),
    Show(show::Arguments),
    Candidates(candidates::Arguments),
    Resolve(resolve::Arguments),
    Import(Box<import::Arguments>),
    Export(export::Arguments),
    Init(init::Arguments),
    New(new::Arguments),
    Module(Box<module::Arguments>),
    Process(Box<process::Arguments>),
    Pack(pack::Arguments),
    Lock(lock::Arguments),
    Context(context::Arguments),
    Agent(agent::Arguments),
    Store(store::Arguments),
    Serve(serve::Arguments),
    Mcp(mcp::Arguments),
    Lsp(lsp::Arguments),
    Key(key::Arguments),
    Migrate(migrate::Arguments),
    RenderFile(Box<render_file::Arguments>),
    Vocab(vocab::Arguments),
    Config(config::Arguments),
    Limits(limits::Arguments),
    Trust(trust::Arguments),
    Doctor(doctor::Arguments),
    Completions(completions::Arguments),
    Man(man::Arguments),
}

impl Command {
    pub(crate) fn run(self, globals: &Globals) -> Result<(), Failure> {
        match self {
            Self::Import(arguments) => import::run(&arguments, globals),
            Self::Export(arguments) => export::run(&arguments, globals),
            Self::Init(arguments) => init::run(&arguments, globals),
            Self::New(arguments) => new::run(&arguments, globals),
            Self::Module(arguments) => module::run(&arguments, globals),
            Self::Process(arguments) => process::run(&arguments, globals),
            Self::Pack(arguments) => pack::run(&arguments, globals),
            Self::Lock(arguments) => lock::run(&arguments, globals),
            Self::Context(arguments) => context::run(&arguments, globals),
            Self::Agent(arguments) => agent::run(&arguments, globals),
            Self::Store(arguments) => store::run(&arguments, globals),
            Self::Serve(arguments) => serve::run(&arguments, globals),
            Self::Mcp(arguments) => mcp::run(&arguments, globals),
            Self::Lsp(arguments) => lsp::run(&arguments, globals),
            Self::Key(arguments) => key::run(&arguments, globals),
            Self::Migrate(arguments) => migrate::run(&arguments, globals),
            Self::List(arguments) => list::run(&arguments, globals),
            Self::Show(arguments) => show::run(&arguments, globals),
            Self::Candidates(arguments) => candidates::run(&arguments, globals),
            Self::Resolve(arguments) => resolve::run(&arguments, globals),
            Self::Chat(arguments) => chat::run(&arguments, globals),
            Self::Render(arguments) => render::run(&arguments, globals),
            Self::Check(arguments) => check::run(&arguments, globals),
            Self::Fmt(arguments) => fmt::run(&arguments, globals),
            Self::Why(arguments) => why::run(&arguments, globals),
            Self::Diff(arguments) => diff::run(&arguments, globals),
            Self::Bisect(arguments) => bisect::run(&arguments, globals),
            Self::Test(arguments) => test::run(&arguments, globals),
            Self::Validate(arguments) => validate::run(&arguments, globals),
            Self::Explain(arguments) => explain::run(&arguments, globals),
            Self::RenderFile(arguments) => render_file::run(&arguments, globals),
            Self::Vocab(arguments) => vocab::run(&arguments, globals),
            Self::Config(arguments) => config::run(&arguments, globals),
            Self::Limits(arguments) => limits::run(&arguments, globals),
            Self::Trust(arguments) => trust::run(&arguments, globals),
            Self::Doctor(arguments) => doctor::run(&arguments, globals),
            Self::Completions(arguments) => completions::run(&arguments, globals),
            Self::Man(arguments) => man::run(&arguments, globals),
        }
    }
}
