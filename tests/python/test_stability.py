"""The Prompt Stability Score of a person's own functions, asked by an ordinary run."""

from __future__ import annotations

import json
import re
import socket
import struct
import urllib.error
import urllib.request
from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import promptaudit as pa
from promptaudit.python.callables import ANNOTATOR, PARAPHRASER, Callables, serving
from promptaudit.warehouse import Warehouse
from tests.support.shell import promptaudit

TEXTS = [f"text {number}" for number in range(12)]
PROMPT, FORMAT = "Say yes or no.", "One word."


def asked(server: Callables, model: str, *contents: str, key: str | None = None) -> str:
    url = server.environment["OPENAI_BASE_URL"] + "/chat/completions"
    messages = [{"role": "user", "content": content} for content in contents]
    body = json.dumps({"model": model, "messages": messages}).encode()
    request = urllib.request.Request(url, body)  # noqa: S310 - loopback
    request.add_header("Authorization", f"Bearer {server.key if key is None else key}")
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=10) as answer:
        content: str = json.load(answer)["choices"][0]["message"]["content"]
        return content


def test_functions_are_served_to_whoever_has_the_key() -> None:
    stopped = []

    def annotate(text: str, prompt: str) -> object:
        if text == "bad":
            raise KeyError(text)
        return {"none": None, "one": 1}.get(text, f"{prompt}|{text}")

    def paraphrase(text: str, n: int, temperature: float | None) -> list[str]:
        return [f"{text} {temperature} {number}" for number in range(n)]

    with serving(annotate, paraphrase, has_prompt=True) as server:
        server.on_failure = lambda: stopped.append(True)
        assert asked(server, ANNOTATOR, "Say.", "é\n{input}") == "Say.|é\n{input}"
        assert (asked(server, ANNOTATOR, "Say.", "none"), asked(server, ANNOTATOR, "Say.", "one")) == ("", "1")
        request = "2\nReword freely. On a scale on which 0 keeps every word and 5 starts from scratch, reword at 2.3.\nSay\nit."
        assert json.loads(asked(server, PARAPHRASER, request)) == ["Say\nit. 2.3 0", "Say\nit. 2.3 1"]
        assert json.loads(asked(server, PARAPHRASER, "1\nReword freely.\nSay.")) == ["Say. None 0"]
        with pytest.raises(urllib.error.HTTPError, match="401"):
            asked(server, ANNOTATOR, "Say.", "one", key="guessed")
        with pytest.raises(urllib.error.HTTPError, match="503"):
            asked(server, ANNOTATOR, "Say.", "bad")
        assert isinstance(server.failed, KeyError)
        assert stopped == [True]
    with serving(annotate, None, has_prompt=False) as server:
        assert asked(server, ANNOTATOR, "(none)", "x") == "|x"


KEYED = "Authorization: Bearer {key}"


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ((), "", 401),
        (("Content-Length: 999999999999",), "", 401),  # not a byte of a stranger's body is read
        (("Authorization: Bearer \xe9", "Content-Length: 5"), "", 401),
        (("Authorization: Bearer {key}x", "Content-Length: 5"), "", 401),
        ((KEYED,), "", 411),
        ((KEYED, "Transfer-Encoding: chunked"), "2\r\n{{}}\r\n0\r\n\r\n", 411),
        ((KEYED, "Content-Length: 2", "Transfer-Encoding: chunked"), "", 411),
        ((KEYED, "Content-Length: -1"), "", 400),
        ((KEYED, "Content-Length: five"), "", 400),
        ((KEYED, "Content-Length: \xb2"), "", 400),
        ((KEYED, "Content-Length:"), "", 400),
        ((KEYED, "Content-Length: 32000001"), "", 413),
        ((KEYED, "Content-Length: " + "9" * 5000), "", 413),
        ((KEYED, "Content-Length: 2"), "{{}}", 400),
        ((KEYED, "Content-Length: 4"), "nope", 400),
        ((KEYED, "Content-Length: 6"), "[[[[[[", 400),
        ((KEYED, "Content-Length: 28"), '{{"model":"","messages":[[]]}}', 400),
    ],
)
def test_a_request_is_judged_by_its_headers_before_its_body_is_read(
    capfd: pytest.CaptureFixture[str], headers: tuple[str, ...], body: str, status: int
) -> None:
    with serving(lambda text, _: text, None, has_prompt=False) as server:
        head = "\r\n".join(("POST /v1/chat/completions HTTP/1.1", *headers, "", body))
        with socket.create_connection(server.server_address[:2], timeout=10) as connection:
            connection.sendall(head.format(key=server.key).encode("latin-1"))
            answer = connection.makefile("rb").readline()
        assert answer.startswith(f"HTTP/1.1 {status} ".encode())
        assert asked(server, ANNOTATOR, "(none)", "x") == "x"
    assert capfd.readouterr() == ("", "")


