#!/usr/bin/env python3
"""Attention backward on a Hopper GPU: ours (ops/attention/backward_sm90.c, backward_wide.c and backward_ends.c, compiled by `kiln show`), cuDNN through
PyTorch, and the reference twin's PTX when its generator is found, alternating in random order in one process. Every kernel is checked
first, against float64 and for repeating its bits. A time is that of all three kernels. Needs torch with CUDA.

    python3 bench/gpu/attention_backward.py [--kiln build/kiln] [--twin FOLDER] [--before TREE] [--rows 'hd128.full.*'] [--check] [--ptxas] [--rounds 5] [--json FILE]

Results: $RESULTS/attention_backward.json, else bench/results/… (only of a complete run, unless --json names a file).
"""
import ctypes as C
import math
import sys

from attention_common import (TYPES, SDPBackend, Steps, Strides, balanced_grid, checked, ck, cu, finish, in_turns, lengths_of, load, middle, parse,
                              prepare_images, record, row_name, sdpa_kernel, show, tensor_map, timed, torch, tree_before)

ENDS, MAIN, WIDE = 'ops/attention/backward_ends.c', 'ops/attention/backward_sm90.c', 'ops/attention/backward_wide.c'
SOURCES = [ENDS, MAIN, WIDE, 'ops/attention/backward_tiles.h', 'ops/attention/backward_units.h', 'ops/attention/backward_produce.h', 'ops/attention/backward_mask.h',
           'ops/attention/hopper.h', 'ops/attention/sizes.h']
SHAPES = ((3, 72), (1, 128), (160, 136), (2, 256), (3, 384), (2, 400), (40, 640), (1, 1000), (5, 1024))


class Tensors(C.Structure):  # of backward_ends.c
    _fields_ = [(n, C.c_uint32) for n in ('length', 'blocks')] + [('scale', C.c_float), ('heads', C.c_uint32)] + [
        (n, Strides) for n in ('out', 'dout', 'lse', 'dq')]


class Problem(C.Structure):  # of backward_units.h
    _fields_ = ([(n, C.c_uint32) for n in ('queries', 'query_blocks', 'key_blocks', 'units', 'per_head')] +
                [(n, C.c_float) for n in ('c', 'scale')] + [(n, C.c_uint32) for n in ('keys', 'heads', 'kv_heads', 'sharing', 'parts', 'all_heads')] +
                [(n, Steps) for n in ('q', 'k', 'v', 'dout')] + [(n, Strides) for n in ('dk', 'dv')])


