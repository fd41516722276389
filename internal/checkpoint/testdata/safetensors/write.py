"""Writes the files of this folder with safetensors (pip install safetensors): python3 write.py

Each is one linear layer, or little more, in the layout of one way to quantize it: 64
inputs or 128, 32 outputs. Data are zeros.
"""
import ctypes
import json
import struct

from safetensors import TensorSpec, serialize

BYTES = {"BF16": 2, "F16": 2, "F32": 4, "F8_E4M3": 1, "U8": 1, "I8": 1, "I32": 4, "I64": 8}


def tensor(dtype, *shape, data=None):
    n = BYTES[dtype]
    for dim in shape:
        n *= dim
    return {"dtype": dtype, "shape": list(shape), "data": data or bytes(n)}


# The library names types as torch and numpy do.
NAMES = {"BF16": "bfloat16", "F16": "float16", "F32": "float32", "F8_E4M3": "float8_e4m3fn", "U8": "uint8", "I8": "int8",
         "I32": "int32", "I64": "int64"}


def write(name, tensors):
    specs = {k: TensorSpec(dtype=NAMES[t["dtype"]], shape=t["shape"], data_len=len(t["data"]),
                           data_ptr=ctypes.cast(ctypes.c_char_p(t["data"]), ctypes.c_void_p).value or 0)
             for k, t in tensors.items()}
    with open(name + ".safetensors", "wb") as f:
        f.write(serialize(specs, {"format": "pt"}))


q = "model.layers.0.self_attn.q_proj."
write("bf16", {q + "weight": tensor("BF16", 32, 64), q + "bias": tensor("BF16", 32)})
write("fp8-block", {q + "weight": tensor("F8_E4M3", 256, 256), q + "weight_scale_inv": tensor("F32", 2, 2)})
write("fp8-channel", {q + "weight": tensor("F8_E4M3", 32, 64), q + "weight_scale": tensor("BF16", 32, 1)})
write("fp8-tensor", {q + "weight": tensor("F8_E4M3", 32, 64), q + "weight_scale": tensor("F32"), q + "input_scale": tensor("F32")})
write("int8-channel", {q + "weight": tensor("I8", 32, 64), q + "weight_scale": tensor("BF16", 32, 1)})
write("awq", {q + "qweight": tensor("I32", 128, 4), q + "qzeros": tensor("I32", 1, 4), q + "scales": tensor("F16", 1, 32)})
write("gptq", {q + "qweight": tensor("I32", 16, 32), q + "qzeros": tensor("I32", 1, 4), q + "scales": tensor("F16", 1, 32),
               q + "g_idx": tensor("I32", 128)})
write("nvfp4", {q + "weight": tensor("U8", 32, 64), q + "weight_scale": tensor("F8_E4M3", 32, 8),
                q + "weight_scale_2": tensor("F32"), q + "input_scale": tensor("F32")})
write("nvfp4-packed", {q + "weight_packed": tensor("U8", 32, 64), q + "weight_scale": tensor("F8_E4M3", 32, 8),
                       q + "weight_global_scale": tensor("F32", 1)})
write("nf4", {q + "weight": tensor("U8", 2048, 1), q + "weight.absmax": tensor("F32", 64), q + "weight.quant_map": tensor("F32", 16),
              q + "weight.quant_state.bitsandbytes__nf4": tensor("U8", 80)})
e = "model.layers.0.mlp.experts."
write("mxfp4-blocks", {e + "gate_up_proj_blocks": tensor("U8", 2, 32, 4, 16), e + "gate_up_proj_scales": tensor("U8", 2, 32, 4),
                       e + "gate_up_proj_bias": tensor("BF16", 2, 32)})
write("zero-points", {q + "weight_packed": tensor("I32", 32, 16), q + "weight_scale": tensor("BF16", 32, 1),
                      q + "weight_zero_point": tensor("I32", 4, 1), q + "weight_shape": tensor("I64", 2, data=struct.pack("<qq", 32, 128))})
write("groups-of-32", {q + "weight_packed": tensor("I32", 32, 16), q + "weight_scale": tensor("BF16", 32, 4),
                       q + "weight_shape": tensor("I32", 2, data=struct.pack("<ii", 32, 128))})
write("shape-disagrees", {q + "weight_packed": tensor("I32", 32, 16), q + "weight_scale": tensor("BF16", 32, 1),
                          q + "weight_shape": tensor("I64", 2, data=struct.pack("<qq", 31, 128))})
write("three-bits", {q + "weight_packed": tensor("I32", 32, 12), q + "weight_scale": tensor("BF16", 32, 1),
                     q + "weight_shape": tensor("I64", 2, data=struct.pack("<qq", 32, 128))})

# Two shards with everything that a step does not read beside the language model.
shards = {
    "model-00001-of-00002.safetensors": {
        "language_model.model.embed_tokens.weight": tensor("BF16", 16, 8),
        "language_model.model.layers.0.mlp.experts.0.up_proj.weight": tensor("BF16", 4, 8),
        "language_model.model.layers.0.mlp.shared_experts.up_proj.weight": tensor("BF16", 4, 8),
        "vision_tower.blocks.0.weight": tensor("BF16", 100),
    },
    "model-00002-of-00002.safetensors": {
        "language_model.model.layers.1.eh_proj.weight": tensor("BF16", 8, 16),
        "language_model.model.layers.1.embed_tokens.weight": tensor("BF16", 16, 8),
        "language_model.model.layers.1.mlp.experts.0.up_proj.weight": tensor("BF16", 4, 8),
        "language_model.model.norm.weight": tensor("BF16", 8),
        "language_model.lm_head.weight": tensor("BF16", 16, 8),
    },
}
with open("model.safetensors.index.json", "w") as f:
    json.dump({"metadata": {}, "weight_map": {t: name for name, s in shards.items() for t in s}}, f, indent=1)
for name, s in shards.items():
    write(name.removesuffix(".safetensors"), s)
