(create_table (object_reference name: (identifier) @name) (column_definitions)? @body) @definition.class
(create_view (object_reference name: (identifier) @name)) @definition.class
(create_materialized_view (object_reference name: (identifier) @name)) @definition.class
(create_type (keyword_type) (object_reference name: (identifier) @name)) @definition.type
(create_function
  (keyword_function) . (object_reference name: (identifier) @name)
  (function_body)? @body) @definition.function
(create_index column: (identifier) @name . (keyword_on)) @definition.key
(create_trigger (keyword_trigger) . (object_reference name: (identifier) @name)) @definition.function

(comment) @comment
(marginalia) @comment
(relation (object_reference name: (identifier) @reference))
(invocation (object_reference name: (identifier) @reference))
