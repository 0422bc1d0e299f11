"""What an operator can set: by flag, `STEELYARD_*` variable or TOML file, the first one wins."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from steelyard.errors import InvalidInputError, NotFoundError, Violation
from steelyard.records.settings import (
    BoardSetting,
    ExperimentalFeatures,
    ScheduleSettings,
    StoreSetting,
)

__all__ = ["Settings", "load_settings"]

MIB = 1024 * 1024


class Settings(BaseSettings):
    """The settings of a server. Every field is also the name of its variable and its TOML key."""

    model_config = SettingsConfigDict(
        env_prefix="STEELYARD_", env_nested_delimiter="__", extra="forbid", frozen=True
    )

    address: str = "127.0.0.1:50051"
    """Where to listen, host:port; port 0 takes a free one."""
    workers: Annotated[int, Field(ge=1, le=256)] = 1
    """Worker processes; each is pinned to a core, all share the port."""
    policies: Path | None = None
    """Folder whose *.toml files define scoring policies."""
    max_message_bytes: Annotated[int, Field(ge=1024, le=1024 * MIB)] = 4 * MIB
    """Largest request that is accepted, in bytes."""
    max_batch_tasks: Annotated[int, Field(ge=1, le=100_000_000)] = 100_000
    """Most tasks in one Score message."""
    threads: Annotated[int, Field(ge=2, le=1024)] = 16
    """Handler threads of a worker; half of them at most serve streams."""
    max_concurrent_calls: Annotated[int, Field(ge=1, le=1_000_000)] = 2_000
    """Calls that a worker takes on at once; more are answered RESOURCE_EXHAUSTED."""
    store: StoreSetting = ""
    """Where records are kept: a file path, sqlite:///FILE or postgresql://…; empty: a file in the
    user's data folder."""
    board: BoardSetting = "builtin"
    """Where follow-ups become tasks: the store's own table, or the outbox for other boards."""
    schedule: ScheduleSettings = ScheduleSettings()
    """When results are aggregated into a scheduled run."""
    experimental_features: ExperimentalFeatures = ExperimentalFeatures()
    """Surfaces that can be switched off."""
    grace_seconds: Annotated[float, Field(ge=0, le=3600)] = 10.0
    """How long running calls may go on after SIGTERM."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Flags, then variables, then the file that `toml_file` of the class names."""
        return (init_settings, env_settings, TomlConfigSettingsSource(settings_cls))


def load_settings(flags: Mapping[str, Any], config: Path | None = None) -> Settings:
    """The settings from the flags that were given, the environment and a TOML file.

    Raises InvalidInputError naming each field that is wrong, NotFoundError for a missing file.
    """
    if config is not None and not config.is_file():
        raise NotFoundError("SETTINGS_FILE_MISSING", f"{config}: no such file")

    class FromFile(Settings):
        model_config = SettingsConfigDict(toml_file=config)

    try:
        loaded = FromFile(**{name: value for name, value in flags.items() if value is not None})
    except tomllib.TOMLDecodeError as error:
        raise InvalidInputError("SETTINGS_INVALID", f"{config}: {error}") from error
    except ValidationError as error:
        violations = [
            Violation(".".join(map(str, entry["loc"])), "SETTINGS_INVALID", entry["msg"])
            for entry in error.errors(include_url=False, include_input=False)
        ]
        places = "; ".join(f"{entry.path}: {entry.message}" for entry in violations)
        raise InvalidInputError("SETTINGS_INVALID", f"settings: {places}", violations) from None
    return Settings.model_construct(**dict(loaded))
