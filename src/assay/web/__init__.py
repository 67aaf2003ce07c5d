"""The browser's side of Assay: runs explored and gold reviewed, by a server for one person on one machine."""
