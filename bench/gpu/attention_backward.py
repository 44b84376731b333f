#!/usr/bin/env python3
"""Attention backward on a Hopper GPU: ours (ops/attention/backward_sm90.c and backward_ends.c, compiled by `kiln show`), cuDNN through
PyTorch, and the reference twin's PTX when its generator is found, alternating in random order in one process. Every kernel is checked
first, against float64 and for repeating its bits. A time is that of all three kernels. Needs torch with CUDA.

    python3 bench/gpu/attention_backward.py [--kiln build/kiln] [--twin FOLDER] [--only hd128.full] [--check] [--rounds 5] [--json FILE]

Results: bench/results/attention_backward.json (only of a complete run, unless --json names a file).
"""
import argparse
import ctypes as C
import datetime
import hashlib
import json
import math
import os
import platform
import random
import subprocess
import sys

from attention import ROOT, TYPES, SDPBackend, ck, cu, load, sdpa_kernel, tensor_map, timed, torch

ENDS, MAIN = 'ops/attention/backward_ends.c', 'ops/attention/backward_sm90.c'
SOURCES = [ENDS, MAIN, 'ops/attention/backward_tiles.h']
SHAPES = ((3, 72), (1, 128), (160, 136), (2, 256), (3, 384), (2, 400), (40, 640), (1, 1000), (5, 1024))
LENGTHS = (1024, 4096, 16384)


def show(options, source, hd, causal, type_name):
    command = [options.kiln, 'show', source, '--stage', 'ptx', '--target', 'sm_90a', '-D', 'TYPE_' + type_name, '--tune', f'HD={hd}']
    if source == MAIN:
        command += ['--tune', f'CAUSAL={int(causal)}']
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


