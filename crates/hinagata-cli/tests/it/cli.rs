//! Transcripts of the command line: `tests/cmd`.

#[test]
fn commands_answer_as_their_transcripts_say() {
    let (cases, _place) = crate::common::cases();
    cases.case("tests/cmd/*.trycmd").case("tests/cmd/*.toml");
    cases.run();
}
