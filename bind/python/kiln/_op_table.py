"""The calls of the op library: their descriptions, field by field. Written by bind/python/generate.py from include/kiln: change those, then `make python`."""

from ._op import Op

attention = Op(
    "kiln_attention_forward", "160s160s160s160s160s160s160s?3xfQiII?3xii160s160s160s160sff",
    [
        ("in", "q", ""), ("in", "k", ""), ("in", "v", ""), ("out", "out", "attention_out"), ("out?", "lse", "attention_lse"), ("in?", "lengths", ""),
        ("in?", "pages", ""), ("bool", "is_causal", ""), ("float", "scale", ""), ("stream", "stream", ""), ("enum", "kernel", "kiln_attention_kernel"),
        ("int", "tile_queries", ""), ("int", "tile_keys", ""), ("bool", "has_window", ""), ("int", "window_left", ""), ("int", "window_right", ""),
        ("in?", "q_offsets", ""), ("in?", "k_offsets", ""), ("in?", "bias", ""), ("in?", "slopes", ""), ("float", "k_scale", ""), ("float", "v_scale", ""),
    ],
)

attention_backward = Op(
    "kiln_attention_backward", "160s160s160s160s160s160s160s160s160s160s?3xfQi?3xii160s160s160s160s?7x160s",
    [
        ("in", "q", ""), ("in", "k", ""), ("in", "v", ""), ("in", "out", ""), ("in", "lse", ""), ("in", "dout", ""), ("out", "dq", "like:q"), ("out", "dk", "like:k"),
        ("out", "dv", "like:v"), ("work", "workspace", "query:kiln_attention_backward_workspace:f32"), ("bool", "is_causal", ""), ("float", "scale", ""),
        ("stream", "stream", ""), ("enum", "kernel", "kiln_attention_kernel"), ("bool", "has_window", ""), ("int", "window_left", ""),
        ("int", "window_right", ""), ("in?", "q_offsets", ""), ("in?", "k_offsets", ""), ("in?", "bias", ""), ("in?", "slopes", ""),
        ("bool", "is_deterministic", ""), ("out?", "dbias", "like:bias"),
    ],
)

conv = Op(
    "kiln_conv_forward", "160s160s160s160sIIIIIIIIIIIII?3xii160sQ",
    [
        ("in", "x", ""), ("in", "weight", ""), ("out", "out", "conv"), ("in?", "bias", ""), ("numbers", "stride", "3"), ("numbers", "dilation", "3"),
        ("numbers", "pad_before", "3"), ("numbers", "pad_after", "3"), ("int", "groups", ""), ("bool", "is_transposed", ""),
        ("enum", "activation", "kiln_activation"), ("enum", "kernel", "kiln_conv_kernel"), ("work", "workspace", "query:kiln_conv_workspace:f32"),
        ("stream", "stream", ""),
    ],
)

conv_backward = Op(
    "kiln_conv_backward", "160s160s160s160s160s160sIIIIIIIIIIIII?3xi4x160sQ",
    [
        ("in", "x", ""), ("in", "weight", ""), ("in", "dout", ""), ("out?", "dx", "like:x"), ("out?", "dweight", "like:weight"), ("out?", "dbias", "conv_bias"),
        ("numbers", "stride", "3"), ("numbers", "dilation", "3"), ("numbers", "pad_before", "3"), ("numbers", "pad_after", "3"), ("int", "groups", ""),
        ("bool", "is_transposed", ""), ("enum", "kernel", "kiln_conv_kernel"), ("work", "workspace", "query:kiln_conv_backward_workspace:f32"),
        ("stream", "stream", ""),
    ],
)

pool = Op(
    "kiln_pool_forward", "160s160s160siIIIIIIIIIIIIIII??2x4xQ",
    [
        ("in", "x", ""), ("out", "out", "pool"), ("out?", "indices", "pool_indices"), ("enum", "kind", "kiln_pooling"), ("numbers", "size", "3"),
        ("numbers", "stride", "3"), ("numbers", "dilation", "3"), ("numbers", "pad_before", "3"), ("numbers", "pad_after", "3"), ("bool", "is_adaptive", ""),
        ("bool", "counts_padding", ""), ("stream", "stream", ""),
    ],
)