class Kernel:
    """ours or the twin; tensors are [heads, rows, hd]"""

    def __init__(self, label, hd, causal, type_name='bf16'):
        self.hd, self.causal, self.type_name, self.label = hd, causal, type_name, label
        self.m, self.keys, self.threads = 128 if hd == 64 else 64, 128 if hd <= 128 else 64, 384 if hd <= 128 else 512

    def jobs(self, options):
        """functions that return the PTX of the ends and of the main kernel"""
        if self.label != 'ours':
            return [lambda: options.twin(self.hd, self.causal)] * 2
        defines, tunes = ['TYPE_' + self.type_name], [f'HD={self.hd}']
        main_tunes = tunes + [f'CAUSAL={int(self.causal)}']
        return [lambda: checked(show(options, ENDS, defines, tunes), 'attention_backward_prepare', [C.sizeof(Tensors)]),
                lambda: checked(show(options, MAIN if self.hd <= 128 else WIDE, defines, main_tunes), 'attention_backward', [128] * 4 + [C.sizeof(Problem)])]

    def load(self, options, ends, main):
        if self.label == 'ours':
            names = b'attention_backward_prepare', b'attention_backward', b'attention_backward_convert'
            kv, q, ds = 2 * self.keys * self.hd, 2 * self.m * self.hd, 2 * self.keys * self.m
            q_stages, ds_stages, chunks = {256: (2, 1, 2), 192: (3, 2, 3)}.get(self.hd, (4, 2, 0))
            self.smem = 2 * kv + (q_stages + 2) * q + ds_stages * ds + 2 * 8 * self.m
            self.smem += 8 * 4096 + 8 * 20 if self.hd <= 128 else 8192 + 4 * chunks * 2048 + 16 * (5 + q_stages + ds_stages)
        else:
            names = b'bwd_pre', b'bwd', b'bwd_post'
            self.smem = int(options.twin(self.hd, self.causal).split(' smem=')[1].split()[0])
        self.functions = [load(ends, names[0], 0), load(main, names[1], self.smem), load(ends, names[2], 0)]

    def prepare(self, q, k, v, o, do, lse, dq, dk, dv):
        heads, s, hd = q.shape
        m = self.m
        query_blocks, key_blocks = -(-s // m), -(-s // self.keys)
        per_head = -(-key_blocks // 2) if self.causal else key_blocks
        units = heads * per_head
        grid = balanced_grid(units)
        rows = torch.empty(heads, query_blocks, 2, m, device='cuda')
        sums = torch.empty(heads, query_blocks, m * hd, device='cuda')
        scale = hd ** -0.5
        p, u = lambda t: C.c_uint64(t.data_ptr()), C.c_uint32
        n_prepare, n_convert = heads * query_blocks * m * (32 if hd == 192 else hd // 8), sums.numel() // 16
        c = scale * math.log2(math.e)
        if self.label == 'ours':
            ends = [Tensors(s, query_blocks, scale, heads)]
            last = [Problem(s, query_blocks, key_blocks, units, per_head, c, scale, s, heads, heads, 1, 1, heads)]
            counts = [ends, ends]
        else:
            last = [u(s), u(query_blocks), u(key_blocks), u(units), u(per_head), C.c_float(c), C.c_float(scale)]
            counts = [[u(s), u(query_blocks), u(n_prepare)], [u(s), u(query_blocks), u(n_convert), C.c_float(scale)]]
        calls = [
            (-(-n_prepare // 256), 256, 0, [p(o), p(do), p(lse), p(rows), p(sums)] + counts[0]),
            (grid, self.threads, self.smem, [tensor_map(q, m), tensor_map(k, self.keys), tensor_map(v, self.keys), tensor_map(do, m), p(rows), p(sums), p(dk), p(dv)] +
             last),
            (-(-n_convert // 256), 256, 0, [p(sums), p(dq)] + counts[1])]
        packed = [(f, *call[:3], (C.c_void_p * len(call[3]))(*[C.addressof(x) for x in call[3]])) for f, call in zip(self.functions, calls)]
        stream = C.c_void_p(torch.cuda.current_stream().cuda_stream)

        def run(which=(0, 1, 2), keep=(calls, q, k, v, o, do, lse, dq, dk, dv, rows, sums)):
            for i in which:
                f, blocks, threads, smem, args = packed[i]
                ck(cu.cuLaunchKernel(f, blocks, 1, 1, threads, 1, 1, smem, stream, args, None), 'launch')
        return run


def reference(q, k, v, do, causal):
    """float64: o, lse, dq, dk, dv"""
    s, scale = q.shape[1], q.shape[2] ** -0.5
    q, k, v, do = (t.double() for t in (q, k, v, do))
    x = q @ k.transpose(1, 2) * scale
    if causal:
        x = x.masked_fill(torch.ones(s, s, device='cuda', dtype=torch.bool).triu(1), float('-inf'))
    lse = torch.logsumexp(x, -1)
    p = torch.exp(x - lse[..., None])
    o = p @ v
    ds = p * (do @ v.transpose(1, 2) - (do * o).sum(-1, keepdim=True))
    return o, lse, scale * ds @ k, scale * ds.transpose(1, 2) @ q, p.transpose(1, 2) @ do


def relative(a, b):
    e = ((a.double() - b.double()).norm() / b.double().norm()).item()
    return e if e == e else float('inf')


def check(kern):
    """worst relative errors of dQ, dK, dV against float64; dK and dV must repeat bit for bit, dQ is a sum in changing order"""
    worst = [0.0] * 3
    for heads, s in SHAPES:
        dtype = TYPES[kern.type_name][0]
        q, k, v, do = (torch.randn(heads, s, kern.hd, device='cuda', dtype=dtype) for _ in range(4))
        o, lse, *ref = reference(q, k, v, do, kern.causal)
        out = [torch.full_like(q, float('nan')) for _ in range(3)]
        f = kern.prepare(q, k, v, o.to(dtype), do, lse.float(), *out)
        f()
        torch.cuda.synchronize()
        errors = [relative(a, b) for a, b in zip(out, ref)]
        first = [t.clone() for t in out]
        for _ in range(100 if s == 1000 else 10):
            for t in out:
                t.fill_(float('nan'))
            f()
            if not (torch.equal(out[1], first[1]) and torch.equal(out[2], first[2]) and relative(out[0], first[0]) < 2e-3):
                print(f'  {heads} x {s}: does not repeat', flush=True)
                errors[0] = float('inf')
                break
        if max(errors) > 1e-2:
            print(f'  {heads} x {s}: dQ {errors[0]:.2e} dK {errors[1]:.2e} dV {errors[2]:.2e}', flush=True)
        worst = [max(a, b) for a, b in zip(worst, errors)]
    return worst


def log_sums(q, k, causal):
    """the logarithms of the sums in float32, a head at a time"""
    heads, s, hd = q.shape
    lse = torch.empty(heads, s, device='cuda')
    mask = torch.ones(s, s, device='cuda', dtype=torch.bool).triu(1) if causal else None
    for i in range(heads):
        x = (q[i].float() @ k[i].float().T) * hd ** -0.5
        lse[i] = torch.logsumexp(x.masked_fill_(mask, float('-inf')) if causal else x, -1)
    return lse


def measure(options, hd, causal, type_name, s, kernels, results):
    """times the candidates of one row: 16k tokens and 2048 columns in all"""
    name, b, h = row_name(hd, causal, type_name, s), 16384 // s, 2048 // hd
    q, k, v, do = (torch.randn(b, h, s, hd, device='cuda', dtype=TYPES[type_name][0]).requires_grad_(i < 3) for i in range(4))
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        o4 = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)

    def flat(t):
        return t.detach().reshape(b * h, s, hd)

    def library():
        return torch.autograd.grad(o4, (q, k, v), do, retain_graph=True)
    ref = [flat(t) for t in library()]
    lse = log_sums(flat(q), flat(k), causal)
    flop = 10 * b * h * s * s * hd * (0.5 if causal else 1)
    candidates = {'cuDNN': library}
    for whose, kern in kernels:
        out = [torch.full_like(ref[0], float('nan')) for _ in range(3)]
        f = kern.prepare(flat(q), flat(k), flat(v), flat(o4), flat(do), lse, *out)
        f()
        errors = [relative(a, r) for a, r in zip(out, ref)]
        if max(errors) < 1.5e-2:
            candidates[whose] = f
        else:
            print('WRONG', name, whose, errors)
            results['wrong'] = results.get('wrong', 0) + 1
    n = max(2, int(10e-3 / (flop / 450e12)))
    times = in_turns(candidates, options.rounds, n)
    median = {c: middle(t) for c, t in times.items()}
    parts = ''
    for c in candidates:
        if c != 'cuDNN':
            parts += f' | {c} us: ' + ', '.join(f'{1e3 * timed(lambda: candidates[c]((i,)), n):.0f}' for i in range(3))
    print(f'{name}: ' + ', '.join(f'{c} {flop / t / 1e9:.0f} TF ({median["cuDNN"] / t:.3f})' for c, t in median.items()) + parts, flush=True)
    record(results, name, flop, times['cuDNN'], times.get('ours'), {w: times.get(w) for w in ('twin', 'before')})


def main():
    options = parse(5, ('attn_bwd_bf16', 'bwd'), lambda parser: parser.add_argument('--check', action='store_true', help='no timing'))
    results, failed, kernels = {}, 0, {}
    makers = {'ours': (Kernel, options)}
    if options.twin:
        makers['twin'] = Kernel, options
    if options.before:
        before, there = tree_before(options, 'attention_backward', ENDS=ENDS, MAIN=MAIN, WIDE=WIDE)
        makers['before'] = (lambda _, *of: before.Kernel('ours', *of)), there
    for row in [(hd, causal, t) for hd in (128, 64, 256, 192) for causal in (False, True) for t in TYPES]:
        if lengths_of(options, *row):
            kernels[row] = [(w, makers[w][0](w, *row)) for w in makers if w == 'ours' or row[0] <= 128 and (w != 'twin' or row[2] == 'bf16')]
    everything = [k for each in kernels.values() for k in each]
    images = prepare_images(options, [job for whose, kern in everything for job in kern.jobs(makers[whose][1])])
    for i, (whose, kern) in enumerate(everything):
        kern.load(options, *images[2 * i:2 * i + 2])
    for row, candidates in kernels.items():
        good = []
        for whose, kern in candidates:
            worst = check(kern) if whose != 'before' else [0.0] * 3
            print(f'{row_name(*row, "*")} {whose}: worst error dQ {worst[0]:.2e} dK {worst[1]:.2e} dV {worst[2]:.2e}', flush=True)
            if max(worst) < 1e-2:
                good.append((whose, kern))
            else:
                failed += 1
        for s in [] if options.check else lengths_of(options, *row):
            measure(options, *row, s, good, results)
    return finish('attention_backward', options, SOURCES, results, failed, not options.check)


if __name__ == '__main__':
    sys.exit(main())
