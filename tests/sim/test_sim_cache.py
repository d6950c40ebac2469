"""The cache of simulations: damage is noticed, killed builds are removed, any folder will do."""

import errno
import multiprocessing
import os
import shutil
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import sim.build
import sim.cache
from golden.memory import Memory
from hdl.config import PRESETS
from openwmma.cli import main
from sim import verilate
from sim.cache import CacheError, cache_folder, cached
from sim.simulation import BusTiming, Simulation
from sim.verilate import BuildError, build_verilog

TEXTS = {"a.so": "the library", "b.json": "beside it"}
SPECIAL = "a b'c\"d$e#f%g;h&(i)\u00e9"
COPIER = Path(__file__).with_name("copier.v").read_text()
CONSTANTS = {"BEAT_BYTES": 16, "DATA_BITS": 128, "OUTSTANDING_READS": 1, "QUEUE_DEPTH": 1, "WARPS": 1}


def build(folder: Path) -> list[Path]:
    with (folder.parent.parent / "builds").open("a") as log:
        log.write("x")
    for name, text in TEXTS.items():
        (folder / f"new-{name}").write_text(text)
    return [folder / f"new-{name}" for name in TEXTS]


def builds_of(folder: Path) -> int:
    return len((folder / "builds").read_text())


def build_in(folder: Path) -> None:
    """As a process does that has seen none of the files."""
    sim.cache._found_whole.clear()
    cached([folder / name for name in TEXTS], build)
    assert {name: (folder / name).read_text() for name in TEXTS} == TEXTS
    assert not list(folder.glob("build-*"))


def folder_instead(path: Path) -> None:
    path.unlink()
    (path / "inside").mkdir(parents=True)


def link_instead(path: Path) -> None:
    path.unlink()
    path.symlink_to("nowhere")


DAMAGE = {
    "removed": Path.unlink,
    "emptied": lambda path: path.write_bytes(b""),
    "truncated": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "one bit": lambda path: path.write_bytes(bytes([path.read_bytes()[0] ^ 1]) + path.read_bytes()[1:]),
    "garbage": lambda path: path.write_bytes(bytes(range(256))),
    "of another": lambda path: path.write_bytes(Path(os.__file__).read_bytes()),
    "a folder": folder_instead,
    "a link to nothing": link_instead,
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
@pytest.mark.parametrize("name", [*TEXTS, *(f"{name}.sha256" for name in TEXTS)])
def test_damage_is_noticed_and_built_again(tmp_path, name, damage):
    build_in(tmp_path)
    build_in(tmp_path)
    assert builds_of(tmp_path) == 1
    damage(tmp_path / name)
    build_in(tmp_path)
    build_in(tmp_path)
    assert builds_of(tmp_path) == 2


def test_two_threads_build_once(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(build_in_silence, [tmp_path] * 8))
    assert builds_of(tmp_path) == 1


def build_in_silence(folder: Path) -> None:
    cached([folder / name for name in TEXTS], build)


def test_two_processes_build_once(tmp_path):
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=build_in_silence, args=(tmp_path,)) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 4
    assert builds_of(tmp_path) == 1


def killed(folder: Path) -> None:
    def end(work: Path) -> list[Path]:
        build(work)
        os.kill(os.getpid(), signal.SIGKILL)
        return []

    cached([folder / name for name in TEXTS], end)


def test_a_killed_build_is_removed_by_the_next_one_and_a_live_one_is_not(tmp_path):
    process = multiprocessing.get_context("fork").Process(target=killed, args=(tmp_path,))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    (left,) = tmp_path.glob("build-*")
    begun, end = threading.Event(), threading.Event()

    def slow(folder: Path) -> list[Path]:
        (folder / "new").write_text("slow")
        begun.set()
        end.wait(20)
        return [folder / "new"]

    with ThreadPoolExecutor() as pool:
        running = pool.submit(cached, [tmp_path / "slow.so"], slow)
        assert begun.wait(20)
        assert not left.exists()
        cached([tmp_path / name for name in TEXTS], build)
        end.set()
        running.result()
    assert (tmp_path / "slow.so").read_text() == "slow"
    assert not list(tmp_path.glob("build-*"))