pool_backward = Op(
    "kiln_pool_backward", "160s160s160siIIIIIIIIIIIIIII??2x4xQ",
    [
        ("in", "dout", ""), ("out", "dx", "given"), ("in?", "indices", ""), ("enum", "kind", "kiln_pooling"), ("numbers", "size", "3"),
        ("numbers", "stride", "3"), ("numbers", "dilation", "3"), ("numbers", "pad_before", "3"), ("numbers", "pad_after", "3"), ("bool", "is_adaptive", ""),
        ("bool", "counts_padding", ""), ("stream", "stream", ""),
    ],
)

softmax = Op(
    "kiln_softmax_forward", "160s160sI?3xQ",
    [
        ("in", "x", ""), ("out", "out", "like:x"), ("axis", "axis", ""), ("bool", "is_log", ""), ("stream", "stream", ""),
    ],
)

softmax_backward = Op(
    "kiln_softmax_backward", "160s160s160sI?3xQ",
    [
        ("in", "out", ""), ("in", "dout", ""), ("out", "dx", "like_out"), ("axis", "axis", ""), ("bool", "is_log", ""), ("stream", "stream", ""),
    ],
)

norm = Op(
    "kiln_norm_forward", "160s160s160s160s160s160sI?3xdQ",
    [
        ("in", "x", ""), ("out", "out", "like:x"), ("in?", "weight", ""), ("in?", "bias", ""), ("in?", "residual", ""), ("out?", "sum", "like_x"),
        ("axis", "axis", ""), ("bool", "is_rms", ""), ("float", "eps", ""), ("stream", "stream", ""),
    ],
)

norm_backward = Op(
    "kiln_norm_backward", "160s160s160s160s160s160s160s160sI?3xdQ",
    [
        ("in", "x", ""), ("in?", "weight", ""), ("in", "dout", ""), ("out", "dx", "like:x"), ("in?", "dsum", ""), ("out?", "dweight", "norm_parameter"),
        ("out?", "dbias", "norm_parameter"), ("work", "workspace", "norm_workspace"), ("axis", "axis", ""), ("bool", "is_rms", ""), ("float", "eps", ""),
        ("stream", "stream", ""),
    ],
)

group_norm = Op(
    "kiln_group_norm_forward", "160s160s160s160sQ160s160s160sdQ",
    [
        ("in", "x", ""), ("out", "out", "like_x"), ("in?", "weight", ""), ("in?", "bias", ""), ("int", "groups", ""), ("out", "mean", "group_statistics"),
        ("out", "scale", "group_statistics"), ("work", "workspace", "group_work"), ("float", "eps", ""), ("stream", "stream", ""),
    ],
)

group_norm_backward = Op(
    "kiln_group_norm_backward", "160s160s160s160s160s160s160s160s160sQQ",
    [
        ("in", "x", ""), ("in?", "weight", ""), ("in", "mean", ""), ("in", "scale", ""), ("in", "dout", ""), ("out", "dx", "like_x"),
        ("out?", "dweight", "channels"), ("out?", "dbias", "channels"), ("work", "workspace", "group_work"), ("int", "groups", ""), ("stream", "stream", ""),
    ],
)

batch_norm = Op(
    "kiln_batch_norm_forward", "160s160s160s160s160s160s160s160s160sdd?7xQ",
    [
        ("in", "x", ""), ("out", "out", "like_x"), ("in?", "weight", ""), ("in?", "bias", ""), ("in?", "running_mean", ""), ("in?", "running_variance", ""),
        ("out", "mean", "channel_statistics"), ("out", "scale", "channel_statistics"), ("work", "workspace", "batch_work"), ("float", "eps", ""),
        ("float", "momentum", ""), ("bool", "is_eval", ""), ("stream", "stream", ""),
    ],
)

