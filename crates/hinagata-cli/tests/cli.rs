//! Transcripts of the command line: `tests/cmd`.

#[test]
fn commands_answer_as_their_transcripts_say() {
    trycmd::TestCases::new().case("tests/cmd/*.trycmd").case("tests/cmd/*.toml");
}
