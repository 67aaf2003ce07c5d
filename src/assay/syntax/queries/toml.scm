(table . [(bare_key) (dotted_key) (quoted_key)] @name) @definition.key
(table_array_element . [(bare_key) (dotted_key) (quoted_key)] @name) @definition.key
(document (pair . (_) @name) @definition.key)
(comment) @comment
