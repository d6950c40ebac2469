"""Files that are written whole or not at all: what is no regular file keeps its place."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from sim.files import write_files


def test_a_pipe_takes_the_text_and_stays_a_pipe(tmp_path):
    pipe, file = tmp_path / "pipe", tmp_path / "file"
    os.mkfifo(pipe)
    found = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_text()), daemon=True)
    reader.start()
    write_files({pipe: "text", file: "beside"})
    reader.join(10)
    assert found == ["text"]
    assert pipe.is_fifo()
    assert file.read_text() == "beside"


def test_a_link_stays_and_its_target_is_written(tmp_path):
    link, target = tmp_path / "link", tmp_path / "folder" / "target"
    target.parent.mkdir()
    target.write_text("old")
    link.symlink_to(target)
    write_files({link: "new"})
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_a_folder_among_the_files_leaves_all_as_they_were(tmp_path):
    old, folder = tmp_path / "old", tmp_path / "folder"
    old.write_text("old")
    (folder / "inside").mkdir(parents=True)
    with pytest.raises(IsADirectoryError):
        write_files({old: "new", folder: "new"})
    assert old.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "old"]


def test_the_longest_name_can_be_written(tmp_path):
    path = tmp_path / ("x" * 255)
    write_files({path: "text"})
    assert path.read_text() == "text"


def test_threads_that_write_one_file_leave_one_whole_text(tmp_path):
    path = tmp_path / "file"
    texts = [str(number) * 100_000 for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda text: write_files({path: text}), texts))
    assert path.read_text() in texts
    assert list(tmp_path.iterdir()) == [path]
