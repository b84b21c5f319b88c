//! Transcripts of the command line: `tests/cmd`, and the page that documents the commands.

#[test]
fn commands_answer_as_their_transcripts_say() {
    trycmd::TestCases::new().case("tests/cmd/*.trycmd").case("../../docs/cli.md");
}
