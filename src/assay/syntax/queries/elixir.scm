; Everything in Elixir is a call; definitions are recognized by the name of the target. If two patterns match one node,
; the earlier pattern, which captures the documentation, is preferred.
((call
  target: (identifier) @_keyword
  (arguments . (alias) @name)
  (do_block (unary_operator operand: (call
    target: (identifier) @_attribute
    (arguments . [(string) (sigil)]))) @doc) @body) @definition.module
  (#eq? @_keyword "defmodule") (#eq? @_attribute "moduledoc"))
((call
  target: (identifier) @_keyword
  (arguments . (alias) @name)
  (do_block "end") @body) @definition.module
  (#eq? @_keyword "defmodule"))
((call
  target: (identifier) @_keyword
  (arguments . (alias) @name)
  (do_block) @body) @definition.interface
  (#eq? @_keyword "defprotocol"))

; An implementation is named after the type that implements the protocol.
((call
  target: (identifier) @_keyword
  (arguments (keywords . (pair key: (keyword) @_for value: (_) @name)))
  (do_block) @body) @definition.class
  (#eq? @_keyword "defimpl") (#match? @_for "^for:"))

((call
  target: (identifier) @_keyword
  (arguments . [
    (call target: (identifier) @name)
    (identifier) @name
    (binary_operator left: (call target: (identifier) @name) operator: "when")
  ])
  (do_block)? @body) @definition.function
  (#any-of? @_keyword "def" "defp" "defdelegate" "defn" "defnp"))
((call
  target: (identifier) @_keyword
  (arguments . [
    (call target: (identifier) @name)
    (identifier) @name
    (binary_operator left: (call target: (identifier) @name) operator: "when")
  ])
  (do_block)? @body) @definition.macro
  (#any-of? @_keyword "defmacro" "defmacrop" "defguard" "defguardp"))
((unary_operator operator: "@" operand: (call
  target: (identifier) @_attribute
  (arguments . (binary_operator left: [
    (call target: (identifier) @name)
    (identifier) @name
  ] operator: "::")))) @definition.type
  (#any-of? @_attribute "type" "typep" "opaque"))
((unary_operator operator: "@" operand: (call
  target: (identifier) @_attribute
  (arguments . (binary_operator left: (call target: (identifier) @name) operator: "::")))) @definition.function
  (#any-of? @_attribute "callback" "macrocallback"))

(comment) @comment
; Documentation attributes count as comments, other attributes as decorators of the function below.
((unary_operator operator: "@" operand: (call
  target: (identifier) @_attribute
  (arguments . [(string) (sigil)]))) @comment
  (#any-of? @_attribute "doc" "typedoc"))
((unary_operator operator: "@" operand: (call target: (identifier) @_attribute)) @decorator
  (#any-of? @_attribute "spec" "impl" "deprecated" "since" "dialyzer"))
((call target: (identifier) @_keyword) @import
  (#any-of? @_keyword "use" "alias" "import" "require"))

(alias) @reference
(call target: (identifier) @reference)
(call target: (dot right: (identifier) @reference))
