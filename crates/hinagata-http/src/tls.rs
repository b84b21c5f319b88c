//! TLS: the provider of the process, and the certificates that the system trusts.

use std::sync::Arc;

use rustls::{ClientConfig, Error, crypto::CryptoProvider};
use rustls_platform_verifier::Verifier;

/// Installs the TLS provider that every part of the product uses.
///
/// Call it before creating anything that uses TLS. A provider that is already installed stays, so it can be called any
/// number of times.
pub fn install_tls() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// The configuration of a client that trusts the certificates of the system. It reads them, which takes milliseconds.
///
/// # Errors
/// The system has no certificates, or they cannot be read.
pub fn system_tls() -> Result<ClientConfig, Error> {
    install_tls();
    let provider = CryptoProvider::get_default().ok_or(Error::General("no TLS provider".to_owned()))?;
    let verifier = Verifier::new(Arc::clone(provider))?;
    let builder =
        ClientConfig::builder_with_provider(Arc::clone(provider)).with_safe_default_protocol_versions()?;
    Ok(builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth())
}
