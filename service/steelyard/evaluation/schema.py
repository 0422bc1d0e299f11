"""The published JSON Schemas of the contract and of the result."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Literal

from jsonschema import Draft202012Validator

__all__ = ["validator"]


@cache
def validator(name: Literal["contract", "eval-result"]) -> Draft202012Validator:
    """A validator for one of the published schemas."""
    text = (files("steelyard") / "schemas" / f"{name}.schema.json").read_text("utf-8")
    return Draft202012Validator(json.loads(text))
