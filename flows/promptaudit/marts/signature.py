"""Signs seals with an SSH key and checks who signed one, as `ssh-keygen -Y sign` and `verify` do."""

from __future__ import annotations

import os
import subprocess
import tempfile
from datetime import datetime
from pathlib import Path

from promptaudit.registry.errors import UsageError
from promptaudit.system.display.figures import cut
from promptaudit.system.helper_processes import environment

NAMESPACE = "promptaudit-seal"
"""What a signature is for. One that was made for a commit, or for a mail, is none of a seal."""
VARIABLE = "PROMPTAUDIT_SIGN_KEY"
_SECONDS = 60
_SIGNING = "Signing data on standard input"


def sign(seal: str, key: Path) -> str:
    """Signs a seal, and gives the signature as ssh-keygen writes it.

    `key` is the file of a private key without a passphrase, or of a public key whose other half an agent holds.

    Raises UsageError in one line where nothing could be signed.
    """
    done = _ssh_keygen("sign", "-f", str(key.expanduser()), given=seal)
    if done.returncode:
        msg = f"{VARIABLE}: {key} signs nothing: {_said(done) or 'is it a key without a passphrase, or in an agent?'}"
        raise UsageError(msg)
    return done.stdout


def signer_of(seal: str, signature: str, signers: Path, at: datetime) -> tuple[str | None, str]:
    """Finds who signed a seal, among the people whose keys a file of allowed signers has (see `man ssh-keygen`).

    Gives the person, or None and why nobody of the file did. A key holds at `at`, in UTC, or not at all.

    Raises UsageError where the file cannot be read.
    """
    try:
        signers.open("rb").close()
    except OSError as error:
        msg = f"--signers {signers}: cannot be read: {error.strerror}"
        raise UsageError(msg) from None
    with tempfile.TemporaryDirectory(prefix="promptaudit-") as folder:
        file = Path(folder) / "signature"
        file.write_text(signature, encoding="utf-8", errors="replace")
        allowed = ("-s", str(file), "-f", str(signers.absolute()), f"-Overify-time={at:%Y%m%d%H%M%S}")
        found = _ssh_keygen("find-principals", *allowed)
        for person in found.stdout.splitlines() if not found.returncode else ():
            found = _ssh_keygen("verify", "-I", person, *allowed, given=seal)
            if not found.returncode:
                return person, ""
    return None, _said(found)


def _ssh_keygen(what: str, *arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
    # without a terminal and in no window it asks nobody for a passphrase
    names = () if what == "find-principals" else ("-n", NAMESPACE)
    try:
        return subprocess.run(  # noqa: S603 - fixed words and files that the user named, no shell
            ["ssh-keygen", "-Y", what, *names, *arguments],  # noqa: S607 - as a shell finds it
            input=given,
            check=False,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            start_new_session=True,
            env=environment() | _agent() | {"SSH_ASKPASS_REQUIRE": "never", "TZ": "UTC", "LC_ALL": "C"},
        )
    except FileNotFoundError:
        msg = "seals are signed with ssh-keygen, which is not installed here (it comes with OpenSSH)"
    except subprocess.TimeoutExpired:
        msg = f"ssh-keygen did not answer for {_SECONDS} s: is the key one that asks to be touched?"
    raise UsageError(msg)


def _agent() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name == "SSH_AUTH_SOCK"}


def _said(done: subprocess.CompletedProcess[str]) -> str:
    lines = [line.strip() for line in done.stderr.splitlines()]
    return cut(" ".join(line for line in lines if line and line[0] != "@" and line != _SIGNING), 200)
