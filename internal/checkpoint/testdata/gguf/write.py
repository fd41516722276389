"""Writes the headers of this folder with gguf-py (pip install gguf): python3 write.py

The tensors are those of llama.cpp's own conversions, in their types; none is written,
so a file ends where its data would begin.
"""
import gguf
import numpy as np

T = gguf.GGMLQuantizationType


class Header:
    def __init__(self, name, arch):
        self.file, self.w = name + ".gguf", gguf.GGUFWriter(None, arch)
        self.w.add_name(name)

    def add(self, name, kind, *shape):
        """One tensor; shape as numpy has it, rows last."""
        block, size = gguf.GGML_QUANT_SIZES[kind]
        raw = list(shape[:-1]) + [shape[-1] // block * size]
        n = int(np.prod(shape, dtype=np.int64)) // block * size
        if kind in (T.F32, T.F16):
            self.w.add_tensor_info(name, shape, np.dtype(np.float32 if kind == T.F32 else np.float16), n)
        else:
            self.w.add_tensor_info(name, raw, np.dtype(np.uint8), n, raw_dtype=kind)

    def close(self):
        self.w.write_header_to_file(self.file)
        self.w.write_kv_data_to_file()
        self.w.write_ti_data_to_file()
        self.w.close()


def common(h, layers, hidden, heads, kv, ff, vocab, context):
    w = h.w
    w.add_block_count(layers)
    w.add_embedding_length(hidden)
    w.add_head_count(heads)
    w.add_head_count_kv(kv)
    if ff:
        w.add_feed_forward_length(ff)
    w.add_vocab_size(vocab)
    w.add_context_length(context)
    w.add_layer_norm_rms_eps(1e-5)
    w.add_rope_freq_base(10000.0)


def llama_2_7b():
    h = Header("llama-2-7b-q4_k_m", "llama")
    n, d, ff = 32, 4096, 11008
    common(h, n, d, 32, 32, ff, 32000, 4096)
    h.w.add_rope_dimension_count(128)
    h.add("token_embd.weight", T.Q4_K, 32000, d)
    h.add("output_norm.weight", T.F32, d)
    h.add("output.weight", T.Q6_K, 32000, d)
    for i in range(n):
        more = T.Q6_K if i < n // 8 or i >= 7 * n // 8 or (i - n // 8) % 3 == 2 else T.Q4_K
        b = f"blk.{i}."
        h.add(b + "attn_norm.weight", T.F32, d)
        h.add(b + "ffn_norm.weight", T.F32, d)
        for t in ("attn_q", "attn_k", "attn_output"):
            h.add(b + t + ".weight", T.Q4_K, d, d)
        h.add(b + "attn_v.weight", more, d, d)
        h.add(b + "ffn_gate.weight", T.Q4_K, ff, d)
        h.add(b + "ffn_up.weight", T.Q4_K, ff, d)
        h.add(b + "ffn_down.weight", more, d, ff)
    h.close()


def gpt_oss_20b():
    h = Header("gpt-oss-20b-mxfp4", "gpt-oss")
    n, d, e = 24, 2880, 32
    common(h, n, d, 64, 8, 2880, 201088, 131072)
    h.w.add_key_length(64)
    h.w.add_value_length(64)
    h.w.add_sliding_window(128)
    h.w.add_expert_count(e)
    h.w.add_expert_used_count(4)
    h.w.add_expert_feed_forward_length(d)
    h.add("token_embd.weight", T.Q8_0, 201088, d)
    h.add("output_norm.weight", T.F32, d)
    h.add("output.weight", T.Q8_0, 201088, d)
    for i in range(n):
        b = f"blk.{i}."
        h.add(b + "attn_norm.weight", T.F32, d)
        h.add(b + "post_attention_norm.weight", T.F32, d)
        for t, rows in (("attn_q", 4096), ("attn_k", 512), ("attn_v", 512)):
            h.add(b + t + ".weight", T.Q8_0, rows, d)
            h.add(b + t + ".bias", T.F32, rows)
        h.add(b + "attn_output.weight", T.Q8_0, d, 4096)
        h.add(b + "attn_output.bias", T.F32, d)
        h.add(b + "attn_sinks.weight", T.F32, 64)
        h.add(b + "ffn_gate_inp.weight", T.F32, e, d)
        h.add(b + "ffn_gate_inp.bias", T.F32, e)
        for t in ("ffn_gate_exps", "ffn_up_exps", "ffn_down_exps"):
            h.add(b + t + ".weight", T.MXFP4, e, d, d)
            h.add(b + t + ".bias", T.F32, e, d)
    h.close()


def qwen3_30b_a3b():
    h = Header("qwen3-30b-a3b-q8_0", "qwen3moe")
    n, d, e, f = 48, 2048, 128, 768
    common(h, n, d, 32, 4, 6144, 151936, 40960)
    h.w.add_key_length(128)
    h.w.add_value_length(128)
    h.w.add_expert_count(e)
    h.w.add_expert_used_count(8)
    h.w.add_expert_feed_forward_length(f)
    h.add("token_embd.weight", T.Q8_0, 151936, d)
    h.add("output_norm.weight", T.F32, d)
    h.add("output.weight", T.Q8_0, 151936, d)
    for i in range(n):
        b = f"blk.{i}."
        h.add(b + "attn_norm.weight", T.F32, d)
        h.add(b + "ffn_norm.weight", T.F32, d)
        h.add(b + "attn_q_norm.weight", T.F32, 128)
        h.add(b + "attn_k_norm.weight", T.F32, 128)
        h.add(b + "attn_q.weight", T.Q8_0, 4096, d)
        h.add(b + "attn_k.weight", T.Q8_0, 512, d)
        h.add(b + "attn_v.weight", T.Q8_0, 512, d)
        h.add(b + "attn_output.weight", T.Q8_0, d, 4096)
        h.add(b + "ffn_gate_inp.weight", T.F32, e, d)
        h.add(b + "ffn_gate_exps.weight", T.Q8_0, e, f, d)
        h.add(b + "ffn_up_exps.weight", T.Q8_0, e, f, d)
        h.add(b + "ffn_down_exps.weight", T.Q8_0, e, d, f)
    h.close()


def deepseek_v2_lite():
    h = Header("deepseek-v2-lite-bf16", "deepseek2")
    n, d, e, f, heads, rank = 27, 2048, 64, 1408, 16, 512
    common(h, n, d, heads, 1, 10944, 102400, 163840)
    w = h.w
    w.add_kv_lora_rank(rank)
    w.add_key_length(rank + 64)
    w.add_value_length(rank)
    w.add_key_length_mla(192)
    w.add_value_length_mla(128)
    w.add_rope_dimension_count(64)
    w.add_leading_dense_block_count(1)
    w.add_expert_count(e)
    w.add_expert_used_count(6)
    w.add_expert_shared_count(2)
    w.add_expert_feed_forward_length(f)
    w.add_expert_weights_scale(1.0)
    h.add("token_embd.weight", T.BF16, 102400, d)
    h.add("output_norm.weight", T.F32, d)
    h.add("output.weight", T.BF16, 102400, d)
    for i in range(n):
        b = f"blk.{i}."
        h.add(b + "attn_norm.weight", T.F32, d)
        h.add(b + "ffn_norm.weight", T.F32, d)
        h.add(b + "attn_q.weight", T.BF16, heads * 192, d)
        h.add(b + "attn_kv_a_mqa.weight", T.BF16, rank + 64, d)
        h.add(b + "attn_kv_a_norm.weight", T.F32, rank)
        h.add(b + "attn_k_b.weight", T.BF16, heads, rank, 128)
        h.add(b + "attn_v_b.weight", T.BF16, heads, 128, rank)
        h.add(b + "attn_output.weight", T.BF16, d, heads * 128)
        if i == 0:
            h.add(b + "ffn_gate.weight", T.BF16, 10944, d)
            h.add(b + "ffn_up.weight", T.BF16, 10944, d)
            h.add(b + "ffn_down.weight", T.BF16, d, 10944)
            continue
        h.add(b + "ffn_gate_inp.weight", T.F32, e, d)
        for t in ("gate", "up"):
            h.add(b + f"ffn_{t}_exps.weight", T.BF16, e, f, d)
            h.add(b + f"ffn_{t}_shexp.weight", T.BF16, 2 * f, d)
        h.add(b + "ffn_down_exps.weight", T.BF16, e, d, f)
        h.add(b + "ffn_down_shexp.weight", T.BF16, d, 2 * f)
    h.close()


def gemma_3_4b():
    h = Header("gemma-3-4b-f16", "gemma3")
    n, d, ff = 34, 2560, 10240
    common(h, n, d, 8, 4, ff, 262208, 131072)
    h.w.add_key_length(256)
    h.w.add_value_length(256)
    h.w.add_sliding_window(1024)
    h.add("token_embd.weight", T.F16, 262208, d)
    h.add("output_norm.weight", T.F32, d)
    for i in range(n):
        b = f"blk.{i}."
        for t in ("attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm"):
            h.add(b + t + ".weight", T.F32, d)
        h.add(b + "attn_q_norm.weight", T.F32, 256)
        h.add(b + "attn_k_norm.weight", T.F32, 256)
        h.add(b + "attn_q.weight", T.F16, 2048, d)
        h.add(b + "attn_k.weight", T.F16, 1024, d)
        h.add(b + "attn_v.weight", T.F16, 1024, d)
        h.add(b + "attn_output.weight", T.F16, d, 2048)
        h.add(b + "ffn_gate.weight", T.F16, ff, d)
        h.add(b + "ffn_up.weight", T.F16, ff, d)
        h.add(b + "ffn_down.weight", T.F16, d, ff)
    h.close()


def qwen3_next():
    h = Header("qwen3-next-80b-a3b-bf16", "qwen3next")
    n, d, e, f = 48, 2048, 512, 512
    common(h, n, d, 16, 2, 5120, 151936, 262144)
    w = h.w
    w.add_key_length(256)
    w.add_value_length(256)
    w.add_ssm_conv_kernel(4)
    w.add_ssm_inner_size(4096)
    w.add_ssm_state_size(128)
    w.add_ssm_time_step_rank(32)
    w.add_ssm_group_count(16)
    w.add_full_attention_interval(4)
    w.add_expert_count(e)
    w.add_expert_used_count(10)
    w.add_expert_feed_forward_length(f)
    w.add_expert_shared_feed_forward_length(f)
    h.add("token_embd.weight", T.BF16, 151936, d)
    h.add("output_norm.weight", T.F32, d)
    h.add("output.weight", T.BF16, 151936, d)
    for i in range(n):
        b = f"blk.{i}."
        h.add(b + "attn_norm.weight", T.F32, d)
        h.add(b + "post_attention_norm.weight", T.F32, d)
        if i % 4 == 3:
            h.add(b + "attn_q.weight", T.BF16, 2 * 4096, d)
            h.add(b + "attn_k.weight", T.BF16, 512, d)
            h.add(b + "attn_v.weight", T.BF16, 512, d)
            h.add(b + "attn_output.weight", T.BF16, d, 4096)
            h.add(b + "attn_q_norm.weight", T.F32, 256)
            h.add(b + "attn_k_norm.weight", T.F32, 256)
        else:
            h.add(b + "ssm_in.weight", T.BF16, 2 * 2048 + 2 * 4096, d)
            h.add(b + "ssm_ba.weight", T.BF16, 64, d)
            h.add(b + "ssm_conv1d.weight", T.F32, 2 * 2048 + 4096, 4)
            h.add(b + "ssm_dt.bias", T.F32, 32)
            h.add(b + "ssm_a", T.F32, 32)
            h.add(b + "ssm_norm.weight", T.F32, 128)
            h.add(b + "ssm_out.weight", T.BF16, d, 4096)
        h.add(b + "ffn_gate_inp.weight", T.F32, e, d)
        h.add(b + "ffn_gate_inp_shexp.weight", T.BF16, d)
        for t in ("gate", "up"):
            h.add(b + f"ffn_{t}_exps.weight", T.BF16, e, f, d)
            h.add(b + f"ffn_{t}_shexp.weight", T.BF16, f, d)
        h.add(b + "ffn_down_exps.weight", T.BF16, e, d, f)
        h.add(b + "ffn_down_shexp.weight", T.BF16, d, f)
    h.close()


def lfm2():
    h = Header("lfm2-1.2b-f16", "lfm2")
    n, d, ff = 16, 2048, 8192
    attention = (2, 5, 8, 10, 12, 14)
    common(h, n, d, 32, [8 if i in attention else 0 for i in range(n)], ff, 65536, 128000)
    h.w.add_shortconv_l_cache(3)
    h.add("token_embd.weight", T.F16, 65536, d)
    h.add("token_embd_norm.weight", T.F32, d)
    for i in range(n):
        b = f"blk.{i}."
        h.add(b + "attn_norm.weight", T.F32, d)
        h.add(b + "ffn_norm.weight", T.F32, d)
        if i in attention:
            h.add(b + "attn_q.weight", T.F16, d, d)
            h.add(b + "attn_k.weight", T.F16, 512, d)
            h.add(b + "attn_v.weight", T.F16, 512, d)
            h.add(b + "attn_output.weight", T.F16, d, d)
            h.add(b + "attn_q_norm.weight", T.F32, 64)
            h.add(b + "attn_k_norm.weight", T.F32, 64)
        else:
            h.add(b + "shortconv.conv.weight", T.F32, d, 3)
            h.add(b + "shortconv.in_proj.weight", T.F16, 3 * d, d)
            h.add(b + "shortconv.out_proj.weight", T.F16, d, d)
        h.add(b + "ffn_gate.weight", T.F16, ff, d)
        h.add(b + "ffn_up.weight", T.F16, ff, d)
        h.add(b + "ffn_down.weight", T.F16, d, ff)
    h.close()


for write in (llama_2_7b, gpt_oss_20b, qwen3_30b_a3b, deepseek_v2_lite, gemma_3_4b, qwen3_next, lfm2):
    write()
