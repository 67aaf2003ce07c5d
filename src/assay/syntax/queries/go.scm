(function_declaration
  name: (identifier) @name
  body: (block)? @body) @definition.function

(method_declaration
  name: (field_identifier) @name
  body: (block)? @body) @definition.method

(type_spec
  name: (type_identifier) @name
  type: (struct_type (field_declaration_list) @body)) @definition.class

(type_spec
  name: (type_identifier) @name
  type: (interface_type)) @definition.interface

[
  (type_alias name: (type_identifier) @name)
  (type_spec
    name: (type_identifier) @name
    type: [
      (array_type)
      (channel_type)
      (function_type)
      (generic_type)
      (map_type)
      (parenthesized_type)
      (pointer_type)
      (qualified_type)
      (slice_type)
      (type_identifier)
    ])
] @definition.type

(type_spec
  type: (struct_type
    (field_declaration_list
      (field_declaration name: (field_identifier) @name) @definition.property)))

(type_spec
  type: (interface_type
    (method_elem name: (field_identifier) @name) @definition.method))

(source_file
  [
    (const_declaration (const_spec name: (identifier) @name) @definition.constant)
    (var_declaration (var_spec name: (identifier) @name) @definition.constant)
    (var_declaration (var_spec_list (var_spec name: (identifier) @name) @definition.constant))
  ])

(comment) @comment

(import_declaration) @import

(call_expression
  function: [
    (identifier) @reference
    (selector_expression field: (field_identifier) @reference)
  ])

(type_identifier) @reference
