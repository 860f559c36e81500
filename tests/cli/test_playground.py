"""`bneuralt playground`: where the page is found."""

import webbrowser

from bneuralt.cli.commands import playground
from bneuralt.cli.program import main


def test_the_page_of_a_folder_above_is_opened(tmp_path, monkeypatch, capsys):
    page = tmp_path / "build/playground.html"
    page.parent.mkdir()
    page.write_text("<!doctype html>")
    (tmp_path / "deep/deeper").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "deep/deeper")
    opened = []
    monkeypatch.setattr(webbrowser, "open", lambda address: opened.append(address) or True)
    assert main(["playground"]) == 0
    assert opened == [page.as_uri()]
    assert main(["playground", "--path"]) == 0
    assert len(opened) == 1
    assert capsys.readouterr().out.splitlines() == [str(page)] * 2


def test_without_a_page_it_says_how_to_make_one(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(playground, "PAGE", playground.PAGE.with_name("no_such_page.html"))
    assert main(["playground"]) != 0
    assert "run make playground in a clone" in capsys.readouterr().err
