"""Language and kind of files by name, extension, then shebang."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from assay.types import Kind


@dataclass(frozen=True, slots=True)
class FileType:
    """The language of a file, if known, and its kind."""

    language: str | None
    kind: Kind


#: language -> extensions, by kind. Dialects with one parser share a name (.jsx is javascript, .tsx typescript).
_CODE: Final = {
    "ada": "adb ads",
    "assembly": "asm s",
    "astro": "astro",
    "awk": "awk",
    "bash": "sh bash zsh ksh bats",
    "batch": "bat cmd",
    "c": "c h",
    "clojure": "clj cljs cljc edn",
    "cmake": "cmake",
    "cpp": "cpp cc cxx c++ hpp hh hxx h++ ipp inl tpp cppm ixx",
    "csharp": "cs csx",
    "css": "css scss sass less styl",
    "cuda": "cu cuh",
    "cython": "pyx pxd pxi",
    "d": "d",
    "dart": "dart",
    "elisp": "el",
    "elixir": "ex exs eex heex leex",
    "elm": "elm",
    "erlang": "erl hrl",
    "fish": "fish",
    "fortran": "f f77 f90 f95 f03 f08 for",
    "fsharp": "fs fsi fsx",
    "glsl": "glsl vert frag comp hlsl wgsl metal",
    "go": "go",
    "graphql": "graphql gql",
    "groovy": "groovy gradle",
    "haskell": "hs lhs hsc",
    "html": "html htm xhtml",
    "java": "java",
    "javascript": "js jsx mjs cjs",
    "julia": "jl",
    "kotlin": "kt kts",
    "lisp": "lisp lsp cl asd",
    "lua": "lua luau",
    "makefile": "mk mak",
    "matlab": "m",
    "nim": "nim nims",
    "nix": "nix",
    "objective-cpp": "mm",
    "ocaml": "ml mli",
    "pascal": "pas pp dpr",
    "perl": "pl pm t",
    "php": "php phtml php3 php4 php5",
    "powershell": "ps1 psm1 psd1",
    "prolog": "pro",
    "proto": "proto thrift",
    "python": "py pyi pyw",
    "r": "r",
    "racket": "rkt",
    "ruby": "rb rake gemspec ru erb",
    "rust": "rs",
    "scala": "scala sc sbt",
    "scheme": "scm ss",
    "smalltalk": "st",
    "solidity": "sol",
    "sql": "sql psql pgsql ddl",
    "starlark": "bzl star",
    "svelte": "svelte",
    "swift": "swift",
    "tcl": "tcl",
    "terraform": "tf tfvars hcl",
    "typescript": "ts tsx mts cts",
    "vala": "vala",
    "verilog": "v sv svh vh",
    "vhdl": "vhd vhdl",
    "vim": "vim",
    "visualbasic": "vb vbs",
    "vue": "vue",
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

#: Lowercase file names that take precedence over extensions.
_NAMES: Final[Mapping[str, FileType]] = {
    "authors": FileType("text", "docs"),
    "brewfile": FileType("ruby", "config"),
    "build": FileType("starlark", "config"),
    "build.bazel": FileType("starlark", "config"),
    "cargo.lock": FileType("toml", "config"),
    "changelog": FileType("text", "docs"),
    "changes": FileType("text", "docs"),
    "cmakelists.txt": FileType("cmake", "code"),
    "containerfile": FileType("dockerfile", "config"),
    "contributing": FileType("text", "docs"),
    "copying": FileType("text", "docs"),
    "dockerfile": FileType("dockerfile", "config"),
    "gemfile": FileType("ruby", "config"),
    "gnumakefile": FileType("makefile", "code"),
    "go.mod": FileType("go", "config"),
    "go.sum": FileType("text", "config"),
    "go.work": FileType("go", "config"),
    "jenkinsfile": FileType("groovy", "config"),
    "justfile": FileType("just", "code"),
    "license": FileType("text", "docs"),
    "makefile": FileType("makefile", "code"),
    "meson.build": FileType("meson", "config"),
    "news": FileType("text", "docs"),
    "notice": FileType("text", "docs"),
    "package.swift": FileType("swift", "config"),
    "pipfile": FileType("toml", "config"),
    "podfile": FileType("ruby", "config"),
    "procfile": FileType("yaml", "config"),
    "rakefile": FileType("ruby", "code"),
    "readme": FileType("text", "docs"),
    "robots.txt": FileType("text", "config"),
    "sconstruct": FileType("python", "code"),
    "todo": FileType("text", "docs"),
    "vagrantfile": FileType("ruby", "config"),
    "workspace": FileType("starlark", "config"),
    ".assayignore": FileType("gitignore", "config"),
    ".bashrc": FileType("bash", "config"),
    ".dockerignore": FileType("gitignore", "config"),
    ".editorconfig": FileType("ini", "config"),
    ".env": FileType("dotenv", "config"),
    ".gitattributes": FileType("gitattributes", "config"),
    ".gitignore": FileType("gitignore", "config"),
    ".gitmodules": FileType("ini", "config"),
    ".npmrc": FileType("ini", "config"),
    ".profile": FileType("bash", "config"),
    ".zshrc": FileType("bash", "config"),
}
_REQUIREMENTS: Final = re.compile(r"(.*[-_.])?(requirements|constraints)([-_.].*)?\.(txt|in)")

#: Shebang program without trailing version -> language.
_INTERPRETERS: Final[Mapping[str, str]] = {
    "ash": "bash",
    "awk": "awk",
    "bash": "bash",
    "bun": "javascript",
    "dash": "bash",
    "deno": "typescript",
    "elixir": "elixir",
    "escript": "erlang",
    "fish": "fish",
    "gawk": "awk",
    "groovy": "groovy",
    "julia": "julia",
    "kotlin": "kotlin",
    "ksh": "bash",
    "lua": "lua",
    "luajit": "lua",
    "make": "makefile",
    "node": "javascript",
    "nodejs": "javascript",
    "osascript": "applescript",
    "perl": "perl",
    "php": "php",
    "pwsh": "powershell",
    "pypy": "python",
    "python": "python",
    "rscript": "r",
    "ruby": "ruby",
    "runghc": "haskell",
    "runhaskell": "haskell",
    "scala": "scala",
    "sh": "bash",
    "swift": "swift",
    "tclsh": "tcl",
    "ts-node": "typescript",
    "tsx": "typescript",
    "zsh": "bash",
}


_TABLES: Final[Mapping[Kind, Mapping[str, str]]] = {"code": _CODE, "docs": _DOCS, "config": _CONFIG}
_EXTENSIONS: Final = {
    extension: FileType(language, kind)
    for kind, table in _TABLES.items()
    for language, extensions in table.items()
    for extension in extensions.split()
}
_UNKNOWN: Final = FileType(None, "other")


#: Other names of languages.
_ALIASES: Final[Mapping[str, str]] = {
    "bazel": "starlark",
    "c#": "csharp",
    "docker": "dockerfile",
    "emacs-lisp": "elisp",
    "f#": "fsharp",
    "golang": "go",
    "make": "makefile",
    "node": "javascript",
    "nodejs": "javascript",
    "objc++": "objective-cpp",
    "objectpascal": "pascal",
    "protobuf": "proto",
    "python3": "python",
    "restructuredtext": "rst",
    "shell": "bash",
    "viml": "vim",
    "vimscript": "vim",
    "vb.net": "visualbasic",
}


def language_name(name: str) -> str:
    """Return the language of a name, alias or extension: `golang` is go, `js` and `.js` are javascript."""
    asked = name.strip().lower()
    if asked in LANGUAGES:
        return asked
    found = _EXTENSIONS.get(asked.lstrip("."))
    return _ALIASES.get(asked) or (found.language if found is not None and found.language else asked)


#: Every known language.
LANGUAGES: Final = tuple(sorted({f.language for f in (*_EXTENSIONS.values(), *_NAMES.values()) if f.language}))


def extensions(language: str) -> tuple[str, ...]:
    """Return the extensions of a language, without the dot, sorted."""
    return tuple(sorted(ext for ext, found in _EXTENSIONS.items() if found.language == language))


def detect(path: str, head: bytes) -> FileType:
    """Return language and kind of a file by its name and first bytes."""
    name = path.rpartition("/")[2].lower()
    if known := _by_name(name):
        return known
    stem, dot, extension = name.rpartition(".")
    if dot and (found := _EXTENSIONS.get(extension)) and (stem or extension == "env"):
        return found
    if by_shebang := _by_shebang(head):
        return by_shebang
    is_config = name.startswith(".") and name.endswith(("rc", "-version", "ignore"))
    return FileType(None, "config") if is_config else _UNKNOWN


def _by_name(name: str) -> FileType | None:
    if found := _NAMES.get(name):
        return found
    if name.endswith((".txt", ".in")) and _REQUIREMENTS.fullmatch(name):
        return FileType("text", "config")
    if name.startswith(("dockerfile.", "containerfile.")) and not name.endswith((".md", ".txt")):
        return _NAMES["dockerfile"]
    return None


def _by_shebang(head: bytes) -> FileType | None:
    if not head.startswith(b"#!"):
        return None
    for word in head[2:].split(b"\n", 1)[0].decode("latin-1").split():
        program = word.rpartition("/")[2].lower()
        if program == "env" or word.startswith("-") or "=" in word:
            continue
        language = _INTERPRETERS.get(program) or _INTERPRETERS.get(program.rstrip("0123456789."))
        return FileType(language, "code")
    return None