batch_norm_backward = Op(
    "kiln_batch_norm_backward", "160s160s160s160s160s160s160s160s160s?7xQ",
    [
        ("in", "x", ""), ("in?", "weight", ""), ("in", "mean", ""), ("in", "scale", ""), ("in", "dout", ""), ("out", "dx", "like_x"),
        ("out?", "dweight", "channels"), ("out?", "dbias", "channels"), ("work", "workspace", "batch_work"), ("bool", "is_eval", ""), ("stream", "stream", ""),
    ],
)

copy_view = Op(
    "kiln_copy_view", "160s160sQ",
    [
        ("in", "in", ""), ("out", "out", "like:in"), ("stream", "stream", ""),
    ],
)

concat = Op(
    "kiln_concat", "QII160sQ",
    [
        ("viewlist", "parts", ""), ("count", "count", "parts"), ("axis", "axis", ""), ("out", "whole", "concat"), ("stream", "stream", ""),
    ],
)

split = Op(
    "kiln_split", "QII160sQ",
    [
        ("written", "parts", ""), ("count", "count", "parts"), ("axis", "axis", ""), ("in", "whole", ""), ("stream", "stream", ""),
    ],
)

pad = Op(
    "kiln_pad_forward", "160s160sqqqqqqqqi4xdQ",
    [
        ("in", "x", ""), ("out", "out", "padded"), ("numbers", "before", "8"), ("enum", "mode", "kiln_pad_mode"), ("float", "value", ""),
        ("stream", "stream", ""), ("extra", "after", "()"),
    ],
)

pad_backward = Op(
    "kiln_pad_backward", "160s160sqqqqqqqqi4xQ",
    [
        ("in", "dout", ""), ("out", "dx", "given"), ("numbers", "before", "8"), ("enum", "mode", "kiln_pad_mode"), ("stream", "stream", ""),
    ],
)

gather = Op(
    "kiln_gather_forward", "160s160s160siIQ",
    [
        ("in", "x", ""), ("in", "index", ""), ("out", "out", "gathered"), ("enum", "form", "kiln_index_form"), ("axis", "axis", ""), ("stream", "stream", ""),
    ],
)

gather_backward = Op(
    "kiln_gather_backward", "160s160s160s160siIQ",
    [
        ("in", "index", ""), ("in", "dout", ""), ("out", "dx", "given"), ("work", "workspace", "query:kiln_gather_backward_workspace:u32"),
        ("enum", "form", "kiln_index_form"), ("axis", "axis", ""), ("stream", "stream", ""),
    ],
)

scatter = Op(
    "kiln_scatter", "160s160s160s160siIi4xQ",
    [
        ("in", "index", ""), ("in", "source", ""), ("out", "out", "like:index"), ("work", "workspace", "query:kiln_scatter_workspace:u32"),
        ("enum", "form", "kiln_index_form"), ("axis", "axis", ""), ("enum", "op", "kiln_scatter_op"), ("stream", "stream", ""),
    ],
)

embedding = Op(
    "kiln_embedding_forward", "160s160s160sQ",
    [
        ("in", "weight", ""), ("in", "index", ""), ("out", "out", "embedded"), ("stream", "stream", ""),
    ],
)

embedding_backward = Op(
    "kiln_embedding_backward", "160s160s160s160s?7xq?7xQ",
    [
        ("in", "index", ""), ("in", "dout", ""), ("out", "dweight", "given"), ("work", "workspace", "query:kiln_embedding_backward_workspace:u32"),
        ("bool", "has_padding", ""), ("int", "padding", ""), ("bool", "is_added", ""), ("stream", "stream", ""),
    ],
)

random = Op(
    "kiln_random", "160si4xQQddqqQ",
    [
        ("out", "out", "given"), ("enum", "kind", "kiln_random_kind"), ("int", "seed", ""), ("int", "offset", ""), ("float", "alpha", ""), ("float", "beta", ""),
        ("int", "low", ""), ("int", "high", ""), ("stream", "stream", ""),
    ],
)

dropout = Op(
    "kiln_dropout_forward", "160s160sdQQQ",
    [
        ("in", "x", ""), ("out", "out", "like:x"), ("float", "rate", ""), ("int", "seed", ""), ("int", "offset", ""), ("stream", "stream", ""),
    ],
)

