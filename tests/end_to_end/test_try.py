"""From figure to fix on the whole path: a planted weakness is found and its repair shown; where there is none nothing is."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from promptaudit.audit import steps
from promptaudit.registry.registry import read_registry
from promptaudit.system.settings import Settings
from promptaudit.trial.base_run import choose
from promptaudit.trial.plan import TrialOptions, plan_trial
from promptaudit.warehouse import Warehouse
from tests.support.shell import promptaudit, sql

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

THINGS = (
    "bridge",
    "tunnel",
    "library",
    "museum",
    "harbour",
    "school",
    "theatre",
    "market",
    "station",
    "mill",
    "abbey",
    "pier",
)
HINT = "A year is a number."
FORMS = (
    ("In what year did the {} open?", "number"),
    ("How many people visit the {}?", "number"),
    ("How far is the {} from here?", "number"),
    ("Where is the {} found?", "place"),
    ("Which town has a {}?", "place"),
    ("Who built the {}?", "person"),
)
WEAK_ON = (
    r"    weak_on: {pattern: '\byear\b', distribution: {number: 0.4, place: 0.3, person: 0.3}, "
    f"repaired_by: {HINT}}}\n"
)


def write_registry(folder: Path) -> None:
    """Seventy-two questions, twelve of them for a year, and two annotators: one unsteady on those until a hint is given."""
    for kind in ("models", "tasks", "audits", "datasets"):
        (folder / "registry" / kind).mkdir(parents=True)
    questions = [(form.format(thing), label) for form, label in FORMS for thing in THINGS]
    rows = "".join(f"s{n:02},{text},{label}\n" for n, (text, label) in enumerate(questions))
    (folder / "registry/datasets/questions.csv").write_text("id,text,gold\n" + rows)
    places = {"number": 0, "place": 1, "person": 2}
    samples = ", ".join(f"s{n:02}: {places[label]}" for n, (_, label) in enumerate(questions))
    known = "{number: 0.98, person: 0.02}, {place: 0.98, person: 0.02}, {person: 0.98, number: 0.02}"
    for name, weakness in (("weak", WEAK_ON), ("sound", "")):
        (folder / f"registry/models/{name}.yml").write_text(
            f"{name}:\n  engine: embedded\n  model: simulated\n  seed: 3\n  simulated:\n"
            f"    distributions: [{known}]\n    samples: {{{samples}}}\n{weakness}"
        )
    write_task(folder, "Reply with the label alone.")
    (folder / "registry/audits/topics.yml").write_text(
        "topics:\n  tasks: [topics]\n  models: [weak, sound]\n  rephrasing: {rephraser: rules, variants: 12}\n"
        "  repetitions: {original: 2, variants: 2}\n  resamples: 100\n"
    )


def write_task(folder: Path, output_format: str) -> None:
    (folder / "registry/tasks/topics.yml").write_text(
        "topics:\n  labels: [number, place, person]\n  instruction: Classify the question by the type of its answer.\n"
        f"  output_format: {output_format}\n"
        "  data: {path: datasets/questions.csv, id: id, input: text, gold_label: gold}\n"
    )


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tried")
    write_registry(folder)
    ended = promptaudit(folder, "run", "topics", "--quiet")
    assert ended.code == 0, ended.err
    return folder


def tried(folder: Path, *arguments: str) -> dict[str, Any]:
    ended = promptaudit(folder, "try", "topics", *arguments, "--json", "--quiet")
    assert ended.code == 0, ended.err
    found: dict[str, Any] = ended.json()
    return found


def measure(found: dict[str, Any], name: str) -> dict[str, Any]:
    (effects,) = found["effects"]
    (effect,) = [each for each in effects["measures"] if each["measure"] == name]
    return effect


def test_the_weakness_is_found_with_its_words(audited: Path) -> None:
    found = promptaudit(audited, "diagnose", "topics", "--model", "weak", "--json").json()
    (group,) = found["groups"]
    assert "year" in [word["word"] for word in group["words"]]
    assert set(group["sample_ids"]) <= {f"s{n:02}" for n in range(12)}
    assert len(group["sample_ids"]) >= 8
    assert group["points_to"] == "prompt"
    assert {row["sample_id"] for row in found["samples"][:8]} <= {f"s{n:02}" for n in range(12)}
    assert found["remedies"]
    for remedy in found["remedies"]:
        planned = promptaudit(audited, *shlex.split(remedy["command"])[1:], "--plan", "--json")
        assert planned.json()["total"]["requests"] <= remedy["n_requests"]
    shown = {(row["sample_id"], row["sensitivity"], row["corrected"]) for row in found["samples"][:8]}
    marts = sql(
        audited,
        "select sample_id, sensitivity, sensitivity_corrected from marts.fct_sensitivity "
        "where model_id = 'weak' and sensitivity > 0",
    )
    kept = {row["sample_id"]: (row["sensitivity"], row["sensitivity_corrected"]) for row in marts}
    for sample, sensitivity, corrected in shown:
        assert (sensitivity, corrected) == pytest.approx(kept[sample], abs=1e-9)


def test_without_a_weakness_it_says_so(audited: Path) -> None:
    ended = promptaudit(audited, "diagnose", "topics", "--model", "sound")
    assert ended.code == 0, ended.err
    assert "no sample's label depends on the wording beyond noise" in " ".join(ended.out.split())
    assert promptaudit(audited, "diagnose", "topics", "--model", "sound", "--json").json()["groups"] == []


def test_a_trial_of_the_group_shows_the_repair_and_stays_apart(audited: Path) -> None:
    group = ("--on", "group:1", "--add", HINT)
    priced = promptaudit(audited, "try", "topics", *group, "--plan", "--json").json()
    before = sql(audited, "select * from marts.rpt_latest order by all")
    stopped = promptaudit(audited, "try", "topics", *group, "--max-requests", "100", "--quiet")
    assert stopped.code == 4, stopped.err
    found = tried(audited, *group)
    assert found["n_asked"] + 100 == priced["total"]["requests"]
    assert found["n_asked"] + 100 == len(found["sample_ids"]) * 3 * 12 * 2
    (effects,) = found["effects"]
    assert (effects["model_id"], effects["strategy"], effects["n_variants"]) == ("weak", "simple", 12)
    effect = measure(found, "sensitivity")
    assert effect["verdict"] == "improved"
    assert effect["beyond_filler"]["high"] < -0.2
    assert effect["difference"]["high"] < -0.2
    assert measure(found, "micro_f1")["verdict"] == "improved"

    # its own figures are those of the marts
    (run,) = sql(audited, "select * from marts.dim_audit_runs where origin = 'trial'")
    assert (run["audit_run_id"], run["audit_id"], run["state"]) == (found["audit_run_id"], "topics", "complete")
    marts = {
        row["strategy"]: row
        for row in sql(audited, f"select * from marts.rpt_audit where audit_run_id = '{found['audit_run_id']}'")
    }
    assert set(marts) == {"simple", "simple+filler", "simple+tried"}
    for arm, strategy in (("before", "simple"), ("filler", "simple+filler"), ("after", "simple+tried")):
        row = marts[strategy]
        for name in ("micro_f1", "invalid_rate"):
            wanted = (row[name], row[f"{name}_low"], row[f"{name}_high"])
            level = measure(found, name)[arm]
            assert (level["figure"], level["low"], level["high"]) == pytest.approx(wanted, abs=1e-9)
        for name in ("sensitivity", "consistency"):
            assert measure(found, name)[arm]["figure"] == pytest.approx(row[name], abs=1e-9)

    # the same again asks nothing; the audit's newest run is what it was
    again = tried(audited, *group)
    assert (again["n_asked"], again["effects"]) == (0, found["effects"])
    assert sql(audited, "select * from marts.rpt_latest order by all") == before
    assert "nothing asked" in promptaudit(audited, "run", "topics").out
    assert promptaudit(audited, "check", "latest", "--json").json()["audit_run_id"] == found["base_run_id"]
    history = promptaudit(audited, "history", "sensitivity", "--audit", "topics", "--json").json()
    assert {night["audit_run_id"] for night in history["nights"]} == {found["base_run_id"]}
    assert promptaudit(audited, "diagnose", "--json").json()["audit_run_id"] == found["base_run_id"]
    report = promptaudit(audited, "report", "--json").json()["report"]
    assert found["base_run_id"] in (audited / report).read_text()


@pytest.mark.soak
def test_a_trial_cut_short_before_it_is_published_goes_on_and_asks_nothing_again(audited: Path) -> None:
    asked = ("--on", "s40,s41", "--add", "Think of who it was.", "--model", "sound")
    with mock.patch.object(steps, "publish_marts", side_effect=KeyboardInterrupt):
        assert promptaudit(audited, "try", "topics", *asked, "--quiet").code == 130
    found = tried(audited, *asked)
    assert found["n_asked"] == 0
    counts = "select count(*) as n, count(distinct prediction_id) as n_cells from raw.predictions"
    landed = sql(audited, f"{counts} where audit_run_id = '{found['audit_run_id']}'")
    assert landed == [{"n": 2 * 3 * 12 * 2, "n_cells": 2 * 3 * 12 * 2}]
    assert measure(found, "micro_f1")["after"]["figure"] is not None


def test_samples_are_chosen_by_their_sensitivity_or_their_consistency(audited: Path) -> None:
    warehouse = Warehouse(audited / "warehouse/audit.duckdb")
    (run,) = sql(audited, "select audit_run_id as id from marts.rpt_latest group by all")
    chosen = {}
    for kind, order in (("worst", "avg(sensitivity) desc"), ("least_consistent", "avg(mean_consistency)")):
        chosen[kind] = choose(warehouse, run["id"], f"{kind}:7", task=None, model="sound", strategy=None)
        rows = sql(
            audited,
            f"select sample_id from marts.fct_sensitivity where audit_run_id = '{run['id']}' and model_id = 'sound' "
            f"group by all order by {order}, sample_id limit 7",
        )
        assert chosen[kind].sample_ids == tuple(row["sample_id"] for row in rows)
    assert chosen["worst"] != chosen["least_consistent"]


@pytest.mark.soak
def test_nothing_to_repair_is_said(audited: Path) -> None:
    found = tried(audited, "--on", "worst:30", "--add", HINT, "--model", "sound")
    effect = measure(found, "sensitivity")
    assert effect["verdict"] == "none_shown"
    # the unchanged prompts are answered as before, word for word: beside them alone any text would seem to help
    assert effect["difference"]["high"] < 0


def test_an_edited_card_is_tried_against_the_run_s(audited: Path) -> None:
    refused = promptaudit(audited, "try", "topics", "--on", "s00,s01", "--edited")
    assert refused.code == 2
    assert "edit its card first" in refused.one_line()
    write_task(audited, f"{HINT} Reply with the label alone.")
    found = tried(audited, "--on", "group:1", "--edited", "--no-control")
    assert found["edited"]["output_format"].startswith(HINT)
    effect = measure(found, "sensitivity")
    assert (effect["verdict"], effect["beyond_filler"], effect["filler"]) == ("unconfirmed", None, None)
    assert "without a control" in found["notes"][0]
    rows = sql(
        audited,
        "select distinct strategy, output_format from marts.dim_prompt_variants "
        f"where audit_run_id = '{found['audit_run_id']}'",
    )
    assert rows == [{"strategy": "simple+tried", "output_format": f"{HINT} Reply with the label alone."}]
    cards = read_registry([audited / "registry"])
    settings = Settings(warehouse=audited / "warehouse/audit.duckdb")
    trial = plan_trial(settings, cards, TrialOptions(audit="topics", on="all", edited=True, filler=None))
    (n_samples,) = sql(
        audited, f"select n_samples as n from marts.rpt_audit where audit_run_id = '{trial.base.audit_run_id}' limit 1"
    )
    assert (len(trial.base.samples), trial.asks_unchanged, trial.filler) == (n_samples["n"], True, None)
    assert {each.strategy for each in trial.variants} == {"simple", "simple+tried"}
    assert not [note for note in trial.notes if "without a control" in note]
    write_task(audited, "Reply with the label alone.")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--add", "x", "--edited"), "give one of --add TEXT and --edited"),
        ((), "give one of --add TEXT and --edited"),
        (("--add", "x", "--on", "worst:0"), "a whole number from 1"),
        (("--add", "x", "--on", "group:9"), "finds 1 groups"),
        (
            ("--add", "x", "--on", "s0"),
            "no such sample; worst:N, least_consistent:N, group:K, fresh:N, all or ids are wanted; nearest: s",
        ),
        (("--add", "x", "--model", "weka"), "nearest: weak"),
        (("--add", "x", "--task", "topic"), "nearest: topics"),
        (("--add", "x", "--strategy", "simpl"), "nearest: simple"),
        (("--add", "x", "--filler", " "), "--filler: a text is wanted"),
    ],
)
def test_wrong_options_are_one_line(audited: Path, arguments: tuple[str, ...], message: str) -> None:
    ended = promptaudit(audited, "try", "topics", *arguments)
    assert ended.code == 2
    assert message in ended.one_line()


def test_a_wording_that_nothing_speaks_for_is_not_tried(audited: Path) -> None:
    ended = promptaudit(audited, "choose", "topics", "--model", "sound", "--try", "15")
    assert ended.code == 2
    assert "nothing to try" in ended.one_line()


def test_a_chosen_wording_is_asked_beside_the_original_on_samples_that_did_not_choose_it(audited: Path) -> None:
    card = (audited / "registry/audits/topics.yml").read_text().replace("topics:\n", "some:\n", 1)
    (audited / "registry/audits/some.yml").write_text(card + "  samples: {limit: 40, balanced: true, seed: 2}\n")
    assert promptaudit(audited, "run", "some", "--quiet").code == 0
    narrowed = ("some", "--model", "weak", "--json", "--quiet")
    (choice,) = promptaudit(audited, "choose", *narrowed).json()["choices"]
    assert not choice["wordings"][0]["is_original"]
    found = promptaudit(audited, "choose", *narrowed, "--try", "15").json()
    assert found["instruction"] == choice["wordings"][0]["instruction"]
    asked = {
        row["sample_id"] for row in sql(audited, f"from raw.samples where audit_run_id = '{found['base_run_id']}'")
    }
    assert len(found["sample_ids"]) == 15
    assert asked.isdisjoint(found["sample_ids"])
    assert found["n_asked"] == 2 * 2 * 15
    assert [each["n_variants"] for each in found["effects"]] == [1]
    assert measure(found, "micro_f1")["difference"]["low"] is not None
    assert promptaudit(audited, "choose", *narrowed, "--try", "15").json()["n_asked"] == 0
