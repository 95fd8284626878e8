"""Each model rewords its own prompts: who is asked what, kept over runs and kills, told where it cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptaudit.ask.wordings.edit_prompts import export_prompts, read_prompts
from promptaudit.ask.wordings.paraphrase import make_proposals
from promptaudit.ask.wordings.variants import landed_variants, rewordings
from promptaudit.audit.run import open_run
from promptaudit.cards.check_cards import check_cards
from promptaudit.cards.rewording import owners_of
from promptaudit.plan.cells import missing_by_model
from promptaudit.plan.design import design_audit
from promptaudit.plan.estimate import estimate_audit
from promptaudit.registry.cards import ModelCard
from promptaudit.registry.errors import CardError, DataError
from promptaudit.registry.registry import load_registry
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.sql import sql
from tests.support.http_audit import AUDIT, ask, query, write_cards
from tests.support.openai_server import running_server

OTHERS = """\
other: {{engine: openai_api, model: other, base_url: ["{url}"], api_key_env: AUDIT_KEY, price: free}}
late: {{engine: openai_api, model: late, base_url: ["{url}"], api_key_env: AUDIT_KEY, price: free}}
half: {{engine: embedded, model: noisy, of: other, rate: 0.5}}
chance: {{engine: embedded, model: random}}
"""
N_SAMPLES, N_WORDINGS, N_MODELS = 4, 3, 4


def own_wordings(folder: Path, url: str, models: str = "[chance, api, other, half]") -> Path:
    """A registry whose models reword their own prompts, two of four of them."""
    write_cards(folder, url, n_samples=N_SAMPLES, model=OTHERS.format(url=url))
    (folder / "rephrasers").mkdir(exist_ok=True)
    (folder / "rephrasers/own.yml").write_text("own: {kind: model, model: self}\n")
    (folder / f"audits/{AUDIT}.yml").write_text(
        f"{AUDIT}:\n  tasks: [questions]\n  models: {models}\n  rephrasing: {{rephraser: own, variants: {N_WORDINGS}}}\n"
        "  repetitions: {original: 1, variants: 1}\n  samples: {balanced: false}\n  format: {max_invalid_rate_at_first: 1}\n"
    )
    return folder


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUDIT_KEY", "k")


def card(**fields: object) -> ModelCard:
    return ModelCard.model_validate({"engine": "openai_api", "model": "m", **fields})


def test_owners() -> None:
    chance = card(engine="embedded", model="random")
    half = card(engine="embedded", model="noisy", of="b", rate=0.5)
    of_half = card(engine="embedded", model="noisy", of="half", rate=0.5)
    models = {"chance": chance, "a": card(), "half": half, "b": card(), "quarter": of_half}
    assert owners_of(models) == {"chance": "a", "a": "a", "half": "b", "b": "b", "quarter": "b"}
    assert owners_of({"chance": chance}) == {}
    # models that perturb each other in a circle are told by another check, which this one must not keep from ending
    circle = {name: card(engine="embedded", model="noisy", of=of, rate=0.5) for name, of in (("x", "y"), ("y", "x"))}
    assert owners_of({"a": card(), **circle}) == {"a": "a", "x": "a", "y": "a"}


@pytest.mark.usefixtures("key")
def test_each_model_is_asked_its_own_rewordings_and_those_who_cannot_reword_another_s(tmp_path: Path) -> None:
    warehouse, n_own = tmp_path / "audit.duckdb", N_WORDINGS - 1
    with running_server() as server:
        registry = own_wordings(tmp_path / "cards", server.base_url)
        result = ask(warehouse, registry)
        n_rewordings = query(warehouse, "select model_id, count(*) from raw.rephrasings group by all order by 1")
        assert [model for model, _ in n_rewordings] == ["api", "other"]
        asked = query(
            warehouse,
            "select model_id, count(distinct prompt_variant_id), count(*), list(distinct model_ids order by model_ids) "
            "from raw.predictions join raw.prompt_variants using (audit_run_id, prompt_variant_id) group by 1 order by 1",
        )
        of_api, of_other = ["api", "chance"], ["other", "half"]
        assert asked == [
            (model, N_WORDINGS, N_WORDINGS * N_SAMPLES, [owners, None])
            for model, owners in (("api", of_api), ("chance", of_api), ("half", of_other), ("other", of_other))
        ]
        assert result.n_landed == N_MODELS * N_WORDINGS * N_SAMPLES
        # the format gate knows how many rows to expect, also where one model of an owner's is asked alone, as in a trial
        ((run,),) = query(warehouse, "select audit_run_id from raw.audit_runs")
        assert (
            Warehouse(warehouse).read(sql("audit.formats", "planned_formats"), run=run)[0]["n_rows"]
            == N_MODELS * N_WORDINGS
        )
        query(warehouse, "create table kept as from raw.models")
        query(warehouse, "delete from raw.models where model_id != 'chance'")
        assert Warehouse(warehouse).read(sql("audit.formats", "planned_formats"), run=run)[0]["n_rows"] == N_WORDINGS
        query(warehouse, "delete from raw.models")
        query(warehouse, "insert into raw.models from kept")
        # nothing is asked twice, not even for rewordings
        before = server.counters()["requests"]
        assert ask(warehouse, registry).n_landed == 0
        assert server.counters()["requests"] == before
        # another night has a model more: it alone is asked for rewordings
        own_wordings(registry, server.base_url, "[chance, api, other, half, late]")
        design = design_audit(load_registry([registry]), AUDIT)
        again = open_run(Warehouse(warehouse), design)
        assert ask(warehouse, registry).n_landed == (N_MODELS + 1) * N_WORDINGS * N_SAMPLES
        variants = landed_variants(Warehouse(warehouse), again)
        assert sum(missing_by_model(Warehouse(warehouse), again, design, variants).values()) == 0
        of_late = query(warehouse, "select distinct model_id from raw.rephrasings where audit_run_id = $1", [again])
        assert of_late == [("late",)]
        n_kept = query(
            warehouse,
            "select count(*) from (select prompt_variant_id from raw.prompt_variants group by all having count(*) = 2)",
        )
        assert n_kept == [(1 + 2 * n_own,)]
    assert len(variants) == 1 + 3 * n_own


@pytest.mark.usefixtures("key")
def test_a_kill_between_two_models_rewordings_has_the_second_model_reword(tmp_path: Path) -> None:
    warehouse = tmp_path / "audit.duckdb"
    with running_server() as server:
        registry = own_wordings(tmp_path / "cards", server.base_url)
        ask(warehouse, registry)
        lost = "from raw.prompt_variants where model_ids[1] = 'other'"
        query(warehouse, f"delete {lost}")
        query(warehouse, "delete from raw.predictions")
        ask(warehouse, registry)
    assert query(warehouse, f"select count(*) {lost}") == [(N_WORDINGS - 1,)]


@pytest.mark.usefixtures("key")
def test_schemas_of_own_wordings_hold_the_labels_as_they_are_now(tmp_path: Path) -> None:
    warehouse = tmp_path / "audit.duckdb"
    with running_server() as server:
        registry = own_wordings(tmp_path / "cards", server.base_url, "[api, other]")
        audit = registry / f"audits/{AUDIT}.yml"
        audit.write_text(audit.read_text() + "  strategies: [structured]\n")
        ask(warehouse, registry)
        task = registry / "tasks/questions.yml"
        task.write_text(task.read_text().replace("  labels: [", "  labels: [animal, ") + "  protect_labels: false\n")
        again = open_run(Warehouse(warehouse), design_audit(load_registry([registry]), AUDIT))
        ask(warehouse, registry)
    schemas = {v.answer_schema for v in landed_variants(Warehouse(warehouse), again)}
    assert len(schemas) > 1
    assert all('"animal"' in (schema or "") for schema in schemas)


@pytest.mark.usefixtures("key")
def test_a_sheet_of_own_wordings_names_the_model(tmp_path: Path) -> None:
    with running_server() as server:
        design = design_audit(load_registry([own_wordings(tmp_path / "cards", server.base_url)]), AUDIT)
        made = [
            p for rewording in rewordings(design, "questions") for p in make_proposals(design, "questions", rewording)
        ]
    sheet = tmp_path / "prompts.csv"
    export_prompts({"questions": made}, sheet)
    assert read_prompts(sheet, design) == {"questions": made}
    text = sheet.read_text()
    for old, new, message in (
        (
            "questions,other",
            "questions,half",
            "column 'model' has 'half'; the models that reword for themselves: api, other",
        ),
        ("questions,other", "questions,", "column 'model' has ''; the models"),
        ("questions,,,0", "questions,api,,0", "variant 0, the original, is of every model"),
    ):
        sheet.write_text(text.replace(old, new, 1))
        with pytest.raises(DataError, match=message):
            read_prompts(sheet, design)


@pytest.mark.usefixtures("key")
def test_the_plan_has_a_line_for_each_model_that_rewords(tmp_path: Path) -> None:
    registry = load_registry([own_wordings(tmp_path, "http://127.0.0.1:9/v1")])
    lines = [line for line in estimate_audit(registry, AUDIT).lines if line.what == "rephraser"]
    assert [line.name for line in lines] == ["api for itself", "other for itself"]


@pytest.mark.parametrize(
    ("models", "message"),
    [
        ("[chance]", "rephrasers/own.yml line 1: no model of audit 'asked' can reword its own prompts"),
        ("[api, later]", "rephrasers/own.yml line 1: 'later' answers in batches"),
    ],
)
def test_what_cannot_reword_itself_is_told(tmp_path: Path, models: str, message: str) -> None:
    folder = own_wordings(tmp_path, "http://127.0.0.1:9/v1", models)
    with (folder / "models/api.yml").open("a") as file:
        file.write("later: {engine: batch, model: later, price: free}\n")
    with pytest.raises(CardError, match=message):
        check_cards(load_registry([folder]), AUDIT)


def test_no_model_is_called_self(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models/m.yml").write_text("self: {engine: embedded, model: random}\n")
    with pytest.raises(CardError, match="no model is called 'self'"):
        load_registry([tmp_path])
