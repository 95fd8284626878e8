"""Which pairs of host and key variable a card needs trust for, and the file that keeps them."""

from __future__ import annotations

import io
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from promptaudit.cards.trust.command import forget_folder, list_trusted, trust_folder
from promptaudit.cards.trust.refuse import pairs_of, read_address, refuse_untrusted, wanted_by
from promptaudit.cards.trust.store import Pair, forget, load, record, trust_file
from promptaudit.registry.errors import CardError, UntrustedCard, UsageError
from promptaudit.registry.registry import SHIPPED, Registry, load_registry
from promptaudit.system.display.progress import Progress
from promptaudit.system.settings import Settings

OPENAI = "https://api.openai.com:443"


def registry_of(folder: Path, *cards: str, file: str = "m.yml") -> Registry:
    """A registry of model cards, `id: fields`, each `engine: openai_api` unless it says another."""
    path = folder / "models" / file
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = []
    for card in cards:
        name, _, fields = card.partition(": ")
        lines.append(f"{name}: {{{'' if 'engine:' in fields else 'engine: openai_api, model: x, '}{fields}}}")
    path.write_text("\n".join(lines) + "\n")
    return load_registry([folder])


def named(folder: Path, fields: str) -> list[tuple[str, str]]:
    entry = registry_of(folder, f"m: {fields}").entries["models"]["m"]
    return [(pair.origin, pair.api_key_env) for pair in pairs_of("m", entry)]


# ---------------------------------------------------------------- pairs
@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ("base_url: 'https://a.example/v1', api_key_env: A_KEY", [("https://a.example:443", "A_KEY")]),
        ("base_url: 'https://a.example/v1'", [("https://a.example:443", "OPENAI_API_KEY")]),
        ("api_key_env: A_KEY", [(OPENAI, "A_KEY")]),
        ("api_key_env: OPENAI_API_KEY", [(OPENAI, "OPENAI_API_KEY")]),
        ("price: free", []),  # neither: the user's own environment
        ("base_url: 'http://127.0.0.1:8000/v1', api_key_env: A_KEY", []),
        ("base_url: 'http://LOCALHOST:8000/v1', api_key_env: A_KEY", []),
        ("base_url: 'http://[::1]:8000/v1', api_key_env: A_KEY", []),
        ("base_url: 'http://a.localhost:1/v1'", [("http://a.localhost:1", "OPENAI_API_KEY")]),
        ("base_url: ['http://127.0.0.1:1/v1', 'https://a.example/v1']", [("https://a.example:443", "OPENAI_API_KEY")]),
        (
            "base_url: ['https://a.example/v1', 'https://b.example/v1', 'https://a.example/v2'], api_key_env: A_KEY",
            [("https://a.example:443", "A_KEY"), ("https://b.example:443", "A_KEY")],
        ),
        ("engine: embedded, model: lexical, base_url: 'https://a.example/v1', api_key_env: A_KEY", []),
        ("engine: recorded, model: x, path: a.csv, api_key_env: A_KEY", []),
        ("engine: batch, model: x, api_key_env: A_KEY", [(OPENAI, "A_KEY")]),
        ("engine: vllm_server, model: x, api_key_env: A_KEY", []),  # it starts its own, here
        (
            "engine: vllm_server, model: x, base_url: 'http://gpu.example:8000/v1', api_key_env: A_KEY",
            [("http://gpu.example:8000", "A_KEY")],
        ),
    ],
)
def test_pairs_of_a_card(tmp_path: Path, fields: str, expected: list[tuple[str, str]]) -> None:
    assert named(tmp_path, fields) == expected


def test_a_variable_alone_goes_where_the_environment_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", " https://Gateway.Example/v1 ")
    assert named(tmp_path, "api_key_env: A_KEY") == [("https://gateway.example:443", "A_KEY")]
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    assert named(tmp_path, "api_key_env: A_KEY") == []
    monkeypatch.setenv("OPENAI_BASE_URL", "https://me:hunter22@gateway.example/v1")
    with pytest.raises(UsageError, match=r"^UsageError: OPENAI_BASE_URL is no plain") as caught:
        named(tmp_path, "api_key_env: A_KEY")
    assert "hunter22" not in str(caught.value)


