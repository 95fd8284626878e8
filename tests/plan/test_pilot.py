"""Which part of a run's grid a pilot asks, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptaudit.ask.wordings.variants import landed_variants
from promptaudit.plan.cells import Variant
from promptaudit.plan.design import Design, design_audit
from promptaudit.plan.grid import pilot_design, pilot_variants, refuse_begun
from promptaudit.registry.errors import UsageError
from promptaudit.registry.registry import load_registry
from promptaudit.registry.samples import load_samples
from promptaudit.warehouse import Warehouse
from tests.support.files import write_files
from tests.support.http_audit import ask, write_cards
from tests.support.openai_server import running_server


def design(folder: Path, n: int = 80, limit: str = "", models: str = "lexical") -> Design:
    write_files(
        folder,
        {
            "tasks/t.yml": (
                "t:\n  labels: [a, b]\n  instruction: Sort it.\n"
                "  data: {path: d.csv, id: id, input: text, gold_label: gold}\n"
            ),
            "d.csv": "id,text,gold\n" + "".join(f"s{i},text {i},{'abb'[i % 3]}\n" for i in range(n)),
            "audits/a.yml": f"a: {{tasks: [t], models: [{models}], samples: {{seed: 7{limit}}}}}\n",
        },
    )
    return design_audit(load_registry([folder]), "a")


def variant(
    index: int, temperature: float | None = None, text: str | None = None, own_of: str | None = None
) -> Variant:
    return Variant(
        prompt_variant_id=f"{temperature} {index} {own_of}",
        task_id="t",
        strategy="simple",
        paraphrase_temperature=temperature,
        variant_index=index,
        is_original=index == 0,
        instruction=text or f"wording {temperature} {index}",
        repetitions=tuple(range(1, 11 if index == 0 else 4)),
        model_ids=None if own_of is None else (own_of,),
    )


def chosen(whole: Design) -> set[str]:
    return {sample.sample_id for sample in whole.samples["t"].samples}


@pytest.mark.parametrize("limit", ["", ", limit: 70", ", limit: 60", ", limit: 70, balanced: false"])
def test_its_samples_are_those_that_a_limit_of_sixty_would_choose(tmp_path: Path, limit: str) -> None:
    pilot = pilot_design(design(tmp_path, limit=limit))
    balance = ", balanced: false" if "balanced" in limit else ""
    assert chosen(pilot) == chosen(design(tmp_path, limit=", limit: 60" + balance))
    assert len(chosen(pilot)) == 60


def test_samples_stay_in_the_order_of_the_data(tmp_path: Path) -> None:
    whole = design(tmp_path)
    order = [row.sample_id for row in load_samples("t", whole.tasks["t"], tmp_path)]
    asked = [sample.sample_id for sample in pilot_design(whole).samples["t"].samples]
    assert asked == [sample_id for sample_id in order if sample_id in set(asked)]


def test_too_few_samples_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"'a' asks 59 samples of task 't', and a pilot 60 of them; raise samples\.limit"
    ):
        pilot_design(design(tmp_path, n=59))


def test_its_wordings_are_the_first_eight_with_the_original_each_asked_twice_at_most(tmp_path: Path) -> None:
    made = pilot_variants(design(tmp_path), [variant(index) for index in range(12)])
    assert [v.variant_index for v in made] == list(range(8))
    assert {v.repetitions for v in made} == {(1, 2)}


def test_temperatures_take_turns_and_a_wording_counts_once(tmp_path: Path) -> None:
    own = [variant(0), *(variant(5 * k + i, t) for k, t in enumerate((0.1, 1.0, 2.0)) for i in range(1, 6))]
    own[2] = variant(2, 0.1, text=own[1].instruction)  # made twice at the lowest temperature
    made = pilot_variants(design(tmp_path), own)
    assert [(v.paraphrase_temperature, v.variant_index) for v in made] == [
        (None, 0),
        (0.1, 1),
        (0.1, 3),
        (1.0, 6),
        (1.0, 7),
        (1.0, 8),
        (2.0, 11),
        (2.0, 12),
    ]


def test_each_model_has_its_own_wordings(tmp_path: Path) -> None:
    own = [variant(0), *(variant(i, own_of=model) for model in ("lexical", "random") for i in range(1, 10))]
    made = pilot_variants(design(tmp_path, models="lexical, random"), own)
    for model in ("lexical", "random"):
        assert [v.variant_index for v in made if v.asks(model)] == list(range(8))


def test_too_few_wordings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"asks model 'lexical' 7 wordings of task 't', and a pilot 8 of them; raise reph"
    ):
        pilot_variants(design(tmp_path), [variant(index) for index in range(7)])


def test_a_run_that_asked_more_is_no_pilot_any_more(tmp_path: Path) -> None:
    warehouse = tmp_path / "audit.duckdb"
    with running_server() as server:
        folder = write_cards(tmp_path / "cards", server.base_url, n_samples=64, variants=9)
        ask(warehouse, folder)
    whole = design_audit(load_registry([folder]), "asked")
    (row,) = Warehouse(warehouse).read("select audit_run_id from raw.audit_runs")
    variants = landed_variants(Warehouse(warehouse), row["audit_run_id"])
    refuse_begun(Warehouse(warehouse), row["audit_run_id"], whole, variants)  # all there is
    pilot = pilot_design(whole), pilot_variants(whole, variants)
    with pytest.raises(
        UsageError, match="has asked more than a pilot already; `promptaudit run asked` goes on with it"
    ):
        refuse_begun(Warehouse(warehouse), row["audit_run_id"], *pilot)
