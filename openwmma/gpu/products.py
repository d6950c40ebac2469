"""PyTorch's matrix products on this computer's GPU, compared with `openwmma.matmul`."""

import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from openwmma.matrix_product import matmul
from openwmma.product_match import match_matmul

_SAMPLES: Final = 64
"""Rows of A and columns of B whose results are compared."""

_SIZES: Final = ((128, 128, 64), (512, 512, 512), (1024, 768, 2048), (4096, 4096, 4096), (16, 4096, 4096))
_TYPES: Final = {"f16": "float16", "bf16": "bfloat16", "tf32": "float32", "f64": "float64"}
_RAW: Final = {"f16": np.uint16, "bf16": np.uint16, "tf32": np.uint32, "f64": np.uint64}


@dataclass(frozen=True)
class Product:
    """One product."""

    name: str
    """Type and m x n x k."""
    results: int
    wrong: int
    """Compared; and those that are not one chain over k."""
    rule: str
    """What gives all results; empty where nothing known does."""


def has_torch() -> bool:
    """Whether PyTorch is installed."""
    return importlib.util.find_spec("torch") is not None


def products(seed: int, gpu: int = 0) -> Iterator[Product]:
    """Products of each type in several sizes; the values are normally distributed."""
    import torch  # noqa: PLC0415  an optional package

    generator = torch.Generator(device=f"cuda:{gpu}").manual_seed(seed)
    matrix = torch.backends.cuda.matmul
    matrix.allow_tf32 = True
    matrix.allow_fp16_reduced_precision_reduction = False
    matrix.allow_bf16_reduced_precision_reduction = False
    random = np.random.default_rng(seed)
    for name, dtype in _TYPES.items():
        for m, n, k in _SIZES:
            a, b = (
                torch.randn(shape, generator=generator, device=generator.device, dtype=torch.float32).to(
                    getattr(torch, dtype)
                )
                for shape in ((m, k), (k, n))
            )
            d = a @ b
            rows = np.sort(random.choice(m, min(m, _SAMPLES), replace=False))
            columns = np.sort(random.choice(n, min(n, _SAMPLES), replace=False))
            x, y, z = (
                _bits(part, _RAW[name])
                for part in (a[rows.tolist()], b[:, columns.tolist()], d[rows.tolist()][:, columns.tolist()])
            )
            result = "f32" if name == "tf32" else name
            expected = matmul(x, y, a_type=name, b_type=name, d_type=result)
            wrong = int(np.count_nonzero(expected != z))
            rule = "one chain"
            if wrong:
                found = match_matmul(x, y, z, a_type=name, b_type=name, d_type=result)
                rule = str(found) if found else ""
            yield Product(f"{name} {m} x {n} x {k}", z.size, wrong, rule)


def _bits(values: Any, dtype: Any) -> NDArray[Any]:
    """The bit patterns of a tensor."""
    import torch  # noqa: PLC0415

    signed = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[values.element_size()]
    return values.contiguous().view(signed).cpu().numpy().view(dtype)  # type: ignore[no-any-return]
