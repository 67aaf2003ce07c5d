"""Lua outlines."""

from assay.syntax.outline import parse_outline
from tests.syntax.outlines import docs, references, rows, signatures

SOURCE = """\
local json = require("cjson")
local M = {}
local insert = table.insert
local LIMIT, OTHER = 10, 11
VERSION = "1"

--- Adds up.
-- All of it.
function M.shop.total(cart)
  local sum = 0
  local function step(x) return x end
  return json.encode(cart)
end
function M:close()
  self:flush()
end
local function helper() end
M.later = function() helper() end
local quick = function()
end
M.limits = {
  check = function() end,
}
return M
"""


def test_lua_definitions_have_their_lines_kinds_and_parents():
    assert rows(SOURCE, "lua") == [
        ("M", "constant", 2, 2, -1),
        ("LIMIT", "constant", 4, 4, -1),
        ("VERSION", "constant", 5, 5, -1),
        ("total", "function", 7, 13, -1),
        ("step", "function", 11, 11, 3),
        ("close", "method", 14, 16, -1),
        ("helper", "function", 17, 17, -1),
        ("later", "function", 18, 18, -1),
        ("quick", "function", 19, 20, -1),
        ("limits", "constant", 21, 23, -1),
        ("check", "function", 22, 22, 9),
    ]


def test_lua_comments_and_signatures_are_read():
    assert docs(SOURCE, "lua") == {"total": "Adds up. All of it."}
    assert signatures(SOURCE, "lua")["total"] == "function M.shop.total(cart)"


def test_lua_imports_and_references_are_listed():
    assert parse_outline(SOURCE, "lua").imports == ('require("cjson")',)
    assert {"require", "encode", "flush", "helper"} <= references(SOURCE, "lua")


def test_lua_broken_source_keeps_what_can_be_read():
    source = "local function good() end\nfunction bad(\n"
    assert parse_outline(source, "lua").broken
    assert ("good", "function", 1, 1, -1) in rows(source, "lua")
