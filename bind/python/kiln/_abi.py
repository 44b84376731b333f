"""Declarations of libkiln.so. Written by bind/python/generate.py from include/kiln: change those, then `make python`."""

from __future__ import annotations

from ctypes import POINTER, Structure, c_bool, c_char, c_char_p, c_double, c_float, c_int, c_int32, c_int64, c_size_t, c_uint16, c_uint32, c_uint64, c_uint8, c_void_p

VERSION = "0.1.0"

KILN_OK = 0
KILN_E_BAD_ARGUMENT = 1
KILN_E_BAD_HANDLE = 2
KILN_E_COMPILE = 3
KILN_E_NOT_FOUND = 4
KILN_E_NO_MEMORY = 5
KILN_E_LAUNCH = 6
KILN_E_KERNEL = 7
KILN_E_IO = 8
KILN_E_UNSUPPORTED = 9
KILN_E_DRIVER = 10
KILN_E_CANCELLED = 11
KILN_E_INTERNAL = 12
KILN_VOID = 0
KILN_BOOL = 1
KILN_I8 = 2
KILN_U8 = 3
KILN_I16 = 4
KILN_U16 = 5
KILN_I32 = 6
KILN_U32 = 7
KILN_I64 = 8
KILN_U64 = 9
KILN_F16 = 10
KILN_BF16 = 11
KILN_F8E4 = 12
KILN_F8E5 = 13
KILN_F32 = 14
KILN_F64 = 15
KILN_PARAM_SCALAR = 0
KILN_PARAM_POINTER = 1
KILN_PARAM_STRUCT = 2
KILN_PARAM_TENSOR_MAP = 3
KILN_MAX_RANK = 8
KILN_DL_CPU = 1
KILN_DL_CUDA = 2
KILN_DL_CUDA_HOST = 3
KILN_DL_OPENCL = 4
KILN_DL_ROCM_HOST = 11
KILN_DL_CUDA_MANAGED = 13
KILN_DL_INT = 0
KILN_DL_UINT = 1
KILN_DL_FLOAT = 2
KILN_DL_BFLOAT = 4
KILN_DL_BOOL = 6
KILN_DL_FLOAT8_E4M3FN = 10
KILN_DL_FLOAT8_E5M2 = 12
KILN_DL_READ_ONLY = 1
KILN_DL_COPIED = 2
KILN_ATTENTION_BEST = 0
KILN_ATTENTION_SM90 = 1
KILN_ATTENTION_PORTABLE = 2
KILN_ATTENTION_DECODE = 3
KILN_ATTENTION_SM80 = 4
KILN_ACTIVATION_NONE = 0
KILN_ACTIVATION_RELU = 1
KILN_ACTIVATION_GELU = 2
KILN_ACTIVATION_SILU = 3
KILN_CONV_BEST = 0
KILN_CONV_TENSOR = 1
KILN_CONV_DIRECT = 2
KILN_CONV_SM80 = 3
KILN_POOL_MAX = 0
KILN_POOL_AVERAGE = 1
KILN_EW_COPY = 0
KILN_EW_ADD = 1
KILN_EW_SUB = 2
KILN_EW_MUL = 3
KILN_EW_DIV = 4
KILN_EW_POW = 5
KILN_EW_MIN = 6
KILN_EW_MAX = 7
KILN_EW_HYPOT = 8
KILN_EW_ATAN2 = 9
KILN_EW_MULTIPLY_ADD = 10
KILN_EW_LERP = 11
KILN_EW_SCALE = 12
KILN_EW_BLEND = 13
KILN_EW_NEG = 14
KILN_EW_ABS = 15
KILN_EW_SIGN = 16
KILN_EW_SQUARE = 17
KILN_EW_RECIPROCAL = 18
KILN_EW_FLOOR = 19
KILN_EW_CEIL = 20
KILN_EW_ROUND = 21
KILN_EW_CLAMP = 22
KILN_EW_WHERE = 23
KILN_EW_TRUNC = 24
KILN_EW_FRAC = 25
KILN_EW_FMOD = 26
KILN_EW_REMAINDER = 27
KILN_EW_FLOOR_DIVIDE = 28
KILN_EW_HEAVISIDE = 29
KILN_EW_QUANTISE_I8 = 30
KILN_EW_QUANTISE_U8 = 31
KILN_EW_EQUAL = 32
KILN_EW_NOT_EQUAL = 33
KILN_EW_LESS = 34
KILN_EW_LESS_EQUAL = 35
KILN_EW_GREATER = 36
KILN_EW_GREATER_EQUAL = 37
KILN_EW_LOGICAL_AND = 38
KILN_EW_LOGICAL_OR = 39
KILN_EW_LOGICAL_NOT = 40
KILN_EW_IS_NAN = 41
KILN_EW_IS_INF = 42
KILN_EW_IS_FINITE = 43
KILN_EW_EXP = 44
KILN_EW_EXP2 = 45
KILN_EW_EXPM1 = 46
KILN_EW_LOG = 47
KILN_EW_LOG2 = 48
KILN_EW_LOG1P = 49
KILN_EW_SQRT = 50
KILN_EW_RSQRT = 51
KILN_EW_SIN = 52
KILN_EW_COS = 53
KILN_EW_TAN = 54
KILN_EW_ATAN = 55
KILN_EW_SINH = 56
KILN_EW_COSH = 57
KILN_EW_TANH = 58
KILN_EW_ERF = 59
KILN_EW_LOG10 = 60
KILN_EW_LOGIT = 61
KILN_EW_XLOGY = 62
KILN_EW_LOGADDEXP = 63
KILN_EW_CBRT = 64
KILN_EW_ASIN = 65
KILN_EW_ACOS = 66
KILN_EW_ASINH = 67
KILN_EW_ACOSH = 68
KILN_EW_ATANH = 69
KILN_EW_ERFC = 70
KILN_EW_RELU = 71
KILN_EW_RELU6 = 72
KILN_EW_LEAKY_RELU = 73
KILN_EW_ELU = 74
KILN_EW_SELU = 75
KILN_EW_CELU = 76
KILN_EW_GELU = 77
KILN_EW_GELU_TANH = 78
KILN_EW_SIGMOID = 79
KILN_EW_LOG_SIGMOID = 80
KILN_EW_SILU = 81
KILN_EW_SOFTPLUS = 82
KILN_EW_SOFTSIGN = 83
KILN_EW_MISH = 84
KILN_EW_HARDSIGMOID = 85
KILN_EW_HARDSWISH = 86
KILN_EW_HARDTANH = 87
KILN_EW_PRELU = 88
KILN_EW_THRESHOLD = 89
KILN_EW_HARDSHRINK = 90
KILN_EW_SOFTSHRINK = 91
KILN_EW_TANHSHRINK = 92
KILN_EW_RELU_SQUARED = 93
KILN_EW_QUICK_GELU = 94
KILN_EW_SWISH = 95
KILN_EW_ADD_RELU = 96
KILN_EW_ADD_GELU = 97
KILN_EW_ADD_SILU = 98
KILN_EW_SILU_GATE = 99
KILN_EW_GELU_GATE = 100
KILN_EW_SIGMOID_GATE = 101
KILN_EW_RELU_GATE = 102
KILN_EW_SQUARED_ERROR = 103
KILN_EW_ABSOLUTE_ERROR = 104
KILN_EW_HUBER = 105
KILN_EW_SMOOTH_L1 = 106
KILN_EW_BCE = 107
KILN_EW_BCE_LOGITS = 108
KILN_EW_HINGE = 109
KILN_EW_SOFT_MARGIN = 110
KILN_ELEMENTWISE_COUNT = 111
KILN_PAD_CONSTANT = 0
KILN_PAD_REFLECT = 1
KILN_PAD_EDGE = 2
KILN_PAD_CIRCULAR = 3
KILN_INDEX_ELEMENTS = 0
KILN_INDEX_TAKE = 1
KILN_INDEX_ND = 2
KILN_SCATTER_SET = 0
KILN_SCATTER_ADD = 1
KILN_SCATTER_MUL = 2
KILN_SCATTER_MIN = 3
KILN_SCATTER_MAX = 4
KILN_RANDOM_UNIFORM = 0
KILN_RANDOM_NORMAL = 1
KILN_RANDOM_BERNOULLI = 2
KILN_RANDOM_INTEGERS = 3
KILN_GENERATE_FILL = 0
KILN_GENERATE_ARANGE = 1
KILN_GENERATE_LINSPACE = 2
KILN_GENERATE_EYE = 3
KILN_GENERATE_TRIL = 4
KILN_GENERATE_TRIU = 5
KILN_GENERATE_ONE_HOT = 6
KILN_GENERATE_COUNT = 7
KILN_UPSAMPLE_NEAREST = 0
KILN_UPSAMPLE_LINEAR = 1
KILN_BITWISE_AND = 0
KILN_BITWISE_OR = 1
KILN_BITWISE_XOR = 2
KILN_BITWISE_NOT = 3
KILN_BITWISE_SHIFT_LEFT = 4
KILN_BITWISE_SHIFT_RIGHT = 5
KILN_BITWISE_COUNT = 6
KILN_EXPR_NODES = 256
KILN_FUSE_INPUTS = 12
KILN_FUSE_OUTPUTS = 8
KILN_FUSE_VIEWS = 16
KILN_FUSE_PARAMETERS = 16
KILN_FUSE_NO_REDUCTION = 0
KILN_FUSE_SUM = 1
KILN_FUSE_MEAN = 2
KILN_FUSE_MAX = 3
KILN_FUSE_MIN = 4
KILN_GGUF_Q4_0 = 2
KILN_GGUF_Q4_1 = 3
KILN_GGUF_Q5_0 = 6
KILN_GGUF_Q5_1 = 7
KILN_GGUF_Q8_0 = 8
KILN_GGUF_Q2_K = 10
KILN_GGUF_Q3_K = 11
KILN_GGUF_Q4_K = 12
KILN_GGUF_Q5_K = 13
KILN_GGUF_Q6_K = 14
KILN_GGUF_BEST = 0
KILN_GGUF_VECTOR = 1
KILN_GGUF_TILE = 2
KILN_GGUF_TENSOR = 3
KILN_GGUF_FEW = 4
KILN_LINEAR_BEST = 0
KILN_LINEAR_ROWS = 1
KILN_LINEAR_TENSOR = 2
KILN_LINEAR_UNPACK = 3
KILN_LINEAR_FEW = 4
KILN_LINEAR_REGISTERS = 5
KILN_INT4_BYTES = 0
KILN_INT4_GPTQ = 1
KILN_INT4_GPTQ_V2 = 2
KILN_INT4_AWQ = 3
KILN_EPILOGUE_NONE = 0
KILN_EPILOGUE_BIAS = 1
KILN_EPILOGUE_BIAS_RELU = 2
KILN_EPILOGUE_BIAS_GELU = 3
KILN_EPILOGUE_BIAS_SILU = 4
KILN_MATMUL_BEST = 0
KILN_MATMUL_SM90 = 1
KILN_MATMUL_SM80 = 2
KILN_MATMUL_PORTABLE = 3
KILN_MATMUL_CPU = 4
KILN_MATMUL_THIN = 5
KILN_MATMUL_SMALL = 6
KILN_REDUCE_SUM = 0
KILN_REDUCE_MEAN = 1
KILN_REDUCE_PROD = 2
KILN_REDUCE_MAX = 3
KILN_REDUCE_MIN = 4
KILN_REDUCE_ANY = 5
KILN_REDUCE_ALL = 6
KILN_REDUCE_COUNT = 7
KILN_REDUCE_NORM = 8
KILN_REDUCE_VARIANCE = 9
KILN_REDUCE_DEVIATION = 10
KILN_REDUCE_ARGMAX = 11
KILN_REDUCE_ARGMIN = 12
KILN_REDUCE_LOGSUMEXP = 13
KILN_LOSS_ROWS = 0
KILN_LOSS_MEAN = 1
KILN_LOSS_SUM = 2
KILN_SCAN_SUM = 0
KILN_SCAN_PROD = 1
KILN_SCAN_MAX = 2
KILN_SCAN_MIN = 3

