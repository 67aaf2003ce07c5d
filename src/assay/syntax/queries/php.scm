(class_declaration name: (name) @name body: (_) @body) @definition.class
(trait_declaration name: (name) @name body: (_) @body) @definition.class
(interface_declaration name: (name) @name body: (_) @body) @definition.interface
(enum_declaration name: (name) @name body: (_) @body) @definition.enum
(function_definition name: (name) @name body: (_) @body) @definition.function
(method_declaration name: (name) @name body: (_)? @body) @definition.method
(namespace_definition name: (_) @name body: (_) @body) @definition.module

; A declaration may contain several names, so each element is a definition.
(const_element . (name) @name) @definition.constant
(property_element . (variable_name (name) @name)) @definition.property
((expression_statement (function_call_expression
  function: (name) @_function
  arguments: (arguments . (argument [
    (string (string_content) @name)
    (encapsed_string . (string_content) @name .)
  ])))) @definition.constant
  (#eq? @_function "define"))

(comment) @comment
(attribute_list) @decorator
(namespace_use_declaration) @import
(require_expression) @import
(require_once_expression) @import
(include_expression) @import
(include_once_expression) @import
(use_declaration) @import

(function_call_expression function: [
  (name) @reference
  (qualified_name (name) @reference)
])
(member_call_expression name: (name) @reference)
(nullsafe_member_call_expression name: (name) @reference)
(scoped_call_expression name: (name) @reference)
(scoped_call_expression scope: (name) @reference)
(class_constant_access_expression . (name) @reference)
(object_creation_expression (name) @reference)
(object_creation_expression (qualified_name (name) @reference))
(named_type [
  (name) @reference
  (qualified_name (name) @reference)
])
(base_clause (name) @reference)
(class_interface_clause (name) @reference)
