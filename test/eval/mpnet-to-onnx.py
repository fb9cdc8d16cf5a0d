"""Makes an ONNX file of all-mpnet-base-v2's weights, where the publisher's own is not to be had.

    pip install numpy onnx safetensors
    python mpnet-to-onnx.py <folder with model.safetensors and tokenizer.json> <model directory>

Input: one text's `input_ids` and `attention_mask`, [1, tokens]; output: `last_hidden_state`, [1, tokens, 768].
"""

import math
import shutil
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file

LAYERS, HEADS, WIDTH, POSITIONS = 12, 12, 768, 512
HEAD_WIDTH = WIDTH // HEADS
BUCKETS, MAX_DISTANCE = 16, 128  # buckets of each direction
PADDING = 1  # positions are counted from the one after it

weights = {}
constants, nodes = {}, []


def constant(name, value):
    constants[name] = numpy_helper.from_array(np.ascontiguousarray(value), name)
    return name


def integers(*values):
    return constant("i_" + "_".join(map(str, values)), np.array(values, np.int64))


def number(value):
    return constant(f"f_{value}", np.float32(value))


def weight(name, transposed=False):
    value = weights[name].astype(np.float32)
    return constant(name, value.T if transposed else value)


def node(operator, *inputs, output=None, **attributes):
    output = output or f"node_{len(nodes)}"
    nodes.append(helper.make_node(operator, inputs, [output], **attributes))
    return output


def linear(x, name):
    return node("Add", node("MatMul", x, weight(f"{name}.weight", True)), weight(f"{name}.bias"))


def normalised(x, name):
    return node("LayerNormalization", x, weight(f"{name}.weight"), weight(f"{name}.bias"), axis=-1, epsilon=1e-5)


def position_bias():
    """[1, heads, from, to]: how much a token looks at another because of their distance alone."""
    distance = np.arange(POSITIONS)[:, None] - np.arange(POSITIONS)[None]
    near, far = BUCKETS // 2, np.maximum(np.abs(distance), 1).astype(np.float32)
    scaled = near + (np.log(far / near) / math.log(MAX_DISTANCE / near) * (BUCKETS - near)).astype(np.int64)
    bucket = np.where(np.abs(distance) < near, np.abs(distance), np.minimum(scaled, BUCKETS - 1))
    table = weights["encoder.relative_attention_bias.weight"].astype(np.float32)
    return table[bucket + (distance < 0) * BUCKETS].transpose(2, 0, 1)[None]


def bias_and_mask(length):
    bias = node("Slice", constant("bias", position_bias()), integers(0, 0), node("Concat", length, length, axis=0), integers(2, 3))
    masked = node("Sub", number(1), node("Cast", "attention_mask", to=TensorProto.FLOAT))
    return node("Add", bias, node("Unsqueeze", node("Mul", masked, number(-1e9)), integers(1, 2)))


def attended(x, bias, name):
    def heads(part, axes):
        split = node("Reshape", linear(x, f"{name}.attn.{part}"), integers(0, 0, HEADS, HEAD_WIDTH))
        return node("Transpose", split, perm=axes)

    scores = node("MatMul", heads("q", [0, 2, 1, 3]), heads("k", [0, 2, 3, 1]))
    scaled = node("Mul", scores, number(1 / math.sqrt(HEAD_WIDTH)))
    mixed = node("MatMul", node("Softmax", node("Add", scaled, bias), axis=-1), heads("v", [0, 2, 1, 3]))
    joined = node("Reshape", node("Transpose", mixed, perm=[0, 2, 1, 3]), integers(0, 0, WIDTH))
    return normalised(node("Add", linear(joined, f"{name}.attn.o"), x), f"{name}.LayerNorm")


def gelu(x):
    error = node("Erf", node("Mul", x, number(1 / math.sqrt(2))))
    return node("Mul", node("Mul", x, number(0.5)), node("Add", number(1), error))


def build():
    length = node("Gather", node("Shape", "input_ids"), integers(1), axis=0)
    first = integers(PADDING + 1)
    end = node("Add", length, first)
    positions = node("Slice", weight("embeddings.position_embeddings.weight"), first, end, integers(0))
    words = node("Gather", weight("embeddings.word_embeddings.weight"), "input_ids")
    x = normalised(node("Add", words, positions), "embeddings.LayerNorm")
    bias = bias_and_mask(length)
    for layer in (f"encoder.layer.{at}" for at in range(LAYERS)):
        x = attended(x, bias, f"{layer}.attention")
        wide = gelu(linear(x, f"{layer}.intermediate.dense"))
        x = normalised(node("Add", linear(wide, f"{layer}.output.dense"), x), f"{layer}.output.LayerNorm")
    node("Identity", x, output="last_hidden_state")
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, [1, "tokens"]) for name in ("input_ids", "attention_mask")]
    output = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, [1, "tokens", WIDTH])
    graph = helper.make_graph(nodes, "all-mpnet-base-v2", inputs, [output], list(constants.values()))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def main():
    source, target = map(Path, sys.argv[1:3])
    target.mkdir(parents=True, exist_ok=True)
    weights.update(load_file(source / "model.safetensors"))
    onnx.save(build(), target / "model.onnx")
    shutil.copy(source / "tokenizer.json", target)


main()