ENUMS = {
    "kiln_type": {"void": 0, "bool": 1, "i8": 2, "u8": 3, "i16": 4, "u16": 5, "i32": 6, "u32": 7, "i64": 8, "u64": 9, "f16": 10, "bf16": 11, "f8e4": 12, "f8e5": 13, "f32": 14, "f64": 15},
    "kiln_param_kind": {"scalar": 0, "pointer": 1, "struct": 2, "tensor_map": 3},
    "kiln_attention_kernel": {"best": 0, "sm90": 1, "portable": 2, "decode": 3, "sm80": 4},
    "kiln_activation": {"none": 0, "relu": 1, "gelu": 2, "silu": 3},
    "kiln_conv_kernel": {"best": 0, "tensor": 1, "direct": 2, "sm80": 3},
    "kiln_pooling": {"max": 0, "average": 1},
    "kiln_elementwise": {"copy": 0, "add": 1, "sub": 2, "mul": 3, "div": 4, "pow": 5, "min": 6, "max": 7, "hypot": 8, "atan2": 9, "multiply_add": 10, "lerp": 11, "scale": 12, "blend": 13, "neg": 14, "abs": 15, "sign": 16, "square": 17, "reciprocal": 18, "floor": 19, "ceil": 20, "round": 21, "clamp": 22, "where": 23, "trunc": 24, "frac": 25, "fmod": 26, "remainder": 27, "floor_divide": 28, "heaviside": 29, "quantise_i8": 30, "quantise_u8": 31, "equal": 32, "not_equal": 33, "less": 34, "less_equal": 35, "greater": 36, "greater_equal": 37, "logical_and": 38, "logical_or": 39, "logical_not": 40, "is_nan": 41, "is_inf": 42, "is_finite": 43, "exp": 44, "exp2": 45, "expm1": 46, "log": 47, "log2": 48, "log1p": 49, "sqrt": 50, "rsqrt": 51, "sin": 52, "cos": 53, "tan": 54, "atan": 55, "sinh": 56, "cosh": 57, "tanh": 58, "erf": 59, "log10": 60, "logit": 61, "xlogy": 62, "logaddexp": 63, "cbrt": 64, "asin": 65, "acos": 66, "asinh": 67, "acosh": 68, "atanh": 69, "erfc": 70, "relu": 71, "relu6": 72, "leaky_relu": 73, "elu": 74, "selu": 75, "celu": 76, "gelu": 77, "gelu_tanh": 78, "sigmoid": 79, "log_sigmoid": 80, "silu": 81, "softplus": 82, "softsign": 83, "mish": 84, "hardsigmoid": 85, "hardswish": 86, "hardtanh": 87, "prelu": 88, "threshold": 89, "hardshrink": 90, "softshrink": 91, "tanhshrink": 92, "relu_squared": 93, "quick_gelu": 94, "swish": 95, "add_relu": 96, "add_gelu": 97, "add_silu": 98, "silu_gate": 99, "gelu_gate": 100, "sigmoid_gate": 101, "relu_gate": 102, "squared_error": 103, "absolute_error": 104, "huber": 105, "smooth_l1": 106, "bce": 107, "bce_logits": 108, "hinge": 109, "soft_margin": 110},
    "kiln_pad_mode": {"constant": 0, "reflect": 1, "edge": 2, "circular": 3},
    "kiln_index_form": {"elements": 0, "take": 1, "nd": 2},
    "kiln_scatter_op": {"set": 0, "add": 1, "mul": 2, "min": 3, "max": 4},
    "kiln_random_kind": {"uniform": 0, "normal": 1, "bernoulli": 2, "integers": 3},
    "kiln_generate_op": {"fill": 0, "arange": 1, "linspace": 2, "eye": 3, "tril": 4, "triu": 5, "one_hot": 6},
    "kiln_upsample_mode": {"nearest": 0, "linear": 1},
    "kiln_bitwise_op": {"and": 0, "or": 1, "xor": 2, "not": 3, "shift_left": 4, "shift_right": 5},
    "kiln_fuse_reduction": {"no_reduction": 0, "sum": 1, "mean": 2, "max": 3, "min": 4},
    "kiln_gguf_type": {"q4_0": 2, "q4_1": 3, "q5_0": 6, "q5_1": 7, "q8_0": 8, "q2_k": 10, "q3_k": 11, "q4_k": 12, "q5_k": 13, "q6_k": 14},
    "kiln_gguf_kernel": {"best": 0, "vector": 1, "tile": 2, "tensor": 3, "few": 4},
    "kiln_linear_kernel": {"best": 0, "rows": 1, "tensor": 2, "unpack": 3, "few": 4, "registers": 5},
    "kiln_int4_form": {"bytes": 0, "gptq": 1, "gptq_v2": 2, "awq": 3},
    "kiln_epilogue": {"none": 0, "bias": 1, "bias_relu": 2, "bias_gelu": 3, "bias_silu": 4},
    "kiln_matmul_kernel": {"best": 0, "sm90": 1, "sm80": 2, "portable": 3, "cpu": 4, "thin": 5, "small": 6},
    "kiln_reduction": {"sum": 0, "mean": 1, "prod": 2, "max": 3, "min": 4, "any": 5, "all": 6, "count": 7, "norm": 8, "variance": 9, "deviation": 10, "argmax": 11, "argmin": 12, "logsumexp": 13},
    "kiln_loss_reduction": {"rows": 0, "mean": 1, "sum": 2},
    "kiln_scan": {"sum": 0, "prod": 1, "max": 2, "min": 3},
}


