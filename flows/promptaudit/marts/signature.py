"""Signs seals with an SSH key and checks who signed one, as `ssh-keygen -Y sign` and `verify` do."""

from __future__ import annotations

import os
import re
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
MOST_BYTES = 16_000
"""Of a signature. One of the longest keys has 3,000."""
_SECONDS = 60
_NO_NEWS = re.compile(r"@.*|Signing data on standard input|Enter passphrase: ")
_OLD = re.compile(r"(?i)(invalid|unknown|illegal) option")


def sign(seal: str, key: Path) -> str:
    """Signs a seal, and gives the signature as ssh-keygen writes it.

    `key` is the file of a private key without a passphrase, or of a public key whose other half an agent holds.

    Raises UsageError in one line, which does not say where the key lies, where nothing could be signed.
    """
    try:
        file = str(key.expanduser())
    except RuntimeError:
        msg = f"{VARIABLE}: the home folder that it begins with is nobody's"
        raise UsageError(msg) from None
    done = _ssh_keygen("sign", "-f", file, given=seal)
    if done.returncode:
        msg = f"{VARIABLE}: the key signs nothing: {_said(done, file) or 'is it without a passphrase, or in an agent?'}"
        raise UsageError(msg)
    return done.stdout


def read_signers(file: Path) -> bytes:
    """Reads a file of allowed signers (see `man ssh-keygen`); raises UsageError if it cannot be read."""
    try:
        return file.read_bytes()
    except OSError as error:
        msg = f"--signers {file}: cannot be read: {error.strerror}"
        raise UsageError(msg) from None


def signer_of(seal: str, signature: str, signers: bytes, at: datetime) -> tuple[str | None, str]:
    """Finds who signed a seal, among the people whose keys the content of a file of allowed signers has.

    Gives the person, or None and why nobody of the file did. A key holds at `at`, in UTC, or not at all.
    """
    with tempfile.TemporaryDirectory(prefix="promptaudit-") as folder:
        signed, allowed = Path(folder, "signature"), Path(folder, "signers")
        signed.write_text(signature, encoding="utf-8", errors="replace")
        allowed.write_bytes(signers)
        files = ("-s", str(signed), "-f", str(allowed), f"-Overify-time={at:%Y%m%d%H%M%S}")
        found = _ssh_keygen("find-principals", *files)
        for person in found.stdout.splitlines() if not found.returncode else ():
            found = _ssh_keygen("verify", "-I", person, *files, given=seal)
            if not found.returncode:
                return person, ""
        return None, _said(found, f"{folder}/")


def _ssh_keygen(what: str, *arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
    # without a terminal and in no window it asks nobody for a passphrase
    names = () if what == "find-principals" else ("-n", NAMESPACE)
    agent = {name: value for name, value in os.environ.items() if name == "SSH_AUTH_SOCK"}
    try:
        done = subprocess.run(  # noqa: S603 - fixed words and files that the user named, no shell
            ["ssh-keygen", "-Y", what, *names, *arguments],  # noqa: S607 - as a shell finds it
            input=given,
            check=False,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            start_new_session=True,
            env=environment() | agent | {"SSH_ASKPASS_REQUIRE": "never", "TZ": "UTC", "LC_ALL": "C"},
        )
    except FileNotFoundError:
        msg = "seals are signed with ssh-keygen, which is not installed here (it comes with OpenSSH)"
    except subprocess.TimeoutExpired:
        touched = f", as with a key of {VARIABLE} that asks to be touched" if what == "sign" else ""
        msg = f"ssh-keygen -Y {what} did not answer for {_SECONDS} s{touched}"
    else:
        if not _OLD.search(done.stderr):
            return done
        msg = "seals need the ssh-keygen of OpenSSH 8.7 or later, and the one here is older"
    raise UsageError(msg)


def _said(done: subprocess.CompletedProcess[str], place: str) -> str:
    lines = [_NO_NEWS.sub("", line).replace(place, "").strip() for line in done.stderr.splitlines()]
    return cut(" ".join(filter(None, lines)), 200)
