#!/bin/sh
# Values beyond e4m3 and e5m2, and infinity, by three libraries.
#
# Guess: a cast without a mode overflows as IEEE 754 does: to infinity, or to NaN where the type has none.
# Seen:  ml_dtypes 0.5.4 does so. torch 2.13.0 on a CPU saturates e4m3, infinity included, to 448, yet keeps
#        infinity in e5m2. onnx 1.23.2 saturates both, infinity included, unless saturate=0.
# PTX leaves the choice to .satfinite, so a quantised tensor depends on who wrote it.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet --disable-pip-version-check ml_dtypes==0.5.4 torch==2.13.0 onnx==1.23.2
"$folder/environment/bin/python" -W ignore - <<'EOF'
import ml_dtypes
import numpy as np
import onnx
import torch
from onnx.reference import ReferenceEvaluator

values = np.array([480, 61441, np.inf], np.float32)


def onnx_cast(name):
    to = getattr(onnx.TensorProto, name)
    node = onnx.helper.make_node("Cast", ["x"], ["y"], to=to)
    x = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, None)
    y = onnx.helper.make_tensor_value_info("y", to, None)
    graph = onnx.helper.make_graph([node], "cast", [x], [y])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 24)])
    return np.asarray(ReferenceEvaluator(model).run(None, {"x": values})[0]).astype(np.float32)


def torch_cast(dtype):
    return torch.from_numpy(values).to(dtype).to(torch.float32).numpy()


seen = {
    "ml_dtypes e4m3": values.astype(ml_dtypes.float8_e4m3fn).astype(np.float32),
    "torch e4m3": torch_cast(torch.float8_e4m3fn),
    "onnx e4m3": onnx_cast("FLOAT8E4M3FN"),
    "ml_dtypes e5m2": values.astype(ml_dtypes.float8_e5m2).astype(np.float32),
    "torch e5m2": torch_cast(torch.float8_e5m2),
    "onnx e5m2": onnx_cast("FLOAT8E5M2"),
}
for cast, result in seen.items():
    print(f"{cast:16} {result.tolist()}")
nan, inf = np.nan, np.inf
expected = {
    "ml_dtypes e4m3": [nan, nan, nan],
    "torch e4m3": [448, 448, 448],
    "onnx e4m3": [448, 448, 448],
    "ml_dtypes e5m2": [512, inf, inf],
    "torch e5m2": [512, inf, inf],
    "onnx e5m2": [512, 57344, 57344],
}
assert seen.keys() == expected.keys()
for cast, result in seen.items():
    np.testing.assert_array_equal(result, np.array(expected[cast], np.float32), cast)
EOF
