"""The verification plan names tests that exist."""

import ast
import re
from collections import defaultdict
from pathlib import Path

from regression.campaign.kinds.functional_coverage import SCALED_CORE, SPARSE_CORE, WGMMA_CORE
from regression.functional.collector import MODEL, model_of
from regression.random_programs.program import config_named

ROOT = Path(__file__).parents[1]
PLAN = ROOT / "docs" / "reference" / "verification.md"
TEST = re.compile(r"`(test_\w+)::(\w+)`")
COVERPOINT = re.compile(r"\*([a-z][a-z0-9 ]*)\*")


def functions_by_file() -> dict[str, set[str]]:
    """Names of all functions of the test files, by the file's stem."""
    names: dict[str, set[str]] = defaultdict(set)
    for folder in ("tests", "cocotb_tests", "formal"):
        for path in (ROOT / folder).rglob("test_*.py"):
            tree = ast.parse(path.read_text())
            names[path.stem] |= {
                node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            }
    return names


def claims() -> list[str]:
    """The rows of the tables."""
    return [line for line in PLAN.read_text().splitlines() if re.match(r"\| \*\*\w+\*\*", line)]


def test_every_test_of_the_plan_exists() -> None:
    existing = functions_by_file()
    named = TEST.findall(PLAN.read_text())
    assert named
    missing = [f"{file}::{name}" for file, name in named if name not in existing.get(file, set())]
    assert not missing


def test_every_claim_has_a_test() -> None:
    assert claims()
    assert not [claim for claim in claims() if not TEST.search(claim)]


def test_coverage_of_the_plan_is_all_there_is() -> None:
    named = {name for claim in claims() for name in COVERPOINT.findall(claim.rstrip("| ").rpartition("|")[2])}
    options = (SPARSE_CORE, WGMMA_CORE, SCALED_CORE)
    models = (MODEL, *(model_of(config_named(core)) for core in options))
    assert named <= {coverpoint.name for model in models for coverpoint in model}


def test_claims_have_numbers_of_their_own() -> None:
    numbers = re.findall(r"^\| \*\*(\w+)\*\*", PLAN.read_text(), re.MULTILINE)
    assert len(numbers) == len(set(numbers))
