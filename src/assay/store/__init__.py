"""The cache on disk: values, directories and workspaces, each identified by a kind and a key."""
