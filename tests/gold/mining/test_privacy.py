"""Nothing private gets from a user's files into the queue or the output."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    ],
)
def test_questions_about_code_are_not_private(text):
    assert private_part(text) is None


def test_names_of_users_come_from_their_homes():
    names = private_names("vim /home/adalove/x\ncd /Users/grace/y\nls /home/user/z")
    assert names == {"adalove", "grace"}
    assert private_part("what did adalove change in the parser", names) == "the name of a user"
    assert private_part("what did changes of the parser do", names) is None


@given(st.text(max_size=300))
def test_no_text_is_an_exception(text):
    private_part(text, private_names(text))