def test_a_failed_build_leaves_nothing(tmp_path):
    def fail(folder: Path) -> list[Path]:
        build(folder)
        raise BuildError("make", "no")

    with pytest.raises(BuildError):
        cached([tmp_path / "a.so"], fail)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.so.lock", "builds", "builds.lock"]


RULE = "what is built once needs a folder that can be written; XDG_CACHE_HOME names another one"


@pytest.mark.parametrize("name", ["file", "file/below", "x" * 300, "/proc/none", "no\nfolder/" + "x" * 300])
def test_a_folder_that_cannot_be_used_is_one_sentence(tmp_path, monkeypatch, capsys, name):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / name))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CacheError, match=RULE):
        cache_folder()
    sim.build._generated.cache_clear()
    ptx = Path(__file__).parents[2] / "examples" / "gemm_f16_f32.ptx"
    assert main(["run", str(ptx), "--on", "rtl", "--arg", "A=0", "--arg", "B=0", "--arg", "D=0"]) == 2
    printed = capsys.readouterr()
    assert printed.err.count("\n") == 1
    assert not printed.out


def test_a_relative_folder_is_ignored_as_its_specification_says(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / SPECIAL))
    monkeypatch.setenv("XDG_CACHE_HOME", "kept")
    monkeypatch.chdir(tmp_path)
    assert cache_folder() == tmp_path / SPECIAL / ".cache" / "openwmma"


def test_a_full_disk_is_one_sentence(tmp_path):
    def full(folder: Path) -> list[Path]:
        verilate.run_tool("make", ["sh", "-c", "echo 'cc1plus: No space left on device'; exit 1"], folder)
        return []

    with pytest.raises(CacheError) as error:
        cached([tmp_path / "a.so"], full)
    assert error.value.errno == errno.ENOSPC
    assert str(error.value.strerror) == f"No space left on device; {RULE}"


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damaged_verilog_is_generated_again(tmp_path, monkeypatch, damage):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(sim.build, "generate", lambda *_: ("module \u00e9", {"ports": []}))
    generated = sim.build._generated.__wrapped__
    for suffix in (".v", ".json"):
        assert generated(PRESETS["tiny"]) == ("module \u00e9", '{"ports": []}')
        (path,) = (tmp_path / "openwmma").glob(f"core-*{suffix}")
        damage(path)
    assert generated(PRESETS["tiny"]) == ("module \u00e9", '{"ports": []}')


@pytest.mark.long
def test_a_core_is_built_whatever_the_names_of_folders(tmp_path, monkeypatch):
    """The folders of the cache, of temporary files and of Verilator have spaces and special characters."""
    kept = cache_folder()
    build_verilog(COPIER, CONSTANTS)
    home = tmp_path / SPECIAL
    for name in ("cache/openwmma", "temporary"):
        (home / name).mkdir(parents=True)
    for archive in kept.glob("verilated-*.a*"):  # it takes most of the time, and its name is its key
        shutil.copy(archive, home / "cache" / "openwmma")
    shutil.copytree(verilate.VERILATOR_ROOT, home / "verilator")
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))
    monkeypatch.setenv("TMPDIR", str(home / "temporary"))
    monkeypatch.setattr(verilate, "VERILATOR_ROOT", home / "verilator")
    library = build_verilog(COPIER, CONSTANTS)
    assert library.parent == home / "cache" / "openwmma"
    memory = Memory(1 << 14, 0x4000)
    memory.data[:256] = 7
    simulation = Simulation(library, memory, timing=BusTiming(), cycle_limit=2000)
    try:
        assert simulation.execute([(1, 0x4000, 0x5000, 16, 0)])
        assert (memory.data[0x1000:0x1100] == 7).all()
    finally:
        simulation.close()
