//! Content-defined chunking and snapshot manifests.

pub mod chunker;
pub mod error;
pub mod manifest;

pub use chunker::{Chunk, Chunker};
pub use error::PackratError;
pub use manifest::Manifest;
