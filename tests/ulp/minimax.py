#!/usr/bin/env python3
# minimax.py: the polynomial coefficients of lib/*.h. Needs mpmath.
#
#     minimax.py            prints every polynomial of the library with its error
#     minimax.py NAME...    only those
#
# Each row of POLYS says which function is approximated, with which powers, on which interval, and which
# error is levelled (the weight). Best fit in 60 digits; then the coefficients are rounded to the
# format one after another, lowest power first, and the rest is fitted again around each rounded one.
import sys
from mpmath import mp, mpf, matrix, lu_solve, workprec

mp.dps = 60


def round_to(x, bits):
    with workprec(bits):
        return +mpf(x)


def minimax(f, powers, a, b, weight, rounds=30):
    """Coefficients and largest weighted error of the best sum(c_k * x**k) for f on [a, b]: Lawson's iteration."""
    a, b = mpf(a), mpf(b)
    count = len(powers)
    total = 10 * (count + 1)
    grid = [(a + b) / 2 - (b - a) / 2 * mp.cos(mp.pi * i / total) for i in range(total + 1)]
    rows = [[weight(x) * x**p for p in powers] for x in grid]
    want = [weight(x) * f(x) for x in grid]
    share = [mpf(1)] * len(grid)
    best = None
    for _ in range(rounds):
        m, y = matrix(count, count), matrix(count, 1)
        for row, v, s in zip(rows, want, share):
            for j in range(count):
                t = s * row[j]
                y[j] += t * v
                for k in range(j, count):
                    m[j, k] += t * row[k]
        for j in range(count):
            for k in range(j):
                m[j, k] = m[k, j]
        c = lu_solve(m, y)
        errors = [abs(sum(c[j] * row[j] for j in range(count)) - v) for row, v in zip(rows, want)]
        worst = max(errors)
        if best is None or worst < best[1]:
            best = ([c[j] for j in range(count)], worst)
        share = [s * e for s, e in zip(share, errors)]
        scale = sum(share)
        share = [s / scale for s in share]
    return best


def fit(f, powers, a, b, weight, bits, fixed_bits=None):
    """As minimax, coefficients rounded to `bits`."""
    fixed = []
    rest = list(powers)
    while rest:
        done = list(fixed)
        g = lambda x: f(x) - sum(c * x**p for c, p in done)
        coefs, worst = minimax(g, rest, a, b, weight)
        steps = 1 if bits < 53 or len(fixed) < 2 else len(rest)
        for c in coefs[:steps]:
            fixed.append((round_to(c, bits), rest.pop(0)))
    grid = [mpf(a) + (mpf(b) - mpf(a)) * i / 500 for i in range(501)]
    worst = max(abs(weight(x) * (sum(c * x**p for c, p in fixed) - f(x))) for x in grid)
    return fixed, worst


def taylor_quotient(f, terms, x, order):
    """(f(x) - sum of terms) / x**order without cancellation near 0."""
    if x == 0:
        x = mpf(10) ** -8
    with workprec(mp.prec + 200):
        return (f(x) - sum(c * x**k for k, c in terms)) / x**order


POLYS = {}


def poly(name, bits, powers, a, b, f, weight):
    POLYS[name] = (bits, powers, a, b, f, weight)


def show(name):
    bits, powers, a, b, f, weight = POLYS[name]
    coefs, worst = fit(f, powers, a, b, weight, bits)
    print(f"// {name}: powers {powers} on [{mp.nstr(mpf(a), 6)}, {mp.nstr(mpf(b), 6)}], error 2^{mp.nstr(mp.log(worst, 2), 5)}")
    for c, p in coefs:
        digits = float(c).hex() if bits >= 53 else float(c).hex()
        text = mp.nstr(c, 18 if bits >= 53 else 9)
        print(f"    x^{p:<2} {text:<28} {digits}")


one = lambda x: mpf(1)
LN2 = mp.log(2)

