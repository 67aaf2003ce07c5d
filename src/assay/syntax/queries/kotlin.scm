(function_declaration
  name: (identifier) @name
  (function_body)? @body) @definition.function

; Classes and enums differ in the type of the last child, even without a body.
(class_declaration
  "class"
  name: (identifier) @name
  [
    (class_body) @body
    (delegation_specifiers)
    (primary_constructor)
    (type_constraints)
    (type_parameters)
  ]
  .) @definition.class

(class_declaration
  "class"
  name: (identifier) @name
  .) @definition.class

(class_declaration
  "class"
  name: (identifier) @name
  (enum_class_body) @body) @definition.enum

(class_declaration
  "interface"
  name: (identifier) @name
  (class_body)? @body) @definition.interface

(object_declaration
  name: (identifier) @name
  (class_body)? @body) @definition.class

(companion_object
  name: (identifier) @name
  (class_body)? @body) @definition.class

(companion_object
  !name
  "companion" @name
  (class_body)? @body) @definition.class

(secondary_constructor
  "constructor" @name
  (block)? @body) @definition.method

(source_file
  (property_declaration
    (variable_declaration . (identifier) @name)) @definition.constant)

(class_body
  (property_declaration
    (variable_declaration . (identifier) @name)) @definition.property)

(enum_class_body
  (property_declaration
    (variable_declaration . (identifier) @name)) @definition.property)

(type_alias type: (identifier) @name) @definition.type

[
  (line_comment)
  (block_comment)
] @comment

(import) @import

(call_expression
  .
  [
    (identifier) @reference
    (navigation_expression (identifier) @reference .)
  ])

(user_type (identifier) @reference)
