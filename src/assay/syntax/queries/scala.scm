(function_definition
  name: (_) @name
  body: (_) @body) @definition.function

(function_declaration name: (_) @name) @definition.function

(class_definition
  name: (_) @name
  body: (_)? @body) @definition.class

(object_definition
  name: (_) @name
  body: (_)? @body) @definition.class

(trait_definition
  name: (_) @name
  body: (_)? @body) @definition.interface

(enum_definition
  name: (_) @name
  body: (_) @body) @definition.enum

(package_object
  name: (_) @name
  body: (_)? @body) @definition.module

(package_clause
  name: (_) @name
  body: (_) @body) @definition.module

(given_definition
  name: (_) @name
  body: (_)? @body) @definition.class

; An extension is named after the extended type.
(extension_definition
  parameters: (parameters
    (parameter
      type: [
        (generic_type type: (_) @name)
        (type_identifier) @name
      ]))) @definition.class

(compilation_unit
  [
    (val_definition pattern: (identifier) @name)
    (var_definition pattern: (identifier) @name)
  ] @definition.constant)

(template_body
  [
    (val_definition pattern: (identifier) @name)
    (var_definition pattern: (identifier) @name)
    (val_declaration name: (identifier) @name)
    (var_declaration name: (identifier) @name)
  ] @definition.property)

(type_definition name: (_) @name) @definition.type

[
  (comment)
  (block_comment)
] @comment

(import_declaration) @import

(call_expression
  function: [
    (identifier) @reference
    (field_expression field: (identifier) @reference)
    (generic_function function: (identifier) @reference)
    (generic_function function: (field_expression field: (identifier) @reference))
  ])

(type_identifier) @reference