dropout_backward = Op(
    "kiln_dropout_backward", "160s160sdQQQ",
    [
        ("in", "x", ""), ("out", "out", "like:x"), ("float", "rate", ""), ("int", "seed", ""), ("int", "offset", ""), ("stream", "stream", ""),
    ],
)

generate = Op(
    "kiln_generate", "i4x160s160sddqQ",
    [
        ("enum", "op", "kiln_generate_op"), ("in?", "in", ""), ("out", "out", "given"), ("float", "alpha", ""), ("float", "beta", ""), ("int", "diagonal", ""),
        ("stream", "stream", ""),
    ],
)

rope = Op(
    "kiln_rope_forward", "160s160s160s160s?7xQ",
    [
        ("in", "x", ""), ("out", "out", "like:x"), ("in", "cos", ""), ("in", "sin", ""), ("bool", "is_interleaved", ""), ("stream", "stream", ""),
    ],
)

rope_backward = Op(
    "kiln_rope_backward", "160s160s160s160s?7xQ",
    [
        ("in", "x", ""), ("out", "out", "like:x"), ("in", "cos", ""), ("in", "sin", ""), ("bool", "is_interleaved", ""), ("stream", "stream", ""),
    ],
)

rope_tables = Op(
    "kiln_rope_tables", "160s160s160sqddQ",
    [
        ("out", "cos", "given"), ("out", "sin", "given"), ("in?", "positions", ""), ("int", "offset", ""), ("float", "base", ""), ("float", "scale", ""),
        ("stream", "stream", ""),
    ],
)

upsample = Op(
    "kiln_upsample_forward", "160s160si?3xQ",
    [
        ("in", "x", ""), ("out", "out", "upsampled"), ("enum", "mode", "kiln_upsample_mode"), ("bool", "aligns_corners", ""), ("stream", "stream", ""),
        ("extra", "sizes", "()"),
    ],
)

upsample_backward = Op(
    "kiln_upsample_backward", "160s160si?3xQ",
    [
        ("in", "dout", ""), ("out", "dx", "given"), ("enum", "mode", "kiln_upsample_mode"), ("bool", "aligns_corners", ""), ("stream", "stream", ""),
    ],
)

bitwise = Op(
    "kiln_bitwise", "i4x160s160s160sQ",
    [
        ("enum", "op", "kiln_bitwise_op"), ("in", "a", ""), ("in?", "b", ""), ("out", "out", "bitwise"), ("stream", "stream", ""),
    ],
)

quantise = Op(
    "kiln_quantise", "160s160s160s160sQ",
    [
        ("in", "x", ""), ("in", "scale", ""), ("in?", "zero", ""), ("out", "out", "quantised"), ("stream", "stream", ""),
    ],
)

dequantise = Op(
    "kiln_dequantise", "160s160s160s160sQ",
    [
        ("in", "x", ""), ("in", "scale", ""), ("in?", "zero", ""), ("out", "out", "dequantised"), ("stream", "stream", ""),
    ],
)

gguf_matmul = Op(
    "kiln_gguf_matmul", "i4x160s160s160s160siIQ",
    [
        ("enum", "type", "kiln_gguf_type"), ("in", "x", ""), ("in", "weight", ""), ("in?", "bias", ""), ("out", "out", "gguf_matmul"),
        ("enum", "kernel", "kiln_gguf_kernel"), ("int", "tile_rows", ""), ("stream", "stream", ""),
    ],
)

gguf_dequantise = Op(
    "kiln_gguf_dequantise", "i4x160s160sQ",
    [
        ("enum", "type", "kiln_gguf_type"), ("in", "weight", ""), ("out", "out", "given"), ("stream", "stream", ""),
    ],
)

gguf_quantise = Op(
    "kiln_gguf_quantise", "i4x160s160sQ",
    [
        ("enum", "type", "kiln_gguf_type"), ("in", "x", ""), ("out", "out", "given"), ("stream", "stream", ""),
    ],
)