class kiln_error(Structure):
    _fields_ = [
        ("status", c_int),
        ("code", c_char_p),
        ("text", c_char_p),
        ("kernel", c_char_p),
        ("file", c_char_p),
        ("line", c_int),
        ("column", c_int),
        ("hint", c_char_p),
    ]


class kiln_open_desc(Structure):
    _fields_ = [
        ("device", c_char_p),
        ("context", c_void_p),
        ("stream", c_void_p),
    ]


class kiln_caps(Structure):
    _fields_ = [
        ("sm", c_uint32),
        ("subgroup", c_uint32),
        ("block_threads", c_uint32),
        ("shared_bytes", c_size_t),
        ("has_f64", c_bool),
        ("has_f16", c_bool),
        ("has_atomic64", c_bool),
        ("has_nv", c_bool),
        ("has_wgmma", c_bool),
        ("has_tensor_copies", c_bool),
        ("has_clusters", c_bool),
        ("has_cooperative", c_bool),
        ("has_addresses", c_bool),
        ("has_host_memory", c_bool),
        ("can_cancel", c_bool),
        ("is_host", c_bool),
        ("is_emulated", c_bool),
    ]


class kiln_device_info(Structure):
    _fields_ = [
        ("device", c_char * 32),
        ("name", c_char * 128),
        ("target", c_char * 16),
        ("caps", kiln_caps),
        ("memory_bytes", c_uint64),
        ("multiprocessors", c_uint32),
        ("threads_per_multiprocessor", c_uint32),
        ("registers_per_multiprocessor", c_uint32),
        ("shared_per_multiprocessor", c_size_t),
        ("cache_bytes", c_size_t),
        ("clock_khz", c_uint32),
        ("memory_clock_khz", c_uint32),
        ("memory_bus_bits", c_uint32),
        ("driver_version", c_int),
        ("is_integrated", c_bool),
    ]


