"""Serves a GGUF file by xllamacpp's llama.cpp; a program of its own that imports nothing of ours.

Its one argument is a JSON object of settings, and LLAMA_API_KEY holds its key. Its output is llama.cpp's log. It serves
until a signal ends it.
"""

import json
import os
import signal
import sys

import xllamacpp


def main() -> None:
    """Serves the file; ends with 1 if llama.cpp cannot load it, and the log says why."""
    settings = json.loads(sys.argv[1])
    params = xllamacpp.CommonParams()
    params.model.path, params.model_alias = settings["gguf"], {settings["model"]}
    params.hostnames, params.port, params.ui = ["127.0.0.1"], settings["port"], False
    params.api_keys = [os.environ["LLAMA_API_KEY"]]
    params.n_parallel, params.n_ctx = settings["slots"], settings["n_ctx"]
    if settings["threads"] is not None:
        params.cpuparams.n_threads = settings["threads"]
    if settings["gpu_layers"] is not None:
        params.n_gpu_layers = settings["gpu_layers"]
    try:
        server = xllamacpp.Server(params)
    except RuntimeError:
        sys.exit(1)
    while server:
        signal.pause()


if __name__ == "__main__":
    main()
