"""Two layers of a binary network: exclusive or and population count on the matrix unit.

python examples/cuda/binary_layer.py
python examples/cuda/binary_layer.py --on lockstep --preset small --rows 8
"""

import argparse
from pathlib import Path

import numpy as np

import openwmma
from golden.simt import SimtError

KERNEL = Path(__file__).with_suffix(".ptx")


def binary_layer(activations, weights, threshold, **machine):
    """The packed output, and what the launch did.

    Activations (rows, inputs / 32) and weights (outputs, inputs / 32) are packed 32 bits to a uint32;
    threshold is int32, one for each output.
    """
    (rows, words), outputs = activations.shape, len(weights)
    result = np.zeros((rows, outputs // 32), np.uint32)
    kernel = openwmma.Module(KERNEL).kernel("binary_layer")
    arguments = [activations, weights, threshold, result, 32 * words, outputs]
    run = kernel.launch((outputs // 32, rows // 8), 128, arguments, **machine)
    return result, run


def signs(packed):
    """Bits as the numbers +1 and -1; bit i of a word is element i."""
    return 2 * np.unpackbits(packed.view(np.uint8), axis=1, bitorder="little").astype(np.int32) - 1


def expected(activations, weights, threshold):
    """The same with numbers: a matrix product and a comparison."""
    bits = signs(activations) @ signs(weights).T >= threshold
    return np.packbits(bits, axis=1, bitorder="little").view(np.uint32)


def main(arguments=None):
    """Run random activations through two random layers, and compare every bit; 1 if one differs."""
    parser = argparse.ArgumentParser(description="binary network")
    parser.add_argument("--on", default="golden", choices=["golden", "rtl", "lockstep"])
    parser.add_argument("--preset", choices=list(openwmma.PRESETS))
    parser.add_argument("--rows", type=int, default=16, help="a multiple of 8")
    options = parser.parse_args(arguments)
    if options.rows < 8 or options.rows % 8:
        parser.error(f"--rows {options.rows}: expected a positive multiple of 8")
    random = np.random.default_rng(3)
    activations = random.integers(0, 1 << 32, (options.rows, 256 // 32), dtype=np.uint32)
    failed = 0
    for inputs, outputs in ((256, 128), (128, 32)):
        weights = random.integers(0, 1 << 32, (outputs, inputs // 32), dtype=np.uint32)
        threshold = random.integers(-8, 9, outputs, dtype=np.int32)
        try:
            result, run = binary_layer(activations, weights, threshold, on=options.on, preset=options.preset)
        except SimtError as error:
            parser.error(str(error))
        different = np.count_nonzero(result != expected(activations, weights, threshold))
        print(f"layer of {inputs} inputs and {outputs} outputs")
        print(f"{'  blocks':24}{run.blocks}")
        print(f"{'  warp instructions':24}{run.warp_instructions}")
        print(f"{'  matrix multiplies':24}{run.matrix_instructions}")
        print(f"{'  cycles':24}{run.cycles or 'none: golden model'}")
        print(f"{'  words that differ':24}{different} of {result.size}")
        failed |= different != 0
        activations = result
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
