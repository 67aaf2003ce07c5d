; A template and the declaration in it both match: the larger node is kept.

(function_definition
  declarator: [
    (function_declarator declarator: [
      (identifier) @name
      (field_identifier) @name
      (operator_name) @name
      (destructor_name) @name
      (template_function name: (identifier) @name)
      (qualified_identifier name: [(identifier) (operator_name) (destructor_name)] @name)
      (qualified_identifier name: (template_function name: (identifier) @name))
      (qualified_identifier name: (qualified_identifier name: [(identifier) (operator_name) (destructor_name)] @name))
      (qualified_identifier name: (qualified_identifier name: (qualified_identifier name: [(identifier) (operator_name) (destructor_name)] @name)))
    ])
    (_ (function_declarator declarator: [
      (identifier) @name
      (field_identifier) @name
      (operator_name) @name
      (destructor_name) @name
      (template_function name: (identifier) @name)
      (qualified_identifier name: [(identifier) (operator_name) (destructor_name)] @name)
      (qualified_identifier name: (template_function name: (identifier) @name))
      (qualified_identifier name: (qualified_identifier name: [(identifier) (operator_name) (destructor_name)] @name))
      (qualified_identifier name: (qualified_identifier name: (qualified_identifier name: [(identifier) (operator_name) (destructor_name)] @name)))
    ]))
    (pointer_declarator declarator: (pointer_declarator declarator: (function_declarator declarator: (_) @name)))
    (operator_cast "operator" @name)
    (qualified_identifier name: (operator_cast "operator" @name))
  ]
  body: (_)? @body) @definition.function

(template_declaration
  (function_definition
    declarator: [
      (function_declarator declarator: [
        (identifier) @name
        (field_identifier) @name
        (operator_name) @name
        (destructor_name) @name
        (template_function name: (identifier) @name)
        (qualified_identifier name: [(identifier) (operator_name) (destructor_name)] @name)
        (qualified_identifier name: (template_function name: (identifier) @name))
        (qualified_identifier name: (qualified_identifier name: [(identifier) (operator_name) (destructor_name)] @name))
        (qualified_identifier name: (qualified_identifier name: (qualified_identifier name: [(identifier) (operator_name) (destructor_name)] @name)))
      ])
      (_ (function_declarator declarator: [
        (identifier) @name
        (field_identifier) @name
        (operator_name) @name
        (destructor_name) @name
        (template_function name: (identifier) @name)
        (qualified_identifier name: [(identifier) (operator_name) (destructor_name)] @name)
        (qualified_identifier name: (template_function name: (identifier) @name))
        (qualified_identifier name: (qualified_identifier name: [(identifier) (operator_name) (destructor_name)] @name))
        (qualified_identifier name: (qualified_identifier name: (qualified_identifier name: [(identifier) (operator_name) (destructor_name)] @name)))
      ]))
      (pointer_declarator declarator: (pointer_declarator declarator: (function_declarator declarator: (_) @name)))
      (operator_cast "operator" @name)
      (qualified_identifier name: (operator_cast "operator" @name))
    ]
    body: (_)? @body)) @definition.function

(template_declaration
  (declaration
    declarator: [
      (function_declarator declarator: [(identifier) (operator_name)] @name)
      (pointer_declarator declarator: (function_declarator declarator: [(identifier) (operator_name)] @name))
      (reference_declarator (function_declarator declarator: [(identifier) (operator_name)] @name))
    ])) @definition.function

(template_declaration
  (declaration
    declarator: [
      (identifier) @name
      (init_declarator declarator: (identifier) @name)
    ])) @definition.constant

; Declarations in a function body are local, so a match with @only_global counts if its node is also captured as @global:
; in the file, a namespace, `extern "C"`, and the branches of the preprocessor, such as an include guard.

(translation_unit (declaration) @global)
(declaration_list (declaration) @global)
(preproc_ifdef (declaration) @global)
(preproc_if (declaration) @global)
(preproc_else (declaration) @global)
(linkage_specification (declaration) @global)

