"""Which samples a wording is asked for a second time, and that a run keeps what it has dealt."""

from __future__ import annotations

from pathlib import Path

from promptaudit.plan.cells import Variant, missing_requests
from promptaudit.plan.design import Design, design_audit
from promptaudit.plan.estimate import estimate_audit
from promptaudit.plan.grid import deal_samples, n_asks
from promptaudit.registry.cards import Repetitions
from promptaudit.registry.registry import load_registry
from promptaudit.warehouse import Warehouse
from tests.support.files import write_files


def design(folder: Path, repetitions: str, n: int = 40, more: str = "") -> Design:
    write_files(
        folder,
        {
            "tasks/t.yml": (
                "t:\n  labels: [a, b]\n  instruction: Sort it.\n"
                "  data: {path: d.csv, id: id, input: text, gold_label: gold}\n"
            ),
            "d.csv": "id,text,gold\n" + "".join(f"s{i},text {i},{'ab'[i % 2]}\n" for i in range(n)),
            "audits/a.yml": (
                "a:\n  tasks: [t]\n  models: [lexical]\n  rephrasing: {rephraser: rules, variants: 4}\n"
                f"  repetitions: {{{repetitions}}}\n{more}"
            ),
        },
    )
    return design_audit(load_registry([folder]), "a")


def variants(own: Design) -> list[Variant]:
    repetitions = own.audit.repetitions
    return [
        Variant(
            prompt_variant_id=f"v{index}",
            task_id="t",
            strategy="simple",
            paraphrase_temperature=None,
            variant_index=index,
            is_original=index == 0,
            instruction=f"wording {index}",
            repetitions=tuple(range(1, 1 + repetitions.at_most(is_original=index == 0))),
        )
        for index in range(4)
    ]


class NothingLanded:
    def counts(self) -> dict[tuple[str, str], int]:
        return {}

    def cells(self, model_id: str, prompt_variant_id: str) -> set[tuple[str, int]]:
        raise AssertionError((model_id, prompt_variant_id))


def test_a_share_is_asked_twice_and_the_plan_counts_it(tmp_path: Path) -> None:
    own = design(tmp_path, "original: 3, variants: 1, twice: 0.2")
    warehouse = Warehouse(tmp_path / "audit.duckdb")
    warehouse.apply_schema()
    dealt = deal_samples(warehouse, "r", own, variants(own))
    assert [len(each.dealt.get(2, ())) for each in dealt] == [0, 8, 8, 8]
    assert len({each.dealt.get(2) for each in dealt}) == 4  # of each wording others
    asked = [
        (request.prompt_variant_id, request.repetition, request.sample_id)
        for request in missing_requests(NothingLanded(), "r", own, "lexical", dealt)
    ]
    assert len(asked) == len(set(asked)) == 40 * 6 + 24 == sum(each.n_cells(own) for each in dealt)
    assert {sample for id_, k, sample in asked if (id_, k) == ("v2", 2)} == set(dealt[2].dealt[2])
    (line,) = [line for line in estimate_audit(own.registry, "a").lines if line.what == "model"]
    assert line.requests == len(asked)


def test_a_run_keeps_what_it_has_dealt(tmp_path: Path) -> None:
    own = design(tmp_path, "original: 1, variants: 1, twice: 0.3")
    warehouse = Warehouse(tmp_path / "audit.duckdb")
    warehouse.apply_schema()
    dealt = deal_samples(warehouse, "r", own, variants(own))
    assert [len(each.dealt[2]) for each in dealt] == [12, 12, 12, 12]  # the original is asked once too
    assert deal_samples(warehouse, "another", own, variants(own)) == dealt
    with warehouse.write() as con:
        con.execute("update raw.grid set sample_ids = ['s7'] where audit_run_id = 'r' and prompt_variant_id = 'v1'")
    assert deal_samples(warehouse, "r", own, variants(own))[1].dealt == {2: ("s7",)}


def test_without_a_share_plans_keep_their_fingerprint(tmp_path: Path) -> None:
    whole, share = (design(tmp_path, f"original: 3, variants: 1{more}") for more in ("", ", twice: 0.2"))
    assert whole.plan_fingerprint == design(tmp_path, "original: 3, variants: 1").plan_fingerprint
    assert whole.plan_fingerprint != share.plan_fingerprint
    warehouse = Warehouse(tmp_path / "audit.duckdb")
    warehouse.apply_schema()
    assert deal_samples(warehouse, "r", whole, variants(whole)) == variants(whole)
    assert warehouse.read("select * from raw.grid") == []


def test_an_ask_of_a_share_is_counted_where_the_card_wants_one() -> None:
    own = Repetitions(original=3, variants=1, twice=0.2)
    assert [n_asks(own, n, 40, is_original=False) for n in (1, 2)] == [40, 48]
    assert n_asks(own, 3, 40, is_original=True) == 120
    assert n_asks(Repetitions(original=3, variants=2), 2, 40, is_original=False) == 80
    assert n_asks(own, 2, 1, is_original=False) == 2  # at least one sample is asked again
    assert n_asks(own, 2, 0, is_original=False) == 0
