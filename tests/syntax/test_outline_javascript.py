"""JavaScript outlines."""

from assay.syntax.outline import parse_outline
from tests.syntax.outlines import docs, references, rows, signatures

SOURCE = """\
'use strict';
import fs, { join } from 'fs';
export { a } from './a.js';
const http = require('http');
var later;

/** How many fit. */
const LIMIT = 3, NAMES = ['a'];
export const settings = { deep: { on: true } };

/**
 * Sells a basket.
 */
export async function sell(basket) {
  const local = 1;
  function inner() { return helper(local); }
  const arrow = () => inner();
  return new Receipt(basket.total(arrow));
}
function* each() {}

// Pays.
export const pay = async (amount) => {
  await bank.move(amount);
},
  tip = function () {};

class Basket extends shop.Base {
  static size = 0;
  #owner;
  onChange = () => {};
  constructor() { super(); }
  get total() { return 1; }
  static #count() {}
}

const Named = class { run() {} };
const tools = {
  open: function () {},
  'close-all': () => {},
  shut() {},
  depth: 3,
};
exports.fetch = function fetch() {};
app.prototype.use = () => {};
exports.VERSION = '1';
var slice = exports.slice = function () {};
module.exports = { sell };
export default class {}
const view = <Panel><ui.Row /></Panel>;
run({ handler() {}, other: () => {} });
"""


def test_javascript_definitions_have_their_lines_kinds_and_parents():
    assert rows(SOURCE, "javascript") == [
        ("later", "constant", 5, 5, -1),
        ("LIMIT", "constant", 7, 8, -1),
        ("NAMES", "constant", 7, 8, -1),
        ("settings", "constant", 9, 9, -1),
        ("sell", "function", 11, 19, -1),
        ("inner", "function", 16, 16, 4),
        ("arrow", "function", 17, 17, 4),
        ("each", "function", 20, 20, -1),
        ("pay", "function", 22, 25, -1),
        ("tip", "function", 26, 26, -1),
        ("Basket", "class", 28, 35, -1),
        ("size", "property", 29, 29, 10),
        ("#owner", "property", 30, 30, 10),
        ("onChange", "method", 31, 31, 10),
        ("constructor", "method", 32, 32, 10),
        ("total", "method", 33, 33, 10),
        ("#count", "method", 34, 34, 10),
        ("Named", "class", 37, 37, -1),
        ("run", "method", 37, 37, 17),
        ("tools", "constant", 38, 43, -1),
        ("open", "method", 39, 39, 19),
        ("close-all", "method", 40, 40, 19),
        ("shut", "method", 41, 41, 19),
        ("fetch", "function", 44, 44, -1),
        ("use", "function", 45, 45, -1),
        ("VERSION", "constant", 46, 46, -1),
        ("slice", "constant", 47, 47, -1),
        ("slice", "function", 47, 47, 26),
        ("exports", "constant", 48, 48, -1),
        ("default", "class", 49, 49, -1),
        ("handler", "method", 51, 51, -1),
    ]


def test_javascript_documentation_is_attached():
    assert docs(SOURCE, "javascript") == {
        "LIMIT": "How many fit.",
        "NAMES": "How many fit.",
        "sell": "Sells a basket.",
        "pay": "Pays.",
    }


def test_javascript_signatures_stop_at_the_body():
    assert signatures(SOURCE, "javascript")["sell"] == "export async function sell(basket)"


def test_javascript_imports_are_listed():
    assert parse_outline(SOURCE, "javascript").imports == (
        "import fs, { join } from 'fs';",
        "export { a } from './a.js';",
        "http = require('http')",
    )


def test_javascript_references_are_calls_and_types():
    used = references(SOURCE, "javascript")
    assert used >= {"Base", "Panel", "Receipt", "Row", "helper", "move", "run", "total"}
    assert not used & {"LIMIT", "local"}


def test_javascript_broken_source_keeps_what_can_be_read():
    source = "function before() {}\nfunction broken( {\nclass After {}\n"
    assert parse_outline(source, "javascript").broken
    assert "before" in [name for name, *_ in rows(source, "javascript")]
    assert not parse_outline(SOURCE, "javascript").broken