class kiln_native(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("run", c_void_p),
        ("local_bytes", c_uint64),
        ("shared_bytes", c_uint64),
        ("needs_fibers", c_uint32),
        ("needs_rows", c_uint32),
    ]


class kiln_compile_desc(Structure):
    _fields_ = [
        ("path", c_char_p),
        ("source", c_char_p),
        ("source_len", c_size_t),
        ("define", c_void_p),
        ("include", c_void_p),
        ("tune", c_void_p),
        ("target", c_char_p),
        ("optimise", c_int),
        ("is_ir", c_bool),
        ("is_ptx", c_bool),
        ("no_file_includes", c_bool),
        ("warnings_are_errors", c_bool),
        ("remarks", c_bool),
        ("diagnostics_json", c_bool),
        ("for_check", c_bool),
        ("check_bounds", c_bool),
        ("native", c_void_p),
        ("tuned", c_char_p),
    ]


class kiln_param_info(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("kind", c_int),
        ("type", c_int),
        ("size", c_size_t),
        ("is_const", c_bool),
        ("c_type", c_char_p),
    ]


class kiln_resources(Structure):
    _fields_ = [
        ("registers", c_uint32),
        ("shared_bytes", c_size_t),
        ("local_bytes", c_size_t),
        ("spill_stores", c_size_t),
        ("spill_loads", c_size_t),
        ("constant_bytes", c_size_t),
        ("block_threads", c_uint32),
    ]


class kiln_buffer_desc(Structure):
    _fields_ = [
        ("type", c_int),
        ("element_size", c_size_t),
        ("count", c_size_t),
        ("is_mapped", c_bool),
        ("is_not_zeroed", c_bool),
        ("name", c_char_p),
    ]


class kiln_wrap_desc(Structure):
    _fields_ = [
        ("type", c_int),
        ("element_size", c_size_t),
        ("count", c_size_t),
        ("host", c_void_p),
        ("address", c_uint64),
        ("is_read_only", c_bool),
        ("release", c_void_p),
        ("user", c_void_p),
        ("name", c_char_p),
    ]


