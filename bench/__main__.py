"""Every benchmark, each in a process of its own, so that one's memory does not count for another."""

import subprocess
import sys

BENCHMARKS = (
    "bench.golden",
    "bench.matmul",
    "bench.approximate",
    "bench.scalar",
    "bench.kernels",
    "bench.kernel_launches",
    "bench.utilisation",
    "bench.on_chip",
    "bench.core",
    "bench.dot_product",
    "bench.fma64",
    "bench.area",
)


def main() -> int:
    """Run them all; the exit code is the first failure's."""
    for benchmark in BENCHMARKS:
        code = subprocess.run([sys.executable, "-m", benchmark], check=False).returncode
        if code:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
