"""Serves all-mpnet-base-v2 as an OpenAI-compatible endpoint: python mpnet.py <folder of the weights> <port>

The folder holds model.safetensors and tokenizer.json. serve.sh fetches both and starts this.
"""

import json
import math
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer

LAYERS, HEADS, WIDTH, TOKENS = 12, 12, 768, 384
BUCKETS, MAX_DISTANCE = 16, 128  # buckets of each direction
PADDING = 1  # positions are counted from the one after it

folder, port = Path(sys.argv[1]), int(sys.argv[2])
weights = {name: value.astype(np.float32) for name, value in load_file(folder / "model.safetensors").items()}
tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
tokenizer.no_padding()
tokenizer.enable_truncation(TOKENS)


def position_bias():
    """[heads, from, to]: how much a token looks at another because of their distance alone."""
    distance = np.arange(TOKENS)[:, None] - np.arange(TOKENS)[None]
    near, far = BUCKETS // 2, np.maximum(np.abs(distance), 1).astype(np.float32)
    scaled = near + (np.log(far / near) / math.log(MAX_DISTANCE / near) * (BUCKETS - near)).astype(np.int64)
    bucket = np.where(np.abs(distance) < near, np.abs(distance), np.minimum(scaled, BUCKETS - 1))
    return weights["encoder.relative_attention_bias.weight"][bucket + (distance < 0) * BUCKETS].transpose(2, 0, 1)


def linear(x, name):
    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def normalised(x, name):
    centred = x - x.mean(-1, keepdims=True)
    scale = np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
    return centred / scale * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def softmax(x):
    exponents = np.exp(x - x.max(-1, keepdims=True))
    return exponents / exponents.sum(-1, keepdims=True)


def gelu(x):
    """The error function by Abramowitz and Stegun 7.1.26, right to 2 in ten million."""
    z = np.abs(x) / math.sqrt(2)
    t = 1 / (1 + 0.3275911 * z)
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    return x / 2 * (1 + np.sign(x) * (1 - series * np.exp(-z * z)))


def attended(x, bias, name):
    def heads(part):
        return linear(x, f"{name}.attn.{part}").reshape(len(x), HEADS, WIDTH // HEADS).transpose(1, 0, 2)

    scores = heads("q") @ heads("k").transpose(0, 2, 1) / math.sqrt(WIDTH // HEADS) + bias
    mixed = (softmax(scores) @ heads("v")).transpose(1, 0, 2).reshape(len(x), WIDTH)
    return normalised(linear(mixed, f"{name}.attn.o") + x, f"{name}.LayerNorm")


def embedding(text):
    """The mean of the last layer's tokens, as the model's publisher has it."""
    ids = tokenizer.encode(text).ids
    positions = weights["embeddings.position_embeddings.weight"][PADDING + 1 : PADDING + 1 + len(ids)]
    x = normalised(weights["embeddings.word_embeddings.weight"][ids] + positions, "embeddings.LayerNorm")
    bias = BIAS[:, : len(ids), : len(ids)]
    for layer in (f"encoder.layer.{at}" for at in range(LAYERS)):
        x = attended(x, bias, f"{layer}.attention")
        wide = gelu(linear(x, f"{layer}.intermediate.dense"))
        x = normalised(linear(wide, f"{layer}.output.dense") + x, f"{layer}.output.LayerNorm")
    return x.mean(0).tolist()


class Endpoint(BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        data = [{"object": "embedding", "index": at, "embedding": embedding(text)} for at, text in enumerate(asked["input"])]
        body = json.dumps({"object": "list", "model": asked["model"], "data": data}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


BIAS = position_bias()
print(f"EMBEDDINGS_URL=http://127.0.0.1:{port}/v1 EMBEDDINGS_MODEL=all-mpnet-base-v2 EMBEDDINGS_CUT=0.43", flush=True)
HTTPServer(("127.0.0.1", port), Endpoint).serve_forever()
