use std::io::Read;

use crate::error::PackratError;

pub const MIN_CHUNK: usize = 16 * 1024;
pub const MAX_CHUNK: usize = 256 * 1024;
const MASK: u64 = (1 << 16) - 1;

/// A piece of a file, identified by the hash of its bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct Chunk {
    pub offset: u64,
    pub data: Vec<u8>,
}

/// Cuts a stream where a rolling hash hits a mask, so that an insertion changes only the chunks around it.
pub struct Chunker<R: Read> {
    source: R,
    offset: u64,
    hash: u64,
}

impl<R: Read> Chunker<R> {
    pub fn new(source: R) -> Self {
        Chunker { source, offset: 0, hash: 0 }
    }

    /// Read up to the next boundary; `None` at the end of the stream.
    pub fn next_chunk(&mut self) -> Result<Option<Chunk>, PackratError> {
        let mut data = Vec::with_capacity(MIN_CHUNK);
        let mut byte = [0u8; 1];
        while self.source.read(&mut byte)? == 1 {
            data.push(byte[0]);
            self.roll(byte[0]);
            if is_boundary(self.hash, data.len()) {
                break;
            }
        }
        if data.is_empty() {
            return Ok(None);
        }
        let chunk = Chunk { offset: self.offset, data };
        self.offset += chunk.data.len() as u64;
        Ok(Some(chunk))
    }

    fn roll(&mut self, byte: u8) {
        self.hash = (self.hash << 1).wrapping_add(u64::from(byte).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    }
}

fn is_boundary(hash: u64, length: usize) -> bool {
    length >= MAX_CHUNK || (length >= MIN_CHUNK && hash & MASK == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_stream_has_no_chunks() {
        let mut chunker = Chunker::new(&b""[..]);
        assert_eq!(chunker.next_chunk().unwrap(), None);
    }

    #[test]
    fn no_chunk_is_longer_than_the_maximum() {
        let zeros = vec![0u8; 3 * MAX_CHUNK];
        let mut chunker = Chunker::new(&zeros[..]);
        while let Some(chunk) = chunker.next_chunk().unwrap() {
            assert!(chunk.data.len() <= MAX_CHUNK);
        }
    }
}
