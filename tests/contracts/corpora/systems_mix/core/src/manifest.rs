use std::collections::BTreeMap;

use crate::error::PackratError;

/// Which chunks make up a file.
#[derive(Debug, Clone, Default)]
pub struct Entry {
    pub chunks: Vec<[u8; 32]>,
    pub mode: u32,
}

/// A snapshot: every path with its chunks, sorted so that equal trees have equal manifests.
#[derive(Debug, Clone, Default)]
pub struct Manifest {
    entries: BTreeMap<String, Entry>,
}

impl Manifest {
    pub fn insert(&mut self, path: &str, entry: Entry) -> Result<(), PackratError> {
        if path.starts_with('/') || path.contains("..") {
            return Err(PackratError::UnsafePath(path.to_string()));
        }
        self.entries.insert(path.to_string(), entry);
        Ok(())
    }

    pub fn get(&self, path: &str) -> Option<&Entry> {
        self.entries.get(path)
    }

    /// List the paths whose chunks differ between two snapshots.
    pub fn diff(&self, other: &Manifest) -> Vec<String> {
        let mut changed = Vec::new();
        for (path, entry) in &self.entries {
            match other.entries.get(path) {
                Some(theirs) if theirs.chunks == entry.chunks => {}
                _ => changed.push(path.clone()),
            }
        }
        changed
    }
}
