; JSX; the rest is in typescript.scm
[
  (jsx_opening_element name: (identifier) @reference)
  (jsx_opening_element name: (member_expression property: (property_identifier) @reference))
  (jsx_self_closing_element name: (identifier) @reference)
  (jsx_self_closing_element name: (member_expression property: (property_identifier) @reference))
]