class kiln_copy_desc(Structure):
    _fields_ = [
        ("to", c_void_p),
        ("to_host", c_void_p),
        ("from", c_void_p),
        ("from_host", c_void_p),
        ("to_first", c_size_t),
        ("from_first", c_size_t),
        ("count", c_size_t),
        ("rows", c_size_t),
        ("to_pitch", c_size_t),
        ("from_pitch", c_size_t),
        ("stream", c_void_p),
    ]


class kiln_memory_info(Structure):
    _fields_ = [
        ("total_bytes", c_uint64),
        ("free_bytes", c_uint64),
        ("used_bytes", c_uint64),
        ("used_peak", c_uint64),
        ("reserved_bytes", c_uint64),
        ("reserved_peak", c_uint64),
        ("buffer_count", c_uint64),
    ]


class kiln_heap_stats(Structure):
    _fields_ = [
        ("size_bytes", c_uint64),
        ("used_bytes", c_uint64),
        ("block_count", c_uint64),
        ("peak_bytes", c_uint64),
        ("allocations", c_uint64),
        ("frees", c_uint64),
        ("failures", c_uint64),
        ("bad_frees", c_uint64),
    ]


class kiln_view(Structure):
    _fields_ = [
        ("buffer", c_void_p),
        ("first", c_uint64),
        ("type", c_int),
        ("rank", c_uint32),
        ("sizes", c_uint64 * 8),
        ("has_strides", c_bool),
        ("strides", c_int64 * 8),
    ]


class kiln_arg(Structure):
    _fields_ = [
        ("kind", c_int),
        ("type", c_int),
        ("pointer", c_void_p),
        ("size", c_size_t),
        ("bits", c_uint64),
    ]


class kiln_launch_desc(Structure):
    _fields_ = [
        ("grid", c_uint32 * 3),
        ("block", c_uint32 * 3),
        ("items", c_uint64 * 3),
        ("shared_bytes", c_size_t),
        ("args", c_void_p),
        ("arg_count", c_size_t),
        ("stream", c_void_p),
        ("cluster", c_uint32 * 3),
        ("is_cooperative", c_bool),
        ("overlaps_previous", c_bool),
    ]


class kiln_finding(Structure):
    _fields_ = [
        ("code", c_char_p),
        ("message", c_char_p),
        ("text", c_char_p),
        ("file", c_char_p),
        ("line", c_int),
        ("column", c_int),
        ("thread", c_uint32 * 3),
        ("block", c_uint32 * 3),
        ("array", c_char_p),
        ("index", c_int64),
        ("other_file", c_char_p),
        ("other_line", c_int),
        ("other_column", c_int),
        ("other_thread", c_uint32 * 3),
        ("other_block", c_uint32 * 3),
        ("count", c_uint64),
        ("use_line", c_int),
        ("other_use_line", c_int),
    ]


class kiln_check_desc(Structure):
    _fields_ = [
        ("launch", kiln_launch_desc),
        ("all", c_bool),
        ("nan", c_bool),
        ("leaks", c_bool),
        ("colour", c_bool),
        ("is_unset", c_void_p),
        ("step_limit", c_uint64),
        ("finding", c_void_p),
        ("user", c_void_p),
    ]


class kiln_tensor_map(Structure):
    _fields_ = [
        ("opaque", c_uint64 * 16),
    ]


class kiln_tensor_map_desc(Structure):
    _fields_ = [
        ("buffer", c_void_p),
        ("first", c_size_t),
        ("type", c_int),
        ("rank", c_uint32),
        ("size", c_uint64 * 5),
        ("stride_bytes", c_uint64 * 5),
        ("box", c_uint32 * 5),
        ("element_stride", c_uint32 * 5),
        ("swizzle_bytes", c_uint32),
        ("promotion_bytes", c_uint32),
        ("fills_nan", c_bool),
    ]


class kiln_grid(Structure):
    _fields_ = [
        ("items", c_uint64),
        ("x", c_uint32),
        ("y", c_uint32),
        ("z", c_uint32),
        ("block", c_uint32 * 3),
        ("shared_bytes", c_size_t),
        ("stream", c_void_p),
        ("items_y", c_uint64),
        ("items_z", c_uint64),
        ("cluster", c_uint32 * 3),
        ("is_cooperative", c_bool),
        ("overlaps_previous", c_bool),
    ]


class kiln_dl_device(Structure):
    _fields_ = [
        ("type", c_int32),
        ("id", c_int32),
    ]


class kiln_dl_type(Structure):
    _fields_ = [
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
    ]


class kiln_dl_tensor(Structure):
    _fields_ = [
        ("data", c_void_p),
        ("device", kiln_dl_device),
        ("rank", c_int32),
        ("type", kiln_dl_type),
        ("sizes", c_void_p),
        ("strides", c_void_p),
        ("first_byte", c_uint64),
    ]


class kiln_dl_managed(Structure):
    _fields_ = [
        ("tensor", kiln_dl_tensor),
        ("context", c_void_p),
        ("deleter", c_void_p),
    ]


class kiln_dl_managed_versioned(Structure):
    _fields_ = [
        ("major", c_uint32),
        ("minor", c_uint32),
        ("context", c_void_p),
        ("deleter", c_void_p),
        ("flags", c_uint64),
        ("tensor", kiln_dl_tensor),
    ]


