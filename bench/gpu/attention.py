#!/usr/bin/env python3
"""Attention forward on a Hopper GPU: ours (ops/attention/forward_sm90.c, compiled by `kiln show`), cuDNN through PyTorch, and the
reference twin's PTX when its generator is found, alternating in random order in one process. Every kernel is checked first, against
float64 and for repeating its bits. Needs torch with CUDA.

    python3 bench/gpu/attention.py [--kiln build/kiln] [--twin FOLDER] [--before TREE] [--rows 'hd64.full.bf16.*'] [--variants] [--ptxas] [--rounds 7] [--json FILE]

Results: $RESULTS/attention_forward.json, else bench/results/… (only of a complete run, unless --json names a file).
--variants also times the tiles and schedules that the library does not choose. --before times the kernels of another tree beside ours.
"""
import collections
import ctypes as C
import math
import sys

from attention_common import (TYPES, SDPBackend, Steps, Strides, balanced_grid, checked, ck, cu, finish, in_turns, lengths_of, load, middle, parse,
                              prepare_images, record, row_name, sdpa_kernel, show, tensor_map, torch, tree_before)

SOURCE = 'ops/attention/forward_sm90.c'
SOURCES = [SOURCE, 'ops/attention/forward_softmax.h', 'ops/attention/forward_tiles.h', 'ops/attention/forward_mask.h', 'ops/attention/hopper.h']
HEADS = [(hd, causal) for hd in (64, 128, 256) for causal in (False, True)]

# The tunables of forward_sm90.c; the twin has BN, WGS and TURNS
Tile = collections.namedtuple('Tile', 'BN WGS Q_STAGES AHEAD TURNS LATE', defaults=(1, 0, 0, 0))


def chosen(hd, causal, s):
    """as choices in ops/attention/attention.c"""
    if hd == 64:
        return Tile(128, 3, 2, 2 if causal else 0, 1) if s >= 2048 else Tile(64, 4, 2, 1)
    if hd == 128:
        if causal:
            return Tile(128, 2, 2, 2, 0, 1) if s >= 2048 else Tile(128, 2, 2, 1, 1)
        return Tile(80, 3, 1, 1) if s >= 2048 else Tile(128, 2, 2, 2)
    return Tile(64, 2, 1, 0, 0, 1) if causal else Tile(64, 2, 1, 2)


def of_twin(hd, causal, s):
    """the tile its authors found best"""
    if hd == 64:
        return Tile(128, 2, TURNS=1) if causal and s < 4096 else Tile(128, 3, TURNS=0 if causal else 1)
    if hd == 256:
        return Tile(64, 2)
    return Tile(160, 2) if not causal and s >= 16384 else Tile(128, 2)


def variants(hd):
    """others worth a look"""
    sizes = {64: [(128, 3, 2), (64, 4, 2)], 128: [(128, 2, 2), (80, 3, 1), (80, 3, 2), (160, 2, 1)], 256: [(64, 2, 1)]}
    return [Tile(*size, ahead, turns, late) for size in sizes[hd] for ahead in (0, 1, 2) for turns in (0, 1) for late in (0, 1)]


class Shape(C.Structure):  # struct shape of forward_tiles.h
    _fields_ = ([(n, C.c_uint32) for n in ('queries', 'keys', 'tiles', 'units_per_head', 'units', 'sharing')] + [('scale', C.c_float)] +
                [(n, C.c_uint32) for n in ('heads', 'kv_heads')] + [(n, Steps) for n in 'qkv'] + [(n, Strides) for n in ('out', 'lse')] +
                [(n, C.c_uint32) for n in ('parts', 'part_units')])


