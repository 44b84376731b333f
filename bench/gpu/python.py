#!/usr/bin/env python3
"""kiln.torch on a GPU beside PyTorch: what one call costs on the host, and a transformer block of GPT-2's size with its attention and linear layers
replaced, also by quantised ones, beside eager PyTorch and torch.compile, alternating in one process. Results are checked first. Needs torch with CUDA.

    python3 bench/gpu/python.py [--kiln build/kiln] [--rounds 7] [--graphs] [--json FILE]

Every candidate is launched kernel by kernel, which shows the host's time where that is the longer one, and captured into a CUDA graph, which shows
the GPU's alone. --graphs: graphs alone, without torch.compile; a short run.
Results: $RESULTS/python.json and python_graphs.json, else in bench/results (only where everything was right, unless --json names a file for both).
"""
import gc
import statistics
import sys
import time

import captured
from captured import IS_GPU, options, torch

GRAPHS = '--graphs' in captured.FLAGS
SOURCES = ['ops/elementwise/kernel.c', 'ops/matmul/gemm_sm90.c', 'ops/linear/tensor.c', 'ops/attention/forward_sm90.c', 'ops/attention/backward_sm90.c']
SIZE, HEADS, BATCH, LENGTH = (768, 12, 8, 1024) if IS_GPU else (64, 4, 2, 32)
import kiln.torch as kt  # from the path that captured.py has set


def sync():
    if IS_GPU:
        torch.cuda.synchronize()


def host_time(call, calls=2000):
    """microseconds of the host for one call; the device is waited for at the end alone"""
    for _ in range(min(calls, 200)):
        call()
    sync()
    start = time.perf_counter()
    for _ in range(calls):
        call()
    took = time.perf_counter() - start
    sync()
    return took / calls * 1e6


def device_time(call, calls):
    """milliseconds of the device for one call"""
    if not IS_GPU:
        return host_time(call, 2) / 1e3
    return captured.once(lambda: [call() for _ in range(calls)]) / calls * 1e3


@torch.library.custom_op('kiln_bench::mul', mutates_args=())
def their_mul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.mul(a, b)


@their_mul.register_fake
def _(a, b):
    return torch.empty_like(a)


their_mul.register_autograd(lambda ctx, g: (g * ctx.saved_tensors[1], g * ctx.saved_tensors[0]),
                            setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))


OWN = """#include <kiln/kernel.h>
kernel block(256) void own_mul(f32 *out, const f32 *a, const f32 *b, u32 n)
{
    u32 i = global_x();
    if (i < n)
        out[i] = a[i] * b[i];
}
kernel block(256) void own_mul_backward(f32 *da, f32 *db, const f32 *a, const f32 *b, const f32 *dout, u32 n)
{
    u32 i = global_x();
    if (i < n) {
        da[i] = dout[i] * b[i];
        db[i] = dout[i] * a[i];
    }
}
"""


