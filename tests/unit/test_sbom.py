"""The bill of materials names what is installed, and nothing twice."""

from importlib.metadata import version

import sbom


def test_it_names_what_the_core_and_an_extra_require() -> None:
    told = sbom.sbom(["screens"])
    components = told["components"]
    assert isinstance(components, list)
    by_name = {component["name"].lower(): component for component in components}
    assert len(by_name) == len(components)
    assert {"click", "pyyaml", "rich", "zstandard", "textual"} <= set(by_name)
    assert "pytest" not in by_name
    assert by_name["click"]["version"] == version("click")
    assert by_name["click"]["purl"] == f"pkg:pypi/click@{version('click')}"
    core = sbom.sbom()["components"]
    assert isinstance(core, list)
    assert "textual" not in {component["name"] for component in core}


def test_every_edge_leads_to_a_component() -> None:
    told = sbom.sbom()
    components, edges = told["components"], told["dependencies"]
    assert isinstance(components, list)
    assert isinstance(edges, list)
    own = told["metadata"]["component"]["bom-ref"]  # type: ignore[index]
    known = {own, *(component["bom-ref"] for component in components)}
    assert {edge["ref"] for edge in edges} == known
    assert all(set(edge["dependsOn"]) <= known for edge in edges)
    assert told == sbom.sbom()
