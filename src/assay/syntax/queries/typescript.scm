; The list of values omits functions and classes, so that `const f = () => ...` matches once, as a function.

(function_declaration
  name: (identifier) @name
  body: (_) @body) @definition.function

(generator_function_declaration
  name: (identifier) @name
  body: (_) @body) @definition.function

(variable_declarator
  name: (identifier) @name
  value: [
    (arrow_function body: (_) @body)
    (function_expression body: (_) @body)
    (generator_function body: (_) @body)
  ]) @definition.function

(assignment_expression
  left: (member_expression property: (_) @name)
  right: [
    (arrow_function body: (_) @body)
    (function_expression !name body: (_) @body)
    (generator_function !name body: (_) @body)
  ]) @definition.function

((assignment_expression
  left: (member_expression property: (_) @name)
  right: [
    (function_expression name: (_) body: (_) @body)
    (generator_function name: (_) body: (_) @body)
  ]) @definition.function
  (#not-eq? @name "exports"))

; `module.exports = function createServer() ...`
((assignment_expression
  left: (member_expression property: (_) @callee)
  right: [
    (function_expression name: (_) @name body: (_) @body)
    (generator_function name: (_) @name body: (_) @body)
  ]) @definition.function
  (#eq? @callee "exports"))

; `defineGetter(request, 'protocol', function protocol() ...)`
(arguments
  (string)
  .
  (function_expression name: (_) @name body: (_) @body) @definition.function)

(export_statement
  "default" @name
  value: [
    (arrow_function body: (_) @body)
    (function_expression body: (_) @body)
    (generator_function body: (_) @body)
  ]) @definition.function

[(class_declaration name: (_) @name body: (_) @body) (abstract_class_declaration name: (_) @name body: (_) @body)] @definition.class

(export_statement
  decorator: (decorator)
  declaration: [(class_declaration name: (_) @name body: (_) @body) (abstract_class_declaration name: (_) @name body: (_) @body)]) @definition.class

(variable_declarator
  name: (identifier) @name
  value: (class body: (_) @body)) @definition.class

(assignment_expression
  left: (member_expression property: (_) @name)
  right: (class !name body: (_) @body)) @definition.class

((assignment_expression
  left: (member_expression property: (_) @name)
  right: (class name: (_) body: (_) @body)) @definition.class
  (#not-eq? @name "exports"))

((assignment_expression
  left: (member_expression property: (_) @callee)
  right: (class name: (_) @name body: (_) @body)) @definition.class
  (#eq? @callee "exports"))

(export_statement
  "default" @name
  value: (class body: (_) @body)) @definition.class

(method_definition
  name: (_) @name
  body: (_) @body) @definition.method

(class_body (decorator) @decorator)

; Functions in an object that is assigned to a name; functions in arguments belong to the call.
[
  (variable_declarator
    value: (object
      (pair
        key: [(property_identifier) @name (string (string_fragment) @name)]
        value: [
          (arrow_function body: (_) @body)
          (function_expression body: (_) @body)
          (generator_function body: (_) @body)
        ]) @definition.method))
  (assignment_expression
    right: (object
      (pair
        key: [(property_identifier) @name (string (string_fragment) @name)]
        value: [
          (arrow_function body: (_) @body)
          (function_expression body: (_) @body)
          (generator_function body: (_) @body)
        ]) @definition.method))
  (export_statement
    value: (object
      (pair
        key: [(property_identifier) @name (string (string_fragment) @name)]
        value: [
          (arrow_function body: (_) @body)
          (function_expression body: (_) @body)
          (generator_function body: (_) @body)
        ]) @definition.method))
]

(public_field_definition
  name: (_) @name
  value: [
    (arrow_function body: (_) @body)
    (function_expression body: (_) @body)
    (generator_function body: (_) @body)
  ]) @definition.method

(public_field_definition
  name: (_) @name
  value: [
    (array) (as_expression) (assignment_expression) (await_expression) (binary_expression)
    (call_expression) (false) (identifier) (member_expression) (new_expression) (non_null_expression)
    (null) (number) (object) (parenthesized_expression) (regex) (satisfies_expression) (string)
    (subscript_expression) (template_string) (ternary_expression) (true) (unary_expression)
    (undefined)
  ]) @definition.property

(public_field_definition
  name: (_) @name
  !value) @definition.property

; `const x = require(...)` is an import.
((program
  (_
    (variable_declarator
      name: (identifier) @name
      value: [
        (array) (as_expression) (assignment_expression) (await_expression) (binary_expression)
        (call_expression function: (_) @callee) (false) (identifier) (member_expression) (new_expression) (non_null_expression)
        (null) (number) (object) (parenthesized_expression) (regex) (satisfies_expression) (string)
        (subscript_expression) (template_string) (ternary_expression) (true) (unary_expression)
        (undefined)
      ]) @definition.constant))
  (#not-eq? @callee "require"))

(export_statement
  declaration: (_
    (variable_declarator
      name: (identifier) @name
      value: [
        (array) (as_expression) (assignment_expression) (await_expression) (binary_expression)
        (call_expression) (false) (identifier) (member_expression) (new_expression) (non_null_expression)
        (null) (number) (object) (parenthesized_expression) (regex) (satisfies_expression) (string)
        (subscript_expression) (template_string) (ternary_expression) (true) (unary_expression)
        (undefined)
      ]) @definition.constant))

(program
  (_
    (variable_declarator
      name: (identifier) @name
      !value) @definition.constant))

(program
  (expression_statement
    (assignment_expression
      left: (member_expression property: (_) @name)
      right: [
        (array) (as_expression) (assignment_expression) (await_expression) (binary_expression)
        (call_expression) (false) (identifier) (member_expression) (new_expression) (non_null_expression)
        (null) (number) (object) (parenthesized_expression) (regex) (satisfies_expression) (string)
        (subscript_expression) (template_string) (ternary_expression) (true) (unary_expression)
        (undefined)
      ]) @definition.constant))

(export_statement
  "default" @name
  value: [
    (array) (as_expression) (assignment_expression) (await_expression) (binary_expression)
    (call_expression) (false) (identifier) (member_expression) (new_expression) (non_null_expression)
    (null) (number) (object) (parenthesized_expression) (regex) (satisfies_expression) (string)
    (subscript_expression) (template_string) (ternary_expression) (true) (unary_expression)
    (undefined)
  ]) @definition.constant

(interface_declaration
  name: (_) @name
  body: (_) @body) @definition.interface

(enum_declaration
  name: (_) @name
  body: (_) @body) @definition.enum

(type_alias_declaration name: (_) @name) @definition.type

[
  (internal_module name: (_) @name body: (_) @body)
  (module name: (_) @name body: (_) @body)
] @definition.module

(ambient_declaration
  (_
    (variable_declarator
      name: (identifier) @name
      !value)) @definition.constant)

(function_signature name: (identifier) @name) @definition.function

(abstract_method_signature name: (_) @name) @definition.method

(class_body (method_signature name: (_) @name) @definition.method)

(interface_body
  [
    (method_signature name: (_) @name) @definition.method
    (property_signature name: (_) @name) @definition.property
  ])

(comment) @comment

[
  (import_statement)
  (export_statement source: (string))
] @import

((variable_declarator
  value: [
    (call_expression function: (identifier) @callee)
    (member_expression object: (call_expression function: (identifier) @callee))
  ]) @import
  (#eq? @callee "require"))

(call_expression
  function: [
    (identifier) @reference
    (member_expression property: (property_identifier) @reference)
  ])

(new_expression
  constructor: [
    (identifier) @reference
    (member_expression property: (property_identifier) @reference)
  ])

(extends_clause
  value: [
    (identifier) @reference
    (member_expression property: (property_identifier) @reference)
  ])

(type_identifier) @reference
