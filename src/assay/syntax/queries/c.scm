(function_definition
  declarator: [
    (function_declarator declarator: (identifier) @name)
    (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))
    (pointer_declarator declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name)))
  ]
  body: (_) @body) @definition.function

(struct_specifier
  name: (type_identifier) @name
  body: (_) @body) @definition.class

(union_specifier
  name: (type_identifier) @name
  body: (_) @body) @definition.class

(enum_specifier
  name: (type_identifier) @name
  body: (_) @body) @definition.enum

(type_definition
  declarator: [
    (type_identifier) @name
    (pointer_declarator declarator: (type_identifier) @name)
    (array_declarator declarator: (type_identifier) @name)
    (function_declarator declarator: (type_identifier) @name)
    (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (type_identifier) @name)))
  ]) @definition.type

(preproc_def name: (identifier) @name) @definition.macro

(preproc_function_def name: (identifier) @name) @definition.macro

(field_declaration
  declarator: [
    (field_identifier) @name
    (pointer_declarator declarator: (field_identifier) @name)
    (array_declarator declarator: (field_identifier) @name)
    (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (field_identifier) @name)))
  ]) @definition.property

; Declarations in a function body are local, so a match with @only_global counts if its node is also captured as @global:
; in the file, `extern "C" { ... }`, and the branches of the preprocessor, such as an include guard.

(translation_unit (declaration) @global)
(declaration_list (declaration) @global)
(preproc_ifdef (declaration) @global)
(preproc_if (declaration) @global)
(preproc_else (declaration) @global)

(declaration
  declarator: [
    (function_declarator declarator: (identifier) @name)
    (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))
    (pointer_declarator declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name)))
  ]) @definition.function @only_global

(declaration
  declarator: [
    (identifier) @name
    (pointer_declarator declarator: (identifier) @name)
    (array_declarator declarator: (identifier) @name)
    (init_declarator declarator: (identifier) @name)
    (init_declarator declarator: (pointer_declarator declarator: (identifier) @name))
    (init_declarator declarator: (array_declarator declarator: (identifier) @name))
    (init_declarator declarator: (pointer_declarator declarator: (array_declarator declarator: (identifier) @name)))
  ]) @definition.constant @only_global

(comment) @comment

(preproc_include) @import

(call_expression
  function: [
    (identifier) @reference
    (field_expression field: (field_identifier) @reference)
  ])

(type_identifier) @reference
