(namespace_declaration
  name: (_) @name
  body: (_) @body) @definition.module

[
  (class_declaration name: (identifier) @name body: (_)? @body)
  (record_declaration name: (identifier) @name body: (_)? @body)
  (struct_declaration name: (identifier) @name body: (_)? @body)
] @definition.class

(interface_declaration
  name: (identifier) @name
  body: (_)? @body) @definition.interface

(enum_declaration
  name: (identifier) @name
  body: (_)? @body) @definition.enum

(delegate_declaration name: (identifier) @name) @definition.type

[
  (method_declaration name: (identifier) @name body: (_)? @body)
  (constructor_declaration name: (identifier) @name body: (_)? @body)
  (destructor_declaration name: (identifier) @name body: (_)? @body)
  (operator_declaration operator: _ @name body: (_)? @body)
  (conversion_operator_declaration "operator" @name body: (_)? @body)
] @definition.method

(local_function_statement
  name: (identifier) @name
  body: (_)? @body) @definition.function

(indexer_declaration
  "this" @name
  accessors: (_)? @body) @definition.property

(property_declaration
  name: (identifier) @name
  accessors: (_)? @body) @definition.property

(event_declaration
  name: (identifier) @name
  accessors: (_)? @body) @definition.property

[
  (field_declaration (variable_declaration (variable_declarator name: (identifier) @name)))
  (event_field_declaration (variable_declaration (variable_declarator name: (identifier) @name)))
] @definition.property

(comment) @comment

(using_directive) @import

(invocation_expression
  function: [
    (identifier) @reference
    (generic_name . (identifier) @reference)
    (member_access_expression name: (identifier) @reference)
    (member_access_expression name: (generic_name . (identifier) @reference))
    (conditional_access_expression (member_binding_expression name: (identifier) @reference))
  ])

(object_creation_expression
  type: [
    (identifier) @reference
    (generic_name . (identifier) @reference)
  ])

(base_list
  [
    (identifier) @reference
    (generic_name . (identifier) @reference)
  ])

(attribute name: (identifier) @reference)
