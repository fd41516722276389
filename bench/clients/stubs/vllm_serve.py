"""Runs `vllm bench serve` from the files of its wheel's vllm/benchmarks alone: what
they import from the rest of vllm, which needs torch and CUDA, stands here instead."""

import logging
import sys
from types import ModuleType


def module(name, **members):
    m = ModuleType(name)
    m.__dict__.update(members)
    sys.modules[name] = m


def absent(*_, **__):
    raise RuntimeError("left out: no benchmark of random prompts calls this")


class Placeholder:
    def __init__(self, name):
        self.name = name

    def placeholder_attr(self, _):
        return self


def get_tokenizer(name, *_, **__):
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(name)


module("vllm.logger", init_logger=logging.getLogger)
module("vllm.envs", VLLM_GC_DEBUG="")
module("vllm.inputs", MultiModalDataDict=dict)
module("vllm.lora")
module("vllm.lora.request", LoRARequest=type("LoRARequest", (), {}))
module("vllm.lora.utils", get_adapter_absolute_path=absent)
module("vllm.multimodal")
module("vllm.multimodal.audio", get_audio_duration=absent)
module("vllm.multimodal.image", convert_image_mode=absent)
module("vllm.multimodal.utils", encode_image_url=absent, fetch_image=absent)
module("vllm.tokenizers", TokenizerLike=object, get_tokenizer=get_tokenizer)
module("vllm.transformers_utils")
module("vllm.transformers_utils.repo_utils", hf_api=absent)
module("vllm.utils.import_utils", PlaceholderModule=Placeholder)
module("vllm.utils.mistral", is_mistral_tokenizer=lambda _: False)
module("vllm.utils.network_utils", join_host_port=lambda host, port: f"{host}:{port}")

from vllm.benchmarks.serve import add_cli_args, main  # noqa: E402
from vllm.utils.argparse_utils import FlexibleArgumentParser  # noqa: E402

parser = FlexibleArgumentParser(prog="vllm bench serve")
add_cli_args(parser)
main(parser.parse_args())
