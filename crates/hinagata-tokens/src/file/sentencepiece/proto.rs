//! The fields of a model file that counting needs.

use prost::Message;

#[derive(Clone, PartialEq, Message)]
pub(super) struct ModelFile {
    #[prost(message, repeated, tag = "1")]
    pub(super) pieces: Vec<Piece>,
    #[prost(message, optional, tag = "2")]
    pub(super) trainer: Option<TrainerFields>,
    #[prost(message, optional, tag = "3")]
    pub(super) normalizer: Option<NormalizerFields>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Piece {
    #[prost(string, tag = "1")]
    pub(super) piece: String,
    #[prost(float, tag = "2")]
    pub(super) score: f32,
    #[prost(int32, optional, tag = "3")]
    kind_number: Option<i32>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TrainerFields {
    #[prost(int32, optional, tag = "3")]
    model_number: Option<i32>,
    #[prost(bool, tag = "24")]
    pub(super) spaces_are_suffixes: bool,
    #[prost(bool, tag = "35")]
    pub(super) falls_back_to_bytes: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct NormalizerFields {
    #[prost(bytes = "vec", tag = "2")]
    pub(super) characters: Vec<u8>,
    #[prost(bool, optional, tag = "3")]
    pub(super) adds_space: Option<bool>,
    #[prost(bool, optional, tag = "4")]
    pub(super) removes_spaces: Option<bool>,
    #[prost(bool, optional, tag = "5")]
    pub(super) escapes_spaces: Option<bool>,
}

/// How a model encodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ModelKind {
    Unigram,
    BytePairs,
    Other,
}

/// What a piece is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PieceKind {
    Normal,
    UserDefined,
    Unused,
    /// It stands for no text: unknown, control or byte.
    Reserved,
}

impl Piece {
    pub(super) fn kind(&self) -> PieceKind {
        match self.kind_number {
            None | Some(1) => PieceKind::Normal,
            Some(4) => PieceKind::UserDefined,
            Some(5) => PieceKind::Unused,
            _ => PieceKind::Reserved,
        }
    }

    /// Whether texts are encoded with it.
    pub(super) fn is_encodable(&self) -> bool {
        matches!(self.kind(), PieceKind::Normal | PieceKind::UserDefined)
    }
}

impl TrainerFields {
    pub(super) fn model_kind(&self) -> ModelKind {
        match self.model_number {
            None | Some(1) => ModelKind::Unigram,
            Some(2) => ModelKind::BytePairs,
            _ => ModelKind::Other,
        }
    }
}
