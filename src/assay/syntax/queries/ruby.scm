; The name of a class or module `A::B` is the last part.
(class name: [
  (constant) @name
  (scope_resolution name: (constant) @name)
] body: (_)? @body) @definition.class
(module name: [
  (constant) @name
  (scope_resolution name: (constant) @name)
] body: (_)? @body) @definition.module

(method name: (_) @name body: (_)? @body) @definition.method
(singleton_method name: (_) @name body: (_)? @body) @definition.method

; `Point = Struct.new(:x) do … end` is a class, any other assigned constant is a constant.
((assignment left: [
  (constant) @name
  (scope_resolution name: (constant) @name)
] right: (_) @_value) @definition.class
  (#match? @_value "^(?:::)?(?:Struct\\.new|Class\\.new|Module\\.new|Data\\.define)\\b"))
((assignment left: [
  (constant) @name
  (scope_resolution name: (constant) @name)
] right: (_) @_value) @definition.constant
  (#not-match? @_value "^(?:::)?(?:Struct\\.new|Class\\.new|Module\\.new|Data\\.define)\\b"))

(comment) @comment
((call !receiver method: (identifier) @_method) @import
  (#any-of? @_method "require" "require_relative" "autoload" "load"))

(call method: [(identifier) (constant)] @reference)
(constant) @reference