class Kernel:
    """ours or the twin; tensors are [heads, rows, hd]"""

    def __init__(self, label, options, hd, causal, type_name='bf16'):
        self.hd, self.causal, self.type_name, self.label, self.m = hd, causal, type_name, label, 64 if hd == 128 else 128
        if label == 'ours':
            ends, main = (show(options, source, hd, causal, type_name) for source in (ENDS, MAIN))
            names = b'attention_backward_prepare', b'attention_backward', b'attention_backward_convert'
            kv, q, ds = 256 * hd, 2 * self.m * hd, 256 * self.m
            self.smem = 2 * kv + 6 * q + 2 * ds + 8 * 4096 + 2 * 8 * self.m + 8 * 20
        else:
            ends = main = options.twin(hd, causal)
            names = b'bwd_pre', b'bwd', b'bwd_post'
            self.smem = int(main.split(' smem=')[1].split()[0])
        self.functions = [load(ends, names[0], 0), load(main, names[1], self.smem), load(ends, names[2], 0)]

    def prepare(self, q, k, v, o, do, lse, dq, dk, dv):
        heads, s, hd = q.shape
        m = self.m
        query_blocks, key_blocks = -(-s // m), -(-s // 128)
        per_head = -(-key_blocks // 2) if self.causal else key_blocks
        units = heads * per_head
        sms = torch.cuda.get_device_properties(0).multi_processor_count
        grid = -(-units // -(-units // sms))  # balanced waves
        rows = torch.empty(heads, query_blocks, 2, m, device='cuda')
        sums = torch.empty(heads, query_blocks, 8192, device='cuda')
        scale = hd ** -0.5
        p, u = lambda t: C.c_uint64(t.data_ptr()), C.c_uint32
        n_prepare, n_convert = sums.numel() // 8, sums.numel() // 16
        is_twin = self.label != 'ours'
        calls = [
            (-(-n_prepare // 256), 256, 0, [p(o), p(do), p(lse), p(rows), p(sums), u(s), u(query_blocks)] + [u(n_prepare)] * is_twin),
            (grid, 384, self.smem, [tensor_map(q, m), tensor_map(k, 128), tensor_map(v, 128), tensor_map(do, m), p(rows), p(sums), p(dk), p(dv),
                                    u(s), u(query_blocks), u(key_blocks), u(units), u(per_head), C.c_float(scale * math.log2(math.e)), C.c_float(scale)]),
            (-(-n_convert // 256), 256, 0, [p(sums), p(dq), u(s), u(query_blocks)] + [u(n_convert)] * is_twin + [C.c_float(scale)])]
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


def measure(options, hd, causal, type_name, kernels, results):
    """times every candidate at three lengths, 16k tokens and 2048 columns in all"""
    name = f'hd{hd}.{"causal" if causal else "full"}.{type_name}'
    for s in LENGTHS:
        b, h = 16384 // s, 2048 // hd
        q, k, v, do = (torch.randn(b, h, s, hd, device='cuda', dtype=TYPES[type_name][0]).requires_grad_(i < 3) for i in range(4))
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            o4 = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)

        def flat(t):
            return t.detach().reshape(b * h, s, hd)

        def library(o4=o4, q=q, k=k, v=v, do=do):
            return torch.autograd.grad(o4, (q, k, v), do, retain_graph=True)
        ref = [flat(t) for t in library()]
        lse = log_sums(flat(q), flat(k), causal)
        flop = 10 * b * h * s * s * hd * (0.5 if causal else 1)
        candidates = {'cuDNN': library}
        for kern in kernels:
            out = [torch.full_like(ref[0], float('nan')) for _ in range(3)]
            f = kern.prepare(flat(q), flat(k), flat(v), flat(o4), flat(do), lse, *out)
            f()
            errors = [relative(a, r) for a, r in zip(out, ref)]
            if max(errors) < 1.5e-2:
                candidates[kern.label] = f
            else:
                print('WRONG', name, kern.label, s, errors)
                results['wrong'] = results.get('wrong', 0) + 1
        n = max(2, int(10e-3 / (flop / 450e12)))
        times = {c: [] for c in candidates}
        for _ in range(options.rounds):
            for c in random.sample(list(candidates), len(candidates)):
                times[c].append(timed(candidates[c], n))
        median = {c: sorted(t)[len(t) // 2] for c, t in times.items()}
        parts = ''
        for c in candidates:
            if c != 'cuDNN':
                parts += f' | {c} us: ' + ', '.join(f'{1e3 * timed(lambda: candidates[c]((i,)), n):.0f}' for i in range(3))
        print(f'{name} S={s}: ' + ', '.join(f'{c} {flop / t / 1e9:.0f} TF ({median["cuDNN"] / t:.3f})' for c, t in median.items()) + parts, flush=True)
        ours, twin = median.get('ours'), median.get('twin')
        results[f'{name}.{s}.cudnn.TFLOPS'] = flop / median['cuDNN'] / 1e9
        if ours:
            results[f'{name}.{s}.TFLOPS'] = flop / ours / 1e9
            results[f'{name}.{s}.of_cudnn'] = median['cuDNN'] / ours
        if ours and twin:
            results[f'{name}.{s}.of_twin'] = twin / ours


def write(path, options, results):
    for end in ('of_cudnn', 'of_twin'):
        ratios = [v for k, v in results.items() if k.endswith('.' + end)]
        if ratios:
            results['geomean.' + end] = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(', '.join(f'{k} {v:.4f}' for k, v in results.items() if k.startswith('geomean')))
    driver = C.c_int()
    cu.cuDriverGetVersion(C.byref(driver))
    text = json.dumps({
        'bench': 'attention_backward', 'command': 'python3 bench/gpu/attention_backward.py',
        'date': datetime.datetime.now(datetime.timezone.utc).strftime('%Y-%m-%dT%H:%M:%SZ'),
        'machine': f'{platform.system()} {platform.machine()}', 'gpu': torch.cuda.get_device_name(0), 'target': 'sm_90a',
        'driver_api': driver.value, 'torch': torch.__version__, 'cudnn': torch.backends.cudnn.version(),
        'kiln': subprocess.run([options.kiln, '--version'], capture_output=True, text=True).stdout.strip(),
        'kernels': {source: hashlib.sha256(open(source, 'rb').read()).hexdigest() for source in SOURCES},
        'results': {k: float(f'{v:.6g}') for k, v in results.items()},
    }, indent=0)
    with open(path, 'w') as f:
        f.write(text + '\n')


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--kiln', default='build/kiln')
    parser.add_argument('--twin', default=os.path.join(ROOT, '..', 'shared', 'hopper'))
    parser.add_argument('--only', default='', help='hd128: one head dimension; hd128.full.bf16: one row')
    parser.add_argument('--check', action='store_true', help='no timing')
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--json')
    options = parser.parse_args()
    try:
        sys.path.insert(0, options.twin)
        from attn_bwd_bf16 import bwd
        options.twin = bwd
    except ImportError:
        options.twin = None
    torch.manual_seed(0)
    torch.zeros(1, device='cuda')
    results, failed = {}, 0
    for hd, causal, type_name in [(hd, causal, t) for hd in (128, 64) for causal in (False, True) for t in TYPES]:
        name = f'hd{hd}.{"causal" if causal else "full"}.{type_name}'
        if not name.startswith(options.only):
            continue
        kernels = []
        for label in ('ours', 'twin') if type_name == 'bf16' and options.twin else ('ours',):
            kern = Kernel(label, options, hd, causal, type_name)
            worst = check(kern)
            print(f'{name} {label}: worst error dQ {worst[0]:.2e} dK {worst[1]:.2e} dV {worst[2]:.2e}', flush=True)
            if max(worst) < 1e-2:
                kernels.append(kern)
            else:
                failed += 1
        if not options.check:
            measure(options, hd, causal, type_name, kernels, results)
    failed += int(results.pop('wrong', 0))
    path = options.json or (None if options.only or options.check or failed else 'bench/results/attention_backward.json')
    if path and results:
        write(path, options, results)
    print(f'attention_backward: {failed} failed')
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())
