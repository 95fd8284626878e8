"""What the package `promptstability` writes is imported as it stands."""

from __future__ import annotations

from pathlib import Path

from promptaudit.exchange.recorded_runs.check_rows import typed, variants_of
from promptaudit.exchange.recorded_runs.read_files import read_recordings

INTRA = """id,text,annotation,iteration,ss_mean,ss_lower,ss_upper
0,Good.,1,0,0.5,0.4,0.6
0,Good.,1,1,0.5,0.4,0.6
1,Bad.,0.0,0,0.5,0.4,0.6
1,Bad.,maybe,1,0.5,0.4,0.6
"""
INTER = """,id,text,annotation,prompt_id,prompt,original,temperature,ss_mean
0,0,Good.,1,0,Is it good?,True,0.1,0.5
1,0,Good.,1,3,Good or not?,False,0.1,0.5
2,0,Good.,0,5,Would you call it good?,False,0.1,0.5
3,0,Good.,1,0,Is it good?,True,2.0,0.5
4,0,Good.,1,7,Fine or foul?,False,2.0,0.5
5,0,Good.,1,7,Fine or foul?,False,2.0,0.5
"""


def read(path: Path, text: str) -> list[dict[str, object]]:
    path.write_text(text)
    read = read_recordings([path])
    assert read.notes == ()
    frame = typed(read.frame, "simple", "t")
    variants_of(frame)
    return frame.to_dicts()


def test_iterations_of_one_prompt_are_repetitions(tmp_path: Path) -> None:
    rows = read(tmp_path / "intra.csv", INTRA)
    names = ("model", "sample_id", "input", "completion", "repetition", "variant_index", "paraphrase_temperature")
    assert [tuple(row[name] for name in names) for row in rows] == [
        ("promptstability", "0", "Good.", "1", 1, 0, None),
        ("promptstability", "0", "Good.", "1", 2, 0, None),
        ("promptstability", "1", "Bad.", "0.0", 1, 0, None),
        ("promptstability", "1", "Bad.", "maybe", 2, 0, None),
    ]


def test_prompts_are_variants_of_their_temperature_and_the_original_is_variant_0(tmp_path: Path) -> None:
    rows = read(tmp_path / "inter.csv", INTER)
    names = ("paraphrase_temperature", "variant_index", "is_original", "instruction", "completion", "repetition")
    assert [tuple(row[name] for name in names) for row in rows] == [
        (0.1, 0, True, "Is it good?", "1", 1),
        (0.1, 1, False, "Good or not?", "1", 1),
        (0.1, 2, False, "Would you call it good?", "0", 1),
        (2.0, 0, True, "Is it good?", "1", 1),
        (2.0, 1, False, "Fine or foul?", "1", 1),
        (2.0, 1, False, "Fine or foul?", "1", 2),
    ]
