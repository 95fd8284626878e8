"""Seals that are signed with an SSH key: who can be believed, and what somebody without the key cannot make anew."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from promptaudit.marts.seal import seal_of, seals, signatures
from promptaudit.marts.signature import NAMESPACE, VARIABLE, sign
from promptaudit.registry.errors import UsageError
from promptaudit.report.verify_file import verify_with_pages as verify
from promptaudit.warehouse import Warehouse
from tests.support.handmade_warehouse import Gated
from tests.support.sealed_nights import sealed_night
from tests.support.shell import promptaudit

pytestmark = pytest.mark.slow
PERSON = "reviewer@example.org"


def key_of(folder: Path, name: str, passphrase: str = "") -> Path:
    key = folder / name
    made = ["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-C", name, "-f", str(key)]
    subprocess.run(made, check=True, stdin=subprocess.DEVNULL)
    return key


def signers_of(folder: Path, *lines: str) -> Path:
    file = folder / "allowed_signers"
    file.write_text("".join(f"{line}\n" for line in lines))
    return file


@pytest.fixture
def key(tmp_path: Path) -> Path:
    return key_of(tmp_path, "night")


@pytest.fixture
def signers(tmp_path: Path, key: Path) -> Path:
    return signers_of(tmp_path, f'{PERSON} namespaces="{NAMESPACE}" {key.with_suffix(".pub").read_text()}')


@pytest.fixture
def gated(tmp_path: Path) -> Gated:
    return Gated(tmp_path)


def details(gated: Gated, signers: Path) -> list[str]:
    found = verify(Warehouse(gated.warehouse), signers=signers)
    assert found.exit_code == (1 if found.findings else 0)
    return [each.line for each in found.findings]


def test_a_signed_chain_is_somebodys_and_an_unsigned_end_of_it_nobodys(
    gated: Gated, key: Path, signers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sealed_night(gated, 0)
    (nobody, copy) = details(gated, signers)
    assert "nobody signed it" in nobody
    assert "in the published copy" in copy

    monkeypatch.setenv(VARIABLE, str(key))
    sealed_night(gated, 1)
    assert details(gated, signers) == []  # one signature is of all seals up to it
    shown = promptaudit(
        gated.warehouse.parent, "verify", "--warehouse", gated.warehouse.name, "--signers", str(signers)
    )
    assert shown.code == 0, shown
    assert "each seal is signed by somebody of --signers" in shown.out
    assert "proves order only" not in shown.out

    monkeypatch.delenv(VARIABLE)
    last = sealed_night(gated, 2)
    (own, _) = details(gated, signers)
    assert own == f"broken: seal 3 of run {last} in the warehouse: nobody signed it"


def test_who_makes_the_chain_anew_cannot_sign_it(
    gated: Gated, tmp_path: Path, key: Path, signers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(key))
    run = sealed_night(gated)
    with Warehouse(gated.warehouse).write() as con:
        (seal,) = seals(con)
        forged = seal.manifest.replace("{", "{ ", 1)
        con.execute("update raw.seals set manifest = ?", [forged])
        (made,) = seals(con)
        con.execute("update raw.seals set seal = ?", [seal_of(made)])
    Warehouse(gated.warehouse).published.path.unlink()  # who can write the one can write the other
    found = verify(Warehouse(gated.warehouse), signers=signers)
    assert f"broken: seal 1 of run {run} in the warehouse: it is signed by nobody of --signers" in found.lines()[0]
    assert "incorrect signature" in found.lines()[0]

    other = key_of(tmp_path, "other")
    with Warehouse(gated.warehouse).write() as con:
        (made,) = seals(con)
        con.execute("update raw.seals set signature = ?", [sign(made.seal, other)])
    assert "No principal matched" in verify(Warehouse(gated.warehouse), signers=signers).lines()[0]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{person} {public}", None),
        ("a@example.org,{person} {public}", None),
        ('{person} namespaces="git" {public}', "key is not permitted for use in signature namespace"),
        ('{person} valid-before="20200101" {public}', "No principal matched"),
        ("{person} ssh-ed25519", "No principal matched"),
        ("", "No principal matched"),
    ],
)
def test_a_key_holds_for_seals_and_for_its_time(
    gated: Gated, key: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, why: str | None
) -> None:
    monkeypatch.setenv(VARIABLE, str(key))
    sealed_night(gated)
    public = key.with_suffix(".pub").read_text().strip()
    found = details(gated, signers_of(tmp_path, line.format(person=PERSON, public=public)))
    assert [why in each for each in found] == [True, True] if why else found == []


def test_a_key_that_signs_nothing_is_one_line_before_anything_is_asked(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="incorrect passphrase") as locked:
        sign("seal", key_of(tmp_path, "locked", "a passphrase"))
    assert "\n" not in str(locked.value)
    key = key_of(tmp_path, "open")
    key.chmod(0o644)
    with pytest.raises(UsageError, match=r"Permissions 0644 .* too open"):
        sign("seal", key)
    signers_of(tmp_path)
    for wrong, why in (
        ("no such", "No such file"),
        ("allowed_signers", "No such file"),
        ("~nobody there/k", "nobody's"),
    ):
        ended = promptaudit(
            tmp_path, "run", "quickstart", PROMPTAUDIT_SIGN_KEY=wrong if wrong[0] == "~" else str(tmp_path / wrong)
        )
        assert ended.code == 2
        assert why in ended.one_line()
        assert VARIABLE in ended.one_line()
        assert str(tmp_path) not in ended.one_line()  # the line goes into messages


def test_a_file_of_signers_is_read_before_anything_else(gated: Gated) -> None:
    sealed_night(gated)
    there = ("verify", "--warehouse", gated.warehouse.name, "--signers", "nowhere")
    ended = promptaudit(gated.warehouse.parent, *there)
    assert (ended.code, ended.one_line()) == (
        2,
        "UsageError: --signers nowhere: cannot be read: No such file or directory",
    )


def test_a_chain_that_is_gone_is_signed_by_nobody(gated: Gated, signers: Path) -> None:
    sealed_night(gated)
    for statement in ("delete from raw.row_digests; delete from raw.seals", "drop table raw.seals"):
        with Warehouse(gated.warehouse).write() as con:
            con.execute(statement)
        Warehouse(gated.warehouse).published.path.unlink(missing_ok=True)
        assert any("nobody signed one" in line for line in details(gated, signers))


def test_an_earlier_version_signed_nothing(gated: Gated, signers: Path) -> None:
    run = sealed_night(gated)
    with Warehouse(gated.warehouse).write() as con:
        con.execute("alter table raw.seals drop column signature")
        assert signatures(con) == {}
    assert "nobody signed it" in verify(Warehouse(gated.warehouse), run, signers=signers).lines()[0]
