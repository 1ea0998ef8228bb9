# Configurations of small models of every family, drawn at random: sizes, biases, ties, windows, heads and their groups, scaled rotary embeddings.
from transformers import AutoConfig

FAMILIES = ["llama", "mistral", "qwen2", "qwen3", "gemma3_text", "smollm3", "olmo2", "granite", "olmo3", "lfm2", "qwen3_5_text"]
# Drawn last, so that the others stay the same.
LATER = ["granitemoehybrid", "ministral3", "phi3", "gemma4_text"]
HYBRIDS = ["lfm2", "qwen3_5_text"]


def random_config(family, random, wide):
    """`wide`: every matrix has rows of 256."""
    choose = lambda *values: values[random.integers(len(values))]
    groups, kv_heads = choose(1, 2, 3), choose(1, 2)
    heads = 4 if wide else groups * kv_heads
    sizes = {
        "vocab_size": int(random.integers(30, 70)),
        "hidden_size": 256 if wide else 2 * heads * int(random.integers(2, 6)),
        "intermediate_size": 256 if wide else int(random.integers(9, 60)),
        "num_hidden_layers": 1 if wide else choose(1, 2, 3),
        "num_attention_heads": heads,
        "num_key_value_heads": choose(1, 2, 4) if wide else kv_heads,
        "head_dim": 64 if wide else 2 * int(random.integers(1, 12)),
        "max_position_embeddings": 32,
        "rms_norm_eps": choose(1e-5, 1e-6),
        "tie_word_embeddings": choose(True, False),
        "bos_token_id": 1,
        "eos_token_id": 2,
        "rope_parameters": {"rope_type": "default", "rope_theta": choose(100.0, 10000.0, 1e6)},
    }
    if family == "llama" and not wide:
        scaling = {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
        sizes["rope_parameters"] |= choose({}, scaling | {"original_max_position_embeddings": 12})
        sizes["attention_bias"] = choose(True, False)
    if family in ["smollm3", "olmo2", "granite"]:
        yarn = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 12, "beta_fast": 2.0}
        sizes["rope_parameters"] |= choose({}, {"rope_type": "linear", "factor": 3.0}, yarn, yarn | {"truncate": False, "mscale": 1.0, "mscale_all_dim": 0.5})
        sizes["attention_bias"] = choose(True, False) and not wide
    if family == "smollm3":
        sizes |= {"num_hidden_layers": 3, "no_rope_layers": [1, 0, choose(0, 1)], "pad_token_id": 0}
        sizes |= {"use_sliding_window": choose(True, False) and not wide, "sliding_window": 5}
    if family == "olmo3":
        full = sizes["rope_parameters"] | choose({}, {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 12, "beta_fast": 2.0})
        sizes["rope_parameters"] = {"full_attention": full, "sliding_attention": {"rope_type": "default", "rope_theta": choose(100.0, 5e5)}}
        sizes |= {"num_hidden_layers": 3, "layer_types": ["sliding_attention", "full_attention", choose("sliding_attention", "full_attention")]}
        sizes |= {"sliding_window": int(random.integers(2, 9)), "attention_bias": choose(True, False), "pad_token_id": 0}
    if family == "olmo2":
        sizes["pad_token_id"] = 0
    if family == "granite":
        sizes |= {"embedding_multiplier": 3.0, "attention_multiplier": choose(0.1, 0.5), "residual_multiplier": 0.5, "logits_scaling": choose(0.5, 3.0)}
    if family == "granitemoehybrid":
        sizes |= {"embedding_multiplier": 3.0, "attention_multiplier": choose(0.1, 0.5), "residual_multiplier": 0.5, "logits_scaling": choose(0.5, 3.0)}
        sizes |= {"num_local_experts": 0, "layer_types": ["full_attention"] * sizes["num_hidden_layers"], "position_embedding_type": choose("rope", None)}
        sizes |= {"shared_intermediate_size": sizes.pop("intermediate_size"), "attention_bias": choose(True, False), "pad_token_id": 0}
        sizes |= {"mamba_n_heads": 2, "mamba_d_head": sizes["hidden_size"]}
        del sizes["head_dim"]
    if family == "ministral3":
        scaling = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16, "beta_fast": 2.0, "beta_slow": 1.0}
        sizes["rope_parameters"] |= scaling | choose({}, {"mscale": 1.0, "mscale_all_dim": 1.0}) | {"llama_4_scaling_beta": 0.1}
        sizes |= {"sliding_window": choose(None, 5), "pad_token_id": 0}
    if family == "phi3":
        if not wide:
            sizes["hidden_size"] = heads * sizes["head_dim"]
        pairs = int(random.integers(1, sizes["head_dim"] // 2 + 1))
        divisors = [float(value) for value in random.uniform(1, 4, pairs)]
        long = {"rope_type": "longrope", "short_factor": divisors, "long_factor": [7.0] * pairs, "original_max_position_embeddings": 16}
        sizes["rope_parameters"] |= choose({}, long) | {"partial_rotary_factor": 2 * pairs / sizes["head_dim"]}
        sizes |= {"sliding_window": choose(None, 5), "original_max_position_embeddings": 16, "pad_token_id": 0}
        del sizes["head_dim"]
    if family == "mistral":
        sizes["sliding_window"] = None if wide else choose(None, 5)
    if family in ["qwen2", "qwen3"] and not wide:
        sizes |= {"use_sliding_window": choose(True, False), "sliding_window": 5, "max_window_layers": 1}
    if family in ["gemma3_text", "granite"]:
        sizes["tie_word_embeddings"] &= not wide  # embeddings that are scaled as much would repeat every token with certainty
    if family == "gemma3_text":
        sizes["num_hidden_layers"] = 3
        sizes["sliding_window"] = int(random.integers(2, 9))
        sizes["layer_types"] = [choose("sliding_attention", "full_attention") for _ in range(2)] + ["sliding_attention"]
        sizes["query_pre_attn_scalar"] = choose(8, 256)
        sizes["attention_bias"] = choose(True, False)
        sizes["rope_parameters"] = {kind: sizes["rope_parameters"] | {"rope_theta": choose(100.0, 1e6)} for kind in ["full_attention", "sliding_attention"]}
    if family == "gemma4_text":
        shared, layers = choose(0, 2, 3), choose(2, 3, 4)
        kinds = ["sliding_attention", "full_attention"]
        types = [choose(*kinds) for _ in range(layers - 2)] + kinds + [choose(*kinds) for _ in range(max(0, shared - 1))] + ["full_attention"] * min(1, shared)
        sizes |= {"num_hidden_layers": len(types), "layer_types": types, "num_kv_shared_layers": shared, "use_double_wide_mlp": choose(True, False)}
        sizes |= {"global_head_dim": 128 if wide else 2 * int(random.integers(2, 12)), "sliding_window": int(random.integers(2, 9))}
        sizes |= {"attention_k_eq_v": choose(True, False), "num_global_key_value_heads": choose(None, 1), "attention_bias": choose(True, False) and not wide}
        sizes |= {"hidden_size_per_layer_input": 256 if wide else choose(5, 8) if shared else choose(0, 5), "vocab_size_per_layer_input": sizes["vocab_size"] + choose(0, 3)}
        sizes |= {"final_logit_softcapping": choose(None, 3.0, 30.0), "pad_token_id": 0}
        sizes["rms_norm_eps"] = 1e-2  # norms of what layers' embeddings leave near 0 would amplify rounding errors, PyTorch's too
        sizes["rope_parameters"] = {kind: {"rope_type": "default", "rope_theta": choose(100.0, 1e6)} for kind in kinds}
        sizes["rope_parameters"]["full_attention"] |= {"rope_type": "proportional", "partial_rotary_factor": choose(0.25, 0.5, 1.0)} | choose({}, {"factor": 2.0})
        sizes["tie_word_embeddings"] &= sizes["final_logit_softcapping"] == 3.0
    if family == "qwen3":
        sizes["attention_bias"] = choose(True, False) and not wide
    if family == "lfm2":
        layers = int(random.integers(2, 5))
        sizes |= {"num_hidden_layers": layers, "layer_types": [choose("conv", "full_attention") for _ in range(layers - 2)] + ["conv", "full_attention"]}
        sizes |= {"conv_L_cache": choose(2, 3, 4), "conv_bias": choose(True, False) and not wide, "norm_eps": sizes["rms_norm_eps"], "pad_token_id": 0}
        sizes |= {"block_auto_adjust_ff_dim": choose(True, False) and not wide, "block_multiple_of": choose(8, 256)}
    if family == "qwen3_5_text":
        layers, keys = int(random.integers(2, 5)), choose(1, 2)
        sizes |= {"num_hidden_layers": layers, "layer_types": [choose("linear_attention", "full_attention") for _ in range(layers - 2)] + ["linear_attention", "full_attention"]}
        sizes |= {"linear_num_key_heads": keys, "linear_num_value_heads": keys * choose(1, 2, 3), "linear_conv_kernel_dim": choose(2, 3, 4)}
        sizes |= {"linear_key_head_dim": int(random.integers(6, 14)), "linear_value_head_dim": int(random.integers(6, 14)), "max_position_embeddings": 128}
        if wide:
            sizes |= {"linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 32, "linear_value_head_dim": 64}
        sizes |= {"head_dim": sizes["head_dim"] + (0 if wide else 2), "attention_bias": choose(True, False) and not wide}
        sizes["rms_norm_eps"] = choose(1e-2, 1e-3)  # norms of a state's output near 0 would amplify rounding errors, PyTorch's too
        share = 0.25 if wide else choose(1.0, 2 * int(random.integers(1, sizes["head_dim"] // 2 + 1)) / sizes["head_dim"])
        sizes["rope_parameters"] |= {"partial_rotary_factor": share}
    if family == "qwen2":
        del sizes["head_dim"]
    return AutoConfig.for_model(family, **sizes)
