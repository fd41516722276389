"""Runs sglang.bench_serving from the files of its wheel's sglang/benchmark alone: what
they import from the rest of sglang, which needs torch and CUDA, stands here instead."""

import sys
from types import ModuleType


def module(name, **members):
    m = ModuleType(name)
    m.__dict__.update(members)
    sys.modules[name] = m


def absent(*_, **__):
    raise RuntimeError("left out: no benchmark of random prompts calls this")


module("datasets", load_dataset=absent)
module("sglang.srt")
module("sglang.srt.disaggregation")
module("sglang.srt.disaggregation.utils", FAKE_BOOTSTRAP_HOST="2.2.2.2")
module("sglang.srt.utils")
module(
    "sglang.srt.utils.network",
    resolve_base_url=lambda base_url, host, port: base_url,
    resolve_host_port=lambda host, port, *_: (host, port),
)

from sglang.benchmark.serving import cli_main  # noqa: E402

cli_main()
