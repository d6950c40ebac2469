#!/bin/sh
# QuantizeLinear of ONNX, for numbers beyond the range of int32.
#
# Guess: QuantizeLinear saturates, as its definition says, in the reference evaluator of onnx as in onnxruntime.
# Seen:  onnx 1.23.2's reference evaluator makes -128 of 3e9 as int8, and 0 as uint8, as of all above 2**31 and of +inf:
#        its int32 wraps before it saturates. onnxruntime 1.32.0 makes 127 and 255. Up to 2e9 they are alike.
# Expected results of an int8 kernel that come from the reference have the wrong sign where a sum is large or infinite.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet --disable-pip-version-check onnx==1.23.2 onnxruntime==1.32.0 numpy==2.4.6
"$folder/environment/bin/python" -W ignore - <<'EOF'
import numpy as np
import onnxruntime
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

GIVEN = np.array([100, 300, 2e9, 3e9, 1e10, np.inf, -300, -3e9, -np.inf], np.float32)
EXPECTED = {
    "int8": ([100, 127, 127, -128, -128, -128, -128, -128, -128], [100, 127, 127, 127, 127, 127, -128, -128, -128]),
    "uint8": ([100, 255, 255, 0, 0, 0, 0, 0, 0], [100, 255, 255, 255, 255, 255, 0, 0, 0]),
}
for name, expected in EXPECTED.items():
    type = TensorProto.DataType.Value(name.upper())
    values = [("x", TensorProto.FLOAT, [len(GIVEN)]), ("scale", TensorProto.FLOAT, []), ("zero", type, [])]
    graph = helper.make_graph(
        [helper.make_node("QuantizeLinear", [value[0] for value in values], ["y"])],
        "quantize",
        [helper.make_tensor_value_info(*value) for value in values],
        [helper.make_tensor_value_info("y", type, None)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    feeds = {"x": GIVEN, "scale": np.array(1, np.float32), "zero": np.array(0, name)}
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for evaluator, runner, wanted in zip(("reference", "onnxruntime"), (ReferenceEvaluator(model), session), expected):
        (seen,) = runner.run(None, feeds)
        print(f"{name}, {evaluator}: {dict(zip(GIVEN.tolist(), seen.tolist()))}")
        assert seen.tolist() == wanted
EOF
