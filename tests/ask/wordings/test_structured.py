"""Strategy `structured` over HTTP: schemas are sent, answered, landed and read; servers that refuse one way get the next."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from promptaudit.plan.design import design_audit
from promptaudit.prompts.answer_schema import FIELDS
from promptaudit.prompts.as_sent import SentPrompts
from promptaudit.registry.errors import CardError
from promptaudit.registry.registry import load_registry
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.duckdb_file import rows_of
from tests.support.http_audit import ask, cells, query, write_cards
from tests.support.openai_server import LABELS, running_server


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUDIT_KEY", "sk-0123456789abcdef")


@pytest.mark.parametrize(
    ("refuses", "way"), [((), "function"), (("tools",), "json_schema"), (("tools", "response_format"), "text")]
)
def test_answers_follow_the_schema_of_their_variant(tmp_path: Path, refuses: tuple[str, ...], way: str) -> None:
    warehouse = tmp_path / "audit.duckdb"
    with running_server(refuses=refuses) as server:
        cards = write_cards(
            tmp_path / "cards",
            server.base_url,
            n_samples=12,
            variants=4,
            strategies="simple, structured",
            max_invalid_rate_at_first=1,
        )
        ask(warehouse, cards)
        requests = server.requests()
    assert cells(warehouse) == (96, 96)
    rows = query(
        warehouse,
        "select variant_index, answer_schema, reader, output_format, completion, sampling "
        "from raw.predictions inner join raw.prompt_variants using (audit_run_id, prompt_variant_id) "
        "where strategy = 'structured' order by variant_index",
    )
    assert len(rows) == 48
    for index, schema, reader, output_format, completion, sampling in rows:
        field = FIELDS[index]
        assert json.loads(schema)["required"] == [field]
        assert json.loads(reader) == {"json_field": field}
        assert output_format == ""
        assert json.loads(sampling)["structured_output"] == way
        if way != "text":
            assert json.loads(completion)[field] in LABELS
    plain = query(warehouse, "select count(*) from raw.prompt_variants where strategy = 'simple' and reader is null")
    assert plain == [(4,)]
    sent = [request["body"] for request in requests if request["fault"] is None]  # both strategies beside each other
    assert any("tools" in body for body in sent) == (way == "function")
    assert any("response_format" in body for body in sent) == (way == "json_schema")
    # what is shown as sent is what the server was sent, with the schema where the prompt has it
    with Warehouse(warehouse).write() as con:
        (run,) = con.execute("select audit_run_id from raw.audit_runs").fetchall()
        answers = rows_of(
            con,
            "select predictions.*, variants.answer_schema from raw.predictions as predictions "
            "inner join raw.prompt_variants as variants using (audit_run_id, prompt_variant_id)",
        )
        shown = SentPrompts(con, run[0]).shown(answers)
    bodies = {json.dumps(request["body"]["messages"]) for request in requests}
    for answer, prompt in zip(answers, shown, strict=True):
        assert prompt is not None
        messages = [{"role": role, "content": content} for role, content in prompt.messages]
        assert json.dumps(messages) in bodies
        if answer["answer_schema"] is not None:
            assert (answer["answer_schema"] in messages[-1]["content"]) == (way != "function")


def test_a_later_night_asks_the_same_schemas(tmp_path: Path) -> None:
    warehouse = tmp_path / "audit.duckdb"
    with running_server() as server:
        cards = write_cards(tmp_path / "cards", server.base_url, n_samples=2, variants=4, strategies="structured")
        ask(warehouse, cards)
        first = query(warehouse, "select prompt_variant_id from raw.prompt_variants order by all")
        from promptaudit.audit.runs import close_run, open_run

        close_run(Warehouse(warehouse), query(warehouse, "select audit_run_id from raw.audit_runs")[0][0], "complete")
        open_run(Warehouse(warehouse), design_audit(load_registry([cards]), "asked"))
        ask(warehouse, cards)
    both = query(warehouse, "select prompt_variant_id from raw.prompt_variants order by all")
    assert both == sorted([*first, *first])


def test_a_model_that_follows_no_schema_is_refused_with_a_reason(tmp_path: Path) -> None:
    cards = write_cards(tmp_path / "cards", "http://127.0.0.1:1", strategies="simple, structured")
    (cards / "models/api.yml").write_text("api: {engine: embedded, model: random}\n")
    with pytest.raises(
        CardError, match=r"asked.yml line 4: strategy 'structured' sends a JSON schema, which embedded model"
    ):
        design_audit(load_registry([cards]), "asked")