FUNCTIONS = [
    ("kiln_last_error", POINTER(kiln_error), [c_void_p]),
    ("kiln_status_name", c_char_p, [c_int]),
    ("kiln_version", c_char_p, []),
    ("kiln_open", c_int, [c_char_p, c_void_p]),
    ("kiln_close", None, [c_void_p]),
    ("kiln_open_on", c_int, [c_void_p, c_void_p]),
    ("kiln_device_name", c_char_p, [c_void_p]),
    ("kiln_device_count", c_size_t, []),
    ("kiln_device_info_at", c_int, [c_size_t, c_void_p]),
    ("kiln_device_info_of", c_int, [c_void_p, c_void_p]),
    ("kiln_on_log", None, [c_int, c_void_p, c_void_p]),
    ("kiln_type_size", c_size_t, [c_int]),
    ("kiln_type_name", c_char_p, [c_int]),
    ("kiln_compile", c_int, [c_void_p, c_void_p, c_void_p]),
    ("kiln_module_free", None, [c_void_p]),
    ("kiln_module_log", c_char_p, [c_void_p]),
    ("kiln_module_kernel_count", c_size_t, [c_void_p]),
    ("kiln_module_kernel_at", c_int, [c_void_p, c_size_t, c_void_p]),
    ("kiln_module_kernel", c_int, [c_void_p, c_char_p, c_void_p]),
    ("kiln_kernel_name", c_char_p, [c_void_p]),
    ("kiln_kernel_param_count", c_size_t, [c_void_p]),
    ("kiln_kernel_param", c_int, [c_void_p, c_size_t, c_void_p]),
    ("kiln_kernel_block", None, [c_void_p, c_void_p]),
    ("kiln_kernel_max_threads", c_uint32, [c_void_p]),
    ("kiln_kernel_constant", c_int, [c_void_p, c_char_p, c_void_p]),
    ("kiln_kernel_resources", c_int, [c_void_p, c_void_p]),
    ("kiln_kernel_occupancy", c_int, [c_void_p, c_uint32, c_size_t, c_void_p]),
    ("kiln_module_code", c_char_p, [c_void_p, c_void_p]),
    ("kiln_buffer_new", c_int, [c_void_p, c_int, c_size_t, c_void_p]),
    ("kiln_buffer_new_bytes", c_int, [c_void_p, c_size_t, c_size_t, c_void_p]),
    ("kiln_buffer_retain", c_int, [c_void_p]),
    ("kiln_buffer_free", None, [c_void_p]),
    ("kiln_write", c_int, [c_void_p, c_size_t, c_void_p, c_size_t]),
    ("kiln_read", c_int, [c_void_p, c_size_t, c_void_p, c_size_t]),
    ("kiln_fill", c_int, [c_void_p, c_void_p]),
    ("kiln_buffer_count", c_size_t, [c_void_p]),
    ("kiln_buffer_bytes", c_size_t, [c_void_p]),
    ("kiln_buffer_type", c_int, [c_void_p]),
    ("kiln_buffer_make", c_int, [c_void_p, c_void_p, c_void_p]),
    ("kiln_buffer_host", c_void_p, [c_void_p]),
    ("kiln_buffer_address", c_uint64, [c_void_p]),
    ("kiln_buffer_wrap", c_int, [c_void_p, c_void_p, c_void_p]),
    ("kiln_host_alloc", c_int, [c_void_p, c_size_t, c_void_p]),
    ("kiln_host_free", None, [c_void_p, c_void_p]),
    ("kiln_copy", c_int, [c_void_p]),
    ("kiln_fill_async", c_int, [c_void_p, c_size_t, c_size_t, c_void_p, c_void_p]),
    ("kiln_memory_info_of", c_int, [c_void_p, c_void_p]),
    ("kiln_memory_trim", c_int, [c_void_p]),
    ("kiln_heap_set", c_int, [c_void_p, c_size_t]),
    ("kiln_heap_reset", c_int, [c_void_p]),
    ("kiln_heap_stats_of", c_int, [c_void_p, c_void_p]),
    ("kiln_view_of", kiln_view, [c_void_p, c_uint32, c_void_p]),
    ("kiln_view_all", kiln_view, [c_void_p]),
    ("kiln_view_slice", kiln_view, [kiln_view, c_uint32, c_int64, c_int64, c_int64]),
    ("kiln_view_index", kiln_view, [kiln_view, c_uint32, c_uint64]),
    ("kiln_view_flip", kiln_view, [kiln_view, c_uint32]),
    ("kiln_view_permute", kiln_view, [kiln_view, c_void_p]),
    ("kiln_view_transpose", kiln_view, [kiln_view]),
    ("kiln_view_reshape", kiln_view, [kiln_view, c_uint32, c_void_p]),
    ("kiln_view_broadcast", kiln_view, [kiln_view, c_uint32, c_void_p]),
    ("kiln_view_squeeze", kiln_view, [kiln_view, c_uint32]),
    ("kiln_view_unsqueeze", kiln_view, [kiln_view, c_uint32]),
    ("kiln_view_check", c_int, [kiln_view]),
    ("kiln_view_count", c_uint64, [kiln_view]),
    ("kiln_view_type", c_int, [kiln_view]),
    ("kiln_view_stride", c_int64, [kiln_view, c_uint32]),
    ("kiln_view_is_dense", c_bool, [kiln_view]),
    ("kiln_view_span", c_int, [kiln_view, c_void_p, c_void_p]),
    ("kiln_view_overlaps", c_bool, [kiln_view, kiln_view]),
    ("kiln_read_view", c_int, [kiln_view, c_void_p]),
    ("kiln_write_view", c_int, [kiln_view, c_void_p]),
    ("kiln_arg_buffer", kiln_arg, [c_void_p]),
    ("kiln_arg_buffer_at", kiln_arg, [c_void_p, c_size_t]),
    ("kiln_arg_view", kiln_arg, [kiln_view]),
    ("kiln_arg_i64", kiln_arg, [c_int, c_int64]),
    ("kiln_arg_f64", kiln_arg, [c_int, c_double]),
    ("kiln_arg_bits", kiln_arg, [c_int, c_void_p, c_size_t]),
    ("kiln_arg_struct", kiln_arg, [c_void_p, c_size_t]),
    ("kiln_launch", c_int, [c_void_p, c_void_p]),
    ("kiln_sync", c_int, [c_void_p]),
    ("kiln_cancel", None, [c_void_p]),
    ("kiln_on_print", None, [c_void_p, c_void_p, c_void_p]),
    ("kiln_on_print_error", None, [c_void_p, c_void_p, c_void_p]),
    ("kiln_printed", c_char_p, [c_void_p, c_void_p]),
    ("kiln_check", c_int, [c_void_p, c_void_p, c_void_p]),
    ("kiln_stream_new", c_int, [c_void_p, c_int, c_void_p]),
    ("kiln_stream_free", None, [c_void_p]),
    ("kiln_stream_wrap", c_int, [c_void_p, c_void_p, c_void_p]),
    ("kiln_stream_sync", c_int, [c_void_p]),
    ("kiln_stream_is_done", c_int, [c_void_p, c_void_p]),
    ("kiln_stream_notify", c_int, [c_void_p, c_void_p, c_int]),
    ("kiln_stream_wait", c_int, [c_void_p, c_void_p]),
    ("kiln_stream_native", c_void_p, [c_void_p, c_void_p]),
    ("kiln_event_new", c_int, [c_void_p, c_void_p]),
    ("kiln_event_free", None, [c_void_p]),
    ("kiln_event_record", c_int, [c_void_p, c_void_p]),
    ("kiln_event_sync", c_int, [c_void_p]),
    ("kiln_event_elapsed", c_int, [c_void_p, c_void_p, c_void_p]),
    ("kiln_capture_begin", c_int, [c_void_p]),
    ("kiln_capture_end", c_int, [c_void_p, c_void_p]),
    ("kiln_capture_update", c_int, [c_void_p, c_void_p]),
    ("kiln_graph_new", c_int, [c_void_p, c_void_p]),
    ("kiln_graph_add", c_int, [c_void_p, c_void_p, c_void_p, c_void_p, c_size_t, c_void_p]),
    ("kiln_graph_set", c_int, [c_void_p, c_size_t, c_void_p]),
    ("kiln_graph_launch", c_int, [c_void_p, c_void_p]),
    ("kiln_graph_node_count", c_size_t, [c_void_p]),
    ("kiln_graph_free", None, [c_void_p]),
    ("kiln_tensor_map_make", c_int, [c_void_p, c_void_p, c_void_p]),
    ("kiln_dlpack_device", c_int, [c_void_p, c_void_p]),
    ("kiln_dlpack_import", c_int, [c_void_p, c_void_p, c_void_p]),
    ("kiln_dlpack_import_versioned", c_int, [c_void_p, c_void_p, c_void_p]),
    ("kiln_dlpack_export", c_int, [kiln_view, c_void_p]),
    ("kiln_dlpack_export_versioned", c_int, [kiln_view, c_void_p]),
    ("kiln_attention_forward", c_int, [c_void_p, c_void_p]),
    ("kiln_attention_backward_workspace", c_int, [c_void_p, c_void_p, c_void_p]),
    ("kiln_attention_backward", c_int, [c_void_p, c_void_p]),
    ("kiln_conv_forward", c_int, [c_void_p, c_void_p]),
    ("kiln_conv_workspace", c_int, [c_void_p, c_void_p, c_void_p]),
    ("kiln_conv_backward", c_int, [c_void_p, c_void_p]),
    ("kiln_conv_backward_workspace", c_int, [c_void_p, c_void_p, c_void_p]),
    ("kiln_pool_forward", c_int, [c_void_p, c_void_p]),
    ("kiln_pool_backward", c_int, [c_void_p, c_void_p]),
    ("kiln_elementwise_forward", c_int, [c_void_p, c_void_p]),
    ("kiln_elementwise_backward", c_int, [c_void_p, c_void_p]),
    ("kiln_softmax_forward", c_int, [c_void_p, c_void_p]),
    ("kiln_softmax_backward", c_int, [c_void_p, c_void_p]),
    ("kiln_norm_forward", c_int, [c_void_p, c_void_p]),
    ("kiln_norm_backward", c_int, [c_void_p, c_void_p]),
    ("kiln_group_norm_forward", c_int, [c_void_p, c_void_p]),
    ("kiln_group_norm_backward", c_int, [c_void_p, c_void_p]),
    ("kiln_batch_norm_forward", c_int, [c_void_p, c_void_p]),
    ("kiln_batch_norm_backward", c_int, [c_void_p, c_void_p]),
    ("kiln_copy_view", c_int, [c_void_p, c_void_p]),
    ("kiln_concat", c_int, [c_void_p, c_void_p]),
    ("kiln_split", c_int, [c_void_p, c_void_p]),
    ("kiln_pad_forward", c_int, [c_void_p, c_void_p]),
    ("kiln_pad_backward", c_int, [c_void_p, c_void_p]),
    ("kiln_gather_forward", c_int, [c_void_p, c_void_p]),
    ("kiln_gather_backward_workspace", c_int, [c_void_p, c_void_p, c_void_p]),
    ("kiln_gather_backward", c_int, [c_void_p, c_void_p]),
    ("kiln_scatter_workspace", c_int, [c_void_p, c_void_p, c_void_p]),
    ("kiln_scatter", c_int, [c_void_p, c_void_p]),
    ("kiln_embedding_forward", c_int, [c_void_p, c_void_p]),
    ("kiln_embedding_backward_workspace", c_int, [c_void_p, c_void_p, c_void_p]),
    ("kiln_embedding_backward", c_int, [c_void_p, c_void_p]),
    ("kiln_random", c_int, [c_void_p, c_void_p]),
    ("kiln_dropout_forward", c_int, [c_void_p, c_void_p]),
    ("kiln_dropout_backward", c_int, [c_void_p, c_void_p]),
    ("kiln_generate", c_int, [c_void_p, c_void_p]),
    ("kiln_rope_forward", c_int, [c_void_p, c_void_p]),
    ("kiln_rope_backward", c_int, [c_void_p, c_void_p]),
    ("kiln_rope_tables", c_int, [c_void_p, c_void_p]),
    ("kiln_upsample_forward", c_int, [c_void_p, c_void_p]),
    ("kiln_upsample_backward", c_int, [c_void_p, c_void_p]),
    ("kiln_bitwise", c_int, [c_void_p, c_void_p]),
    ("kiln_quantise", c_int, [c_void_p, c_void_p]),
    ("kiln_dequantise", c_int, [c_void_p, c_void_p]),
    ("kiln_expr_input", c_uint32, [c_void_p, c_uint32]),
    ("kiln_expr_parameter", c_uint32, [c_void_p, c_uint32]),
    ("kiln_expr_constant", c_uint32, [c_void_p, c_double]),
    ("kiln_expr_cast", c_uint32, [c_void_p, c_int, c_uint32]),
    ("kiln_expr_op", c_uint32, [c_void_p, c_int, c_uint32, c_uint32, c_uint32]),
    ("kiln_expr_op_with", c_uint32, [c_void_p, c_int, c_uint32, c_uint32, c_uint32, c_uint32, c_uint32]),
    ("kiln_expr_gradient", None, [c_void_p, c_uint32, c_void_p, c_void_p, c_uint32, c_void_p, c_void_p]),
    ("kiln_fuse", c_int, [c_void_p, c_void_p]),
    ("kiln_fuse_workspace", c_int, [c_void_p, c_void_p, c_void_p]),
    ("kiln_gguf_format_of", c_int, [c_int, c_void_p]),
    ("kiln_gguf_row_bytes", c_int, [c_int, c_uint64, c_void_p]),
    ("kiln_gguf_matmul", c_int, [c_void_p, c_void_p]),
    ("kiln_gguf_dequantise", c_int, [c_void_p, c_void_p]),
    ("kiln_gguf_quantise", c_int, [c_void_p, c_void_p]),
    ("kiln_gguf_unpack", c_int, [c_int, c_void_p, c_uint64, c_void_p]),
    ("kiln_gguf_pack", c_int, [c_int, c_void_p, c_uint64, c_void_p]),
    ("kiln_linear", c_int, [c_void_p, c_void_p]),
    ("kiln_linear_workspace", c_int, [c_void_p, c_void_p, c_void_p]),
    ("kiln_linear_qkv", c_int, [c_void_p, c_void_p]),
    ("kiln_quantise_weights", c_int, [c_void_p, c_void_p]),
    ("kiln_dequantise_weights", c_int, [c_void_p, c_void_p]),
    ("kiln_int4_words", c_size_t, [c_uint64]),
    ("kiln_pack_int4", c_int, [c_void_p]),
    ("kiln_unpack_int4", c_int, [c_void_p]),
    ("kiln_matmul", c_int, [c_void_p, c_void_p]),
    ("kiln_matmul_grouped", c_int, [c_void_p, c_void_p, kiln_view]),
    ("kiln_matmul_backward", c_int, [c_void_p, c_void_p]),
    ("kiln_reduce_forward", c_int, [c_void_p, c_void_p]),
    ("kiln_reduce_workspace", c_int, [c_void_p, c_void_p, c_void_p]),
    ("kiln_reduce_backward", c_int, [c_void_p, c_void_p]),
    ("kiln_reduce_backward_workspace", c_int, [c_void_p, c_void_p, c_void_p]),
    ("kiln_cross_entropy_forward", c_int, [c_void_p, c_void_p]),
    ("kiln_cross_entropy_workspace", c_int, [c_void_p, c_void_p, c_void_p]),
    ("kiln_cross_entropy_backward", c_int, [c_void_p, c_void_p]),
    ("kiln_scan_forward", c_int, [c_void_p, c_void_p]),
    ("kiln_scan_workspace", c_int, [c_void_p, c_void_p, c_void_p]),
    ("kiln_scan_backward", c_int, [c_void_p, c_void_p]),
    ("kiln_sort_forward", c_int, [c_void_p, c_void_p]),
    ("kiln_sort_workspace", c_int, [c_void_p, c_void_p, c_void_p]),
    ("kiln_topk_forward", c_int, [c_void_p, c_void_p]),
    ("kiln_topk_workspace", c_int, [c_void_p, c_void_p, c_void_p]),
    ("kiln_sort_backward", c_int, [c_void_p, c_void_p]),
    ("kiln_histogram", c_int, [c_void_p, c_void_p]),
]