def test_a_client_that_goes_away_leaves_no_traceback(capfd: pytest.CaptureFixture[str]) -> None:
    with serving(lambda text, _: text, None, has_prompt=False) as server:
        with socket.create_connection(server.server_address[:2], timeout=10) as connection:
            connection.sendall(
                f"POST / HTTP/1.1\r\nAuthorization: Bearer {server.key}\r\nContent-Length: 9\r\n\r\n".encode()
            )
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset, not an end
        assert asked(server, ANNOTATOR, "(none)", "x") == "x"
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_what_a_function_says_is_scored_and_an_exception_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")  # nobody's: its runs start no server of their own
    file, calls = tmp_path / "audit.duckdb", Counter[str]()

    def annotate(text: str, prompt: str) -> str | None:
        assert prompt == f"{PROMPT} {FORMAT}"
        calls[text] += 1
        if sum(calls.values()) == 30:
            msg = "the network is down"
            raise OSError(msg)
        return None if text.endswith("7") else "yes" if text.endswith(("1", "3")) or calls[text] > 3 else "no"

    def again() -> pa.Stability:
        return pa.intra_pss(
            annotate, TEXTS, prompt=PROMPT, output_format=FORMAT, repetitions=5, warehouse=file, resamples=50
        )

    with pytest.raises(OSError, match="the network is down"):
        again()
    (begun,) = Warehouse(file).read("select audit_run_id as run from raw.audit_runs")
    unfinished = promptaudit(tmp_path, "--warehouse", str(file), "rebuild", begun["run"])
    assert unfinished.code == 3
    assert re.search(r"it has \d+ of 60 answers; `promptaudit run intra_pss` goes on", unfinished.one_line())
    found = again()
    assert sum(calls.values()) == 12 * 5 + 1
    assert found.run.is_open
    assert not Warehouse(file).published.exists()  # nothing is derived for who wants the score alone
    predictions = found.run.table("fct_predictions")
    assert not found.run.is_open
    published = again()
    assert sum(calls.values()) == 12 * 5 + 1
    assert published.run == found.run
    assert_frame_equal(published.table, found.table, rel_tol=0, abs_tol=1e-12)
    assert found.run.report().is_file()
    assert predictions["completion"].null_count() == 0
    answers = predictions.select("sample_id", variant_index="repetition", label=pl.col("completion").replace("", None))
    own = pa.measures.prompt_stability(answers, n_resamples=0).sort("series", "n_annotators")
    assert found.table["pss"].to_list() == pytest.approx(own["pss"].to_list(), abs=1e-12)
    (every,) = found.pss["pss"].to_list()
    assert every == pytest.approx(pa.measures.krippendorff_alpha(answers).alpha, abs=1e-12)
    found.plot().save(tmp_path / "pss.svg")
    assert "Prompt Stability Score" in (tmp_path / "pss.svg").read_text()
    found.to_csv(tmp_path / "pss.csv")
    assert pl.read_csv(tmp_path / "pss.csv").height == found.table.height


@pytest.mark.soak
def test_the_freer_the_paraphraser_the_less_the_answers_agree(tmp_path: Path) -> None:
    """A prompt is the more likely to be taken otherwise, the freer it was reworded."""
    prompts = set()

    def paraphrase(text: str, n: int, temperature: float | None) -> list[str]:
        assert text == PROMPT
        return [f"{PROMPT} (wording {number} at {temperature:g})" for number in range(n)]

    def annotate(text: str, prompt: str) -> str:
        prompts.add(prompt)
        at = float(prompt.rpartition(" at ")[2].partition(")")[0]) if " at " in prompt else 0.0
        place = (7 * int(text.split()[1]) + 11 * sum(map(ord, prompt))) % 50 / 50
        return "other" if place < at / 10 else "yes" if int(text.split()[1]) % 2 else "no"

    found = pa.inter_pss(
        annotate,
        [f"text {number}" for number in range(40)],
        prompt=PROMPT,
        output_format=FORMAT,
        paraphrase=paraphrase,
        temperatures=[0.1, 2.1, 2.9, 4.5],
        variants=6,
        labels=["yes", "no", "other"],
        warehouse=tmp_path / "audit.duckdb",
        connections=4,
        resamples=50,
    )
    assert len(prompts) == 1 + 4 * 6
    assert all(prompt.endswith(f" {FORMAT}") for prompt in prompts)
    assert found.pss["paraphrase_temperature"].to_list() == [0.1, 2.1, 2.9, 4.5]
    svg = found.plot().svg
    assert all(f">{temperature}</text>" in svg for temperature in (0.1, 2.1, 2.9, 4.5))
    scores = found.pss["pss"].to_list()
    assert scores == sorted(scores, reverse=True)
    assert scores[0] > 0.9
    assert scores[-1] < 0.6


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"repetitions": 1}, "UsageError: repetitions: 1; at least 2 are wanted"),
        ({"samples": "one text"}, "DataError: samples: a list of texts is wanted, got one text"),
        ({"samples": []}, "DataError: samples: a list of texts"),
        ({"samples": pl.DataFrame({"texts": ["a"]})}, "DataError: samples: .* a frame with a column 'text'"),
        ({"level": "interval"}, "UsageError: level 'interval' needs labels"),
    ],
)
def test_what_cannot_be_scored_is_one_line(tmp_path: Path, options: dict[str, object], line: str) -> None:
    given = {"samples": TEXTS, "warehouse": tmp_path / "audit.duckdb", **options}
    with pytest.raises(pa.PromptauditError, match=line):
        pa.intra_pss(lambda text, _: text, **given)  # type: ignore[arg-type]
    assert not (tmp_path / "python").exists()


def test_a_pilot_is_read_and_not_asked_alone(tmp_path: Path) -> None:
    ended = promptaudit(tmp_path, "run", "--pilot", "--answers-only")
    assert ended.code == 2
    assert ended.one_line().startswith("UsageError: --pilot and --answers-only: a pilot is planned from")
