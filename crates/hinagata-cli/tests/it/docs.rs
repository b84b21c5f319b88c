//! The pages that show commands: they are run where their reader runs them, at the root of the project.

use std::path::{Path, PathBuf};

use crate::common;

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the project is two levels up")
}

/// A page runs in the directory `PAGE.in` beside it: a link to the project, so that no test changes the directory of
/// the whole process.
#[cfg(unix)]
#[test]
fn commands_answer_as_the_pages_say() {
    use std::os::unix::fs::symlink;

    let (cases, place) = common::cases();
    let pages = place.path().join("pages");
    std::fs::create_dir(&pages).expect("made");
    for page in ["cli", "models", "hooks", "module-files", "processes", "context"] {
        let file = format!("{page}.md");
        symlink(project().join("docs/reference").join(&file), pages.join(&file)).expect("linked");
        symlink(project(), pages.join(format!("{page}.in"))).expect("linked");
        cases.case(pages.join(file));
    }
    cases.run();
}

/// Pages whose commands change a workspace: each is run in an empty one.
#[test]
fn commands_that_write_answer_as_the_pages_say() {
    let place = tempfile::tempdir().expect("a temporary directory");
    for page in ["store"] {
        let (own, there) = (format!("docs/reference/{page}.md"), place.path().join(format!("{page}.md")));
        std::fs::copy(project().join(own), there).expect("the page is there");
        for directory in ["in/user_data", "out"] {
            std::fs::create_dir_all(place.path().join(format!("{page}.{directory}"))).expect("made");
        }
    }
    let (cases, _place) = common::cases();
    cases.case(place.path().join("*.md"));
    cases.run();
}
