; The name of an element is its id, of a heading its text, of a script or style its tag.
; Without the anchors, every open element would be examined again for each of its children.
((element
  . (start_tag . (tag_name) @_tag (attribute . (attribute_name) @_attribute . [
    (quoted_attribute_value (attribute_value) @name)
    (attribute_value) @name
  ]))
  . (_)) @definition.key
  (#eq? @_attribute "id") (#not-match? @_tag "^[hH][1-3]$"))
; The node of an element without content or end tag (`<input id=x>`) includes trailing blanks, so its tag is used.
((element
  . (start_tag (attribute . (attribute_name) @_attribute . [
    (quoted_attribute_value (attribute_value) @name)
    (attribute_value) @name
  ])) @definition.key .)
  (#eq? @_attribute "id"))
((self_closing_tag (attribute . (attribute_name) @_attribute . [
  (quoted_attribute_value (attribute_value) @name)
  (attribute_value) @name
])) @definition.key
  (#eq? @_attribute "id"))
((element . (start_tag . (tag_name) @_tag) . [
  (text) @name
  (element . (start_tag) . (text) @name)
]) @definition.heading
  (#any-of? @_tag "h1" "h2" "h3" "H1" "H2" "H3"))
((script_element . (start_tag . (tag_name) @name) . (raw_text) @body) @definition.key
  (#match? @body "\\S"))
((style_element . (start_tag . (tag_name) @name) . (raw_text) @body) @definition.key
  (#match? @body "\\S"))

(comment) @comment
((script_element . (start_tag (attribute . (attribute_name) @_attribute)) @import)
  (#eq? @_attribute "src"))
((start_tag . (tag_name) @_tag) @import
  (#eq? @_tag "link"))
((self_closing_tag . (tag_name) @_tag) @import
  (#eq? @_tag "link"))
