#!/usr/bin/env python3
"""Makes op_vectors.json and scalar_vectors.json: what each operation of package mlx must give.

The numbers are those of MLX's own Python package, and wherever numpy or scipy has the operation the script
first checks that they agree with it. Run it from anywhere, with the versions that stand in requirements.txt:

    python3 -m venv venv && venv/bin/pip install -r requirements.txt
    venv/bin/python make_op_vectors.py

The output is the same from run to run. On another processor the last digits may differ, which the tests' tolerances allow.
"""
import pathlib

from opcases import (attention, binary, convolution, creation, fourier, indexing, linalg, products, quantised, randoms, reductions, scalars,
                     scans, shapes, unary)
from opcases.core import CASES, write

HERE = pathlib.Path(__file__).parent

if __name__ == "__main__":
    for module in (unary, binary, reductions, scans, shapes, creation, products, linalg, indexing, convolution, attention, randoms, quantised,
                   fourier):
        module.cases()
    write(HERE / "op_vectors.json", CASES)
    write(HERE / "scalar_vectors.json", scalars.cases())
    print(len(CASES), "cases of", len({c["op"] for c in CASES}), "operations")
