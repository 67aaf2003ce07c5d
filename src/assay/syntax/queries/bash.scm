(function_definition name: (word) @name body: (_) @body) @definition.function

; Top-level variables with names in capitals.
((program (variable_assignment name: (variable_name) @name) @definition.constant)
  (#match? @name "^[A-Z][A-Z0-9_]*$"))
((program (declaration_command (variable_assignment name: (variable_name) @name) @definition.constant))
  (#match? @name "^[A-Z][A-Z0-9_]*$"))

(comment) @comment
((command name: (command_name (word) @_command)) @import
  (#any-of? @_command "source" "."))
(command_name (word) @reference)
