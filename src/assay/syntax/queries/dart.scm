(class_definition name: (identifier) @name body: (_) @body) @definition.class
(mixin_declaration . (mixin) . (identifier) @name (class_body) @body) @definition.class
(extension_declaration class: (_) @name body: (_) @body) @definition.class
(extension_type_declaration name: (identifier) @name body: (_) @body) @definition.class
(mixin_application_class (identifier) @name) @definition.class
(enum_declaration name: (identifier) @name body: (_) @body) @definition.enum
(type_alias . (type_identifier) @name) @definition.type

; The body of a function is the sibling after its signature, so the body determines the last line.
((method_signature [
  (function_signature name: (identifier) @name)
  (getter_signature name: (identifier) @name)
  (setter_signature name: (identifier) @name)
  (operator_signature [(binary_operator) "~" "[]" "[]="] @name)
  (constructor_signature (identifier) @name . (formal_parameter_list))
  (factory_constructor_signature (identifier) @name . (formal_parameter_list))
]) @definition.method . (function_body) @body)
((program (function_signature name: (identifier) @name) @definition.function . (function_body) @body))
((program (getter_signature name: (identifier) @name) @definition.function . (function_body) @body))
((program (setter_signature name: (identifier) @name) @definition.function . (function_body) @body))
(local_function_declaration (lambda_expression
  parameters: (function_signature name: (identifier) @name) body: (_) @body)) @definition.function

; Without a body: abstract methods, constructors, fields.
(declaration [
  (function_signature name: (identifier) @name)
  (getter_signature name: (identifier) @name)
  (setter_signature name: (identifier) @name)
  (operator_signature [(binary_operator) "~" "[]" "[]="] @name)
  (constructor_signature (identifier) @name . (formal_parameter_list))
  (constant_constructor_signature (identifier) @name . (formal_parameter_list))
  (factory_constructor_signature (identifier) @name . (formal_parameter_list))
  (redirecting_factory_constructor_signature (identifier) @name . (formal_parameter_list))
]) @definition.method
(declaration (initialized_identifier_list (initialized_identifier . (identifier) @name) @definition.property))
(declaration (static_final_declaration_list (static_final_declaration . (identifier) @name) @definition.property))
(program (initialized_identifier_list (initialized_identifier . (identifier) @name) @definition.constant))
(program (static_final_declaration_list (static_final_declaration . (identifier) @name) @definition.constant))

(comment) @comment
(documentation_comment) @comment
(annotation) @decorator
(import_or_export) @import
(part_directive) @import
(part_of_directive) @import

(type_identifier) @reference
(unconditional_assignable_selector (identifier) @reference)
(conditional_assignable_selector (identifier) @reference)
((identifier) @reference . (selector . (argument_part)))
