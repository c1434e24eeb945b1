"""The dashboard and the alerts ask for metrics that there are, with labels that they have."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from support.run_folders import hanging, run_folder
from unhang.redaction import Redactor
from unhang.screens.feed import Feed
from unhang.screens.metrics import metrics

OPS = Path(__file__).parents[3] / "ops"
DASHBOARD = json.loads((OPS / "grafana" / "unhang.json").read_text())
RULES = yaml.safe_load((OPS / "prometheus" / "unhang.rules.yml").read_text())


def expressions() -> Iterator[str]:
    for panel in DASHBOARD["panels"]:
        yield from (target["expr"] for target in panel["targets"])
    for group in RULES["groups"]:
        yield from (rule["expr"] for rule in group["rules"])


@pytest.mark.parametrize("expression", sorted(set(expressions())))
def test_every_metric_exists_with_its_labels(expression: str, tmp_path: Path) -> None:
    run_folder(tmp_path, [hanging()])
    labels: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(metrics(Feed(tmp_path), Redactor()).decode()):
        for sample in family.samples:
            labels.setdefault(sample.name, set()).update(sample.labels)
    asked = re.findall(r"(unhang_\w+)(?:\{([^}]*)\})?", expression)
    assert asked
    for name, selector in asked:
        wanted = set(re.findall(r"(\w+)=", selector)) - {"instance"}  # Prometheus adds that one
        assert wanted <= labels[name]


def test_panels_have_titles_and_places_of_their_own() -> None:
    places = [tuple(panel["gridPos"].values()) for panel in DASHBOARD["panels"]]
    assert len(set(places)) == len(places)
    assert all(panel["title"] for panel in DASHBOARD["panels"])
