"""TypeScript outlines."""

from assay.syntax.outline import parse_outline
from tests.syntax.outlines import docs, references, rows, signatures

SOURCE = """\
import type { A } from './a';
import legacy = require('legacy');
export * from './b';

/** A shape. */
export interface Shape<T> extends Base {
  side: number;
  area(unit: Unit): T;
}
export type Price = { amount: number };
export enum Colour { Red, Green }
const enum Mode { On }

export namespace Shop {
  export const limit: number = 3;
  const hidden = 2;
  export function open(): void {}
}
declare module 'fruit' {
  export function peel(x: Fruit): void;
}
declare const VERSION: string;

// Keeps it.
@Injectable()
export abstract class Basket<T> extends Holder<T> implements Shape<T> {
  static size: number = 0;
  owner?: string;
  private handler = (e: Event) => {};
  constructor(private readonly shop: Shop) { super(); }

  weighed(x: string): number;

  // Counts.
  @Input()
  count(x: unknown): number {
    const local: Local = new Counter<T>();
    return local.run(x);
  }
  protected abstract weigh(): void;
}

function overload(a: string): void;
function overload(a: any) {}

// Makes one.
export const make = <T,>(x: T): Box<T> => {
  return wrap(x);
};
export const config = { deep: true } as const;
let counter = 0;
const { left, right } = sides;
export default make;
"""


def test_typescript_definitions_have_their_lines_kinds_and_parents():
    assert rows(SOURCE, "typescript") == [
        ("Shape", "interface", 5, 9, -1),
        ("side", "property", 7, 7, 0),
        ("area", "method", 8, 8, 0),
        ("Price", "type", 10, 10, -1),
        ("Colour", "enum", 11, 11, -1),
        ("Mode", "enum", 12, 12, -1),
        ("Shop", "module", 14, 18, -1),
        ("limit", "constant", 15, 15, 6),
        ("open", "function", 17, 17, 6),
        ("'fruit'", "module", 19, 21, -1),
        ("peel", "function", 20, 20, 9),
        ("VERSION", "constant", 22, 22, -1),
        ("Basket", "class", 24, 41, -1),
        ("size", "property", 27, 27, 12),
        ("owner", "property", 28, 28, 12),
        ("handler", "method", 29, 29, 12),
        ("constructor", "method", 30, 30, 12),
        ("weighed", "method", 32, 32, 12),
        ("count", "method", 34, 39, 12),
        ("weigh", "method", 40, 40, 12),
        ("overload", "function", 43, 43, -1),
        ("overload", "function", 44, 44, -1),
        ("make", "function", 46, 49, -1),
        ("config", "constant", 50, 50, -1),
        ("counter", "constant", 51, 51, -1),
        ("default", "constant", 53, 53, -1),
    ]


def test_typescript_documentation_is_attached():
    assert docs(SOURCE, "typescript") == {
        "Shape": "A shape.",
        "Basket": "Keeps it.",
        "count": "Counts.",
        "make": "Makes one.",
    }


def test_typescript_signatures_stop_at_the_body():
    assert signatures(SOURCE, "typescript")["count"] == "count(x: unknown): number"


def test_typescript_imports_are_listed():
    assert parse_outline(SOURCE, "typescript").imports == (
        "import type { A } from './a';",
        "import legacy = require('legacy');",
        "export * from './b';",
    )


def test_typescript_references_are_calls_and_types():
    used = references(SOURCE, "typescript")
    assert used >= {
        "Base",
        "Counter",
        "Event",
        "Fruit",
        "Holder",
        "Injectable",
        "Input",
        "Local",
        "Unit",
        "run",
        "wrap",
    }
    assert not used & {"counter", "local"}


def test_typescript_broken_source_keeps_what_can_be_read():
    source = "function before() {}\nfunction broken( {\ninterface After {}\n"
    assert parse_outline(source, "typescript").broken
    assert "before" in [name for name, *_ in rows(source, "typescript")]
    assert not parse_outline(SOURCE, "typescript").broken