def call_overhead(results):
    """Ops of small tensors: PyTorch's own, one that torch.library.custom_op made of it, and Kiln's; then what Kiln's call is made of."""
    a, b = torch.randn(64, 64, device=options.device), torch.randn(64, 64, device=options.device)
    with_grad = a.clone().requires_grad_()
    q = torch.randn(1, 4, 64, 64, device=options.device, dtype=torch.bfloat16 if IS_GPU else torch.float32)
    f, ours = torch.nn.functional, torch.ops.kiln
    dtype = torch.bfloat16 if IS_GPU else torch.float32
    layers = {name: torch.nn.Linear(64, 64, device=options.device, dtype=dtype).requires_grad_(False) for name in ('torch', 'kiln', 'int8', 'int4')}
    layers['kiln'].__class__ = kt.Linear
    for form in ('int8', 'int4'):
        layers[form] = kt.QuantisedLinear.of(layers[form], form, 32 if form == 'int4' else None)
    rows = a.to(dtype)
    own = kt.op(OWN, 'own_mul', backward='own_mul_backward')
    assert torch.equal(own(a, b), a * b)
    calls = {'own': lambda: own(a, b), 'grad.own': lambda: own(with_grad, b), 'torch': lambda: torch.mul(a, b), 'custom_op': lambda: their_mul(a, b), 'kiln': lambda: kt.mul(a, b), 'kiln_op': lambda: ours.mul.default(a, b),
             'grad.torch': lambda: torch.mul(with_grad, b), 'grad.custom_op': lambda: their_mul(with_grad, b), 'grad.kiln': lambda: kt.mul(with_grad, b),
             'layer.torch': lambda: layers['torch'](rows), 'layer.kiln': lambda: layers['kiln'](rows),
             'layer.int8': lambda: layers['int8'](rows), 'layer.int4': lambda: layers['int4'](rows),
             'softmax.torch': lambda: torch.softmax(a, -1), 'softmax.kiln': lambda: kt.softmax(a),
             'norm.torch': lambda: f.layer_norm(a, (64,)), 'norm.kiln': lambda: kt.layer_norm(a),
             'sum.torch': lambda: torch.sum(a, 0), 'sum.kiln': lambda: kt.sum(a, 0),
             'linear.torch': lambda: f.linear(a, b), 'linear.kiln': lambda: kt.linear(a, b),
             'attention.torch': lambda: f.scaled_dot_product_attention(q, q, q), 'attention.kiln': lambda: kt.scaled_dot_product_attention(q, q, q)}  # fmt: skip
    out = torch.empty_like(a)
    call = kt._ops.CALLS['mul']
    call((a, b, out))
    device = kt._call.device_of(a)
    ready = next(desc for key, desc in device.calls.items() if key[0] is call and out.data_ptr() in key)
    calls['part.library'] = lambda: call.function(device.handle, ready)  # the C function alone
    calls['part.call'] = lambda: call((a, b, out))  # with its description looked up
    rounds = {name: [] for name in calls}
    for _ in range(options.rounds):
        for name, one in calls.items():
            rounds[name].append(host_time(one, 1000 if IS_GPU else 200))
    for name, times in rounds.items():
        results['call.%s.us' % name] = statistics.median(times)
    us = lambda name: results['call.%s.us' % name]
    results['call.of_custom_op'] = us('kiln') / us('custom_op')
    results['call.grad.of_custom_op'] = us('grad.kiln') / us('grad.custom_op')
    results['call.own.of_custom_op'], results['call.grad.own.of_custom_op'] = us('own') / us('custom_op'), us('grad.own') / us('grad.custom_op')
    print('one call: torch.mul %.1f us, torch.library.custom_op %.1f us, kiln %.1f us: %.2f of a custom op (at most 1.30 wanted)'
          % (us('torch'), us('custom_op'), us('kiln'), results['call.of_custom_op']))
    print('the same for autograd: %.1f us, %.1f us, %.1f us: %.2f' % (us('grad.torch'), us('grad.custom_op'), us('grad.kiln'), results['call.grad.of_custom_op']))
    print('of kiln: the library %.1f us, with the description looked up %.1f us (%s)' % (us('part.library'), us('part.call'), call.call))
    print('through torch.ops.kiln: %.1f us' % us('kiln_op'))
    print('a kernel of one\'s own by kiln.torch.op: %.1f us, with autograd %.1f us: %.2f and %.2f of a custom op'
          % (us('own'), us('grad.own'), results['call.own.of_custom_op'], results['call.grad.own.of_custom_op']))
    for name in ('softmax', 'norm', 'sum', 'linear', 'layer', 'attention'):
        print('  %s: torch %.1f us, kiln %.1f us' % (name, us(name + '.torch'), us(name + '.kiln')))
    print('  layers of int8 and int4: %.1f us, %.1f us' % (us('layer.int8'), us('layer.int4')))


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = torch.nn.Linear(SIZE, 3 * SIZE), torch.nn.Linear(SIZE, SIZE)
        self.up, self.down = torch.nn.Linear(SIZE, 4 * SIZE), torch.nn.Linear(4 * SIZE, SIZE)
        self.norm1, self.norm2 = torch.nn.LayerNorm(SIZE), torch.nn.LayerNorm(SIZE)

    def forward(self, x):
        batch, length, size = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, HEADS, size // HEADS).permute(2, 0, 3, 1, 4)
        a = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(a.transpose(1, 2).reshape(batch, length, size))
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm2(x)), approximate='tanh'))


written = {}  # by --json: one file for everything


def write(name, results, failed):
    written.update(results)
    captured.write(name, SOURCES, written if options.json else results, failed)


def launched(results, what, call, candidates):
    """each candidate kernel by kernel, in turns"""
    rounds = {name: [] for name in candidates}
    for model in candidates.values():
        device_time(lambda: call(model), 5)
    for _ in range(options.rounds):
        for name, model in candidates.items():
            rounds[name].append(device_time(lambda: call(model), 20))
    for name, times in rounds.items():
        results['block.%s.%s.ms' % (what, name)] = statistics.median(times)
    for name in candidates:
        if name != 'eager':
            results['block.%s.%s.of_eager' % (what, name)] = results['block.%s.eager.ms' % what] / results['block.%s.%s.ms' % (what, name)]
    hosts = {name: host_time(lambda: call(model), 20) / 1e3 for name, model in candidates.items()}
    for name, took in hosts.items():
        results['block.%s.%s.host_ms' % (what, name)] = took
    print('block, %s, the host alone: ' % what + ', '.join('%s %.3f ms' % one for one in hosts.items()))
    print('block, %s: ' % what + ', '.join('%s %.3f ms' % (name, results['block.%s.%s.ms' % (what, name)]) for name in candidates), flush=True)


