//! What transcripts need: a state and settings of nobody, so that those of whoever runs the tests decide nothing.

/// No transcripts yet, and the directory that the commands remember things in, which has to outlive the run.
pub(crate) fn cases() -> (trycmd::TestCases, tempfile::TempDir) {
    let place = tempfile::tempdir().expect("a temporary directory");
    let cases = trycmd::TestCases::new();
    for (variable, name) in [("HINAGATA_STATE", "state"), ("XDG_CONFIG_HOME", "config")] {
        cases.env(variable, place.path().join(name).display().to_string());
    }
    // Keys and addresses of whoever runs the tests are nobody's here.
    for provider in ["OPENAI", "ANTHROPIC", "GEMINI", "GOOGLE", "OLLAMA"] {
        for name in ["API_KEY", "BASE_URL", "HOST"] {
            cases.env(format!("{provider}_{name}"), "");
        }
    }
    cases.insert_var("[PLACE]", place.path().display().to_string()).expect("is a name");
    (cases, place)
}
