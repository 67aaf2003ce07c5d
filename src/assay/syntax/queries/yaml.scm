; The keys of the first two levels; templates (`{{ … }}`) cause syntax errors, but most pairs are still parsed.
(document (block_node (block_mapping (block_mapping_pair key: (_) @name) @definition.key)))
(document (block_node (block_mapping (block_mapping_pair
  value: (block_node (block_mapping (block_mapping_pair key: (_) @name) @definition.key))))))
(ERROR (block_mapping_pair key: (_) @name) @definition.key)
(ERROR (block_mapping_pair
  value: (block_node (block_mapping (block_mapping_pair key: (_) @name) @definition.key))))
(comment) @comment
