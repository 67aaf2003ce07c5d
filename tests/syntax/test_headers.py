"""Headers of C and of C++ share an ending; their text tells them apart."""

import pytest

from assay.syntax.parsing import grammar_name
from tests.timing import fastest

CPP = {
    "namespace": "#pragma once\nnamespace shop {\nint price(int id);\n}\n",
    "inline namespace": "inline namespace v2 { }\n",
    "template": "#ifndef A_H\ntemplate <typename T>\nT twice(T x);\n#endif\n",
    "class": "class Basket {\n  int size;\n};\n",
    "derived class": "class Basket : public Holder\n{\n};\n",
    "forward class": "class Basket;\n",
    "scoped enum": "enum class Fruit { apple, pear };\n",
    "access": "struct Basket {\n private:\n  int size;\n};\n",
    "using": "using Price = int;\n",
    "qualified name": "int shelf(std::string name);\n",
    "library header": "#include <vector>\nint sum(void);\n",
    "keyword": "struct Shape { virtual int area() = 0; };\n",
    "operator": "bool operator==(struct a x, struct a y);\n",
}

C = {
    "empty": "",
    "prototypes": '#include <stdio.h>\n#include "basket.h"\nint price(int id);\n',
    "guarded for C++": '#ifdef __cplusplus\nextern "C" {\n#endif\nint f(void);\n#ifdef __cplusplus\n}\n#endif\n',
    "class as a name": "struct device {\n  struct class *class;\n  int\n  class;\n};\n",
    "class as a value": "int f(void);\nint g = 1;\nstatic int pick(int template, int\nclass);\n",
    "said in a line comment": "// class Basket { std::vector }\nint f(void);\n",
    "said in a block comment": "/*\nnamespace shop {\ntemplate <T>\n*/\nint f(void);\n",
    "said in a string": '#define NAME "std::basket"\n',
    "comment without an end": "int f(void);\n/* namespace a {\nclass B;\n",
    "ternary": "#define PICK(a) ((a) ? 1 : 2)\n",
}


@pytest.mark.parametrize("text", CPP.values(), ids=CPP)
def test_header_sees_what_only_cpp_has(text):
    assert grammar_name("x.h", "c", text) == "cpp"


@pytest.mark.parametrize("text", C.values(), ids=C)
def test_header_is_c_otherwise(text):
    assert grammar_name("x.h", "c", text) == "c"


@pytest.mark.soak
@pytest.mark.parametrize("piece", ["/* ", '"', "class a ", "'", "template ", "a : ", "\n \n", "a ::  "])
def test_header_takes_time_in_proportion_to_the_text(piece):
    short, long = piece * (50_000 // len(piece)), piece * (400_000 // len(piece))
    linear = fastest(lambda: grammar_name("x.h", "c", short)) * len(long) / len(short)
    assert fastest(lambda: grammar_name("x.h", "c", long)) < 3 * linear  # quadratic: 8 times