# exp(r) = 1 + r + r^2 q(r)
q_exp = lambda x: taylor_quotient(mp.exp, [(0, 1), (1, 1)], x, 2)
HALF = LN2 / 2 * mpf("1.0005")
poly("exp32", 24, range(5), -HALF, HALF, q_exp, lambda x: x * x / mp.exp(x))
poly("expm132", 24, range(6), -HALF, HALF, q_exp, lambda x: x)
poly("exp64", 53, range(11), -HALF, HALF, q_exp, lambda x: x)
# 2^r = 1 + r q(r)
poly("exp232", 24, range(6), -0.5, 0.5, lambda x: taylor_quotient(lambda t: mpf(2) ** t, [(0, 1)], x, 1), lambda x: x / mpf(2) ** x)
# kiln/smooth.h and kiln/narrow.h: q(r) again, its own error levelled, or that of 2^r; erfc(z) = 2^(z p(z))
q_exp2 = lambda x: taylor_quotient(lambda t: mpf(2) ** t, [(0, 1)], x, 1)
log_erfc = lambda z: mp.log(mp.erfc(z), 2)
near_zero = lambda z: 1 / (1 - log_erfc(z) / 8)
poly("smooth_slope", 24, range(6), -0.5, 0.5, q_exp2, lambda x: 1 / q_exp2(x))
poly("smooth_power", 24, range(5), -0.5, 0.5, q_exp2, lambda x: x / mpf(2) ** x)
poly("narrow_slope", 24, range(4), -0.5, 0.5, q_exp2, lambda x: 1 / q_exp2(x))
poly("smooth_erfc", 24, range(1, 13), "1e-9", 6.5, log_erfc, near_zero)
poly("narrow_erfc", 24, range(1, 10), "1e-9", 8, log_erfc, near_zero)

# log(1+f) = f - f^2/2 + f^3 q(f)
q_log = lambda x: taylor_quotient(mp.log1p, [(1, 1), (2, mpf(-1) / 2)], x, 3)
LO, HI = mp.sqrt(mpf(1) / 2) - 1, mp.sqrt(2) - 1
poly("log32", 24, range(8), LO, HI, q_log, lambda x: x * x)
q_log1 = lambda x: taylor_quotient(mp.log1p, [(1, 1)], x, 2)
poly("log232", 24, range(9), LO, HI, lambda x: q_log1(x) / LN2, lambda x: x)
poly("log1032", 24, range(9), LO, HI, lambda x: q_log1(x) / mp.log(10), lambda x: x)
# 2 atanh(s) = 2s + s z q(z), z = s^2
S2 = (mpf(3) - 2 * mp.sqrt(2)) ** 2 * mpf("1.001")


def q_atanh(z):
    if z < mpf(10) ** -12:
        return mpf(2) / 3
    s = mp.sqrt(z)
    return (2 * mp.atanh(s) - 2 * s) / (s * z)


poly("log64", 53, range(8), 0, S2, q_atanh, lambda z: z)


# pow: 2 atanh(s) = 2s + 2/3 s^3 + s^5 q(z)
def q_atanh2(z):
    if z < mpf(10) ** -10:
        return mpf(2) / 5
    s = mp.sqrt(z)
    return (2 * mp.atanh(s) - 2 * s - 2 * s**3 / 3) / (s * z * z)


poly("pow64", 53, range(9), 0, S2, q_atanh2, lambda z: z * z)
poly("powlog32", 53, range(6), 0, S2, lambda z: (q_atanh(z) * z + 2) / LN2, one)
poly("powexp32", 53, range(9), -0.5, 0.5, lambda x: mpf(2) ** x, one)

QUARTER = mp.pi / 4 * mpf("1.0005")


def even(g, limit):
    """A function of z = x^2 from one of x, by its limit near 0."""
    return lambda z: mpf(limit) if z < mpf(10) ** -14 else g(mp.sqrt(z))


