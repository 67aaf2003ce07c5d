; Functions inside an impl or a trait become methods in outline.py.
(function_item name: (identifier) @name body: (block) @body) @definition.function
(function_signature_item name: (identifier) @name) @definition.function

(struct_item name: (type_identifier) @name body: (field_declaration_list)? @body) @definition.class
(union_item name: (type_identifier) @name body: (_) @body) @definition.class
(enum_item name: (type_identifier) @name body: (_) @body) @definition.enum
(trait_item name: (type_identifier) @name body: (_) @body) @definition.interface
(type_item name: (type_identifier) @name) @definition.type
(associated_type name: (type_identifier) @name) @definition.type

; An impl block is named after the implementing type.
(impl_item
  type: [
    (type_identifier) @name
    (scoped_type_identifier name: (type_identifier) @name)
    (generic_type type: [
      (type_identifier) @name
      (scoped_type_identifier name: (type_identifier) @name)
    ])
    (reference_type type: (_) @name)
    (dynamic_type trait: (_) @name)
    (primitive_type) @name
    (tuple_type) @name
    (array_type) @name
    (pointer_type) @name
    (function_type) @name
    (unit_type) @name
    (never_type) @name
    (bracketed_type) @name
    (macro_invocation macro: (_) @name)
    (metavariable) @name
  ]
  body: (_) @body) @definition.class

(mod_item name: (identifier) @name body: (_) @body) @definition.module
(macro_definition name: (identifier) @name) @definition.macro

; Constants in a function body are local and not captured.
(source_file (const_item name: (identifier) @name) @definition.constant)
(source_file (static_item name: (identifier) @name) @definition.constant)
(declaration_list (const_item name: (identifier) @name) @definition.constant)
(declaration_list (static_item name: (identifier) @name) @definition.constant)

(line_comment) @comment
(block_comment) @comment
(attribute_item) @decorator
(use_declaration) @import
(extern_crate_declaration) @import
(mod_item !body) @import

(type_identifier) @reference
(call_expression function: [
  (identifier) @reference
  (scoped_identifier name: (identifier) @reference)
  (field_expression field: (field_identifier) @reference)
  (generic_function function: [
    (identifier) @reference
    (scoped_identifier name: (identifier) @reference)
    (field_expression field: (field_identifier) @reference)
  ])
])
(macro_invocation macro: [
  (identifier) @reference
  (scoped_identifier name: (identifier) @reference)
])
; The arguments of a macro are only tokens: a name before brackets is a call.
(token_tree (identifier) @reference . (token_tree))
