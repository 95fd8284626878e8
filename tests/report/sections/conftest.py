"""What is gathered of the runs whose sections are tested, once for all of them."""

from __future__ import annotations

import pytest

from promptaudit.report.data import ReportData
from promptaudit.report.gather import gather
from promptaudit.warehouse import Warehouse
from tests.report.conftest import Reported


@pytest.fixture(scope="session")
def found(ordinary: Reported) -> ReportData:
    return gather(Warehouse(ordinary.warehouse), ordinary.audit_run_id)


@pytest.fixture(scope="session")
def questions(judged: Reported) -> ReportData:
    return gather(Warehouse(judged.warehouse), judged.audit_run_id)
