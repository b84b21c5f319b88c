//! What an answer carries.

use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use http_body_util::combinators::BoxBody;
use hyper::body::{Frame, SizeHint};

/// An answer.
pub(crate) type Response = hyper::Response<Body>;

/// What an answer carries: all of it at once, or pieces as they come.
pub(crate) enum Body {
    Whole(Option<Bytes>),
    Pieces(Pin<Box<dyn Stream<Item = Bytes> + Send>>),
    /// What another one answers.
    Foreign(BoxBody<Bytes, Infallible>),
}

impl Body {
    pub(crate) fn empty() -> Self {
        Self::Whole(None)
    }

    pub(crate) fn pieces(pieces: impl Stream<Item = Bytes> + Send + 'static) -> Self {
        Self::Pieces(Box::pin(pieces))
    }
}

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Self {
        Self::Whole(Some(bytes).filter(|bytes| !bytes.is_empty()))
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
            Self::Whole(bytes) => Poll::Ready(bytes.take()),
            Self::Pieces(pieces) => pieces.poll_next_unpin(context),
            Self::Foreign(body) => return Pin::new(body).poll_frame(context),
        };
        next.map(|piece| piece.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(bytes) => bytes.is_none(),
            Self::Pieces(_) => false,
            Self::Foreign(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Self::Pieces(_) => SizeHint::default(),
            Self::Foreign(body) => body.size_hint(),
        }
    }
}
