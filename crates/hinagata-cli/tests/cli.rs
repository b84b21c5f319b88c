//! Transcripts of the command line: `tests/cmd`.

mod common;

#[test]
fn commands_answer_as_their_transcripts_say() {
    let (cases, _place) = common::cases();
    cases.case("tests/cmd/*.trycmd").case("tests/cmd/*.toml");
    cases.run();
}
