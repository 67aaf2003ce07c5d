"""Detect the language and kind of a file by name, extension or shebang, and its role, such as test or vendored copy."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Literal, get_args

from assay.records import dataclass
from assay.types import FileKind

if TYPE_CHECKING:
    from assay.syntax.outline import Outline


@dataclass(frozen=True, slots=True)
class FileType:
    language: str | None
    kind: FileKind


def _named(words: str) -> dict[str, str]:
    return {word: word for word in words.split()}


#: language -> extensions, by kind. Dialects with one parser share a name (.jsx is javascript, .tsx typescript).
_CODE: Final = _named("astro awk cmake d dart elm fish go java nix r svelte swift tcl vala vim vue") | {
    "ada": "adb ads",
    "assembly": "asm s",
    "bash": "sh bash zsh ksh bats",
    "batch": "bat cmd",
    "c": "c h",
    "clojure": "clj cljs cljc edn",
    "cpp": "cpp cc cxx c++ hpp hh hxx h++ ipp inl tpp cppm ixx",
    "csharp": "cs csx",
    "css": "css scss sass less styl",
    "cuda": "cu cuh",
    "cython": "pyx pxd pxi",
    "elisp": "el",
    "elixir": "ex exs eex heex leex",
    "erlang": "erl hrl",
    "fortran": "f f77 f90 f95 f03 f08 for",
    "fsharp": "fs fsi fsx",
    "glsl": "glsl vert frag comp hlsl wgsl metal",
    "graphql": "graphql gql",
    "groovy": "groovy gradle",
    "haskell": "hs lhs hsc",
    "html": "html htm xhtml",
    "javascript": "js jsx mjs cjs",
    "julia": "jl",
    "kotlin": "kt kts",
    "lisp": "lisp lsp cl asd",
    "lua": "lua luau",
    "makefile": "mk mak",
    "matlab": "m",
    "nim": "nim nims",
    "objective-cpp": "mm",
    "ocaml": "ml mli",
    "pascal": "pas pp dpr",
    "perl": "pl pm t",
    "php": "php phtml php3 php4 php5",
    "powershell": "ps1 psm1 psd1",
    "prolog": "pro",
    "proto": "proto thrift",
    "python": "py pyi pyw",
    "racket": "rkt",
    "ruby": "rb rake gemspec ru erb",
    "rust": "rs",
    "scala": "scala sc sbt",
    "scheme": "scm ss",
    "smalltalk": "st",
    "solidity": "sol",
    "sql": "sql psql pgsql ddl",
    "starlark": "bzl star",
    "terraform": "tf tfvars hcl",
    "typescript": "ts tsx mts cts",
    "verilog": "v sv svh vh",
    "vhdl": "vhd vhdl",
    "visualbasic": "vb vbs",
    "zig": "zig zon",
}
_DOCS: Final = {
    "asciidoc": "adoc asciidoc",
    "latex": "tex",
    "markdown": "md markdown mdx mkd",
    "org": "org",
    "rst": "rst",
    "text": "txt text",
}
_CONFIG: Final = {
    "dotenv": "env",
    "ini": "ini cfg conf properties editorconfig",
    "json": "json jsonc json5 jsonl ndjson webmanifest",
    "toml": "toml",
    "xml": "xml xsd xsl xslt plist csproj fsproj vbproj props targets pom",
    "yaml": "yaml yml",
}

#: (kind, language) -> lowercase file names, which take precedence over extensions.
_NAMED: Final[Mapping[tuple[FileKind, str], str]] = {
    ("code", "cmake"): "cmakelists.txt",
    ("code", "just"): "justfile",
    ("code", "makefile"): "gnumakefile makefile",
    ("code", "python"): "sconstruct",
    ("code", "ruby"): "rakefile",
    ("docs", "text"): "authors changelog changes contributing copying license news notice readme todo",
    ("config", "bash"): ".bashrc .profile .zshrc",
    ("config", "dockerfile"): "containerfile dockerfile",
    ("config", "dotenv"): ".env",
    ("config", "gitattributes"): ".gitattributes",
    ("config", "gitignore"): ".assayignore .dockerignore .gitignore",
    ("config", "go"): "go.mod go.work",
    ("config", "groovy"): "jenkinsfile",
    ("config", "ini"): ".editorconfig .gitmodules .npmrc",
    ("config", "meson"): "meson.build",
    ("config", "ruby"): "brewfile gemfile podfile vagrantfile",
    ("config", "starlark"): "build build.bazel workspace",
    ("config", "swift"): "package.swift",
    ("config", "text"): "go.sum robots.txt",
    ("config", "toml"): "cargo.lock pipfile",
    ("config", "yaml"): "procfile",
}
_REQUIREMENTS: Final = re.compile(r"(.*[-_.])?(requirements|constraints)([-_.].*)?\.(txt|in)")

#: language -> programs in shebangs, without version numbers.
_PROGRAMS: Final = _named("elixir fish groovy julia kotlin perl php ruby scala swift") | {
    "applescript": "osascript",
    "awk": "awk gawk",
    "bash": "ash bash dash ksh sh zsh",
    "erlang": "escript",
    "haskell": "runghc runhaskell",
    "javascript": "bun node nodejs",
    "lua": "lua luajit",
    "makefile": "make",
    "powershell": "pwsh",
    "python": "pypy python",
    "r": "rscript",
    "tcl": "tclsh",
    "typescript": "deno ts-node tsx",
}

_TABLES: Final[Mapping[FileKind, Mapping[str, str]]] = {"code": _CODE, "docs": _DOCS, "config": _CONFIG}
_EXTENSIONS: Final = {
    extension: FileType(language, kind)
    for kind, table in _TABLES.items()
    for language, extensions in table.items()
    for extension in extensions.split()
}
#: language -> its other names.
_OTHER_NAMES: Final = {
    "bash": "shell",
    "csharp": "c#",
    "dockerfile": "docker",
    "elisp": "emacs-lisp",
    "fsharp": "f#",
    "go": "golang",
    "javascript": "node nodejs",
    "makefile": "make",
    "objective-cpp": "objc++",
    "pascal": "objectpascal",
    "proto": "protobuf",
    "python": "python3",
    "rst": "restructuredtext",
    "starlark": "bazel",
    "vim": "viml vimscript",
    "visualbasic": "vb.net",
}
_ALIASES: Final = {word: language for language, words in _OTHER_NAMES.items() for word in words.split()}
_INTERPRETERS: Final = {word: language for language, words in _PROGRAMS.items() for word in words.split()}
_NAMES: Final = {name: FileType(language, kind) for (kind, language), names in _NAMED.items() for name in names.split()}
#: Every language that a file name or an extension can identify.
LANGUAGES: Final = tuple(sorted({f.language for f in (*_EXTENSIONS.values(), *_NAMES.values()) if f.language}))


def language_name(name: str) -> str:
    """Return the language for a name, alias (`golang`) or extension (`js`, `.js`), or the lowercase name if unknown."""
    wanted = name.strip().lower()
    if wanted in LANGUAGES:
        return wanted
    file_type = _EXTENSIONS.get(wanted.lstrip("."))
    return _ALIASES.get(wanted) or (file_type.language if file_type is not None and file_type.language else wanted)


def language_extensions(language: str) -> tuple[str, ...]:
    return tuple(sorted(ext for ext, file_type in _EXTENSIONS.items() if file_type.language == language))


def kind_globs(kind: FileKind) -> tuple[str, ...]:
    """Return globs of the files of a kind, by extension and by name in lowercase and capitals."""
    names = [name for name, file_type in _NAMES.items() if file_type.kind == kind]
    extensions = (f"*.{ext}" for ext, file_type in _EXTENSIONS.items() if file_type.kind == kind)
    return (*extensions, *names, *(name.upper() for name in names))


def detect_type(path: str, head: bytes) -> FileType:
    """Return the language (None if unknown) and kind of a file; `head` is its first line or more, for the shebang."""
    name = path.rpartition("/")[2].lower()
    if file_type := _NAMES.get(name):
        return file_type
    if name.endswith((".txt", ".in")) and _REQUIREMENTS.fullmatch(name):
        return FileType("text", "config")
    if name.startswith(("dockerfile.", "containerfile.")) and not name.endswith((".md", ".txt")):
        return _NAMES["dockerfile"]
    stem, dot, extension = name.rpartition(".")
    if dot and (file_type := _EXTENSIONS.get(extension)) and (stem or extension == "env"):
        return file_type
    if head.startswith(b"#!"):
        for word in head[2:].split(b"\n", 1)[0].decode("latin-1").split():
            program = word.rpartition("/")[2].lower()
            if program != "env" and not word.startswith("-") and "=" not in word:
                language = _INTERPRETERS.get(program) or _INTERPRETERS.get(program.rstrip("0123456789."))
                return FileType(language, "code")
    is_config = name.startswith(".") and name.endswith(("rc", "-version", "ignore"))
    return FileType(None, "config" if is_config else "other")


FileRole = Literal["none", "test", "example", "compat", "vendored", "generated", "stub", "barrel", "docs"]
#: All roles; index files store positions in this tuple.
ROLES: Final[tuple[FileRole, ...]] = get_args(FileRole)
_DIRECTORIES: Final[dict[FileRole, str]] = {
    "test": r"tests?|__tests__|specs?|testing|testthat|test[-_]?(?:data|utils?|helpers?|support|fixtures?)|fixtures?"
    r"|__mocks__|mocks?|benchmarks?|bench(?:es)?|e2e|androidTest|commonTest|jvmTest|[a-z]+Test"
    r"|[^/]+\.(?:[A-Za-z]*Tests?|Specs|Benchmarks?)",
    "example": r"_?examples?|samples?|demos?|docs?_src|tutorials?",
    "compat": r"_?compat|legacy|deprecated|backports?|polyfills?",
    # `deps` and `external` only at the corpus root, and for directories or C files in them: elsewhere they are source,
    # such as lib/mix/tasks/deps and the deps/auth.py of a FastAPI application
    "vendored": r"vendor(?:ed)?|_vendor|third[-_]?party|node_modules"
    r"|(?<!/)(?:externals?|deps)(?=/[^/]+/|/[^/]+\.(?:c|cc|cpp|cxx|h|hh|hpp)$)",
    "generated": r"generated|__generated__|gen|autogen",
}
#: Languages whose test files are named by a word in camel case.
_CAMEL_TESTS: Final = r"\.(?:java|kt|kts|scala|cs|swift|php|groovy|m|mm|dart|hs|lhs|fs|clj|c|cc|cpp|cxx|h|hpp|vb)"
_TEST_FILE: Final = re.compile(
    r"(?:^|/)(?:test[-_][^/]*|tst_[^/]*|tests?\.[^/]*|conftest\.py|runtests\.[^/]*"
    r"|[^/]*[_.-](?:[Tt]ests?|[Ss]pecs?|[Bb]ench|[Bb]enchmark|unittests?|test_helpers?|cy)\.[^/]*"
    rf"|[^/]*[a-z0-9](?:Tests?|TestCase|Spec|Suite|Benchmark|IT|ITCase){_CAMEL_TESTS}|Test[A-Z][^/]*{_CAMEL_TESTS}"
    r"|[^/]*\.(?:bats|phpt|t))$"
)
_STUB_FILE: Final = re.compile(r"\.d\.[cm]?ts$|\.pyi$")
_GENERATED_FILE: Final = re.compile(
    r"(?:_pb2(?:_grpc)?\.pyi?|\.pb\.(?:go|cc|h)|\.g\.(?:cs|dart)|\.generated\.[^/]+|\.min\.(?:js|css)|_generated\.[^/]+"
    r"|\.freezed\.dart)$"
)
_GENERATED_TEXT: Final = re.compile(
    r"(?i)code generated .{0,80}do not edit|@generated\b|autogenerated file"
    r"|auto-generated .{0,60}do not (?:edit|modify)"
)
_IN_DIRECTORY: Final = [(role, re.compile(rf"(?:^|/)(?:{pattern})/")) for role, pattern in _DIRECTORIES.items()]
_HEAD: Final = 1_000  # characters in which generators mark a file
_TEST_NAME: Final = re.compile(r"^(?:test[_A-Z0-9]|Test[A-Z_]|Benchmark[A-Z_])|^tests?$")
_DEFINING: Final = frozenset({"function", "method", "class", "interface", "enum", "type", "macro", "module"})


def file_role(path: str, text: str = "", kind: FileKind = "code", outline: Outline | None = None) -> FileRole:
    if _TEST_FILE.search(path):
        return "test"
    for role, pattern in _IN_DIRECTORY:
        if pattern.search(path):
            return role
    if _GENERATED_FILE.search(path) or _GENERATED_TEXT.search(text[:_HEAD]):
        return "generated"
    if _STUB_FILE.search(path):
        return "stub"
    defined = {definition.kind for definition in outline.definitions} if outline is not None else set()
    if (
        outline is not None
        and defined.isdisjoint(_DEFINING)
        and (outline.imports or path.endswith("package-info.java"))
    ):
        return "barrel"
    return "docs" if kind == "docs" else "none"


def is_test_name(name: str) -> bool:
    return bool(_TEST_NAME.match(name))
