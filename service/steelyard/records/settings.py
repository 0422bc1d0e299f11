"""What can be set about the store, its schedule and its feature flag."""

from __future__ import annotations

from typing import Annotated, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, BaseModel, ConfigDict, field_validator

from steelyard.errors import InvalidInputError
from steelyard.records.engine import store_url
from steelyard.records.schedule import Cron

__all__ = ["BoardSetting", "ExperimentalFeatures", "ScheduleSettings", "StoreSetting"]


def _known_store(value: str) -> str:
    try:
        store_url(value)
    except InvalidInputError as error:
        raise ValueError(error.message) from error
    return value


StoreSetting = Annotated[str, AfterValidator(_known_store)]
"""A file path, sqlite:///FILE or postgresql://…; empty: a file in the user's data folder."""

BoardSetting = Literal["builtin", "outbox"]
"""Where follow-ups become tasks: the store's own table, or the outbox for other boards."""


class ScheduleSettings(BaseModel):
    """When results are aggregated into a scheduled run."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    cron: str = ""
    """Five fields as in Debian's cron, such as `0 6 * * 1-5`; empty: no schedule."""
    timezone: str = "UTC"
    """IANA name of the zone that the expression is meant in."""

    @field_validator("timezone")
    @classmethod
    def _known_zone(cls, value: str) -> str:
        try:
            ZoneInfo(value)
        except (ZoneInfoNotFoundError, ValueError) as error:
            raise ValueError(f"{value!r} is no known time zone") from error
        return value

    @field_validator("cron")
    @classmethod
    def _valid_cron(cls, value: str) -> str:
        if value:
            try:
                Cron(value, ZoneInfo("UTC"))
            except InvalidInputError as error:
                raise ValueError(error.message) from error
        return value

    def parsed(self) -> Cron | None:
        """The expression in its zone, None without one."""
        return Cron(self.cron, ZoneInfo(self.timezone)) if self.cron else None


class ExperimentalFeatures(BaseModel):
    """Surfaces that can be switched off."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    evals_view: bool = True
    """Off: the RecordsService answers FAILED_PRECONDITION and schedules sleep."""
