"""A card from elsewhere sends no key anywhere before its user trusts the pair: from the shell and at a terminal."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.openai_server import RunningServer, running_server
from tests.support.shell import Ended, environment, promptaudit

pytestmark = pytest.mark.slow

KEY = "sk-test-0123456789abcdef0123456789abcdef"
MODELS = "m: {{engine: openai_api, model: x, base_url: '{url}', api_key_env: A_KEY, price: free}}\n"
CARDS = {
    "tasks/t.yml": "t:\n  labels: [a, b]\n  instruction: Sort it.\n  data: {path: datasets/d.csv, id: id, input: text}\n",
    "datasets/d.csv": "id,text\n1,one\n2,two\n",
    "rephrasers/r.yml": "asked: {kind: model, model: m}\n",
    "audits/a.yml": "asks: {tasks: [t], models: [m]}\nrewords: {tasks: [t], models: [lexical], "
    "rephrasing: {rephraser: asked, variants: 3}}\noffline: {tasks: [t], models: [lexical]}\n",
}
EVIL = "https://evil.example/v1"


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with running_server(key=KEY) as running:
        yield running


def write_cards(folder: Path, url: str = EVIL, name: str = "registry") -> None:
    for file, text in {**CARDS, "models/m.yml": MODELS.format(url=url)}.items():
        path = folder / name / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def elsewhere(server: RunningServer) -> str:
    """The server's address in a spelling that is not known to be this machine, and that reaches it all the same."""
    if sys.platform != "linux":
        pytest.skip("0.0.0.0 is this machine on Linux alone")
    return server.base_url.replace("127.0.0.1", "0.0.0.0")  # noqa: S104 - asked, not listened at


def refusal(folder: str = "registry", origin: str = "https://evil.example:443") -> str:
    return (
        f"UntrustedCard: models/m.yml line 1: model 'm' sends the key in A_KEY to {origin}, which is not trusted; "
        f"look at the card, then: promptaudit trust {folder}\n"
    )


