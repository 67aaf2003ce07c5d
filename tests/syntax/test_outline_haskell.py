"""Haskell outlines."""

from assay.syntax.outline import parse_outline
from tests.syntax.outlines import docs, references, rows

SOURCE = """\
module Shop (total) where
import qualified Data.Map as Map

-- | Adds up.
total :: Cart -> Int
total cart = foldr step 0 (Map.elems cart)
  where
    step x y = x + y

limit = 10

a <+> b = merge a b

-- | A colour.
data Colour = Red
  | Green Int
newtype Wrapper a = Wrapper { unwrap :: a }
type Cart = Map.Map String Int
class Sized a where
  -- | Measures.
  size :: a -> Int
  empty, full :: a -> Bool
instance Sized Colour where
  size _ = 1
instance Sized a => Sized (Wrapper a) where
  size (Wrapper x) = size x
instance Sized (Either a b) where
  size _ = 2
instance Sized (a, b)
type family Elem c
foreign import ccall "sin" c_sin :: Double -> Double
"""


def test_haskell_definitions_have_their_lines_kinds_and_parents():
    assert rows(SOURCE, "haskell") == [
        ("total", "function", 4, 8, -1),
        ("limit", "function", 10, 10, -1),
        ("<+>", "function", 12, 12, -1),
        ("Colour", "class", 14, 16, -1),
        ("Wrapper", "class", 17, 17, -1),
        ("Cart", "type", 18, 18, -1),
        ("Sized", "interface", 19, 22, -1),
        ("size", "method", 20, 21, 6),
        ("empty", "method", 22, 22, 6),
        ("full", "method", 22, 22, 6),
        ("Colour", "class", 23, 24, -1),
        ("size", "method", 24, 24, 10),
        ("Wrapper", "class", 25, 26, -1),
        ("size", "method", 26, 26, 12),
        ("Either", "class", 27, 28, -1),
        ("size", "method", 28, 28, 14),
        ("(a, b)", "class", 29, 29, -1),
        ("Elem", "type", 30, 30, -1),
        ("c_sin", "function", 31, 31, -1),
    ]


def test_haskell_haddock_comments_are_documentation():
    found = docs(SOURCE, "haskell")
    assert found["total"].endswith("Adds up.")
    assert found["Colour"].endswith("A colour.")
    assert found["size"].endswith("Measures.")
    assert len(found) == 3


def test_haskell_imports_and_references_are_listed():
    assert parse_outline(SOURCE, "haskell").imports == ("import qualified Data.Map as Map",)
    assert {"foldr", "elems", "merge", "Wrapper", "size", "Colour", "String"} <= references(SOURCE, "haskell")


def test_haskell_broken_source_keeps_what_can_be_read():
    source = "module A where\n\n-- | Doc.\ngood :: Int\ngood = 1\n\nbad = (\n"
    assert parse_outline(source, "haskell").broken
    assert rows(source, "haskell") == [("good", "function", 3, 5, -1)]
