"""The report: rows grouped, timeline by kind, a page that needs nothing else, whole files only."""

import dataclasses
import os
import pathlib
import re

import pytest
from plan_stub import KB, StubPlan

import massless
from massless import _output, _report, _units


@pytest.fixture
def plan():
    return StubPlan()


def test_rows_of_repeated_layers_are_one_group(plan):
    groups = _report.group_rows(plan.at_peak(None))
    assert (groups[0].name, groups[0].count, groups[0].bytes) == (
        "model.layers.*.mlp.weight", 2, 8 * KB,
    )  # fmt: skip
    assert [g.count for g in groups] == [2, 1, 1]
    assert groups[1].name == "model.layers.*.mlp"
    assert groups[1].location.endswith("model.py:12 in forward")


@pytest.mark.parametrize("name", ["conv2d.weight", "gpt2.wte", "v1", "0.weight", "a.b2.c"])
def test_digits_inside_a_name_are_kept(name):
    row = massless._plan.Held(1, "parameter", name, "", "", "")
    assert _report.group_rows([row])[0].name == name


def test_timeline_by_kind_sums_to_the_live_bytes(plan):
    times, series = _report.kinds_over_time(plan)
    assert times == [0, 1, 2, 3, 4]
    totals = [sum(values) for values in zip(*series.values(), strict=True)]
    assert totals == [event.bytes for event in plan.timeline]
    assert series["activations"] == [0, 0, 4 * KB, 4 * KB, 4 * KB]


def test_thinning_keeps_the_peak(plan, monkeypatch):
    monkeypatch.setattr(_report, "MAX_POINTS", 2)
    times, series = _report.kinds_over_time(plan)
    assert len(times) == 2
    totals = [sum(values) for values in zip(*series.values(), strict=True)]
    assert max(totals) == int(plan.peak)


def test_page_is_self_contained_and_escaped(plan):
    page = _report.render_html(plan, "<i>title</i>", ["a & b"], {"fits": False, "text": "no <fit>"})
    assert "<svg" in page and "15.0 KiB" in page and "model.layers.*.mlp.weight" in page
    assert "a &amp; b" in page and "no &lt;fit&gt;" in page
    assert not re.search(r"<script|<i>|<b>|<link|<img|@import", page)
    # Names of XML vocabularies are no addresses that anything loads.
    loads = re.findall(r"""(?:src|href)=["']([^"'#][^"']*)""", page)
    assert loads == []


def test_names_are_no_formulas(plan):
    plan.peak_event = dataclasses.replace(plan.peak_event, operator="$\\frac{$")
    assert _report.render_png(plan, "$\\frac{$").startswith(b"\x89PNG")


def test_page_of_the_same_plan_is_the_same(plan):
    assert _report.render_html(plan) == _report.render_html(plan)


def test_files(plan, tmp_path):
    _report.write_html(plan, tmp_path / "a.html")
    _report.write_png(plan, tmp_path / "a.png")
    assert (tmp_path / "a.html").read_text().startswith("<!DOCTYPE html>")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.html", "a.png"]


def test_plan_without_events(plan):
    plan.timeline = []
    plan.at_peak = lambda n=20: []
    plan.peak = massless._plan.Formula(0)
    assert "<svg" in _report.render_html(plan)


def test_file_is_whole_or_untouched(tmp_path):
    target = tmp_path / "x.json"
    target.write_text("old")
    with pytest.raises(RuntimeError), _output.OutputFile(target):
        raise RuntimeError
    assert target.read_text() == "old"
    with _output.OutputFile(target) as file:
        file.commit("new")
    assert target.read_text() == "new"
    assert [p.name for p in tmp_path.iterdir()] == ["x.json"]


def test_file_follows_links_and_keeps_the_mode(tmp_path):
    target, link = tmp_path / "real", tmp_path / "link"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    _output.write_whole(link, "new")
    assert link.is_symlink() and target.read_text() == "new"
    assert target.stat().st_mode & 0o777 == 0o640


def test_what_is_no_file_is_not_replaced(tmp_path):
    _output.write_whole("/dev/null", "gone")
    assert not pathlib.Path("/dev/null").is_file()
    with pytest.raises(OSError):
        _output.write_whole(tmp_path, "a folder")
    with pytest.raises(OSError):
        _output.write_whole(tmp_path / "none" / "x", "no folder")


def test_new_file_has_the_usual_mode(tmp_path):
    before = os.umask(0o022)
    try:
        _output.write_whole(tmp_path / "x", "text")
    finally:
        os.umask(before)
    assert (tmp_path / "x").stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("80GiB", 80 * 2**30),
        ("80 GiB", 80 * 2**30),
        ("80GB", 80 * 10**9),
        ("1.5gib", 3 * 2**29),
        ("0.1GiB", 107374182),
        ("512", 512),
        (512, 512),
        ("7B", 7),
    ],
)
def test_bytes_are_read(text, count):
    assert _units.parse_bytes(text) == count


@pytest.mark.parametrize(
    "text",
    ["abc", "", "-1", "-80GiB", "80 giraffes", "GiB", "1e9", "nan", "inf", "0", "0.1B", "9" * 30,
     "9" * 19 + "PiB", "1.GiB", "8O GiB", "\u0663GiB", -5, 1.5j],
)  # fmt: skip
def test_what_is_no_number_of_bytes_is_refused(text):
    with pytest.raises(ValueError, match="(?i)bytes|memory|larger"):
        _units.parse_bytes(text)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (96, "96 B"),
        (1023, "1023 B"),
        (1024, "1.00 KiB"),
        (10 * 2**20, "10.0 MiB"),
        (2**30 - 1, "1.00 GiB"),
        (85899345920, "80.0 GiB"),
        (-(2**30), "-1.00 GiB"),
    ],
)
def test_bytes_are_written(count, text):
    assert _units.bytes_text(count) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0"), (512, "512"), (8_030_261_248, "8.03 G"), (124_439_808, "124 M"), (999_999, "1.00 M"),
     (72_100_000_000_000, "72.1 T")],
)  # fmt: skip
def test_counts_are_written(count, text):
    assert _units.count_text(count) == text
