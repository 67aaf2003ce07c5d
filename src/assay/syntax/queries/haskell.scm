; Bindings of a module, a class or an instance; bindings in `where` and `let` are local.
(declarations (function name: (_) @name) @definition.function)
(declarations (bind name: (_) @name) @definition.function)
(declarations (function (infix operator: [(operator) @name (infix_id (_) @name)])) @definition.function)
(declarations (function (function_head_parens (infix operator: [
  (operator) @name
  (infix_id (_) @name)
]))) @definition.function)
; A file with syntax errors has an ERROR node instead of declarations.
(ERROR (function name: (_) @name) @definition.function)
(ERROR (bind name: (_) @name) @definition.function)
(ERROR (signature) @decorator)
(foreign_import signature: (signature name: (_) @name)) @definition.function
(instance_declarations (function name: (_) @name) @definition.method)
(instance_declarations (bind name: (_) @name) @definition.method)
(instance_declarations (function (infix operator: [(operator) @name (infix_id (_) @name)])) @definition.method)

; A signature belongs to the binding below; in a class, the signature is a definition.
(declarations (signature) @decorator)
(instance_declarations (signature) @decorator)
(class_declarations (signature name: (_) @name) @definition.method)
(class_declarations (signature names: (binding_list (_) @name @definition.method)))
(class_declarations (function name: (_) @name) @definition.method)
(class_declarations (bind name: (_) @name) @definition.method)
(class_declarations (function (infix operator: [(operator) @name (infix_id (_) @name)])) @definition.method)

(data_type name: (_) @name) @definition.class
(newtype name: (_) @name) @definition.class
(type_synonym name: (_) @name) @definition.type
(data_family name: (_) @name) @definition.type
(type_family name: (_) @name) @definition.type
(pattern_synonym (equation synonym: [
  (apply function: (constructor) @name)
  (constructor) @name
])) @definition.constant
(class name: (_) @name declarations: (_)? @body) @definition.interface

; An instance is named after its first type.
(instance patterns: (type_patterns . [
  (name) @name
  (qualified id: (_) @name)
  (parens type: [
    (name) @name
    (qualified id: (_) @name)
    (infix operator: (_) @name)
    (apply constructor: [
      (name) @name
      (qualified id: (_) @name)
      (prefix_tuple) @name
      (apply constructor: [
        (name) @name
        (qualified id: (_) @name)
        (prefix_tuple) @name
        (apply) @name
      ])
      (parens) @name
    ])
    (function) @name
    (parens) @name
    (signature) @name
  ])
  (list) @name
  (tuple) @name
  (unit) @name
  (variable) @name
  (prefix_list) @name
  (prefix_tuple) @name
  (promoted) @name
  (literal) @name
]) declarations: (_)? @body) @definition.class

(comment) @comment
(haddock) @comment
(import) @import

(name) @reference
(constructor) @reference
(apply function: (variable) @reference)
(apply function: (qualified id: (variable) @reference))
(infix left_operand: (variable) @reference)
(infix right_operand: (variable) @reference)