q_sin = even(lambda x: (mp.sin(x) - x) / x**3, -mpf(1) / 6)
q_cos = even(lambda x: (mp.cos(x) - 1 + x * x / 2) / x**4, mpf(1) / 24)
poly("sin32", 24, range(3), 0, QUARTER**2, q_sin, lambda z: z)
poly("cos32", 24, range(3), 0, QUARTER**2, q_cos, lambda z: z * z)
poly("sin64", 53, range(6), 0, QUARTER**2, q_sin, lambda z: z)
poly("cos64", 53, range(6), 0, QUARTER**2, q_cos, lambda z: z * z)

# erf(x) = x + x q(z)
q_erf = even(lambda x: mp.erf(x) / x, 2 / mp.sqrt(mp.pi))
poly("erf32small", 24, range(7), 0, mpf("0.921875") ** 2, lambda z: q_erf(z) - 1, one)
poly("erf32big", 24, range(8), mpf("0.92"), mpf("4"), lambda x: mp.log(mp.erfc(x)), lambda x: mp.erfc(x) / mp.erf(x))

# sinh(x) = x + x^3 q(z)
poly("sinh64", 53, range(8), 0, 1, even(lambda x: (mp.sinh(x) - x) / x**3, mpf(1) / 6), lambda z: z)
# atan(x) = x + x^3 q(z); asin likewise
q_atan = even(lambda x: (mp.atan(x) - x) / x**3, -mpf(1) / 3)
poly("atan64", 53, range(13), 0, (mp.sqrt(2) - 1) ** 2 * mpf("1.001"), q_atan, lambda z: z)
q_asin = even(lambda x: (mp.asin(x) - x) / x**3, mpf(1) / 6)
poly("asin64", 53, range(13), 0, mpf("0.2501"), q_asin, lambda z: z)
poly("erf64small", 53, range(12), 0, mpf("0.75"), lambda z: q_erf(z) - mpf(float.fromhex("0x1.20dd750429b6dp+0")), one)
# (1 + 2x) exp(x^2) erfc(x) with x = 4 (1 + t) / (1 - t)
K_ERFC = mpf(4)


def q_erfcx(t):
    x = K_ERFC * (1 + t) / (1 - t)
    with workprec(400 + int(2 * x * x)):
        return +((1 + 2 * x) * mp.exp(x * x) * mp.erfc(x))


poly("erfcx64", 53, range(23), (mpf("0.7") - K_ERFC) / (mpf("0.7") + K_ERFC), (mpf("27.5") - K_ERFC) / (mpf("27.5") + K_ERFC), q_erfcx, lambda t: 1 / q_erfcx(t))

# log gamma: (w) p(w) around 1 and around 2; Stirling's series z s(z) in 1/z^2
lg1 = lambda w: -mp.euler if abs(w) < mpf(10) ** -20 else mp.loggamma(1 + w) / w
lg2 = lambda w: 1 - mp.euler if abs(w) < mpf(10) ** -20 else mp.loggamma(2 + w) / w
poly("lgamma1", 53, range(18), mpf("-0.2501"), mpf("0.2501"), lg1, lambda w: 1 / lg1(w))
poly("lgamma2", 53, range(22), mpf("-0.7501"), mpf("0.5"), lg2, lambda w: 1 / lg2(w))


def stirling(w):
    if w < mpf(10) ** -7:
        return mpf(1) / 12 - w / 360 + w * w / 1260 - w**3 / 1680
    z = 1 / mp.sqrt(w)
    with workprec(400):
        return +(z * (mp.loggamma(z) - (z - mpf(1) / 2) * mp.log(z) + z - mp.log(2 * mp.pi) / 2))


poly("stirling", 53, range(7), 0, mpf(1) / 144, stirling, lambda w: 1 / stirling(w))

if __name__ == "__main__":
    for arg in sys.argv[1:] or POLYS:
        show(arg)