def test_cards_of_the_package_need_none_until_one_of_that_id_comes_from_elsewhere(tmp_path: Path) -> None:
    assert wanted_by(load_registry().entries["models"]) == {}
    name = next(name for name, entry in load_registry().entries["models"].items() if entry.card.api_key_env)
    entries = registry_of(tmp_path, f"{name}: api_key_env: A_KEY").entries["models"]
    assert list(wanted_by(entries)) == [Pair(OPENAI, "A_KEY")]


@pytest.mark.parametrize(
    "url",
    [
        "https://api.example.com/v1",
        "https://API.Example.com/v2",
        "https://api.example.com:443",
        "HTTPS://api.example.com",
        "https://api.example.com.:0443/v1",
        "https://api。example.com/v1",
    ],
)
def test_spellings_of_one_host_are_one_pair(tmp_path: Path, url: str) -> None:
    assert named(tmp_path, f"base_url: '{url}'") == [("https://api.example.com:443", "OPENAI_API_KEY")]


@pytest.mark.parametrize("url", ["http://api.example.com/v1", "https://api.example.com:8443", "https://example.com/"])
def test_another_scheme_port_or_host_is_another_pair(tmp_path: Path, url: str) -> None:
    assert named(tmp_path, f"base_url: '{url}'") != [("https://api.example.com:443", "OPENAI_API_KEY")]


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://аpi.openai.com/v1", "https://xn--pi-6kc.openai.com:443 (looks like аpi.openai.com)"),  # noqa: RUF001
        ("https://xn--pi-6kc.openai.com", "https://xn--pi-6kc.openai.com:443 (looks like аpi.openai.com)"),  # noqa: RUF001
        ("https://bücher.example", "https://xn--bcher-kva.example:443 (looks like bücher.example)"),
        ("http://gpu.example", "http://gpu.example:80 in clear text"),
        ("https://[2001:DB8::0:1]:8443/v1", "https://[2001:db8::1]:8443"),
        ("https://xn--\u0030\u0030\u0030\u0030\u0030.example", "https://xn--00000.example:443"),  # no punycode
        ("https://127.0.0.1.evil.example", "https://127.0.0.1.evil.example:443"),
        ("http://2130706433:80", "http://2130706433:80 in clear text"),
        ("http://0.0.0.0:1", "http://0.0.0.0:1 in clear text"),
    ],
)
def test_a_host_is_shown_as_it_is_asked_and_as_it_looks(tmp_path: Path, url: str, shown: str) -> None:
    (pair,) = pairs_of("m", registry_of(tmp_path, f"m: base_url: '{url}'").entries["models"]["m"])
    assert str(pair) == shown


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example%2eopenai.com/v1",
        "https://evil.example\\.openai.com/v1",
        "https://evil example/v1",
        "https://a..b/v1",
        "https://.example/v1",
        "https://a.example../v1",
        "https://ⓛocalhost/v1",
        "https://１２７.0.0.1/v1",  # noqa: RUF001
        "https://evil.example,api.openai.com/v1",
        "https://[fe80::1%25eth0]/v1",
        "https://*.example/v1",
    ],
)
def test_a_host_that_programs_read_differently_is_refused_with_its_line(tmp_path: Path, url: str) -> None:
    registry = registry_of(tmp_path, "n: price: free", f"m: base_url: ['http://127.0.0.1/v1', '{url}']")
    with pytest.raises(CardError, match=r"models/m.yml line 2: base_url of 'm'"):
        wanted_by(registry.entries["models"])


@pytest.mark.parametrize(
    "url",
    ["https://api.openai.com@evil.example/v1", "https://api.openai.com:443@evil.example", "https://a\\@api.openai.com"],
)
def test_an_address_with_credentials_is_refused_by_the_card_and_by_the_reader(tmp_path: Path, url: str) -> None:
    with pytest.raises(CardError, match=r"models/m.yml line 1"):
        registry_of(tmp_path, f"m: base_url: '{url}'")
    with pytest.raises(ValueError, match="credentials"):
        read_address(url)


