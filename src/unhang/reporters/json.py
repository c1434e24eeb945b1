"""From a diagnosis to the JSON contract `unhang.diagnosis/1`."""

from __future__ import annotations

import json

from unhang.model.diagnosis import Diagnosis
from unhang.model.ids import format_ranks
from unhang.reporters.catalogue import write


def render(diagnosis: Diagnosis) -> str:
    """Return the JSON text, without a line end."""
    return json.dumps(
        {
            "schema": "unhang.diagnosis/1",
            "outcome": diagnosis.outcome.value,
            "cause": None if diagnosis.cause is None else diagnosis.cause.value,
            "confidence": diagnosis.confidence,
            "culprits": sorted(diagnosis.culprits),
            "victims": format_ranks(diagnosis.victims),
            "summary": write(diagnosis.summary),
        },
        indent=1,
    )
