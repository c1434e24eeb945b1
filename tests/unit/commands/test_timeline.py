"""`unhang timeline`: what it writes, and how it refuses."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from xml.etree import ElementTree

import pytest

from support.small_dumps import dumps
from unhang import timeline
from unhang.commands import invoke
from unhang.tracing.perfetto import encode_trace

SVG = "{http://www.w3.org/2000/svg}"


def test_it_writes_a_trace_and_says_what_never_completed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, target = str(dumps(tmp_path / "dumps", r3=6)), tmp_path / "t.pftrace"
    assert invoke(["timeline", folder, "-o", str(target), "--lang", "en"]) == 0
    out = capsys.readouterr().out
    assert f"Wrote {target}: 33 slices." in out
    assert "3 calls never completed; waiting in them: ranks 0-2" in out
    assert target.read_bytes() == encode_trace(timeline(folder))


def test_by_the_name_of_the_file_it_writes_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "t.html"
    folder = str(dumps(tmp_path / "dumps", r3=6))
    assert invoke(["timeline", folder, "-o", str(target), "--lang", "zh"]) == 0
    assert "3 次调用始终没有完成" in capsys.readouterr().out
    assert 'data-cells="heat-ranks"' in target.read_text(encoding="utf-8")


def test_the_heatmap_as_a_drawing_tells_how_the_clocks_were_aligned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, target = str(dumps(tmp_path / "dumps", r3=6)), tmp_path / "t.svg"
    assert invoke(["timeline", folder, "-o", str(target), "--lang", "en"]) == 0
    said = capsys.readouterr().out
    drawing = ElementTree.parse(target).getroot()
    texts = [node.text for node in drawing.iter(f"{SVG}text")]
    assert {"0", "3", "in a collective", "in a call that never completed"} & {*texts}
    told = " ".join(filter(None, texts))
    assert "3 calls never completed; waiting in them: ranks 0-2" in told
    for line in said.splitlines():
        assert "clock" not in line or line in told
    assert {node.tag for node in drawing.iter()} <= {
        f"{SVG}{name}" for name in ("svg", "title", "g", "rect", "text")
    }


def test_the_heatmap_as_pixels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, target = str(dumps(tmp_path / "dumps", r3=6)), tmp_path / "t.PNG"
    assert invoke(["timeline", folder, "-o", str(target), "--lang", "en"]) == 0
    said = dict(
        line.split(": ", 1) for line in capsys.readouterr().out.splitlines() if line[0] == "#"
    )
    width, height, pixels, told = read_png(target.read_bytes())
    assert "3 calls never completed" in told
    last = [pixels[y][width - 90] for y in range(12, height, 22)][:4]
    assert last[:3] == [last[0]] * 3  # ranks 0-2 wait at the end
    assert last[3] != last[0]
    assert {last[0], last[3]} <= said.keys()
    assert said[last[0]] == "in a collective"
    assert {"#ffffff", "#1b1f23"} < {color for row in pixels for color in row}  # numbers are drawn


def read_png(data: bytes) -> tuple[int, int, list[list[str]], str]:
    """Width, height, colours and text of a picture with a palette."""
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    chunks, at = {}, 8
    while at < len(data):
        size, name = struct.unpack_from(">I4s", data, at)
        body = data[at + 8 : at + 8 + size]
        (check,) = struct.unpack_from(">I", data, at + 8 + size)
        assert check == zlib.crc32(name + body)
        chunks[name], at = body, at + 12 + size
    width, height, *form = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert form == [8, 3, 0, 0, 0]
    palette = [f"#{chunks[b'PLTE'][n : n + 3].hex()}" for n in range(0, len(chunks[b"PLTE"]), 3)]
    raw = zlib.decompress(chunks[b"IDAT"])
    assert len(raw) == height * (width + 1)
    lines = [raw[n : n + width + 1] for n in range(0, len(raw), width + 1)]
    assert {line[0] for line in lines} == {0}
    told = chunks[b"iTXt"].split(b"\0", 5)[-1].decode()
    return width, height, [[palette[pixel] for pixel in line[1:]] for line in lines], told


def test_what_cannot_be_read_or_written_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["timeline", str(tmp_path / "none")]) == 2
    (tmp_path / "x.log").write_text("nothing to see\n")
    assert invoke(["timeline", str(tmp_path / "x.log")]) == 2
    folder = str(dumps(tmp_path / "dumps"))
    assert invoke(["timeline", folder, "-o", str(tmp_path / "no" / "t.pftrace")]) == 2
    for form in ("svg", "png"):
        demo = str(Path(__file__).parents[2] / "cases" / "demo" / "input")
        assert invoke(["timeline", demo, "-o", str(tmp_path / "t"), "--format", form]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 5
    assert "Traceback" not in err
