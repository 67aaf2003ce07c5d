import pytest

from assay.redaction import SCRUBBED, find_secret_lines, has_issued_key, scrub_secrets
from tests.training.mining.samples import PYTHON, make, mined, pairs
from tests.training.toy import MIT

# Put together here, so that no scanner takes this file for a leak.
LETTERS = "abcdEFGH1234ijklMNOP5678qrstUVWX9012"
HEX = "0123456789abcdef" * 2
SECRETS = [
    "id = AKIA" + "ABCDEFGH12345678",
    "token: ghp" + "_" + LETTERS[:36],
    "use xox" + "b-12345678-abcdef",
    "pay = sk_" + "live_" + LETTERS[:24],
    "open sk" + "-" + LETTERS,
    "model hf" + "_" + LETTERS[:34],
    "sign GOC" + "SPX-" + LETTERS[:28],
    "drop dop" + "_v1_" + HEX + HEX,
    "shop shp" + "at_" + HEX,
    "mail S" + "G." + LETTERS[:22] + "." + LETTERS,
    "chat xa" + "pp-1-" + LETTERS,
    "map AI" + "za" + (LETTERS + LETTERS)[:35],
    f'api_key = "{HEX}"',
    f"'SECRET_TOKEN' => '{HEX}'",
    f'password: "{LETTERS + LETTERS}"',
    f'setAuth("{HEX}")',
    "postgres://admin:" + "correcthorse@db.example.org/shop",
    "eyJ" + LETTERS + ".eyJ" + LETTERS + ".sig",
    "-----BEGIN RSA " + "PRIVATE KEY-----",
]
PLAIN = [
    "MSG.something_that_is_long_enough.and_another_thing_here",
    "SGxsomething_that_is_long_enough.and_another_thing_here",
    "hf_hub_download(repo)",
    'sha = "' + HEX + '"',
    "task-" + "a" * 40,
    "token = next(tokens)",
    'password = getpass("Password: ")',
    "https://example.org/a:b@c",
    "key = 'name'",
    "# the AKIA prefix marks a key",
    "https://user:{password}@host/",
]


@pytest.mark.parametrize("line", SECRETS)
def test_secret_is_found_on_its_line(line):
    assert [list(lines) for lines in find_secret_lines(f"first\n\n{line}\nlast\n")] == [[2]]


@pytest.mark.parametrize("line", PLAIN)
def test_plain_line_is_no_secret(line):
    assert not list(find_secret_lines(f"{line}\n"))


@pytest.mark.parametrize(
    "key",
    [
        "gh" + "p_" + LETTERS[:29],
        "github" + "_pat_" + LETTERS + "345",
        "gl" + "pat-" + LETTERS[:17],
        "h" + "f_" + LETTERS[:29],
        "s" + "k-" + LETTERS[:31],
        "AI" + "za" + LETTERS[:34],
    ],
)
def test_short_keys_are_found_in_settings_but_not_scrubbed(key):
    # training must scrub what it scrubbed when the shipped model was made
    assert has_issued_key(key)
    assert scrub_secrets(key) == key
    assert not list(find_secret_lines(key))


def test_private_key_is_found_to_its_end():
    body = "\n".join([LETTERS] * 3)
    (lines,) = find_secret_lines("x\n-----BEGIN " + f"PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\ny\n")
    assert list(lines) == [1, 2, 3, 4, 5]


def test_pairs_with_a_secret_are_dropped_and_counted(tmp_path):
    leak = PYTHON.replace("self.level -= 1", f'self.level -= 1\n            api_key = "{HEX}"')
    folder = make(tmp_path / "toy+house", {"LICENSE": MIT, "kitchen/hot_kettle.py": leak})
    make(folder, {"kitchen/hot_kettle.py": leak.replace("cup.level", "mug.level")}, "Pour the water into mugs instead")
    found = mined(folder)
    assert not any(
        "drip" in code for kind in ("doc", "name", "path", "commit") for _, code, _ in pairs(found.shard, kind)
    )
    assert any("guest" in code for _, code, _ in pairs(found.shard, "doc"))
    assert found.report.dropped["secret"] >= 4


def test_scrub_replaces_secrets_and_keeps_the_rest():
    key = "AKIA" + "ABCDEFGHIJKLMNOP"
    text = f"grep {key} src\nplain words\nurl https://bob:hunter2secret@host/x"
    scrubbed = scrub_secrets(text)
    assert key not in scrubbed
    assert "hunter2secret" not in scrubbed
    assert scrubbed.startswith(f"grep {SCRUBBED} src\nplain words\n")
    assert scrub_secrets("nothing to hide") == "nothing to hide"
