//! The pages that show commands: they are run where their reader runs them, at the root of the project.

mod common;

#[test]
fn commands_answer_as_the_pages_say() {
    std::env::set_current_dir("../..").expect("the project is two levels up");
    let (cases, _place) = common::cases();
    cases
        .case("docs/reference/cli.md")
        .case("docs/reference/models.md")
        .case("docs/reference/hooks.md")
        .case("docs/reference/module-files.md")
        .case("docs/reference/processes.md")
        .case("docs/reference/context.md");
    cases.run();
}

/// Pages whose commands change a workspace: each is run in an empty one.
#[test]
fn commands_that_write_answer_as_the_pages_say() {
    let project = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let place = tempfile::tempdir().expect("a temporary directory");
    for page in ["store"] {
        let (own, there) = (format!("docs/reference/{page}.md"), place.path().join(format!("{page}.md")));
        std::fs::copy(project.join(own), there).expect("the page is there");
        for directory in ["in/user_data", "out"] {
            std::fs::create_dir_all(place.path().join(format!("{page}.{directory}"))).expect("made");
        }
    }
    let (cases, _place) = common::cases();
    cases.case(place.path().join("*.md"));
    cases.run();
}
