pub fn lamp() -> &'static str {
    "lit"
}
