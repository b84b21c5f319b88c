//! The bodies of responses.

use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::StreamExt as _;
use http_body_util::{BodyExt as _, combinators::BoxBody};
use hyper::body::{Frame, SizeHint};

/// A response.
pub(crate) type Response = hyper::Response<Body>;

/// The body of a response: complete, or a stream of chunks.
pub(crate) enum Body {
    Full(Option<Bytes>),
    Stream(Pin<Box<dyn futures_util::Stream<Item = Bytes> + Send>>),
    /// The body of a response that another service created.
    Boxed(BoxBody<Bytes, Infallible>),
}

impl Body {
    pub(crate) fn empty() -> Self {
        Self::Full(None)
    }

    pub(crate) fn from_stream(pieces: impl futures_util::Stream<Item = Bytes> + Send + 'static) -> Self {
        Self::Stream(Box::pin(pieces))
    }

    /// The same body, which keeps `guard` until the end of a stream.
    pub(crate) fn with_guard(self, guard: impl Send + Sync + 'static) -> Self {
        match self {
            Self::Full(_) => self,
            Self::Stream(pieces) => Self::from_stream(pieces.inspect(move |_| {
                let _kept = &guard;
            })),
            Self::Boxed(body) => Self::Boxed(BoxBody::new(body.map_frame(move |frame| {
                let _kept = &guard;
                frame
            }))),
        }
    }
}

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Self {
        Self::Full(Some(bytes).filter(|bytes| !bytes.is_empty()))
    }
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = match self.get_mut() {
            Self::Full(bytes) => Poll::Ready(bytes.take()),
            Self::Stream(pieces) => pieces.poll_next_unpin(context),
            Self::Boxed(body) => return Pin::new(body).poll_frame(context),
        };
        next.map(|piece| piece.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Full(bytes) => bytes.is_none(),
            Self::Stream(_) => false,
            Self::Boxed(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Full(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Self::Stream(_) => SizeHint::default(),
            Self::Boxed(body) => body.size_hint(),
        }
    }
}