(declaration
  declarator: [
    (function_declarator declarator: [(identifier) (operator_name)] @name)
    (pointer_declarator declarator: (function_declarator declarator: [(identifier) (operator_name)] @name))
    (reference_declarator (function_declarator declarator: [(identifier) (operator_name)] @name))
  ]) @definition.function @only_global

(declaration
  declarator: [
    (identifier) @name
    (pointer_declarator declarator: (identifier) @name)
    (array_declarator declarator: (identifier) @name)
    (init_declarator declarator: [(identifier) @name (qualified_identifier name: (identifier) @name)])
    (init_declarator declarator: (pointer_declarator declarator: (identifier) @name))
    (init_declarator declarator: (reference_declarator (identifier) @name))
    (init_declarator declarator: (array_declarator declarator: (identifier) @name))
  ]) @definition.constant @only_global

(field_declaration_list
  (declaration
    declarator: [
      (function_declarator declarator: [(identifier) (destructor_name) (operator_name)] @name)
      (operator_cast "operator" @name)
    ]) @definition.method)

(field_declaration
  declarator: [
    (function_declarator declarator: [(field_identifier) (operator_name)] @name)
    (pointer_declarator declarator: (function_declarator declarator: [(field_identifier) (operator_name)] @name))
    (reference_declarator (function_declarator declarator: [(field_identifier) (operator_name)] @name))
  ]) @definition.method

(field_declaration
  declarator: [
    (field_identifier) @name
    (pointer_declarator declarator: (field_identifier) @name)
    (reference_declarator (field_identifier) @name)
    (array_declarator declarator: (field_identifier) @name)
    (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (field_identifier) @name)))
  ]) @definition.property

[
  (class_specifier name: [(type_identifier) @name (template_type name: (_) @name) (qualified_identifier name: (_) @name)] body: (_) @body)
  (struct_specifier name: [(type_identifier) @name (template_type name: (_) @name) (qualified_identifier name: (_) @name)] body: (_) @body)
  (union_specifier name: [(type_identifier) @name (template_type name: (_) @name) (qualified_identifier name: (_) @name)] body: (_) @body)
] @definition.class

(template_declaration
  [
    (class_specifier name: [(type_identifier) @name (template_type name: (_) @name) (qualified_identifier name: (_) @name)] body: (_) @body)
    (struct_specifier name: [(type_identifier) @name (template_type name: (_) @name) (qualified_identifier name: (_) @name)] body: (_) @body)
    (union_specifier name: [(type_identifier) @name (template_type name: (_) @name) (qualified_identifier name: (_) @name)] body: (_) @body)
  ]) @definition.class

(enum_specifier
  name: (_) @name
  body: (_) @body) @definition.enum

(namespace_definition
  name: (_) @name
  body: (_) @body) @definition.module

(type_definition
  declarator: [
    (type_identifier) @name
    (pointer_declarator declarator: (type_identifier) @name)
    (array_declarator declarator: (type_identifier) @name)
    (function_declarator declarator: (type_identifier) @name)
    (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (type_identifier) @name)))
  ]) @definition.type

(alias_declaration name: (type_identifier) @name) @definition.type

(template_declaration
  [
    (alias_declaration name: (type_identifier) @name)
    (concept_definition name: (identifier) @name)
  ]) @definition.type

(preproc_def name: (identifier) @name) @definition.macro

(preproc_function_def name: (identifier) @name) @definition.macro

(comment) @comment

[
  (preproc_include)
  (using_declaration)
] @import

(call_expression
  function: [
    (identifier) @reference
    (field_expression field: (field_identifier) @reference)
    (template_function name: (identifier) @reference)
    (qualified_identifier name: (identifier) @reference)
    (qualified_identifier name: (template_function name: (identifier) @reference))
    (qualified_identifier name: (qualified_identifier name: (identifier) @reference))
    (qualified_identifier name: (qualified_identifier name: (template_function name: (identifier) @reference)))
  ])

(type_identifier) @reference
