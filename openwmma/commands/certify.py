"""`openwmma certify`: whether a GPU computes what the golden model says."""

import random as system_random
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from golden.tables.profiles import HOPPER
from openwmma.core_settings import require_profile
from openwmma.terminal import plain, tell
from openwmma.usage import FAILURE
from openwmma.usage_error import UsageError

if TYPE_CHECKING:
    from openwmma.gpu.certify import Certificate

_SECONDS = 60.0


def certify(
    seconds: Annotated[
        float | None, typer.Option(min=0.0, help="How long; a minute unless --results is given.")
    ] = None,
    results: Annotated[int | None, typer.Option(min=1, help="How many results.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Repeats the operands of another run.")] = None,
    gpu: Annotated[int, typer.Option(metavar="NUMBER", min=0, help="Which NVIDIA GPU.")] = 0,
    profile: Annotated[
        str | None, typer.Option(help="Numerics of a generation; by default the one that the GPU follows.")
    ] = None,
    only: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Only instructions whose text contains this.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes; by default one for each core.")] = None,
    products: Annotated[
        bool, typer.Option(help="Compare PyTorch's matrix products too, if it is installed.")
    ] = True,
) -> int:
    """Compare the golden model with a GPU, in every bit, for all instructions that both have.

    Operands are random, corners among them. The exit code is 1 if a result of an instruction differs:

        openwmma certify --results 10000000000

    Needs an NVIDIA GPU, its driver, and `pip install "openwmma[gpu]"`.
    """
    from openwmma.gpu import certify as work  # noqa: PLC0415  an optional package

    chosen = [text for text in work.instructions() if only is None or only in text]
    if not chosen:
        raise UsageError(f"--only {only}: expected a part of an instruction such as m16n8k16 or ex2")
    if profile is not None:
        require_profile(profile)
    name, followed = work.followed_profiles(gpu)
    tell(f"{name} follows the profile {' and '.join(followed) or 'of no generation that is known'}")
    if profile is None:
        profile = HOPPER.name if not followed or HOPPER.name in followed else followed[0]
    seed = system_random.SystemRandom().randrange(1 << 32) if seed is None else seed
    if seconds is None and results is None:
        seconds = _SECONDS
    certificate = work.Certificate(name, seed)
    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("comparing")
        for certificate in work.certify(
            chosen,
            gpu=gpu,
            profile=profile,
            seed=seed,
            seconds=seconds,
            results=results,
            jobs=jobs,
            name=name,
        ):
            progress.update(task, description=f"{certificate.results:,} results, {certificate.wrong:,} wrong")
    _print(certificate)
    counts = f"{certificate.results:,} results, {certificate.wrong:,} wrong"
    tell(f"{name}, profile {profile}, seed {seed}: {counts}")
    if products:
        _products(seed, gpu)
    return FAILURE if certificate.wrong else 0


def _print(certificate: "Certificate") -> None:
    table = Table(title="Golden model and GPU")
    for column in ("instruction", "results", "wrong"):
        table.add_column(column, overflow="fold")
    for text, line in certificate.rows():
        table.add_row(plain(text), f"{line.results:,}", plain(line.missing or f"{line.wrong:,}"))
    Console().print(table)
    for text, line in certificate.rows():
        for example in line.examples:
            tell(f"{text}: {example}")


def _products(seed: int, gpu: int) -> None:
    """Compare PyTorch's products, and name the rule of each; where k is cut is the library's choice."""
    from openwmma.gpu.products import has_torch, products  # noqa: PLC0415

    if not has_torch():
        tell("PyTorch is not installed: its matrix products are not compared")
        return
    table = Table("product", "results", "not one chain", "rule", title="PyTorch's matrix products")
    with Console(stderr=True).status("comparing products"):
        for product in products(seed, gpu):
            table.add_row(
                product.name, f"{product.results:,}", f"{product.wrong:,}", plain(product.rule or "none")
            )
    Console().print(table)