# ---------------------------------------------------------------- refusing
def check(registry: Registry, path: Path, progress: Progress | None = None) -> None:
    settings = Settings(trust_file=path)
    models = {name: entry for name, entry in registry.entries["models"].items() if entry.root != SHIPPED}
    refuse_untrusted(settings, {"models": models}, progress or Progress())


def test_the_refusal_names_card_pair_and_command(tmp_path: Path) -> None:
    root = tmp_path / "my cards"
    registry = registry_of(root, "n: price: free", "m: base_url: 'http://a.example/v1', api_key_env: A_KEY")
    with pytest.raises(UntrustedCard) as caught:
        check(registry, tmp_path / "t.json")
    assert caught.value.exit_code == 2
    assert str(caught.value) == (
        "UntrustedCard: models/m.yml line 2: model 'm' sends the key in A_KEY to http://a.example:80 in clear text, "
        f"which is not trusted; look at the card, then: promptaudit trust '{root}'"
    )


def test_a_folder_that_looks_like_an_option_is_named_so_that_it_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UntrustedCard, match=r"promptaudit trust \./-x$"):
        check(registry_of(Path("-x"), "m: api_key_env: A_KEY"), tmp_path / "t.json")


@pytest.mark.parametrize(
    "changed",
    [
        "base_url: 'https://b.example/v1', api_key_env: A_KEY",
        "base_url: 'https://a.example/v1', api_key_env: B_KEY",
        "base_url: 'https://a.example/v1'",
        "base_url: 'https://a.example:444/v1', api_key_env: A_KEY",
        "base_url: 'http://a.example/v1', api_key_env: A_KEY",
        "base_url: ['https://a.example/v1', 'https://b.example/v1'], api_key_env: A_KEY",
        "api_key_env: A_KEY",
    ],
)
def test_a_trusted_card_that_changes_is_asked_for_again(tmp_path: Path, changed: str) -> None:
    path, root = tmp_path / "t.json", tmp_path / "r"
    registry = registry_of(root, "m: base_url: 'https://a.example/v1', api_key_env: A_KEY")
    trust_folder(Settings(trust_file=path), root)
    check(registry, path)
    with pytest.raises(UntrustedCard):
        check(registry_of(root, f"m: {changed}"), path)
    # another path of the host, or another id, is the same pair
    check(registry_of(root, "other: base_url: 'https://A.example:443/v2', api_key_env: A_KEY"), path)


def test_a_second_registry_with_the_same_pair_is_trusted_already(tmp_path: Path) -> None:
    path, settings = tmp_path / "t.json", Settings(trust_file=tmp_path / "t.json")
    for name in ("r", "s"):
        registry_of(tmp_path / name, "m: api_key_env: A_KEY")
    assert [pair.is_new for pair in trust_folder(settings, tmp_path / "r").pairs] == [True]
    check(load_registry([tmp_path / "s"]), path)
    done = trust_folder(settings, tmp_path / "s")
    assert [pair.is_new for pair in done.pairs] == [False]
    assert done.lines() == [f"known  {OPENAI}  A_KEY  m", f"all trusted already, in {path}"]


