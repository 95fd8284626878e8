"""Hashes what a run is made from: its cards and data files, the code and the dbt project."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptaudit.cards.trust.refuse import code_in
from promptaudit.marts.manifest import made_by
from promptaudit.system.files import file_sha256
from promptaudit.system.keys import sha256_of

if TYPE_CHECKING:
    from promptaudit.plan.design import Design


def manifest_of(design: Design) -> dict[str, Any]:
    """Hashes everything an audit's run is made from: `cards`, `data`, `code`, `dbt_project`, each as sha256 in hex.

    `own_code`, if cards name code of the user's own, has the sha256 of each of its files, and None for an installed
    module without a file. Data from a hub is in no file and has no hash here: its chosen samples are rows, which the
    seal covers.
    """
    used = design.registry.used_by(design.audit_id)
    own = {code.name: code.sha256 for code in code_in(used)}
    return {
        **({"own_code": own} if own else {}),
        "cards": {
            kind: {name: sha256_of(entry.card.canonical_json()) for name, entry in entries.items()}
            for kind, entries in used.items()
        },
        "data": {task_id: _data(design, task_id) for task_id in design.tasks},
        **made_by(),
    }


def _data(design: Design, task_id: str) -> dict[str, Any]:
    data, n = design.tasks[task_id].data, design.n_samples(task_id)
    if data.path is None:
        return {"hub": data.hub, "split": data.split, "n_samples": n}
    path = design.registry.data_root(task_id) / data.path
    return {"path": str(data.path), "sha256": file_sha256(path), "n_samples": n}