linear = Op(
    "kiln_linear", "160s160s160s160s160s160s160sIii4x160sQ",
    [
        ("in", "x", ""), ("in", "weight", ""), ("in?", "scale", ""), ("in?", "zero", ""), ("in?", "x_scale", ""), ("in?", "bias", ""), ("out", "out", "linear"),
        ("int", "group", ""), ("enum", "activation", "kiln_activation"), ("enum", "kernel", "kiln_linear_kernel"),
        ("work", "workspace", "query:kiln_linear_workspace:u8"), ("stream", "stream", ""),
    ],
)

linear_qkv = Op(
    "kiln_linear_qkv", "160s160s160s160s160s160s160s160s160s160s160s160s160s160s160s160s160sIiQ",
    [
        ("in", "x", ""), ("in", "weight_q", ""), ("in", "weight_k", ""), ("in", "weight_v", ""), ("in?", "scale_q", ""), ("in?", "scale_k", ""),
        ("in?", "scale_v", ""), ("in?", "zero_q", ""), ("in?", "zero_k", ""), ("in?", "zero_v", ""), ("in?", "x_scale", ""), ("in?", "bias_q", ""),
        ("in?", "bias_k", ""), ("in?", "bias_v", ""), ("out", "out_q", "linear_q"), ("out", "out_k", "linear_k"), ("out", "out_v", "linear_v"),
        ("int", "group", ""), ("enum", "kernel", "kiln_linear_kernel"), ("stream", "stream", ""),
    ],
)

quantise_weights = Op(
    "kiln_quantise_weights", "160s160s160s160sI4xQ",
    [
        ("in", "x", ""), ("out", "weight", "weights"), ("out", "scale", "weights_scale"), ("out?", "zero", "weights_zero"), ("int", "group", ""),
        ("stream", "stream", ""), ("extra", "bits", "8"),
    ],
)

dequantise_weights = Op(
    "kiln_dequantise_weights", "160s160s160s160sI4xQ",
    [
        ("in", "weight", ""), ("in", "scale", ""), ("in?", "zero", ""), ("out", "out", "numbers"), ("int", "group", ""), ("stream", "stream", ""),
        ("extra", "k", "0"),
    ],
)

matmul = Op(
    "kiln_matmul", "160s160s160s160s??2xiQ??2xiII32s160s160s160s160s",
    [
        ("in", "a", ""), ("in", "b", ""), ("out", "out", "matmul"), ("in?", "bias", ""), ("bool", "is_tf32", ""), ("bool", "is_tf32x3", ""),
        ("enum", "epilogue", "kiln_epilogue"), ("stream", "stream", ""), ("bool", "waits_for_previous", ""), ("bool", "b_is_constant", ""),
        ("enum", "kernel", "kiln_matmul_kernel"), ("int", "tile_m", ""), ("int", "tile_n", ""), ("zeros", "sm90", ""), ("in?", "a_scale", ""),
        ("in?", "b_scale", ""), ("in?", "residual", ""), ("in?", "pre", ""),
    ],
)

matmul_backward = Op(
    "kiln_matmul_backward", "160s160s160s160s160s160s160s160s160s160s160si?3xQ",
    [
        ("in", "a", ""), ("in", "b", ""), ("in", "dout", ""), ("in?", "saved", ""), ("out?", "da", "like:a"), ("out?", "db", "like:b"), ("out?", "dbias", "given"),
        ("in?", "a_scale", ""), ("in?", "b_scale", ""), ("out?", "da_scale", "like:a_scale"), ("out?", "db_scale", "like:b_scale"),
        ("enum", "epilogue", "kiln_epilogue"), ("bool", "is_tf32", ""), ("stream", "stream", ""),
    ],
)

reduce = Op(
    "kiln_reduce_forward", "i4x160s160sI4xd160sQ",
    [
        ("enum", "op", "kiln_reduction"), ("in", "x", ""), ("out", "out", "given"), ("int", "axes", ""), ("float", "alpha", ""),
        ("work", "workspace", "query:kiln_reduce_workspace:u8"), ("stream", "stream", ""),
    ],
)

