(function_declaration name: [
  (identifier) @name
  (dot_index_expression field: (identifier) @name)
] body: (_)? @body) @definition.function
(function_declaration name: (method_index_expression method: (identifier) @name) body: (_)? @body) @definition.method

; `M.x = function … end`; for `local x = function … end`, the larger node, which includes `local`, is kept.
(assignment_statement
  (variable_list . name: [
    (identifier) @name
    (dot_index_expression field: (identifier) @name)
  ])
  (expression_list . value: (function_definition body: (_)? @body))) @definition.function
(variable_declaration (assignment_statement
  (variable_list . name: (identifier) @name)
  (expression_list . value: (function_definition body: (_)? @body)))) @definition.function
(field name: (identifier) @name value: (function_definition body: (_)? @body)) @definition.function

; Top-level values, without aliases of imported names (`local insert = table.insert`).
(chunk (variable_declaration (assignment_statement
  (variable_list . name: (identifier) @name)
  (expression_list . value: [
    (string) (number) (true) (false) (table_constructor) (binary_expression) (unary_expression)
  ]))) @definition.constant)
(chunk (assignment_statement
  (variable_list . name: [
    (identifier) @name
    (dot_index_expression field: (identifier) @name)
  ])
  (expression_list . value: [
    (string) (number) (true) (false) (table_constructor) (binary_expression) (unary_expression)
  ])) @definition.constant)

(comment) @comment
((function_call name: (identifier) @_function) @import
  (#any-of? @_function "require" "dofile" "loadfile"))
(function_call name: [
  (identifier) @reference
  (dot_index_expression field: (identifier) @reference)
  (method_index_expression method: (identifier) @reference)
])
