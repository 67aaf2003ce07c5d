"""C++ outlines."""

from assay.syntax.outline import parse_outline
from tests.syntax.outlines import docs, references, rows, signatures

SOURCE = """\
#pragma once
#include <vector>
#define LIMIT 3

namespace shop::fruit {

using std::string;
using Price = int;
constexpr int depth = 4;
extern Basket *basket;

/// A basket.
template <typename T>
class Basket : public Holder<T> {
 public:
  Basket();
  explicit Basket(int size) : size_(size) {}
  virtual ~Basket() = default;

  // Counts.
  int count(const Query& query) const;
  T& at(int i) { return items[i]; }
  const T* find(int i) const;
  bool operator==(const Basket& other) const { return true; }
  explicit operator bool() const { return true; }

  template <typename U>
  void add(U item);

  enum class Colour { red, green };
  struct Handle { int id; };
  using Item = T;

 private:
  int size_ = 0;
  std::vector<T> items;
};

template <>
struct Basket<int> {
  int only;
};

}  // namespace shop::fruit

// Counts.
template <typename T>
int shop::fruit::Basket<T>::count(const Query& query) const {
  int local = 1;
  Visitor visitor(local);
  auto lambda = [](int x) { return x; };
  return shop::walk<T>(helper(local), this->find(1));
}

Shop::Shop() {}
Shop::~Shop() {}
Shop& Shop::operator=(const Shop& other) { return *this; }
int *Shop::cursor() { return nullptr; }
int Shop::total = 3;

template <typename T> concept Shape = true;
template <typename T> using Alias = Basket<T>;
template <typename T> T zero = T(0);
template <typename T>
T twice(T x);

extern "C" {
int plain(void);
}
auto sell(int x) -> int { return pay(x); }
typedef struct { int x; } Point;
union Bits { int a; };
class Forward;
"""


def test_cpp_definitions_have_their_lines_kinds_and_parents():
    assert rows(SOURCE, "cpp") == [
        ("LIMIT", "macro", 3, 3, -1),
        ("shop::fruit", "module", 5, 44, -1),
        ("Price", "type", 8, 8, 1),
        ("depth", "constant", 9, 9, 1),
        ("basket", "constant", 10, 10, 1),
        ("Basket", "class", 12, 37, 1),
        ("Basket", "method", 16, 16, 5),
        ("Basket", "method", 17, 17, 5),
        ("~Basket", "method", 18, 18, 5),
        ("count", "method", 20, 21, 5),
        ("at", "method", 22, 22, 5),
        ("find", "method", 23, 23, 5),
        ("operator==", "method", 24, 24, 5),
        ("operator", "method", 25, 25, 5),
        ("add", "method", 27, 28, 5),
        ("Colour", "enum", 30, 30, 5),
        ("Handle", "class", 31, 31, 5),
        ("id", "property", 31, 31, 16),
        ("Item", "type", 32, 32, 5),
        ("size_", "property", 35, 35, 5),
        ("items", "property", 36, 36, 5),
        ("Basket", "class", 39, 42, 1),
        ("only", "property", 41, 41, 21),
        ("count", "function", 46, 53, -1),
        ("Shop", "function", 55, 55, -1),
        ("~Shop", "function", 56, 56, -1),
        ("operator=", "function", 57, 57, -1),
        ("cursor", "function", 58, 58, -1),
        ("total", "constant", 59, 59, -1),
        ("Shape", "type", 61, 61, -1),
        ("Alias", "type", 62, 62, -1),
        ("zero", "constant", 63, 63, -1),
        ("twice", "function", 64, 65, -1),
        ("plain", "function", 68, 68, -1),
        ("sell", "function", 70, 70, -1),
        ("Point", "type", 71, 71, -1),
        ("x", "property", 71, 71, 35),
        ("Bits", "class", 72, 72, -1),
        ("a", "property", 72, 72, 37),
    ]


def test_cpp_documentation_is_attached():
    assert docs(SOURCE, "cpp") == {"Basket": "A basket.", "count": "Counts."}


def test_cpp_signatures_stop_at_the_body():
    assert signatures(SOURCE, "cpp")["count"] == "int shop::fruit::Basket<T>::count(const Query& query) const"


def test_cpp_imports_are_listed():
    assert parse_outline(SOURCE, "cpp").imports == ("#include <vector>", "using std::string;")


def test_cpp_references_are_calls_and_types():
    used = references(SOURCE, "cpp")
    assert used >= {"Holder", "Query", "Visitor", "find", "helper", "pay", "vector", "walk"}
    assert not used & {"lambda", "size_"}


def test_cpp_broken_source_keeps_what_can_be_read():
    source = "int before() { return 1; }\nclass Broken { int f( }\n"
    assert parse_outline(source, "cpp").broken
    assert "before" in [name for name, *_ in rows(source, "cpp")]
    assert not parse_outline(SOURCE, "cpp").broken
