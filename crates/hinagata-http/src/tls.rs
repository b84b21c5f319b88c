//! The TLS provider of the process.

/// Installs the TLS provider that every part of the product uses.
///
/// Call it before creating anything that uses TLS. A provider that is already installed stays, so it can be called any
/// number of times.
pub fn install_tls() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}
