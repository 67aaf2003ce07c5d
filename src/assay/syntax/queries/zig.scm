(function_declaration name: (identifier) @name body: (block)? @body) @definition.function
(variable_declaration . (identifier) @name (struct_declaration)) @definition.class
(variable_declaration . (identifier) @name (union_declaration)) @definition.class
(variable_declaration . (identifier) @name (opaque_declaration)) @definition.class
(variable_declaration . (identifier) @name (enum_declaration)) @definition.enum
(variable_declaration . (identifier) @name (error_set_declaration)) @definition.enum
(test_declaration . (string (string_content) @name) (block) @body) @definition.function
(test_declaration . (identifier) @name (block) @body) @definition.function
(test_declaration . "test" @name . (block) @body) @definition.function

; Values of a file or a container; if two patterns match one node, the earlier pattern is preferred.
((source_file (variable_declaration . (identifier) @name ";") @definition.constant)
  (#not-match? @definition.constant "^[^=]*=\\s*@import\\b"))
((struct_declaration (variable_declaration . (identifier) @name ";") @definition.constant)
  (#not-match? @definition.constant "^[^=]*=\\s*@import\\b"))
(union_declaration (variable_declaration . (identifier) @name ";") @definition.constant)
(enum_declaration (variable_declaration . (identifier) @name ";") @definition.constant)

(comment) @comment
((variable_declaration (builtin_function (builtin_identifier) @_builtin)) @import
  (#eq? @_builtin "@import"))
((variable_declaration (field_expression) @_value) @import
  (#match? @_value "^@import\\b"))

(call_expression function: [
  (identifier) @reference
  (field_expression member: (identifier) @reference)
])
(struct_initializer . (identifier) @reference)
(parameter type: (identifier) @reference)
