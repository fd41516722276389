package checkpoint

// neutral are the keys that no cost depends on, whatever they say: names, tokens,
// training, sampling, positions, towers beside the language model. A key that is neither
// here nor read by its model type is refused.
var neutral = set(
	// what the file is
	"_name_or_path", "architectures", "auto_map", "custom_pipelines", "init_method", "finetuning_task", "language",
	"model_type", "name_or_path", "torch_dtype", "dtype", "transformers_version", "transformers.js_config",
	"unsloth_fixed", "unsloth_version", "_attn_implementation", "_attn_implementation_autoset",
	"attn_implementation", "_experts_implementation", "_commit_hash", "use_bfloat16", "torchscript", "ep_size",
	"is_llama_config", "_flash_attn_2_enabled",
	"base_model_tp_plan", "base_model_pp_plan", "use_mamba_kernels",

	// tokens
	"bos_token_id", "eos_token_id", "pad_token_id", "sep_token_id", "unk_token_id", "decoder_start_token_id",
	"image_token_id", "image_token_index", "video_token_id", "video_token_index", "audio_token_id",
	"boi_token_id", "boi_token_index", "eoi_token_id", "eoi_token_index", "boa_token_id", "eoa_token_id",
	"eoa_token_index", "vision_start_token_id", "vision_end_token_id", "vision_token_id",
	"media_placeholder_token_id", "image_placeholder", "video_placeholder", "ignore_index",
	"special_image_token_id", "tokenizer_class", "prefix", "forced_bos_token_id", "forced_eos_token_id",
	"image_seq_length", "image_break_token_id", "image_end_token_id", "spatial_merge_size",

	// training and losses
	"attention_dropout", "attn_pdrop", "embd_pdrop", "resid_pdrop", "hidden_dropout", "dropout", "classifier_dropout",
	"residual_dropout",
	"aux_loss_alpha", "seq_aux", "initializer_range", "initializer_factor", "output_router_logits",
	"router_aux_loss_coef", "router_jitter_noise", "router_z_loss_coef", "router_bias_update_speed",
	"rescale_prenorm_residual", "gradient_checkpointing", "use_cache", "pretraining_tp", "problem_type",
	"id2label", "label2id", "num_labels", "task_specific_params", "loss_type",

	// norms, activations and scalings: no weights to speak of, and no bytes
	"rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon", "layernorm_epsilon", "norm_eps", "hidden_act",
	"hidden_activation", "mlp_hidden_act", "mamba_hidden_act", "swiglu_limit", "swiglu_alpha",
	"attn_logit_softcapping", "final_logit_softcapping", "query_pre_attn_scalar", "attention_multiplier",
	"embedding_multiplier", "logits_scaling", "residual_multiplier", "attn_scale", "attn_temperature_tuning",
	"floor_scale", "residual_in_fp32", "fp32_residual_connection", "use_gemma_norm", "cache_implementation",
	"logit_scale", "attention_value_scale", "moe_norm_min", "layernorm_full_attention_alpha", "layernorm_full_attention_beta", "layernorm_linear_attention_alpha",
	"layernorm_linear_attention_beta", "layernorm_mlp_alpha", "layernorm_mlp_beta", "shared_moe_mode",

	// positions
	"rope_theta", "rope_scaling", "rope_parameters", "rope_local_base_freq", "rope_interleave", "rope_interleaved", "rotary_dim",
	"partial_rotary_factor", "original_max_position_embeddings", "initial_context_length", "position_embedding_type",
	"indexer_rope_interleave", "use_mrope", "no_rope_layers", "no_rope_layer_interval", "rope_type", "rotary_pct", "interpolate_factor",
	"max_sequence_length", "model_max_length", "mrope_section", "theta", "global_rope_theta", "swa_rope_theta",

	// routing: which experts are chosen, not how many
	"norm_topk_prob", "n_group", "topk_group", "topk_method", "scoring_func", "routed_scaling_factor",
	"moe_router_dtype", "use_grouped_topk", "router_dtype", "moe_capacity", "moe_gate",

	// drafting, which shares what is already counted
	"index_share_for_mtp_iteration",

	// towers beside the language model, which a text token does not pass
	"vision_config", "audio_config", "img_token_compression_config", "image_grid_pinpoints", "vision_feature_layer",
	"vision_feature_select_strategy", "projector_hidden_act", "projector_hidden_size", "multimodal_projector_bias",
	"mm_tokens_per_image", "vision_soft_tokens_per_image", "process_image_mode", "num_reward_heads",
	"use_unified_vision_chunk", "unified_vision_chunk_type", "language_model_only",

	// how Mamba's blocks are computed
	"time_step_floor", "time_step_limit", "time_step_max", "time_step_min", "time_step_rank", "time_step_init_scheme", "time_step_scale",
	"norm_before_gate", "num_logits_to_keep",
	"moe_shared_expert_overlap", "output_gate_type", "mamba_chunk_size", "chunk_size", "rms_norm",

	// how LFM2 was begun
	"block_mlp_init_scale", "block_out_init_scale", "block_norm_eps", "block_use_xavier_init", "conv_use_xavier_init",
	"use_pos_enc",

	// sampling and output, which every older config.json carries
	"bad_words_ids", "begin_suppress_tokens", "suppress_tokens", "diversity_penalty", "do_sample", "early_stopping",
	"encoder_no_repeat_ngram_size", "exponential_decay_length_penalty", "length_penalty", "max_length", "max_new_tokens",
	"min_length", "no_repeat_ngram_size", "num_beam_groups", "num_beams", "num_return_sequences",
	"output_attentions", "output_hidden_states", "output_scores", "remove_invalid_values", "repetition_penalty",
	"return_dict", "return_dict_in_generate", "temperature", "top_k", "top_p", "typical_p", "tf_legacy_loss",
	"chunk_size_feed_forward",
)

// neutralWhere are keys that leave the cost unchanged where they have one of these values.
var neutralWhere = map[string][]string{
	"add_cross_attention": {"false"},
	"is_decoder":          {"false", "true"},
	"is_encoder_decoder":  {"false"},
	"tie_encoder_decoder": {"false"},
	"pruned_heads":        {"an object"}, // always {}: pruning was never published
	"lm_head_bias":        {"false"},
	"mlp_bias":            {"false"},
	"attention_bias":      {"false"},
	"use_rmsnorm":         {"true"},

	"normalization_function": {"rmsnorm"},
	"use_sliding_window":     {"false"},
	"tie_word_embeddings":    {"false", "true"}, // of a wrapper: read beside its text_config
}

func set(keys ...string) map[string]bool {
	m := make(map[string]bool, len(keys))
	for _, k := range keys {
		m[k] = true
	}
	return m
}
