#!/bin/sh
# Zero and negative numbers as e8m0, the scale type of the MX formats.
#
# Guess: a type without zero and sign makes 0 and -1 NaN in every library.
# Seen:  ml_dtypes 0.5.4 gives NaN for both. torch 2.13.0 and onnx 1.23.2 drop the sign and give 2**-127 for 0.
#        onnx rounds up unless told otherwise. gfloat 0.5.2 returns 0.0 and -1.0, values that the format lacks.
# A block of zeros quantised by one library and read by another may become a block of NaN.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet --disable-pip-version-check ml_dtypes==0.5.4 torch==2.13.0 onnx==1.23.2 gfloat==0.5.2
"$folder/environment/bin/python" -W ignore - <<'EOF'
import gfloat.formats
import ml_dtypes
import numpy as np
import onnx
import torch
from onnx.reference import ReferenceEvaluator

values = np.array([0, -1, 5], np.float32)


def onnx_cast(**attributes):
    to = onnx.TensorProto.FLOAT8E8M0
    node = onnx.helper.make_node("Cast", ["x"], ["y"], to=to, **attributes)
    x = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, None)
    y = onnx.helper.make_tensor_value_info("y", to, None)
    graph = onnx.helper.make_graph([node], "cast", [x], [y])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 24)])
    return np.asarray(ReferenceEvaluator(model).run(None, {"x": values})[0]).view(np.uint8).tolist()


e8m0 = gfloat.formats.format_info_ocp_e8m0
seen = {
    "ml_dtypes": values.astype(ml_dtypes.float8_e8m0fnu).view(np.uint8).tolist(),
    "torch": torch.from_numpy(values).to(torch.float8_e8m0fnu).view(torch.uint8).tolist(),
    "onnx": onnx_cast(),
    "onnx, nearest": onnx_cast(round_mode="nearest"),
    "gfloat (values)": [gfloat.round_float(e8m0, float(v)) for v in values],
}
for library, result in seen.items():
    print(f"{library:16} {result}")
assert seen == {
    "ml_dtypes": [255, 255, 129],
    "torch": [0, 127, 129],
    "onnx": [0, 127, 130],
    "onnx, nearest": [0, 127, 129],
    "gfloat (values)": [0.0, -1.0, 4.0],
}
EOF
