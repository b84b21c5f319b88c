//! The pages that show commands: they are run where their reader runs them, at the root of the project.

mod common;

#[test]
fn commands_answer_as_the_pages_say() {
    std::env::set_current_dir("../..").expect("the project is two levels up");
    let (cases, _place) = common::cases();
    cases.case("docs/cli.md").case("docs/hooks.md").case("docs/modules.md");
    cases.run();
}
