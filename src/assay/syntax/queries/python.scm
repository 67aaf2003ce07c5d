; A decorated definition matches twice, with and without its decorators: the larger node is kept.

(function_definition
  name: (identifier) @name
  body: (block . (expression_statement . (string (string_content) @doc))?) @body) @definition.function

(decorated_definition
  definition: (function_definition
    name: (identifier) @name
    body: (block . (expression_statement . (string (string_content) @doc))?) @body)) @definition.function

(class_definition
  name: (identifier) @name
  body: (block . (expression_statement . (string (string_content) @doc))?) @body) @definition.class

(decorated_definition
  definition: (class_definition
    name: (identifier) @name
    body: (block . (expression_statement . (string (string_content) @doc))?) @body)) @definition.class

(module
  (expression_statement
    (assignment
      left: [
        (identifier) @name
        (pattern_list (identifier) @name)
      ])) @definition.constant)

; Conditional assignments of a module: `if TYPE_CHECKING:`, `try: ... except ImportError:`.
(module
  [
    (if_statement (block (expression_statement (assignment left: (identifier) @name)) @definition.constant))
    (if_statement (_ (block (expression_statement (assignment left: (identifier) @name)) @definition.constant)))
    (try_statement (block (expression_statement (assignment left: (identifier) @name)) @definition.constant))
    (try_statement (_ (block (expression_statement (assignment left: (identifier) @name)) @definition.constant)))
  ])

(class_definition
  body: (block
    (expression_statement
      (assignment left: (identifier) @name)) @definition.property))

(type_alias_statement
  left: (type
    [
      (identifier) @name
      (generic_type . (identifier) @name)
    ])) @definition.type

(comment) @comment

[
  (import_statement)
  (import_from_statement)
  (future_import_statement)
] @import

(call
  function: [
    (identifier) @reference
    (attribute attribute: (identifier) @reference)
  ])

(decorator
  [
    (identifier) @reference
    (attribute attribute: (identifier) @reference)
  ])

(class_definition
  superclasses: (argument_list
    [
      (identifier) @reference
      (attribute attribute: (identifier) @reference)
    ]))

(type
  [
    (identifier) @reference
    (attribute attribute: (identifier) @reference)
    (generic_type . (identifier) @reference)
  ])