class Kernel:
    """one tile of ours or of the twin; tensors are [heads, rows, hd]"""

    def __init__(self, kind, hd, causal, tile, type_name='bf16'):
        self.hd, self.causal, self.type_name, self.kind, self.tile, self.queries = hd, causal, type_name, kind, tile, 64 * tile.WGS
        self.label = f'{kind} {self.queries}x{tile.BN}' + (' turns' if tile.TURNS else '')
        if kind == 'ours':
            self.label += f' ahead {tile.AHEAD}' + ' two' * (tile.Q_STAGES - 1) + ' late' * tile.LATE
        self.smem = (tile.Q_STAGES * self.queries + 4 * tile.BN) * hd * 2 + 4 * tile.WGS * 2048 + (96 if kind == 'ours' else 128 + 1024)

    def ptx(self, options):
        if self.kind != 'ours':
            return options.twin(self.hd, self.tile.BN, self.causal, self.tile.WGS, bool(self.tile.TURNS))
        tunes = [f'{name}={value}' for name, value in self.tile._asdict().items()]
        ptx = show(options, SOURCE, ['TYPE_' + self.type_name], tunes + [f'HD={self.hd}', f'CAUSAL={int(self.causal)}'])
        return checked(ptx, 'attention', [128] * 3 + [C.sizeof(Shape)])

    def load(self, image):
        self.fn = load(image, b'attention' if self.kind == 'ours' else b'attn', self.smem)

    def prepare(self, q, k, v, o, lse):
        heads, s, hd = q.shape
        tiles = -(-s // self.queries)
        per_head = -(-tiles // 2) if self.causal else tiles
        units = heads * per_head
        scale = hd ** -0.5 * math.log2(math.e)
        grid = balanced_grid(units, per_head, self.kind == 'ours' and s % self.queries != 0)
        args = [tensor_map(q, self.queries), tensor_map(k, self.tile.BN), tensor_map(v, self.tile.BN), C.c_uint64(o.data_ptr()),
                C.c_uint64(lse.data_ptr())]
        if self.kind == 'ours':
            args.append(Shape(s, k.shape[1], tiles, per_head, units, heads // k.shape[0], scale, heads, k.shape[0]))
        else:
            args += [C.c_uint32(x) for x in (s, tiles, units, per_head, -(-s // self.tile.BN))] + [C.c_float(scale)]
        arr = (C.c_void_p * len(args))(*[C.addressof(a) for a in args])
        stream = C.c_void_p(torch.cuda.current_stream().cuda_stream)

        def run(keep=(args, q, k, v, o, lse)):
            ck(cu.cuLaunchKernel(self.fn, grid, 1, 1, 128 * (self.tile.WGS + 1), 1, 1, self.smem, stream, arr, None), 'launch')
        return run


def tensors(heads, kv_heads, s, hd, type_name):
    dtype = TYPES[type_name][0]
    q = torch.randn(heads, s, hd, device='cuda', dtype=dtype)
    k, v = (torch.randn(kv_heads, s, hd, device='cuda', dtype=dtype) for _ in range(2))
    return q, k, v, torch.full_like(q, float('nan')), torch.full((heads, s), float('nan'), device='cuda')


def check(kern):
    """worst relative error of the output and absolute error of the logarithm of the sums, against float64; repeats must be equal"""
    worst = 0.0
    for heads, kv_heads, s, loud in ((3, 3, 72, 1), (2, 2, 128, 1), (1, 1, 136, 1), (2, 2, 256, 1), (3, 3, 384, 1), (4, 2, 400, 1), (6, 2, 640, 20),
                                     (160, 80, 640, 1), (1, 1, 1000, 1), (5, 5, 1024, 1)):
        if kern.kind != 'ours':
            kv_heads = heads
        q, k, v, o, lse = tensors(heads, kv_heads, s, kern.hd, kern.type_name)
        q *= loud  # large scores: the largest of a row grows in steps
        run = kern.prepare(q, k, v, o, lse)
        run()
        torch.cuda.synchronize()
        k, v = (t.double().repeat_interleave(heads // kv_heads, 0) for t in (k, v))
        p = q.double() @ k.transpose(1, 2) * kern.hd ** -0.5
        if kern.causal:
            p = p.masked_fill(torch.ones(s, s, device='cuda', dtype=torch.bool).triu(1), float('-inf'))
        ref = torch.softmax(p, -1) @ v
        for err in (((o.double() - ref).norm() / ref.norm()).item(), (lse.double() - torch.logsumexp(p, -1)).abs().max().item()):
            worst = max(worst, err) if err == err else float('inf')
        first, first_lse = o.clone(), lse.clone()
        for _ in range(100 if s == 1000 else 3):
            o.fill_(float('nan'))
            run()
            if not torch.equal(o, first) or not torch.equal(lse, first_lse):
                worst = float('inf')
    return worst


def measure(options, choices, hd, causal, type_name, s, kernels, results):
    """times the candidates of one row: 16k tokens and 2048 columns in all. Choices: whose kernels -> which tile they take"""
    name, b, h = row_name(hd, causal, type_name, s), 16384 // s, 2048 // hd
    q, k, v, o, lse = tensors(b * h, b * h, s, hd, type_name)
    flop = 4 * b * h * s * s * hd * (0.5 if causal else 1)
    q4, k4, v4 = (t.view(b, h, s, hd) for t in (q, k, v))

    def library():
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            return torch.nn.functional.scaled_dot_product_attention(q4, k4, v4, is_causal=causal)
    ref = library().reshape(b * h, s, hd).float()
    candidates, label = {'cuDNN': library}, {}
    for whose, kern in kernels:
        is_first = kern.tile == choices[whose](hd, causal, s)
        if not is_first and not (options.variants and whose == 'ours'):
            continue
        if is_first:
            label[whose] = kern.label
        f = kern.prepare(q, k, v, o, lse)
        o.fill_(float('nan'))
        f()
        err = ((o.float() - ref).norm() / ref.norm()).item()
        if err < 1e-2:
            candidates[kern.label] = f
        else:
            print('WRONG', name, kern.label, err)
            results['wrong'] = results.get('wrong', 0) + 1
    times = in_turns(candidates, options.rounds, max(2, int(10e-3 / (flop / 500e12))))
    median = {c: middle(t) for c, t in times.items()}
    print(f'{name}: ' + ', '.join(f'{c}{"*" if c == label.get("ours") else ""} {flop / t / 1e9:.0f} TF ({median["cuDNN"] / t:.3f})'
                                  for c, t in sorted(median.items(), key=lambda x: x[1])), flush=True)
    record(results, name, flop, times['cuDNN'], times.get(label.get('ours')), {w: times.get(label.get(w)) for w in ('twin', 'before')})


def main():
    options = parse(7, ('attn_fwd_bf16', 'attn'), lambda parser: parser.add_argument('--variants', action='store_true'))
    results, failed, kernels, choices = {}, 0, {}, {'ours': chosen}
    makers = {'ours': (Kernel, options)}
    if options.twin:
        choices['twin'], makers['twin'] = of_twin, (Kernel, options)
    if options.before:
        before, there = tree_before(options, 'attention', SOURCE=SOURCE)
        choices['before'], makers['before'] = before.chosen, (lambda _, *of: before.Kernel('ours', *of), there)
    for row in [(hd, causal, t) for hd, causal in HEADS for t in TYPES]:
        hd, causal, type_name = row
        lengths, kernels[row] = lengths_of(options, *row), []
        for whose, choose in choices.items():
            tiles = {choose(hd, causal, s): 0 for s in lengths if whose != 'twin' or type_name == 'bf16'}  # in order, each one once
            if options.variants and lengths and whose == 'ours':
                tiles |= {tile: 0 for tile in variants(hd)}
            kernels[row] += [(whose, makers[whose][0](whose, hd, causal, tile, type_name)) for tile in tiles]
    everything = [k for each in kernels.values() for k in each]
    jobs = [lambda whose=whose, kern=kern: kern.ptx(makers[whose][1]) for whose, kern in everything]
    for (whose, kern), image in zip(everything, prepare_images(options, jobs)):
        kern.load(image)
        kern.label = kern.label.replace('ours', whose)
    for row, candidates in kernels.items():
        good = []
        for whose, kern in candidates:
            worst = check(kern) if whose != 'before' else 0.0
            print(f'{row_name(*row, "*")} {kern.label}: worst error {worst:.2e}', flush=True)
            if worst < 1e-2:
                good.append((whose, kern))
            else:
                failed += 1
        for s in lengths_of(options, *row):
            measure(options, choices, *row, s, good, results)
    return finish('attention_forward', options, SOURCES, results, failed, not options.variants)


if __name__ == '__main__':
    sys.exit(main())
