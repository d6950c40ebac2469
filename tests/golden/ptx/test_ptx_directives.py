"""Directives of an entry: the assembler of CUDA 13.0 gave each verdict."""

import pytest

from golden.ptx.parser import parse_syntax
from golden.ptx.source import PtxError, Source
from golden.simt.errors import LaunchError
from golden.simt.module import Module


def text(directives):
    return f".version 9.0\n.target sm_90a\n.address_size 64\n.entry k()\n{directives}\n{{ ret; }}\n"


@pytest.mark.parametrize(
    "directives",
    [
        ".maxntid 64 .minnctapersm 2 .maxnreg 32",
        ".reqntid 64 .reqnctapercluster 2 .blocksareclusters",
        ".explicitcluster .reqnctapercluster 2",
        ".maxntid 32, 2, 1 .maxclusterrank 8",
    ],
)
def test_directives_that_go_together(directives):
    assert "k" in parse_syntax(Source(text(directives), "k.ptx")).functions


@pytest.mark.parametrize(
    ("directives", "message"),
    [
        (".maxntid 64 .reqntid 64", ".maxntid and .reqntid of k exclude each other"),
        (
            ".reqnctapercluster 2 .maxclusterrank 8",
            ".reqnctapercluster and .maxclusterrank of k exclude each other",
        ),
        (".blocksareclusters", ".blocksareclusters of k needs .reqnctapercluster and .reqntid"),
        (".noreturn", ".noreturn of k needs .func in place of .entry"),
        (".maxntid 32, 0", ".maxntid of k must be positive, not 0"),
        (".maxnreg 0", ".maxnreg of k must be positive, not 0"),
    ],
)
def test_directives_that_do_not(directives, message):
    with pytest.raises(PtxError, match=message):
        parse_syntax(Source(text(directives), "k.ptx"))


def test_grids_of_clusters_are_refused_before_anything_runs():
    kernel = Module(text(".reqnctapercluster 2 .reqntid 32 .blocksareclusters"), "k.ptx").kernel()
    with pytest.raises(LaunchError, match=r"has \.blocksareclusters, grids of clusters, which are not run"):
        kernel.launch(2, 32)
