"""The elementwise ops: one function for each row of their table. Written by bind/python/generate.py from include/kiln: change those, then `make python`."""
# mypy: ignore-errors
# ops.pyi has the types.

from __future__ import annotations

from ._op import elementwise

def copy(a, *, out=None, dtype=None, stream=None, device=None):
    """a: copies, and converts to the type of the result"""
    return elementwise(0, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def add(a, b, *, out=None, dtype=None, stream=None, device=None):
    """a + b"""
    return elementwise(1, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def sub(a, b, *, out=None, dtype=None, stream=None, device=None):
    """a - b"""
    return elementwise(2, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def mul(a, b, *, out=None, dtype=None, stream=None, device=None):
    """a * b"""
    return elementwise(3, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def div(a, b, *, out=None, dtype=None, stream=None, device=None):
    """a / b"""
    return elementwise(4, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def pow(a, b, *, out=None, dtype=None, stream=None, device=None):
    """a to the b"""
    return elementwise(5, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def min(a, b, *, out=None, dtype=None, stream=None, device=None):
    """the smaller; with a NaN the other one"""
    return elementwise(6, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def max(a, b, *, out=None, dtype=None, stream=None, device=None):
    """the larger; with a NaN the other one"""
    return elementwise(7, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def hypot(a, b, *, out=None, dtype=None, stream=None, device=None):
    """sqrt(a * a + b * b) without overflow"""
    return elementwise(8, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def atan2(a, b, *, out=None, dtype=None, stream=None, device=None):
    """angle of (b, a)"""
    return elementwise(9, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def multiply_add(a, b, c, *, out=None, dtype=None, stream=None, device=None):
    """a * b + c, rounded twice"""
    return elementwise(10, "TTT_T", (a, b, c), 0.0, 0.0, out, dtype, stream, device)


def lerp(a, b, c, *, out=None, dtype=None, stream=None, device=None):
    """a + c * (b - a)"""
    return elementwise(11, "TTT_T", (a, b, c), 0.0, 0.0, out, dtype, stream, device)


def scale(a, *, alpha=1.0, beta=0.0, out=None, dtype=None, stream=None, device=None):
    """alpha * a + beta"""
    return elementwise(12, "T_T", (a,), alpha, beta, out, dtype, stream, device)


def blend(a, b, *, alpha=1.0, beta=0.0, out=None, dtype=None, stream=None, device=None):
    """alpha * a + beta * b"""
    return elementwise(13, "TT_T", (a, b), alpha, beta, out, dtype, stream, device)


def neg(a, *, out=None, dtype=None, stream=None, device=None):
    """-a"""
    return elementwise(14, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def abs(a, *, out=None, dtype=None, stream=None, device=None):
    """absolute value"""
    return elementwise(15, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def sign(a, *, out=None, dtype=None, stream=None, device=None):
    """-1, 0 or 1"""
    return elementwise(16, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def square(a, *, out=None, dtype=None, stream=None, device=None):
    """a * a"""
    return elementwise(17, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def reciprocal(a, *, out=None, dtype=None, stream=None, device=None):
    """1 / a"""
    return elementwise(18, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def floor(a, *, out=None, dtype=None, stream=None, device=None):
    """largest integer not above"""
    return elementwise(19, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def ceil(a, *, out=None, dtype=None, stream=None, device=None):
    """smallest integer not below"""
    return elementwise(20, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def round(a, *, out=None, dtype=None, stream=None, device=None):
    """nearest integer, ties to even"""
    return elementwise(21, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def clamp(a, *, alpha=1.0, beta=0.0, out=None, dtype=None, stream=None, device=None):
    """a within alpha … beta"""
    return elementwise(22, "T_T", (a,), alpha, beta, out, dtype, stream, device)


def where(a, b, c, *, out=None, dtype=None, stream=None, device=None):
    """b where the mask a is not 0, else c"""
    return elementwise(23, "BTT_T", (a, b, c), 0.0, 0.0, out, dtype, stream, device)


def trunc(a, *, out=None, dtype=None, stream=None, device=None):
    """nearest integer towards zero"""
    return elementwise(24, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def frac(a, *, out=None, dtype=None, stream=None, device=None):
    """what is behind the point, with the sign of a"""
    return elementwise(25, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def fmod(a, b, *, out=None, dtype=None, stream=None, device=None):
    """remainder of a / b with the sign of a"""
    return elementwise(26, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def remainder(a, b, *, out=None, dtype=None, stream=None, device=None):
    """remainder of a / b with the sign of b, exact"""
    return elementwise(27, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def floor_divide(a, b, *, out=None, dtype=None, stream=None, device=None):
    """a / b, rounded down: a is that times b, and the remainder"""
    return elementwise(28, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def heaviside(a, b, *, out=None, dtype=None, stream=None, device=None):
    """0 below 0, 1 above, b at 0"""
    return elementwise(29, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def quantise_i8(a, *, alpha=1.0, beta=0.0, out=None, dtype=None, stream=None, device=None):
    """round(a / alpha) + beta within -128 … 127"""
    return elementwise(30, "T_T", (a,), alpha, beta, out, dtype, stream, device)


def quantise_u8(a, *, alpha=1.0, beta=0.0, out=None, dtype=None, stream=None, device=None):
    """round(a / alpha) + beta within 0 … 255"""
    return elementwise(31, "T_T", (a,), alpha, beta, out, dtype, stream, device)


def equal(a, b, *, out=None, dtype=None, stream=None, device=None):
    """a == b"""
    return elementwise(32, "TT_B", (a, b), 0.0, 0.0, out, dtype, stream, device)


def not_equal(a, b, *, out=None, dtype=None, stream=None, device=None):
    """a != b"""
    return elementwise(33, "TT_B", (a, b), 0.0, 0.0, out, dtype, stream, device)


def less(a, b, *, out=None, dtype=None, stream=None, device=None):
    """a < b"""
    return elementwise(34, "TT_B", (a, b), 0.0, 0.0, out, dtype, stream, device)


def less_equal(a, b, *, out=None, dtype=None, stream=None, device=None):
    """a <= b"""
    return elementwise(35, "TT_B", (a, b), 0.0, 0.0, out, dtype, stream, device)


def greater(a, b, *, out=None, dtype=None, stream=None, device=None):
    """a > b"""
    return elementwise(36, "TT_B", (a, b), 0.0, 0.0, out, dtype, stream, device)


def greater_equal(a, b, *, out=None, dtype=None, stream=None, device=None):
    """a >= b"""
    return elementwise(37, "TT_B", (a, b), 0.0, 0.0, out, dtype, stream, device)


def logical_and(a, b, *, out=None, dtype=None, stream=None, device=None):
    """both are not 0"""
    return elementwise(38, "TT_B", (a, b), 0.0, 0.0, out, dtype, stream, device)


def logical_or(a, b, *, out=None, dtype=None, stream=None, device=None):
    """one of them is not 0"""
    return elementwise(39, "TT_B", (a, b), 0.0, 0.0, out, dtype, stream, device)


def logical_not(a, *, out=None, dtype=None, stream=None, device=None):
    """a is 0"""
    return elementwise(40, "T_B", (a,), 0.0, 0.0, out, dtype, stream, device)


def is_nan(a, *, out=None, dtype=None, stream=None, device=None):
    """a is a NaN"""
    return elementwise(41, "T_B", (a,), 0.0, 0.0, out, dtype, stream, device)


def is_inf(a, *, out=None, dtype=None, stream=None, device=None):
    """a is an infinity"""
    return elementwise(42, "T_B", (a,), 0.0, 0.0, out, dtype, stream, device)


def is_finite(a, *, out=None, dtype=None, stream=None, device=None):
    """a is neither infinite nor a NaN"""
    return elementwise(43, "T_B", (a,), 0.0, 0.0, out, dtype, stream, device)


def exp(a, *, out=None, dtype=None, stream=None, device=None):
    """e to the a"""
    return elementwise(44, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def exp2(a, *, out=None, dtype=None, stream=None, device=None):
    """2 to the a"""
    return elementwise(45, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def expm1(a, *, out=None, dtype=None, stream=None, device=None):
    """exp(a) - 1 without cancellation"""
    return elementwise(46, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def log(a, *, out=None, dtype=None, stream=None, device=None):
    """natural logarithm"""
    return elementwise(47, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def log2(a, *, out=None, dtype=None, stream=None, device=None):
    """logarithm to base 2"""
    return elementwise(48, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def log1p(a, *, out=None, dtype=None, stream=None, device=None):
    """log(1 + a) without cancellation"""
    return elementwise(49, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def sqrt(a, *, out=None, dtype=None, stream=None, device=None):
    """square root"""
    return elementwise(50, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def rsqrt(a, *, out=None, dtype=None, stream=None, device=None):
    """1 / sqrt(a)"""
    return elementwise(51, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def sin(a, *, out=None, dtype=None, stream=None, device=None):
    """sine"""
    return elementwise(52, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def cos(a, *, out=None, dtype=None, stream=None, device=None):
    """cosine"""
    return elementwise(53, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def tan(a, *, out=None, dtype=None, stream=None, device=None):
    """tangent"""
    return elementwise(54, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def atan(a, *, out=None, dtype=None, stream=None, device=None):
    """arc tangent"""
    return elementwise(55, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def sinh(a, *, out=None, dtype=None, stream=None, device=None):
    """hyperbolic sine"""
    return elementwise(56, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def cosh(a, *, out=None, dtype=None, stream=None, device=None):
    """hyperbolic cosine"""
    return elementwise(57, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def tanh(a, *, out=None, dtype=None, stream=None, device=None):
    """hyperbolic tangent"""
    return elementwise(58, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def erf(a, *, out=None, dtype=None, stream=None, device=None):
    """error function"""
    return elementwise(59, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def log10(a, *, out=None, dtype=None, stream=None, device=None):
    """logarithm to base 10"""
    return elementwise(60, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def logit(a, *, out=None, dtype=None, stream=None, device=None):
    """log(a / (1 - a))"""
    return elementwise(61, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def xlogy(a, b, *, out=None, dtype=None, stream=None, device=None):
    """a * log(b); 0 where a is"""
    return elementwise(62, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def logaddexp(a, b, *, out=None, dtype=None, stream=None, device=None):
    """log(exp(a) + exp(b))"""
    return elementwise(63, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def cbrt(a, *, out=None, dtype=None, stream=None, device=None):
    """cube root"""
    return elementwise(64, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def asin(a, *, out=None, dtype=None, stream=None, device=None):
    """arc sine"""
    return elementwise(65, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def acos(a, *, out=None, dtype=None, stream=None, device=None):
    """arc cosine"""
    return elementwise(66, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def asinh(a, *, out=None, dtype=None, stream=None, device=None):
    """inverse of sinh"""
    return elementwise(67, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def acosh(a, *, out=None, dtype=None, stream=None, device=None):
    """inverse of cosh; a is at least 1"""
    return elementwise(68, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def atanh(a, *, out=None, dtype=None, stream=None, device=None):
    """inverse of tanh"""
    return elementwise(69, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def erfc(a, *, out=None, dtype=None, stream=None, device=None):
    """1 - erf(a) without cancellation"""
    return elementwise(70, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def relu(a, *, out=None, dtype=None, stream=None, device=None):
    """max(a, 0); a NaN stays one"""
    return elementwise(71, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def relu6(a, *, out=None, dtype=None, stream=None, device=None):
    """a within 0 … 6"""
    return elementwise(72, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def leaky_relu(a, *, alpha=1.0, out=None, dtype=None, stream=None, device=None):
    """a, below 0 alpha * a"""
    return elementwise(73, "T_T", (a,), alpha, 0.0, out, dtype, stream, device)


def elu(a, *, alpha=1.0, out=None, dtype=None, stream=None, device=None):
    """a, below 0 alpha * (exp(a) - 1)"""
    return elementwise(74, "T_T", (a,), alpha, 0.0, out, dtype, stream, device)


def selu(a, *, out=None, dtype=None, stream=None, device=None):
    """elu, scaled so that mean 0 and variance 1 stay"""
    return elementwise(75, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def celu(a, *, alpha=1.0, out=None, dtype=None, stream=None, device=None):
    """a, below 0 alpha * (exp(a / alpha) - 1)"""
    return elementwise(76, "T_T", (a,), alpha, 0.0, out, dtype, stream, device)


def gelu(a, *, out=None, dtype=None, stream=None, device=None):
    """a times the normal distribution of a"""
    return elementwise(77, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def gelu_tanh(a, *, out=None, dtype=None, stream=None, device=None):
    """gelu with tanh in place of erf"""
    return elementwise(78, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def sigmoid(a, *, out=None, dtype=None, stream=None, device=None):
    """1 / (1 + exp(-a))"""
    return elementwise(79, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def log_sigmoid(a, *, out=None, dtype=None, stream=None, device=None):
    """log(sigmoid(a))"""
    return elementwise(80, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def silu(a, *, out=None, dtype=None, stream=None, device=None):
    """a * sigmoid(a)"""
    return elementwise(81, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def softplus(a, *, out=None, dtype=None, stream=None, device=None):
    """log(1 + exp(a))"""
    return elementwise(82, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def softsign(a, *, out=None, dtype=None, stream=None, device=None):
    """a / (1 + |a|)"""
    return elementwise(83, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def mish(a, *, out=None, dtype=None, stream=None, device=None):
    """a * tanh(softplus(a))"""
    return elementwise(84, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def hardsigmoid(a, *, out=None, dtype=None, stream=None, device=None):
    """a / 6 + 1/2 within 0 … 1"""
    return elementwise(85, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def hardswish(a, *, out=None, dtype=None, stream=None, device=None):
    """a * hardsigmoid(a)"""
    return elementwise(86, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def hardtanh(a, *, out=None, dtype=None, stream=None, device=None):
    """a within -1 … 1"""
    return elementwise(87, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def prelu(a, b, *, out=None, dtype=None, stream=None, device=None):
    """a, below 0 times b"""
    return elementwise(88, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def threshold(a, *, alpha=1.0, beta=0.0, out=None, dtype=None, stream=None, device=None):
    """a above alpha, else beta"""
    return elementwise(89, "T_T", (a,), alpha, beta, out, dtype, stream, device)


def hardshrink(a, *, alpha=1.0, out=None, dtype=None, stream=None, device=None):
    """a, but 0 within -alpha … alpha"""
    return elementwise(90, "T_T", (a,), alpha, 0.0, out, dtype, stream, device)


def softshrink(a, *, alpha=1.0, out=None, dtype=None, stream=None, device=None):
    """a closer to 0 by alpha"""
    return elementwise(91, "T_T", (a,), alpha, 0.0, out, dtype, stream, device)


def tanhshrink(a, *, out=None, dtype=None, stream=None, device=None):
    """a - tanh(a)"""
    return elementwise(92, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def relu_squared(a, *, out=None, dtype=None, stream=None, device=None):
    """the square of relu(a)"""
    return elementwise(93, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def quick_gelu(a, *, out=None, dtype=None, stream=None, device=None):
    """a * sigmoid(1.702 * a)"""
    return elementwise(94, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def swish(a, *, alpha=1.0, out=None, dtype=None, stream=None, device=None):
    """a * sigmoid(alpha * a)"""
    return elementwise(95, "T_T", (a,), alpha, 0.0, out, dtype, stream, device)


def add_relu(a, b, *, out=None, dtype=None, stream=None, device=None):
    """relu(a + b)"""
    return elementwise(96, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def add_gelu(a, b, *, out=None, dtype=None, stream=None, device=None):
    """gelu(a + b)"""
    return elementwise(97, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def add_silu(a, b, *, out=None, dtype=None, stream=None, device=None):
    """silu(a + b)"""
    return elementwise(98, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def silu_gate(a, b, *, out=None, dtype=None, stream=None, device=None):
    """silu(a) * b"""
    return elementwise(99, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def gelu_gate(a, b, *, out=None, dtype=None, stream=None, device=None):
    """gelu(a) * b"""
    return elementwise(100, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def sigmoid_gate(a, b, *, out=None, dtype=None, stream=None, device=None):
    """a * sigmoid(b): glu"""
    return elementwise(101, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def relu_gate(a, b, *, out=None, dtype=None, stream=None, device=None):
    """relu(a) * b"""
    return elementwise(102, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def squared_error(a, b, *, out=None, dtype=None, stream=None, device=None):
    """(a - b) squared"""
    return elementwise(103, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def absolute_error(a, b, *, out=None, dtype=None, stream=None, device=None):
    """|a - b|"""
    return elementwise(104, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def huber(a, b, *, alpha=1.0, out=None, dtype=None, stream=None, device=None):
    """half the square of a - b, linear where it is above alpha"""
    return elementwise(105, "TT_T", (a, b), alpha, 0.0, out, dtype, stream, device)


def smooth_l1(a, b, *, alpha=1.0, out=None, dtype=None, stream=None, device=None):
    """huber / alpha"""
    return elementwise(106, "TT_T", (a, b), alpha, 0.0, out, dtype, stream, device)


def bce(a, b, *, out=None, dtype=None, stream=None, device=None):
    """cross-entropy of the probability a and the target b"""
    return elementwise(107, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def bce_logits(a, b, *, out=None, dtype=None, stream=None, device=None):
    """bce(sigmoid(a), b) without overflow"""
    return elementwise(108, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def hinge(a, b, *, out=None, dtype=None, stream=None, device=None):
    """1 - a * b, not below 0"""
    return elementwise(109, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def soft_margin(a, b, *, out=None, dtype=None, stream=None, device=None):
    """log(1 + exp(-a * b))"""
    return elementwise(110, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


ELEMENTWISE_FORMS = ("i4x160s160s160s160sddQ", "i4x160s160s160s160s160s160s160sddQ")

# name: (number, signature, has alpha, has beta, has derivatives)
ELEMENTWISE = {
    "copy": (0, "T_T", False, False, True),
    "add": (1, "TT_T", False, False, True),
    "sub": (2, "TT_T", False, False, True),
    "mul": (3, "TT_T", False, False, True),
    "div": (4, "TT_T", False, False, True),
    "pow": (5, "TT_T", False, False, True),
    "min": (6, "TT_T", False, False, True),
    "max": (7, "TT_T", False, False, True),
    "hypot": (8, "TT_T", False, False, True),
    "atan2": (9, "TT_T", False, False, True),
    "multiply_add": (10, "TTT_T", False, False, True),
    "lerp": (11, "TTT_T", False, False, True),
    "scale": (12, "T_T", True, True, True),
    "blend": (13, "TT_T", True, True, True),
    "neg": (14, "T_T", False, False, True),
    "abs": (15, "T_T", False, False, True),
    "sign": (16, "T_T", False, False, True),
    "square": (17, "T_T", False, False, True),
    "reciprocal": (18, "T_T", False, False, True),
    "floor": (19, "T_T", False, False, True),
    "ceil": (20, "T_T", False, False, True),
    "round": (21, "T_T", False, False, True),
    "clamp": (22, "T_T", True, True, True),
    "where": (23, "BTT_T", False, False, True),
    "trunc": (24, "T_T", False, False, True),
    "frac": (25, "T_T", False, False, True),
    "fmod": (26, "TT_T", False, False, True),
    "remainder": (27, "TT_T", False, False, True),
    "floor_divide": (28, "TT_T", False, False, True),
    "heaviside": (29, "TT_T", False, False, True),
    "quantise_i8": (30, "T_T", True, True, False),
    "quantise_u8": (31, "T_T", True, True, False),
    "equal": (32, "TT_B", False, False, False),
    "not_equal": (33, "TT_B", False, False, False),
    "less": (34, "TT_B", False, False, False),
    "less_equal": (35, "TT_B", False, False, False),
    "greater": (36, "TT_B", False, False, False),
    "greater_equal": (37, "TT_B", False, False, False),
    "logical_and": (38, "TT_B", False, False, False),
    "logical_or": (39, "TT_B", False, False, False),
    "logical_not": (40, "T_B", False, False, False),
    "is_nan": (41, "T_B", False, False, False),
    "is_inf": (42, "T_B", False, False, False),
    "is_finite": (43, "T_B", False, False, False),
    "exp": (44, "T_T", False, False, True),
    "exp2": (45, "T_T", False, False, True),
    "expm1": (46, "T_T", False, False, True),
    "log": (47, "T_T", False, False, True),
    "log2": (48, "T_T", False, False, True),
    "log1p": (49, "T_T", False, False, True),
    "sqrt": (50, "T_T", False, False, True),
    "rsqrt": (51, "T_T", False, False, True),
    "sin": (52, "T_T", False, False, True),
    "cos": (53, "T_T", False, False, True),
    "tan": (54, "T_T", False, False, True),
    "atan": (55, "T_T", False, False, True),
    "sinh": (56, "T_T", False, False, True),
    "cosh": (57, "T_T", False, False, True),
    "tanh": (58, "T_T", False, False, True),
    "erf": (59, "T_T", False, False, True),
    "log10": (60, "T_T", False, False, True),
    "logit": (61, "T_T", False, False, True),
    "xlogy": (62, "TT_T", False, False, True),
    "logaddexp": (63, "TT_T", False, False, True),
    "cbrt": (64, "T_T", False, False, True),
    "asin": (65, "T_T", False, False, True),
    "acos": (66, "T_T", False, False, True),
    "asinh": (67, "T_T", False, False, True),
    "acosh": (68, "T_T", False, False, True),
    "atanh": (69, "T_T", False, False, True),
    "erfc": (70, "T_T", False, False, True),
    "relu": (71, "T_T", False, False, True),
    "relu6": (72, "T_T", False, False, True),
    "leaky_relu": (73, "T_T", True, False, True),
    "elu": (74, "T_T", True, False, True),
    "selu": (75, "T_T", False, False, True),
    "celu": (76, "T_T", True, False, True),
    "gelu": (77, "T_T", False, False, True),
    "gelu_tanh": (78, "T_T", False, False, True),
    "sigmoid": (79, "T_T", False, False, True),
    "log_sigmoid": (80, "T_T", False, False, True),
    "silu": (81, "T_T", False, False, True),
    "softplus": (82, "T_T", False, False, True),
    "softsign": (83, "T_T", False, False, True),
    "mish": (84, "T_T", False, False, True),
    "hardsigmoid": (85, "T_T", False, False, True),
    "hardswish": (86, "T_T", False, False, True),
    "hardtanh": (87, "T_T", False, False, True),
    "prelu": (88, "TT_T", False, False, True),
    "threshold": (89, "T_T", True, True, True),
    "hardshrink": (90, "T_T", True, False, True),
    "softshrink": (91, "T_T", True, False, True),
    "tanhshrink": (92, "T_T", False, False, True),
    "relu_squared": (93, "T_T", False, False, True),
    "quick_gelu": (94, "T_T", False, False, True),
    "swish": (95, "T_T", True, False, True),
    "add_relu": (96, "TT_T", False, False, True),
    "add_gelu": (97, "TT_T", False, False, True),
    "add_silu": (98, "TT_T", False, False, True),
    "silu_gate": (99, "TT_T", False, False, True),
    "gelu_gate": (100, "TT_T", False, False, True),
    "sigmoid_gate": (101, "TT_T", False, False, True),
    "relu_gate": (102, "TT_T", False, False, True),
    "squared_error": (103, "TT_T", False, False, True),
    "absolute_error": (104, "TT_T", False, False, True),
    "huber": (105, "TT_T", True, False, True),
    "smooth_l1": (106, "TT_T", True, False, True),
    "bce": (107, "TT_T", False, False, True),
    "bce_logits": (108, "TT_T", False, False, True),
    "hinge": (109, "TT_T", False, False, True),
    "soft_margin": (110, "TT_T", False, False, True),
}

__all__ = [
    "copy", "add", "sub", "mul", "div", "pow", "min", "max", "hypot", "atan2", "multiply_add", "lerp", "scale", "blend", "neg", "abs", "sign",
    "square", "reciprocal", "floor", "ceil", "round", "clamp", "where", "trunc", "frac", "fmod", "remainder", "floor_divide", "heaviside",
    "quantise_i8", "quantise_u8", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or", "logical_not",
    "is_nan", "is_inf", "is_finite", "exp", "exp2", "expm1", "log", "log2", "log1p", "sqrt", "rsqrt", "sin", "cos", "tan", "atan", "sinh", "cosh",
    "tanh", "erf", "log10", "logit", "xlogy", "logaddexp", "cbrt", "asin", "acos", "asinh", "acosh", "atanh", "erfc", "relu", "relu6", "leaky_relu",
    "elu", "selu", "celu", "gelu", "gelu_tanh", "sigmoid", "log_sigmoid", "silu", "softplus", "softsign", "mish", "hardsigmoid", "hardswish",
    "hardtanh", "prelu", "threshold", "hardshrink", "softshrink", "tanhshrink", "relu_squared", "quick_gelu", "swish", "add_relu", "add_gelu",
    "add_silu", "silu_gate", "gelu_gate", "sigmoid_gate", "relu_gate", "squared_error", "absolute_error", "huber", "smooth_l1", "bce", "bce_logits",
    "hinge", "soft_margin",
]
