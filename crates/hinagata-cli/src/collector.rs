//! Whether the environment requests trace spans. A build without the feature `telemetry` warns about it.

/// Whether the environment names a collector and does not switch it off.
pub(crate) fn is_collector_named(env: impl Fn(&str) -> Option<String>) -> bool {
    let is = |name: &str, value: &str| env(name).is_some_and(|set| set.trim().eq_ignore_ascii_case(value));
    let has = |name: &str| env(name).is_some_and(|set| !set.trim().is_empty());
    let named = has("OTEL_EXPORTER_OTLP_ENDPOINT") || has("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
    named && !is("OTEL_SDK_DISABLED", "true") && !is("OTEL_TRACES_EXPORTER", "none")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_sent_where_the_environment_names_a_collector() {
        let wanted = |set: &[(&str, &str)]| {
            is_collector_named(|asked| {
                set.iter().find(|(name, _)| *name == asked).map(|(_, value)| (*value).to_owned())
            })
        };
        let here = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318");
        assert!(!wanted(&[]));
        assert!(!wanted(&[("OTEL_EXPORTER_OTLP_ENDPOINT", " ")]));
        assert!(wanted(&[here]));
        assert!(wanted(&[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://127.0.0.1:4318/v1/traces")]));
        assert!(!wanted(&[here, ("OTEL_SDK_DISABLED", "True")]));
        assert!(!wanted(&[here, ("OTEL_TRACES_EXPORTER", "none")]));
    }
}