def test_of_two_registries_the_card_that_counts_is_the_one_that_is_asked(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    shipped = next(name for name, entry in load_registry().entries["models"].items() if entry.card.base_url)
    registry_of(tmp_path / "a", f"{shipped}: base_url: 'https://a.example/v1'")
    registry_of(tmp_path / "b", f"{shipped}: base_url: 'https://b.example/v1'")
    trust_folder(Settings(trust_file=path), tmp_path / "a")
    check(load_registry([tmp_path / "b", tmp_path / "a"]), path)
    with pytest.raises(UntrustedCard, match=f"b.example:443, .*promptaudit trust {tmp_path / 'b'}$"):
        check(load_registry([tmp_path / "a", tmp_path / "b"]), path)


class Person(Progress):
    """Someone at a terminal who gives these answers."""

    def __init__(self, *answers: bool) -> None:
        super().__init__()
        self.answers, self.asked = list(answers), []

    @property
    def can_ask(self) -> bool:
        return True

    def confirm(self, question: str) -> bool:
        self.asked.append(question)
        return self.answers.pop(0)


def test_a_person_is_asked_once_a_pair_and_a_no_keeps_the_yes_before_it(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    registry = registry_of(
        tmp_path / "r",
        "m: api_key_env: A_KEY",
        "n: api_key_env: A_KEY",
        "o: base_url: ['https://a.example/v1', 'https://b.example/v1']",
    )
    person = Person(True, False)
    with pytest.raises(UntrustedCard, match=r"a\.example"):
        check(registry, path, person)
    assert person.asked == [
        f"Trust {OPENAI} with the key in A_KEY (model 'm' and 1 more, models/m.yml line 1)?",
        "Trust https://a.example:443 with the key in OPENAI_API_KEY (model 'o', models/m.yml line 3)?",
    ]
    assert list(load(path)) == [Pair(OPENAI, "A_KEY")]
    again = Person(True, True)
    check(registry, path, again)
    assert len(again.asked) == 2
    check(registry, path)


@pytest.mark.parametrize(
    ("quiet", "may_ask", "stdin", "stderr", "can_ask"),
    [
        (False, True, True, True, True),
        (True, True, True, True, False),
        (False, False, True, True, False),
        (False, True, False, True, False),
        (False, True, True, False, False),
        (False, True, None, True, False),
    ],
)
def test_somebody_is_there_only_at_a_terminal_of_stdin_and_stderr(
    monkeypatch: pytest.MonkeyPatch, quiet: bool, may_ask: bool, stdin: bool | None, stderr: bool, can_ask: bool
) -> None:
    for name, is_terminal in (("stdin", stdin), ("stderr", stderr)):
        stream = io.StringIO()
        stream.isatty = lambda is_terminal=is_terminal: is_terminal  # type: ignore[method-assign]
        monkeypatch.setattr(sys, name, None if is_terminal is None else stream)
    assert Progress(quiet=quiet, may_ask=may_ask).can_ask is can_ask


# ---------------------------------------------------------------- the file
def test_the_file_is_private_and_says_when_and_for_whom(tmp_path: Path) -> None:
    path = tmp_path / "config" / "promptaudit" / "trusted.json"
    registry_of(tmp_path / "r", "m: api_key_env: A_KEY")
    done = trust_folder(Settings(trust_file=path), tmp_path / "r")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert done.lines() == [f"new  {OPENAI}  A_KEY  m", f"1 pair recorded in {path}"]
    (trusted,) = json.loads(path.read_text())["trusted"]
    assert (trusted["origin"], trusted["api_key_env"], trusted["registry"]) == (OPENAI, "A_KEY", str(tmp_path / "r"))
    (listed,) = list_trusted(Settings(trust_file=path)).trusted
    assert listed.trusted_at == trusted["trusted_at"]
    assert {entry.name for entry in path.parent.iterdir()} == {"trusted.json", "trusted.json.lock"}


def test_nothing_to_trust_writes_nothing(tmp_path: Path) -> None:
    registry_of(tmp_path / "r", "m: base_url: 'http://127.0.0.1/v1'")
    done = trust_folder(Settings(trust_file=tmp_path / "t" / "t.json"), tmp_path / "r")
    assert done.lines() == [
        f"{tmp_path / 'r'}: no card of it sends a key to another machine or names code, nothing to trust"
    ]
    assert not (tmp_path / "t").exists()


def test_forgetting_takes_back_what_is_named_and_what_was_recorded(tmp_path: Path) -> None:
    path, settings = tmp_path / "t.json", Settings(trust_file=tmp_path / "t.json")
    registry_of(tmp_path / "r", "m: api_key_env: A_KEY")
    trust_folder(settings, tmp_path / "r")
    registry_of(
        tmp_path / "r", "m: api_key_env: B_KEY"
    )  # the card has changed since: A_KEY is of the folder all the same
    registry_of(tmp_path / "s", "m: api_key_env: B_KEY", "n: api_key_env: C_KEY")
    trust_folder(settings, tmp_path / "s")
    assert [gone.api_key_env for gone in forget_folder(settings, tmp_path / "r").forgotten] == ["A_KEY", "B_KEY"]
    assert [pair.api_key_env for pair in load(path)] == ["C_KEY"]
    (tmp_path / "s").rename(tmp_path / "gone")
    assert forget_folder(settings, tmp_path / "s").lines()[-1] == f"1 pair taken out of {path}"
    with pytest.raises(CardError, match="is no folder"):
        forget_folder(settings, tmp_path / "s")
    assert load(path) == {}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "Invalid JSON"),
        ("{", "Invalid JSON"),
        ("[" * 100_000, "Invalid JSON"),
        ("\xff", "Invalid JSON"),
        ("[]", "object"),
        ('{"trusted": [{"origin": "https://a.example:443"}]}', "trusted.0.api_key_env: Field required"),
        ('{"trusted": [], "more": 1}', "more: Extra inputs"),
    ],
)
def test_a_broken_file_is_one_line_and_stays_as_it_is(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "t.json"
    path.write_text(text, encoding="latin-1")
    for act in (lambda: load(path), lambda: record(path, [Pair(OPENAI, "A_KEY")], tmp_path)):
        with pytest.raises(UsageError, match=words) as caught:
            act()
        assert str(caught.value).startswith(f"UsageError: {path}: ")
        assert "\n" not in str(caught.value)
    assert path.read_text(encoding="latin-1") == text


def test_a_file_that_others_may_write_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    record(path, [Pair(OPENAI, "A_KEY")], tmp_path)
    path.chmod(0o660)
    with pytest.raises(UsageError, match=f"others may write .*chmod 600 {path}"):
        load(path)
    path.chmod(0o644)
    assert len(load(path)) == 1


def test_a_link_is_followed_and_stays(tmp_path: Path) -> None:
    target, link = tmp_path / "dotfiles" / "trusted.json", tmp_path / "config" / "trusted.json"
    link.parent.mkdir()
    link.symlink_to(target)  # to nothing yet
    path = trust_file(Settings(trust_file=link))
    record(path, [Pair(OPENAI, "A_KEY")], tmp_path)
    record(path, [Pair(OPENAI, "B_KEY")], tmp_path)
    assert link.is_symlink()
    assert len(load(link)) == len(load(target)) == 2
    assert forget(path, [Pair(OPENAI, "A_KEY")], tmp_path / "elsewhere") == [Pair(OPENAI, "A_KEY")]
    link.unlink()
    link.symlink_to(link)
    with pytest.raises(UsageError, match="cannot be read"):
        load(trust_file(Settings(trust_file=link)))


@pytest.mark.parametrize(("xdg", "where"), [("{home}/x", "x"), ("relative", ".config"), ("", ".config")])
def test_where_the_file_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, xdg: str, where: str) -> None:
    monkeypatch.delenv("PROMPTAUDIT_TRUST_FILE")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", xdg.format(home=tmp_path))
    assert trust_file(Settings()) == tmp_path / where / "promptaudit" / "trusted.json"
    monkeypatch.setenv("PROMPTAUDIT_TRUST_FILE", str(tmp_path / "mine.json"))
    assert trust_file(Settings()) == tmp_path / "mine.json"


def test_without_a_home_there_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError

    monkeypatch.delenv("PROMPTAUDIT_TRUST_FILE")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    with pytest.raises(UsageError, match="set PROMPTAUDIT_TRUST_FILE"):
        trust_file(Settings())


@pytest.mark.skipif(os.name != "posix", reason="folders are made otherwise")
def test_a_place_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"trusted\.json: cannot be written"):
        record(tmp_path / "file" / "trusted.json", [Pair(OPENAI, "A_KEY")], tmp_path)


RECORDS_MANY = """
import sys
from pathlib import Path
from promptaudit.cards.trust.store import Pair, record
for number in range(40):
    record(Path(sys.argv[1]), [Pair(f"https://{sys.argv[2]}{number}.example:443", "A_KEY")], Path(sys.argv[1]).parent)
"""


def test_processes_that_record_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "new" / "trusted.json"
    writers = [subprocess.Popen([sys.executable, "-c", RECORDS_MANY, str(path), letter]) for letter in "abc"]
    assert [writer.wait(timeout=60) for writer in writers] == [0, 0, 0]
    assert len(load(path)) == 120
    assert {entry.name for entry in path.parent.iterdir()} == {"trusted.json", "trusted.json.lock"}
