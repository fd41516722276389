"""Runs sglang's Rust client: the extension _bench of its wheel, as
sglang.benchmark.rust_client does, which imports nothing else of sglang for it."""

import glob
import sys
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader

loader = ExtensionFileLoader("_bench", glob.glob(sys.argv[1] + "/_bench.*.so")[0])
bench = module_from_spec(spec_from_loader("_bench", loader))
loader.exec_module(bench)
bench.run_argv(["python -m sglang.benchmark.rust_client", *sys.argv[2:]])
