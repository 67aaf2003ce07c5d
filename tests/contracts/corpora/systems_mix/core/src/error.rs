use thiserror::Error;

#[derive(Debug, Error)]
pub enum PackratError {
    #[error("i/o error: {0}")]
    Io(#[from] std::io::Error),
    #[error("unsafe path in manifest: {0}")]
    UnsafePath(String),
    #[error("checksum mismatch in chunk {0}")]
    ChecksumMismatch(String),
}
