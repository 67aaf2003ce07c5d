"""Nothing private gets from a user's files into the queue or the output."""

import json
import random
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.gold.mining.log_queries import mine_shell, mine_transcript
from assay.gold.mining.privacy import private_names, private_part

#: Planted, none of them real; issued keys are put together here so that no scanner takes them for ones.
SECRETS = [
    "AKIA" + "IOSFODNN7EXAMPLE",
    "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a",
    "password=hunter2hunter2",
    "token: 8f14e45fceea167a5a36dedd4bea2543",
    "https://ada:correcthorse@example.org/x",
    "Bearer 9a8b7c6d5e4f3a2b",
    "f47ac10b58cc4372a5670e02b2c3d479aa",
    "Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MA==",
    "ada.lovelace@example.org",
    "/home/adalove/work/secret.txt",
    "~/work/secret.txt",
    "C:\\Users\\adalove\\x",
    "deploy@10.0.0.12",
    "192.168.1.7",
    "password hunter2 login",
    "the pass for root is Tr0ub4dor",
    "dbPassword swordFish",
    "pin 4321",
    "my ssn 078-05-1120",
    "call 555-123-4567",
    "+1 (555) 010-9999",
    "555-0199",
    "4111 1111 1111 1111",
    "db01.internal.corp:5432",
    "printer.local",
    "db-01:5432",
    "redis:6379",
    "smb://files/adalove",
    "mysql -phunter22 db",
    "mysql -u root -phunter db",
    "curl -u admin:hunter22x",
    "$HOME/adalove/x",
    "${WORK}/adalove",
    "%APPDATA%\\adalove",
    "~adalove/x",
    "\\\\fileserver\\adalove\\docs",
    "fe80::1ff:fe23:4567:890a",
    "2001:db8:0:0:0:8a2e:370:7334",
    "00:1a:2b:3c:4d:5e",
    "hf" + "_abcdEFGHijklMNOPqrstUVWXabcdEFGHij",
    "kqzJwXvPbTnRdGfH",
]


@pytest.mark.parametrize("secret", SECRETS)
def test_private_things_are_told_by_kind_and_not_repeated(secret):
    found = private_part(f"where is {secret} read")
    assert found is not None
    assert secret not in found


@pytest.mark.parametrize(
    "text",
    [
        "where is the password hashed before it is stored?",
        "how does the token bucket refill",
        "test_fetch_archive_unpacks_members_into_cache",
        "InternationalizationConfigurationManager",
        "secret key rotation schedule",
        "bearer token parsing",
        "read path/of/a/file.py of the user's home",
        "how is the sha256 key derived from a password",
        "pass 2 of the parser",
        "net.py:120 waits",
        "std::vector and Foo::bar",
        "since 2024-01-15 at 10:20:30",
        "version 3.10.12 of RFC 7231 section 6.5.1",
        "application/x-www-form-urlencoded",
        "SESSION_COOKIE_SAMESITE",
        "slice a[1:20]",
    ],
)
def test_questions_about_code_are_not_private(text):
    assert private_part(text) is None


def test_names_of_users_come_from_their_homes():
    names = private_names("vim /home/adalove/x\ncd /Users/grace/y\nls /home/user/z")
    assert names == {"adalove", "grace"}
    assert private_part("what did adalove change in the parser", names) == "a user name"
    assert private_part("what did changes of the parser do", names) is None
    assert private_names("cd ~/flask/src\nls /root/secrets") == frozenset()
    assert private_part("grep ~/flask") == "a home directory"


@pytest.mark.parametrize(
    "text", ["sha3_512_digest_of", "key parseToken2", "secret keyRing", "pool.local", "where is XMLRPCDocGenerator"]
)
def test_names_that_the_code_has_are_no_secrets(text):
    known = {"sha3_512_digest_of", "parseToken2", "keyRing", "pool", "local", "XMLRPCDocGenerator"}
    assert private_part(text) is not None
    assert private_part(text, known=known) is None


BASE62 = string.ascii_letters + string.digits
#: Alphabets of keys, and what issuers put before them.
SHAPES = {
    "base62": ("", BASE62),
    "base64": ("", f"{BASE62}+/"),
    "url-safe": ("", f"{BASE62}-_"),
    "base32": ("", f"{string.ascii_uppercase}234567"),
    "base36": ("", string.ascii_lowercase + string.digits),
    "hex": ("", string.hexdigits[:16]),
    "hf": ("hf" + "_", BASE62),
    "google": ("GOC" + "SPX-", f"{BASE62}-_"),
}


def keys(shape, seed, count):
    """Draw keys of 16 to 40 characters."""
    draw = random.Random(f"{shape} {seed}")
    before, alphabet = SHAPES[shape]
    return [before + "".join(draw.choices(alphabet, k=draw.randint(16, 40))) for _ in range(count)]


@pytest.mark.parametrize(("count", "most"), [(1000, 1), pytest.param(10_000, 10, marks=pytest.mark.soak)])
@pytest.mark.parametrize("shape", SHAPES)
def test_hardly_any_drawn_key_is_taken_for_a_name(shape, count, most):
    drawn = keys(shape, "rate", count)
    missed = [key for key in drawn if private_part(f"where is {key} read") is None]
    assert len(missed) <= most  # measured: 0 to 2 in 10,000


@pytest.mark.parametrize("shape", SHAPES)
def test_no_drawn_key_gets_from_a_history_or_a_transcript_into_proposals(tmp_path, ground, intake, shape):
    drawn = keys(shape, "planted", 60)
    shell = [f"rg '{key} failed download'\ngrep -rn {key} .\nvim pkg/net.py" for key in drawn]
    (tmp_path / "h").write_text("\n".join(shell))
    call = {"name": "Read", "input": {"file_path": "pkg/net.py"}}
    said = [{"role": "user", "content": f"where is {key} read when a failed download is tried?"} for key in drawn]
    (tmp_path / "t.jsonl").write_text("\n".join(json.dumps(line) for one in said for line in (one, call)))
    for found in (mine_shell(ground, tmp_path / "h"), mine_transcript(ground, tmp_path / "t.jsonl")):
        assert len(found.refused) >= len(drawn)
        passed = intake.queries(found.intents)
        told = f"{found} {passed}"
        assert not [key for key in drawn if key in told]


@given(st.text(max_size=300))
def test_no_text_is_an_exception(text):
    private_part(text, private_names(text))
