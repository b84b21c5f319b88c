//! A launcher for programs that cannot be started again for it, such as tests.

use std::process::ExitCode;

fn main() -> ExitCode {
    hinagata_python::launch_if_requested();
    ExitCode::from(2)
}
