(rule_set (selectors) @name (block) @body) @definition.key
(media_statement . "@media" . (_) @name (block) @body) @definition.key
(supports_statement . "@supports" . (_) @name (block) @body) @definition.key
(keyframes_statement (keyframes_name) @name (keyframe_block_list) @body) @definition.key
; The name of `@layer base { … }` follows the keyword; the name of `@font-face { … }` is the keyword.
(at_rule (at_keyword) . (_) @name (block) @body) @definition.key
(at_rule (at_keyword) @name . (block) @body) @definition.key

(comment) @comment
(import_statement) @import