reduce_backward = Op(
    "kiln_reduce_backward", "i4x160s160s160s160sI4xd160sQ",
    [
        ("enum", "op", "kiln_reduction"), ("in", "x", ""), ("in", "out", ""), ("in", "dout", ""), ("out", "dx", "like:x"), ("int", "axes", ""),
        ("float", "alpha", ""), ("work", "workspace", "query:kiln_reduce_backward_workspace:u8"), ("stream", "stream", ""),
    ],
)

cross_entropy = Op(
    "kiln_cross_entropy_forward", "160s160s160s160s160s160s160sIid?7xqQ",
    [
        ("in", "logits", ""), ("in", "targets", ""), ("in?", "weight", ""), ("out", "loss", "loss"), ("out?", "lse", "like_targets"),
        ("out?", "total_weight", "one_number"), ("work", "workspace", "query:kiln_cross_entropy_workspace:u8"), ("axis", "axis", ""),
        ("enum", "reduction", "kiln_loss_reduction"), ("float", "label_smoothing", ""), ("bool", "has_ignored_class", ""), ("int", "ignored_class", ""),
        ("stream", "stream", ""),
    ],
)

cross_entropy_backward = Op(
    "kiln_cross_entropy_backward", "160s160s160s160s160s160s160sIid?7xqQ",
    [
        ("in", "logits", ""), ("in", "targets", ""), ("in?", "weight", ""), ("in", "lse", ""), ("in?", "total_weight", ""), ("in", "dloss", ""),
        ("out", "dlogits", "like:logits"), ("axis", "axis", ""), ("enum", "reduction", "kiln_loss_reduction"), ("float", "label_smoothing", ""),
        ("bool", "has_ignored_class", ""), ("int", "ignored_class", ""), ("stream", "stream", ""),
    ],
)

scan = Op(
    "kiln_scan_forward", "i4x160s160sI??2x160sQ",
    [
        ("enum", "op", "kiln_scan"), ("in", "x", ""), ("out", "out", "like:x"), ("axis", "axis", ""), ("bool", "is_exclusive", ""), ("bool", "is_reverse", ""),
        ("work", "workspace", "query:kiln_scan_workspace:u8"), ("stream", "stream", ""),
    ],
)

scan_backward = Op(
    "kiln_scan_backward", "i4x160s160sI??2x160sQ",
    [
        ("enum", "op", "kiln_scan"), ("in", "x", ""), ("out", "out", "like:x"), ("axis", "axis", ""), ("bool", "is_exclusive", ""), ("bool", "is_reverse", ""),
        ("work", "workspace", "query:kiln_scan_workspace:u8"), ("stream", "stream", ""),
    ],
)

sort = Op(
    "kiln_sort_forward", "160s160s160s160s160sI?3x160sQ",
    [
        ("in", "x", ""), ("out", "out", "like_x"), ("out?", "index", "indices_like_x"), ("in?", "values", ""), ("out?", "values_out", "like_values"),
        ("axis", "axis", ""), ("bool", "is_descending", ""), ("work", "workspace", "query:kiln_sort_workspace:u8"), ("stream", "stream", ""),
    ],
)

topk = Op(
    "kiln_topk_forward", "160s160s160sI?3x160sQ",
    [
        ("in", "x", ""), ("out", "out", "topk"), ("out?", "index", "topk_indices"), ("axis", "axis", ""), ("bool", "is_smallest", ""),
        ("work", "workspace", "query:kiln_topk_workspace:u8"), ("stream", "stream", ""), ("extra", "k", "1"),
    ],
)

sort_backward = Op(
    "kiln_sort_backward", "160s160s160sI4xQ",
    [
        ("in", "dout", ""), ("in", "index", ""), ("out", "dx", "given"), ("axis", "axis", ""), ("stream", "stream", ""),
    ],
)

histogram = Op(
    "kiln_histogram", "160s160sddQ",
    [
        ("in", "x", ""), ("out", "out", "histogram"), ("float", "low", ""), ("float", "high", ""), ("stream", "stream", ""), ("extra", "bins", "10"),
    ],
)