def graphs(results, what, call, candidates, x):
    """each candidate as a CUDA graph: the host gives one launch for all of it"""
    replays = {}

    def without_gradients(model):
        x.grad = None
        for p in model.parameters():
            p.grad = None
        gc.collect()

    for name, model in candidates.items():
        try:
            without_gradients(model)
            replays[name] = captured.captured(lambda _: call(model), 1, lambda: without_gradients(model))
        except Exception as error:
            print('%s, %s cannot be captured: %s' % (what, name, str(error).split('\n')[0]))
    rounds = {name: [] for name in replays}
    for _ in range(options.rounds):
        for name, replay in replays.items():
            rounds[name].append(device_time(replay, 20))
    for name, times in rounds.items():
        results['graph.%s.%s.ms' % (what, name)] = statistics.median(times)
        if 'eager' in rounds:
            results['graph.%s.%s.of_eager' % (what, name)] = results['graph.%s.eager.ms' % what] / results['graph.%s.%s.ms' % (what, name)]
    print('block, %s, as a graph: ' % what + ', '.join('%s %.3f ms' % (name, results['graph.%s.%s.ms' % (what, name)]) for name in replays))


def transformer_block(results, graph_results):
    """0 when ours gives what PyTorch's gives"""
    torch.manual_seed(1)
    dtype = torch.bfloat16 if IS_GPU else torch.float32
    eager, ours = Block().to(options.device, dtype), Block().to(options.device, dtype)
    ours.load_state_dict(eager.state_dict())
    quantised = {form: Block().to(options.device, dtype) for form in ('int8', 'int4', 'w8a8')}
    for form, block in quantised.items():
        block.load_state_dict(eager.state_dict())
        kt.patch(block, linear=form, attention=False)
    kt.patch(ours, attention=False)  # the linear layers; attention below, so that PyTorch's model keeps its own

    class Ours(torch.nn.Module):
        def __init__(self, block):
            super().__init__()
            self.block = block

        def forward(self, x):
            b = self.block
            batch, length, size = x.shape
            q, k, v = b.qkv(b.norm1(x)).view(batch, length, 3, HEADS, size // HEADS).permute(2, 0, 3, 1, 4)
            a = kt.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + b.out(a.transpose(1, 2).reshape(batch, length, size))
            return x + b.down(torch.nn.functional.gelu(b.up(b.norm2(x)), approximate='tanh'))

    ours = Ours(ours)
    x = torch.randn(BATCH, LENGTH, SIZE, device=options.device, dtype=dtype, requires_grad=True)
    candidates, forward_only = {'eager': eager, 'kiln': ours}, {}
    backend = 'inductor' if IS_GPU else 'aot_eager'
    for name, model in () if GRAPHS else (('compile', eager), ('kiln_compile', ours)):
        try:
            compiled = torch.compile(model, fullgraph=True, backend=backend)
            compiled(x)
            candidates[name] = compiled
        except Exception as error:
            print('torch.compile does not work here, %s is left out: %s' % (name, str(error).split('\n')[0]))

    def result_of(model):
        """output and gradient, without the graph that made them"""
        out = model(x).float()
        return out.detach(), torch.autograd.grad(out.sum(), x)[0]

    want, gradient = result_of(eager)
    failed = 0
    for name, model in candidates.items():
        got, g = result_of(model)
        off = max(((got - want).abs() / (want.abs() + 1)).max().item(), ((g - gradient).float().abs() / (gradient.float().abs() + 1)).max().item())
        if not off < (0.1 if IS_GPU else 1e-3):
            print('wrong: %s is off by %g' % (name, off))
            failed += 1

    class Fused(Ours):
        """the same by ops of kiln.torch alone: norms of sums, the activation within the product"""

        def forward(self, x):
            b = self.block
            batch, length, size = x.shape
            q, k, v = b.qkv(kt.layer_norm(x, b.norm1.weight, b.norm1.bias)).view(batch, length, 3, HEADS, size // HEADS).permute(2, 0, 3, 1, 4)
            a = kt.attention(q, k, v, True).transpose(1, 2).reshape(batch, length, size)
            y, x = kt.add_norm(b.out(a), x, b.norm2.weight, b.norm2.bias)
            return x + b.down(kt.linear(y, b.up.weight, b.up.bias, 'gelu'))

    forward_only['kiln_fused'] = Fused(ours.block)
    for form, block in quantised.items():
        forward_only[form] = Ours(block)
    for form in forward_only:
        with torch.no_grad():
            off = ((forward_only[form](x).float() - want).abs() / (want.abs() + 1)).max().item()
        if not off < {'int8': 0.1, 'int4': 0.6, 'w8a8': 0.2}.get(form, 0.1 if IS_GPU else 1e-3):
            print('wrong: %s is off by %g' % (form, off))
            failed += 1
    upstream = torch.ones_like(x)

    def forward(model):
        with torch.no_grad():
            model(x)

    def both(model):
        torch.autograd.backward(model(x), upstream)

    work = {'forward': (forward, candidates | forward_only), 'training': (both, candidates)}
    for what, (call, models) in work.items() if not GRAPHS else ():
        launched(results, what, call, models)
    write('python', results, failed)
    for what, (call, models) in work.items() if IS_GPU else ():
        graphs(graph_results, what, call, models, x)
        write('python_graphs', graph_results, failed)
    return failed


def main():
    results, graph_results = {}, {}
    if not GRAPHS:
        call_overhead(results)
    failed = transformer_block(results, graph_results)
    print('python: %d failed' % failed)
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())
