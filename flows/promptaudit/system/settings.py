"""Reads the settings of a place from the environment.

Each has a PROMPTAUDIT_* variable, which acts at every entry point.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from pydantic import (
    BaseModel,
    ByteSize,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)

from promptaudit.registry.errors import UsageError

if TYPE_CHECKING:
    from promptaudit.registry.registry import Registry

PREFIX = "promptaudit_"
AUDIT_FOLDER = "AUDIT_FOLDER"  # the variable, of a worker too, that names the folder with warehouse/ and registry/

# before prefect, dbt or great_expectations are imported anywhere: none of them reports home
SILENT = {
    "DO_NOT_TRACK": "1",
    "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "GX_ANALYTICS_ENABLED": "false",
    "HF_HUB_DISABLE_TELEMETRY": "1",
}


def silence() -> None:
    """Turns the telemetry of every library off."""
    os.environ.update(SILENT)


class Settings(BaseModel):
    """Options shared by all commands: what is given, else PROMPTAUDIT_<NAME> in whatever case, else the default."""

    # pydantic-settings would read the same variables; its import takes as long as that of DuckDB
    model_config = ConfigDict(frozen=True, extra="forbid")

    warehouse: Path = Field(Path("warehouse/audit.duckdb"), description="the DuckDB file")
    registry: tuple[Path, ...] = Field((), description="folders of cards, a path separator between")
    trust_file: Path | None = Field(
        None,
        description="what `promptaudit trust` recorded; default: promptaudit/trusted.json in the user's configuration",
    )
    cache: Path | None = Field(
        None,
        description="where what follows from the installed code is kept; default: promptaudit in the user's cache folder",
    )
    vllm_python: Path | None = Field(
        None, description="the Python of vLLM's environment; default: infra/vllm/.venv/bin/python of the checkout"
    )
    llama_server: Path | None = Field(
        None, description="a llama-server that serves GGUF files; default: llama.cpp as xllamacpp installs it"
    )
    spool: str | None = Field(
        None,
        description="the folder, or s3://bucket/prefix, that askers on other machines reach too; default: beside the warehouse",
    )
    lake: SecretStr | None = Field(
        None,
        description="the catalog of a lake that publications are written to, and that readers without a warehouse read: a "
        "file, or postgresql://user:password@host/database",
    )
    lake_data: str | None = Field(
        None,
        description="where a lake's data are written and read: a folder, or s3://bucket/prefix; default: beside the catalog",
    )
    max_usd: float | None = Field(
        None, ge=0, description="what a run, a night or a trial may spend, before the budget of the audit's card"
    )
    max_requests: int | None = Field(
        None, ge=0, description="how many requests a run may make, before that of the card"
    )
    lock_wait_s: float = Field(
        60,
        ge=0,
        description="how long a locked warehouse is waited for; a deployed night waits while it may last",
    )
    memory: ByteSize | None = Field(
        None,
        ge=2**27,
        description="memory of DuckDB while marts are derived, as 2GiB; what does not fit waits beside the warehouse; "
        "default: 1.5GiB, and 160 bytes for each of more than ten million answers, or fields of answers, but at most a quarter "
        "of the machine's; on a machine of less than 6 GiB up to half of it and 1.5 GiB",
    )
    sql_memory: str = Field("4GB", description="memory of one `promptaudit sql` query")
    sql_seconds: float = Field(60, gt=0, description="time of one `promptaudit sql` query")

    sign_key: Path | None = Field(
        None,
        description="an SSH key without a passphrase, or a public one whose other half an agent holds: it signs each seal",
    )
    text: Literal["none", "excerpt", "full"] | None = Field(
        None,
        description="texts in reports: none, excerpts or whole ones; default: excerpts, none of tasks marked sensitive",
    )
    notify: SecretStr | None = Field(
        None, description="whom a night is told: addresses of apprise, white space or commas between"
    )
    heartbeat_url: SecretStr | None = Field(
        None, description="an address called after each night; {exit_code} in it becomes the night's exit code"
    )
    lineage: bool | None = Field(
        None,
        description="on: OpenLineage events of runs are written beside the warehouse, and sent where a receiver is set; off: "
        "none; default: on where OPENLINEAGE_URL or OPENLINEAGE_CONFIG sets a receiver",
    )
    prefect: bool = Field(
        default=True, description="off: a command's runs are no flow runs of Prefect, and start no server of it"
    )
    view_login: SecretStr | None = Field(
        None, description="user:password that `promptaudit view` asks for; it has to where others can reach it"
    )
    report_url: str | None = Field(
        None, description="where the published folder is served; a message links to the run's page there"
    )

    @model_validator(mode="before")
    @classmethod
    def _over_the_environment(cls, given: Any) -> Any:  # noqa: ANN401 - whatever is validated
        if not isinstance(given, dict):
            return given
        variables = {name.lower(): value for name, value in os.environ.items()}
        named = {name: variables.get(PREFIX + name) for name in cls.model_fields}
        return {name: value for name, value in named.items() if value} | given

    @field_validator("registry", mode="before")
    @classmethod
    def _separated(cls, value: object) -> object:
        return [part for part in value.split(os.pathsep) if part] if isinstance(value, str) else value


@functools.cache
def secret_variables() -> frozenset[str]:
    """Lists the variables of the secret settings, in capitals."""
    fields = Settings.model_fields.items()
    secret = (name for name, field in fields if SecretStr in (field.annotation, *get_args(field.annotation)))
    return frozenset((PREFIX + name).upper() for name in secret)


def settings_of(warehouse: Path | None = None, registry: Sequence[Path] = (), **given: float | None) -> Settings:
    """Reads the settings from the environment. A given warehouse and other given values replace them.

    Folders of cards in `registry` are added after the folders of the environment. Raises UsageError naming the first
    variable that is not valid.
    """
    try:
        settings = Settings(
            **{name: value for name, value in {"warehouse": warehouse, **given}.items() if value is not None}
        )
    except ValidationError as error:
        first = error.errors()[0]
        msg = f"PROMPTAUDIT_{'_'.join(str(part) for part in first['loc']).upper()}: {first['msg']}"
        raise UsageError(msg) from None
    return settings.model_copy(update={"registry": (*settings.registry, *registry)})


def work_in_audit_folder() -> None:
    """Changes to the folder that AUDIT_FOLDER names.

    Paths in settings are relative, and a worker's flow starts at the root.

    Raises UsageError if that fails, or if a worker's environment names none.
    """
    folder, here = Path(os.environ.get(AUDIT_FOLDER, "")), Path.cwd()
    if not folder.is_absolute():
        if here == Path(here.anchor):
            msg = f"{AUDIT_FOLDER} names no absolute folder; the environment of a worker has to name the one with warehouse/"
            raise UsageError(msg)
        return
    try:
        os.chdir(folder)
    except OSError as error:
        msg = f"{AUDIT_FOLDER}: {folder}: {error.strerror}"
        raise UsageError(msg) from None


def registry_of(settings: Settings) -> Registry:
    """Reads the registry of the settings, without faulty cards. ./registry counts if it exists."""
    from promptaudit.registry.registry import read_registry

    here = Path("registry")
    own = [here] if here.is_dir() and here not in settings.registry else []
    return read_registry([*own, *settings.registry])
