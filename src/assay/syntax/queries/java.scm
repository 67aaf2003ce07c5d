(class_declaration
  name: (identifier) @name
  body: (_) @body) @definition.class

(record_declaration
  name: (identifier) @name
  body: (_) @body) @definition.class

(interface_declaration
  name: (identifier) @name
  body: (_) @body) @definition.interface

(annotation_type_declaration
  name: (identifier) @name
  body: (_) @body) @definition.interface

(enum_declaration
  name: (identifier) @name
  body: (_) @body) @definition.enum

(module_declaration
  name: (_) @name
  body: (_) @body) @definition.module

(method_declaration
  name: (identifier) @name
  body: (block)? @body) @definition.method

(constructor_declaration
  name: (identifier) @name
  body: (_) @body) @definition.method

(compact_constructor_declaration
  name: (identifier) @name
  body: (_) @body) @definition.method

(annotation_type_element_declaration name: (identifier) @name) @definition.method

(field_declaration declarator: (variable_declarator name: (identifier) @name)) @definition.property

(constant_declaration declarator: (variable_declarator name: (identifier) @name)) @definition.constant

[
  (line_comment)
  (block_comment)
] @comment

(import_declaration) @import

(method_invocation name: (identifier) @reference)

[
  (marker_annotation name: (identifier) @reference)
  (annotation name: (identifier) @reference)
]

(type_identifier) @reference