@pytest.mark.parametrize(
    "arguments", [("run", "asks"), ("run", "rewords"), ("plan", "rewords", "--export-prompts", "p.csv")]
)
@pytest.mark.parametrize("shared", [(), ("--json",), ("--quiet",)])
def test_unattended_an_untrusted_pair_ends_it_before_anything_is_made(
    tmp_path: Path, arguments: tuple[str, ...], shared: tuple[str, ...]
) -> None:
    write_cards(tmp_path)
    ended = promptaudit(tmp_path, *arguments, *shared, A_KEY=KEY)
    assert (ended.code, ended.out, ended.err) == (2, "", refusal())
    assert [entry.name for entry in tmp_path.iterdir()] == ["registry"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("plan", "asks"),
        ("plan", "rewords"),
        ("plan", "asks", "--export-prompts", "p.csv"),
        ("validate",),
        ("validate", "asks"),
        ("plan", "offline"),
    ],
)
def test_what_asks_nobody_needs_no_trust(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    write_cards(tmp_path)
    assert promptaudit(tmp_path, *arguments).code == 0


def test_the_command_that_the_refusal_names_is_the_one_that_helps(tmp_path: Path, server: RunningServer) -> None:
    url = elsewhere(server)
    server.reset()
    folder, origin = "their cards", url.removesuffix("/v1")
    write_cards(tmp_path, url, folder)
    export = ("--registry", folder, "plan", "rewords", "--export-prompts", "p.csv")
    refused = promptaudit(tmp_path, *export, A_KEY=KEY)
    assert refused.err == refusal(f"'{folder}'", f"{origin} in clear text")
    assert server.counters().get("requests", 0) == 0
    trusted = promptaudit(tmp_path, "trust", folder)
    assert trusted.code == 0
    assert trusted.out.startswith(f"new  {origin} in clear text  A_KEY  m\n1 pair recorded in ")
    ended = promptaudit(tmp_path, *export, A_KEY=KEY, NO_PROXY="*")
    assert ended.code == 0, ended.err
    assert server.counters()["requests"] > 0
    assert promptaudit(tmp_path, "trust", folder, "--forget").out.startswith("forgotten  ")
    assert promptaudit(tmp_path, *export, A_KEY=KEY).code == 2


def test_trust_as_data(tmp_path: Path) -> None:
    write_cards(tmp_path)
    pair = {"origin": "https://evil.example:443", "shown": "https://evil.example:443", "api_key_env": "A_KEY"}
    assert promptaudit(tmp_path, "trust", "--list", "--json").json()["trusted"] == []
    done = promptaudit(tmp_path, "trust", "--json").json()
    assert done["pairs"] == [{**pair, "models": ["m"], "is_new": True}]
    (listed,) = promptaudit(tmp_path, "trust", "--list", "--json").json()["trusted"]
    assert listed == {**pair, "trusted_at": listed["trusted_at"], "registry": str(tmp_path / "registry")}
    assert promptaudit(tmp_path, "trust", "--forget", "--json").json()["forgotten"] == [pair]
    assert "nothing of it is trusted" in promptaudit(tmp_path, "trust", "--forget").out


def test_the_scaffold_runs_as_it_stands_and_says_what_its_model_needs(tmp_path: Path) -> None:
    assert promptaudit(tmp_path, "init").code == 0
    assert promptaudit(tmp_path, "plan", "mine", "--export-prompts", "p.csv").code == 0
    assert promptaudit(tmp_path, "trust").out.startswith("new  https://api.openai.com:443  OPENAI_API_KEY  my-openai\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("trust",), "registry registry is no folder"),
        (("trust", "nowhere", "--forget"), "registry nowhere is no folder"),
        (("trust", "--list", "--forget"), "give one of --list and --forget"),
    ],
)
def test_wrong_usage_of_trust(tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    ended = promptaudit(tmp_path, *arguments)
    assert ended.code == 2
    assert words in ended.err
    assert len(ended.err.splitlines()) == 1


def test_a_broken_trust_file_ends_it_in_one_line(tmp_path: Path) -> None:
    write_cards(tmp_path)
    (tmp_path / "t.json").write_text("{")
    for arguments in (("run", "asks"), ("trust",), ("trust", "--list"), ("trust", "--forget")):
        ended = promptaudit(tmp_path, *arguments, PROMPTAUDIT_TRUST_FILE="t.json")
        assert ended.code == 2
        assert ended.err.startswith(f"UsageError: {tmp_path / 't.json'}: Invalid JSON")
        assert len(ended.err.splitlines()) == 1


# ---------------------------------------------------------------- at a terminal
def at_terminal(folder: Path, answer: bytes | signal.Signals, *arguments: str, **extra: str) -> Ended:
    """Runs a command with a terminal for stdin and stderr and answers its question, once, when it is asked."""
    ours, theirs = pty.openpty()
    running = subprocess.Popen(
        [sys.executable, "-m", "promptaudit.cli", *arguments],
        cwd=folder,
        env=environment(**extra),
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
    )
    os.close(theirs)
    seen = b""
    try:
        while chunk := _read(ours):
            seen += chunk
            if seen.endswith(b"[y/N] "):
                if isinstance(answer, bytes):
                    os.write(ours, answer)
                else:
                    running.send_signal(answer)
        out, _ = running.communicate(timeout=60)
    finally:
        running.kill()
        os.close(ours)
    return Ended(running.returncode, out.decode(), seen.decode().replace("\r\n", "\n"))


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # what Linux says when the other side is closed
        return b""


EXPORT = ("plan", "rewords", "--export-prompts", "p.csv")
QUESTION = "Trust {origin} with the key in A_KEY (model 'm', models/m.yml line 1)? [y/N] "


def test_a_yes_is_recorded_and_not_asked_again(tmp_path: Path, server: RunningServer) -> None:
    url = elsewhere(server)
    write_cards(tmp_path, url)
    ended = at_terminal(tmp_path, b"y\n", *EXPORT, A_KEY=KEY, NO_PROXY="*")
    assert ended.code == 0, ended.err
    assert ended.err.startswith(QUESTION.format(origin=f"{url.removesuffix('/v1')} in clear text"))
    assert "prompt variants in p.csv" in ended.out
    assert promptaudit(tmp_path, *EXPORT, A_KEY=KEY, NO_PROXY="*").code == 0


@pytest.mark.parametrize("answer", [b"yikes\n", pytest.param(b"\x04", marks=pytest.mark.slow)])
def test_everything_else_is_a_no(tmp_path: Path, answer: bytes) -> None:
    write_cards(tmp_path)
    ended = at_terminal(tmp_path, answer, "run", "asks", A_KEY=KEY)
    assert ended.code == 2
    assert ended.err.startswith(QUESTION.format(origin="https://evil.example:443"))
    assert ended.err.splitlines()[-1] + "\n" == refusal()
    assert [entry.name for entry in tmp_path.iterdir()] == ["registry"]
    assert promptaudit(tmp_path, "trust", "--list", "--json").json()["trusted"] == []


def test_an_interrupt_at_the_question_is_an_interrupt(tmp_path: Path) -> None:
    write_cards(tmp_path)
    ended = at_terminal(tmp_path, signal.SIGINT, "run", "asks", A_KEY=KEY)
    assert ended.code == 130
    assert "interrupted" in ended.err.splitlines()[-1]


def test_nothing_is_asked_where_a_program_reads(tmp_path: Path) -> None:
    write_cards(tmp_path)
    ended = at_terminal(tmp_path, b"y\n", "run", "asks", "--json", A_KEY=KEY)
    assert (ended.code, ended.err) == (2, refusal())
