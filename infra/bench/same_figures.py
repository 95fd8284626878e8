"""Holds figures and sentences of this checkout against those of another commit: what only moves, merges or deletes changes none.

    python -m infra.bench.same_figures COMMIT [quickstart templates model] [FILE...]

Audits are run and files of answers imported by both versions, each in a folder of its own. Of every mart that both have, the
rows without ids and times are compared, figures to 1e-12; of every page, the lines as they are read. Whatever differs is printed,
and the exit code is then 1.
"""

from __future__ import annotations

import difflib
import html
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import duckdb

from tests.support.release import ROOT, check_out, command_line, environment

NAMES = {"model_id", "task_id", "sample_id", "audit_id"}
VOLATILE = re.compile(
    r"(^|_)(ids?|at|sha256|ms|seconds|version|fingerprint|source|card|dirty)(_|$)|latency|duration|commit"
)
"""Columns of hashes, times and versions, which differ from run to run; `NAMES` do not."""
OF_A_RUN = re.compile(
    r"^(not a checkout|[0-9a-f]{40}( with|,) .*)$|[0-9a-f]{12,}|\b\d{4}-\d\d-\d\d[T ][\d:]+( UTC)?|\b[\d.]+ (ms|s|min)\b"
)
DRAWN = {"chance_best": 0.05, "expected_loss": 1e-3, "choice_rank": float("inf")}
"""By how much a figure may differ that is drawn in the order of ids, which are others in each run."""
ANSWERS = re.compile(r"samples_|_samples|\.eval$|facts|scenario_state|out\.json")
N_SHOWN = 20


def made(checkout: Path, folder: Path, what: list[str]) -> None:
    """Runs the audits and imports the files, each into a warehouse of its own below the folder."""
    own = environment(checkout) | {"PROMPTAUDIT_CACHE": str(folder / "cache"), "COLUMNS": "120"}
    for number, each in enumerate(what):
        line = ["import", each, "--audit", "imported"] if Path(each).is_file() else ["run", each]
        place = folder / f"{number}_{Path(each).stem}"
        place.mkdir()
        command = [sys.executable, "-P", "-m", command_line(checkout), *line]
        ran = subprocess.run(command, cwd=place, env=own, capture_output=True, text=True, check=False)  # noqa: S603
        sys.stderr.write(f"{checkout.name}: {' '.join(line)}: exit {ran.returncode}\n")


def rows(con: duckdb.DuckDBPyConnection, mart: str, columns: list[str]) -> list[tuple[object, ...]]:
    """Returns a mart's rows, in an order that no last digit changes."""
    names = ", ".join(f'"{name}"' for name in columns)
    found = con.execute(f'select {names} from marts."{mart}"').fetchall()  # noqa: S608 - names of our own tables
    return sorted(
        found, key=lambda row: [f"{v:.6g}" if isinstance(v, float) else OF_A_RUN.sub("", repr(v)) for v in row]
    )


def differences(before: Path, after: Path) -> Iterator[str]:
    """Yields what differs between two warehouses' marts."""
    with duckdb.connect(str(before), read_only=True) as old, duckdb.connect(str(after), read_only=True) as new:
        asked = "select table_name, list(column_name order by column_index) from duckdb_columns() "
        asked += "where schema_name = 'marts' group by 1"
        theirs, ours = (dict(con.execute(asked).fetchall()) for con in (old, new))
        yield from (f"{mart}: only in one of both" for mart in sorted(theirs.keys() ^ ours.keys()))
        for mart in sorted(theirs.keys() & ours.keys()):
            yield from (f"{mart}.{name}: only in one of both" for name in sorted({*theirs[mart]} ^ {*ours[mart]}))
            held = [
                name for name in theirs[mart] if name in ours[mart] and (name in NAMES or not VOLATILE.search(name))
            ]
            left, right = rows(old, mart, held), rows(new, mart, held)
            if len(left) != len(right):
                yield f"{mart}: {len(left)} rows before, {len(right)} now"
                continue
            for was, now in zip(left, right, strict=True):
                yield from (
                    f"{mart}.{name}: {a!r:.60} before, {b!r:.60} now"
                    for name, a, b in zip(held, was, now, strict=True)
                    if not alike(a, b, DRAWN.get(name, 1e-12))
                )


def alike(a: object, b: object, most: float) -> bool:
    """Returns whether two values are one, numbers but for `most` of their size."""
    match a, b:
        case (float() | int(), float() | int()):
            return a == b or abs(a - b) <= most * max(1, abs(a)) or (a != a and b != b)  # noqa: PLR0124 - not a number
    return OF_A_RUN.sub("", repr(a)) == OF_A_RUN.sub("", repr(b))


def lines(page: Path) -> list[str]:
    """Returns what a page says, a line a block, without what differs from run to run."""
    text = re.sub(r"<(script|style|svg)\b.*?</\1>", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    text = re.sub(r"</?(b|i|em|code|strong|a|span|abbr)\b[^>]*>", "", text)
    found = (OF_A_RUN.sub("…", html.unescape(line)).strip() for line in re.split(r"<[^>]*>|\n", text))
    return [line for line in found if line]


def main(commit: str, what: list[str]) -> int:
    """Compares both versions; returns the exit code."""
    recorded = sorted((ROOT / "tests/exchange/recorded_runs/files").rglob("*.*"))
    answers = [
        str(path)
        for path in recorded
        if re.search(r"samples_|_samples|\.eval$|facts|scenario_state|out\.json", path.name)
    ]
    what = what or ["quickstart", "templates", *answers]
    n_different = 0
    with tempfile.TemporaryDirectory(prefix="same-figures-") as top:
        for name in ("checkout", "before", "now"):
            Path(top, name).mkdir()
        before, now = Path(top, "before"), Path(top, "now")
        made(check_out(Path(top, "checkout"), commit), before, what)
        made(ROOT, now, what)
        for warehouse in sorted(before.glob("*/warehouse/audit.duckdb")):
            place = warehouse.parent.relative_to(before)
            found = list(differences(warehouse, now / place / "audit.duckdb"))
            pages = (folder / place / "published/report.html" for folder in (before, now))
            said = [line for line in difflib.ndiff(*map(lines, pages)) if line[0] in "+-"]
            sys.stdout.writelines(f"{place}: {line}\n" for line in (*found[:N_SHOWN], *said[:N_SHOWN]))
            sys.stdout.write(f"{place}: {len(found)} figures and {len(said)} lines of the page differ\n")
            n_different += len(found) + len(said)
    return n_different > 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1], sys.argv[2:]))
