"""Writing files: in full or not at all."""

import os
import stat
import threading

import pytest

from bneuralt.files import write_atomically


@pytest.mark.parametrize("content", ["Grüße\n", b"\x00\xff"])
def test_writing_replaces_the_whole_file(tmp_path, content):
    path = tmp_path / "model.json"
    path.write_text("a longer text that was there before")
    write_atomically(path, content)
    assert path.read_bytes() == (content if isinstance(content, bytes) else content.encode())
    assert os.listdir(tmp_path) == ["model.json"]


def test_a_failed_write_changes_nothing(tmp_path):
    path = tmp_path / "model.json"
    path.write_text("before")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(path, "\ud800")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        write_atomically(tmp_path / "folder", "text")
    with pytest.raises(FileNotFoundError):
        write_atomically(tmp_path / "missing" / "model.json", "text")
    assert path.read_text() == "before"
    assert sorted(os.listdir(tmp_path)) == ["folder", "model.json"]


@pytest.mark.skipif(os.name != "posix", reason="pipes have names on POSIX only")
def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    pipe, received = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()), daemon=True)
    reader.start()
    content = b"0123456789" * 20_000  # more than a pipe holds
    write_atomically(pipe, content)
    reader.join(30)
    assert received == [content]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.skipif(os.name != "posix", reason="devices are files on POSIX only")
def test_a_device_is_written_to_and_not_replaced(tmp_path, monkeypatch):
    def refuse(*_):
        raise AssertionError("the device would have been replaced")

    monkeypatch.setattr(os, "replace", refuse)
    link = tmp_path / "link"
    link.symlink_to(os.devnull)
    write_atomically(link, "text")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)
    assert sorted(tmp_path.iterdir()) == [link]


@pytest.mark.skipif(os.name != "posix", reason="permission bits are those of POSIX")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755, 0o444])
def test_a_file_keeps_its_permissions(tmp_path, mode):
    path = tmp_path / "model.json"
    path.write_text("before")
    path.chmod(mode)
    write_atomically(path, "after")
    assert path.read_text() == "after"
    assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.skipif(os.name != "posix", reason="folders are files on POSIX only")
def test_the_folder_is_synchronised_after_the_renaming(tmp_path, monkeypatch):
    calls = []
    replace, fsync = os.replace, os.fsync

    def record_replace(*names):
        calls.append("replace")
        replace(*names)

    def record_fsync(descriptor):
        calls.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        fsync(descriptor)

    monkeypatch.setattr(os, "replace", record_replace)
    monkeypatch.setattr(os, "fsync", record_fsync)
    write_atomically(tmp_path / "model.json", "text")
    assert calls == ["file", "replace", "folder"]


def test_writing_follows_links(tmp_path):
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    target.write_text("before")
    link.symlink_to(target)
    write_atomically(link, "after")
    assert link.is_symlink()
    assert target.read_text() == "after"


def test_a_new_file_has_the_default_permissions(tmp_path):
    write_atomically(tmp_path / "ours", "text")
    (tmp_path / "usual").write_text("text")
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("ours", "usual")]
    assert modes[0] == modes[1]


def test_files_are_on_the_disk_before_they_replace_others(tmp_path, monkeypatch):
    calls = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(
        os, "fsync", lambda file: (calls.append(("fsync", os.fstat(file).st_size)), fsync(file))
    )
    monkeypatch.setattr(
        os, "replace", lambda *paths: (calls.append(("replace", 0)), replace(*paths))
    )
    write_atomically(tmp_path / "file", "content")
    assert calls[:2] == [("fsync", 7), ("replace", 0)]
    assert (tmp_path / "file").read_text() == "content"


def test_no_file_stays_open(tmp_path):
    folder = "/proc/self/fd"
    if not os.path.isdir(folder):
        pytest.skip("needs /proc")
    write_atomically(tmp_path / "file", "content")
    before = len(os.listdir(folder))
    for _ in range(5):
        write_atomically(tmp_path / "file", "content")
    assert len(os.listdir(folder)) == before
