//! A certificate for one host, signed by itself.

use std::{fmt, sync::Arc};

use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer},
};
use tokio_rustls::TlsAcceptor;

/// A certificate with its key.
pub(crate) struct Certificate {
    host: String,
    pem: String,
    der: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificate").field("host", &self.host).finish_non_exhaustive()
    }
}

impl Certificate {
    /// A new certificate for `host`.
    pub(crate) fn new(host: &str) -> Self {
        let made = rcgen::generate_simple_self_signed([host.to_owned()]).expect("is the name of a host");
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).expect("is a key");
        Self { host: host.to_owned(), pem: made.cert.pem(), der: made.cert.der().clone(), key }
    }

    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    pub(crate) fn pem(&self) -> &str {
        &self.pem
    }

    /// Accepts connections with it, over HTTP/2 or HTTP/1.1.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_safe_default_protocol_versions().expect("the provider has them");
        let mut config = builder
            .with_no_client_auth()
            .with_single_cert(vec![self.der.clone()], self.key.clone_key())
            .expect("the key belongs to it");
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        TlsAcceptor::from(Arc::new(config))
    }
}
