; Operators are names, too. The node types of names are listed because the return type also has the field `name`.
; The parent is a function_declaration or protocol_function_declaration; naming them takes 0.3 s when queries are compiled.
(_
  "func"
  name: [
    (simple_identifier) (custom_operator)
    "==" "!=" "===" "!==" "<" ">" "<=" ">=" "+" "-" "*" "/" "%" "+=" "-=" "*=" "/=" "%=" "++" "--" "&" "|" "^" "<<" ">>" "~"
  ] @name
  body: (_)? @body) @definition.function

(init_declaration
  "init" @name
  body: (_)? @body) @definition.method

(deinit_declaration
  "deinit" @name
  body: (_) @body) @definition.method

(subscript_declaration
  "subscript" @name
  (computed_property) @body) @definition.method

(class_declaration
  declaration_kind: ["actor" "class" "extension" "struct"]
  name: (_) @name
  body: (_) @body) @definition.class

(class_declaration
  declaration_kind: "enum"
  name: (_) @name
  body: (_) @body) @definition.enum

(protocol_declaration
  name: (_) @name
  body: (_) @body) @definition.interface

(typealias_declaration name: (type_identifier) @name) @definition.type

(associatedtype_declaration name: (type_identifier) @name) @definition.type

(source_file
  (property_declaration
    name: (pattern bound_identifier: (simple_identifier) @name)) @definition.constant)

(class_body
  (property_declaration
    name: (pattern bound_identifier: (simple_identifier) @name)) @definition.property)

(enum_class_body
  (property_declaration
    name: (pattern bound_identifier: (simple_identifier) @name)) @definition.property)

(protocol_property_declaration
  name: (pattern bound_identifier: (simple_identifier) @name)) @definition.property

[
  (comment)
  (multiline_comment)
] @comment

(import_declaration) @import

(call_expression
  .
  [
    (simple_identifier) @reference
    (navigation_expression suffix: (navigation_suffix suffix: (simple_identifier) @reference))
  ])

(user_type (type_identifier) @reference)
