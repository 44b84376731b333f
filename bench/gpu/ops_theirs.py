"""PyTorch's side of bench/gpu/ops.py: a function of a case and its tensors by name that returns the output; None: there is none."""
import re
from types import SimpleNamespace


def words_after(words, word):
    return words[words.index(word) + 1] if word in words else None


def elementwise(F, words):
    return {'add': lambda t: t['a'] + t['b'], 'mul': lambda t: t['a'] * t['b'], 'gelu': lambda t: F.gelu(t['a']),
            'silu': lambda t: F.silu(t['a']), 'relu': lambda t: F.relu(t['a']), 'copy': lambda t: t['a'].clone(),
            'silu_gate': lambda t: F.silu(t['a']) * t['b'], 'gelu_gate': lambda t: F.gelu(t['a']) * t['b'],
            'exp': lambda t: t['a'].exp(), 'tanh': lambda t: t['a'].tanh()}.get(words[0])


def norm(F, words, case):
    axis = case.axis
    if axis != case.tensors[0].rank - 1:
        return None
    sizes, eps, adds = (case.tensors[0].shape()[axis],), case.alpha, 'add' in words
    weight = (lambda t: t['weight']) if 'weight' in words else (lambda t: None)
    bias = (lambda t: t['bias']) if 'bias' in words else (lambda t: None)
    if 'rms' not in words:
        return None if adds else lambda t: F.layer_norm(t['x'], sizes, weight(t), bias(t), eps)
    if adds:  # both results are wanted
        def add_norm(t):
            total = t['x'] + t['residual']
            return F.rms_norm(total, sizes, weight(t), eps), total
        return add_norm
    return None if 'bias' in words else lambda t: F.rms_norm(t['x'], sizes, weight(t), eps)


def reduce(words):
    if 'axes' not in words:
        return None
    axes = [int(n) for n in re.findall(r'\d+', ' '.join(words[words.index('axes') + 1:]))]
    return {'sum': lambda t: t['x'].sum(axes), 'mean': lambda t: t['x'].mean(axes), 'max': lambda t: t['x'].amax(axes),
            'min': lambda t: t['x'].amin(axes), 'argmax': lambda t: t['x'].argmax(axes[0]),
            'variance': lambda t: t['x'].var(axes, correction=0)}.get(words[0])


def ten_ops(torch, F, words):
    def value(t):
        x, b = t['x'], t['b']
        if 'plain' in words:
            y = (F.relu((x + b) * x * 0.5 + 0.25) - b).abs()
            return -torch.square(torch.maximum(x * b + y, x))
        y = 0.5 * torch.tanh(F.gelu(x + b) * x) + 0.25
        y = torch.sigmoid(F.silu(y) - b)
        y = torch.square(x * b + y)
        if 'sum' in words:
            return y.sum(1, keepdim=True)
        return y.mean(0, keepdim=True) if 'mean' in words else y
    return value if words[0] == 'ten' else None


def is_channels_last(words):
    """'last' alone may be said of other dimensions"""
    return words_after(words, 'channels') == 'last'


def last_to_first(x, words):
    """a tensor of the suite, in PyTorch's order of dimensions"""
    return x.permute(0, x.dim() - 1, *range(1, x.dim() - 1)) if is_channels_last(words) else x


def pool(F, words):
    x = lambda t: last_to_first(t['x'], words)
    if 'global' in words:
        return lambda t: F.adaptive_avg_pool2d(x(t), 1)
    window, stride = int(words_after(words, 'window')), int(words_after(words, 'stride'))
    pad = int((words_after(words, 'pad') or '0').split('+')[0])
    if words[0] == 'max':
        return lambda t: F.max_pool2d(x(t), window, stride, pad)
    return lambda t: F.avg_pool2d(x(t), window, stride, pad)


def conv(F, words):
    stride, pad = int(words_after(words, 'stride') or 1), int((words_after(words, 'pad') or '0').split('+')[0])
    groups, dilation = int(words_after(words, 'groups') or 1), int(words_after(words, 'dilation') or 1)
    own = lambda t: F.conv1d if t['x'].dim() == 3 else F.conv2d
    return lambda t: own(t)(last_to_first(t['x'], words), last_to_first(t['weight'], words), t.get('bias'), stride, pad, dilation, groups)


def batch_norm(F, words, case):
    trains, running = 'train' in words, 'running' in words or 'eval' in words
    return lambda t: F.batch_norm(t['x'], t['running_mean'] if running else None, t['running_variance'] if running else None, t['weight'],
                                  t['bias'], trains, case.beta, case.alpha)


def rope(torch, words, case):
    first = 'length' in words
    heads = 2 if first else 1
    if 'positions' in words:
        return None

    half, base = case.axis // 2, case.alpha

    def rotate(t):
        x = t['x']
        length = x.shape[1 if first else 2]
        # in doubles: an angle of thousands has no digits of its sine left in a float
        places, powers = torch.arange(length, device=x.device, dtype=torch.float64), torch.arange(half, device=x.device, dtype=torch.float64)
        angles = torch.outer(places, base ** (-powers / half))
        cos, sin = angles.cos().float().unsqueeze(heads - 1 if first else 0), angles.sin().float().unsqueeze(heads - 1 if first else 0)
        if 'interleaved' in ' '.join(words):
            a, b = x[..., 0::2].float(), x[..., 1::2].float()
            return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2).to(x.dtype)
        a, b = x[..., :half].float(), x[..., half:].float()
        return torch.cat((a * cos - b * sin, a * sin + b * cos), -1).to(x.dtype)
    return rotate


def quantise(torch, words):
    if words[0] == 'to':
        return lambda t: (t['x'] / t['scale']).round().clamp(-128, 127).to(torch.int8)
    return lambda t, of=words: (t['x'].float() * t['scale']).to(t['like'])


def sort(torch, words, case):
    if words[0] == 'top':
        return lambda t: torch.topk(t['x'], int(words[1]), case.axis)[0]
    return lambda t: torch.sort(t['x'], case.axis)[0]


def histogram(torch, words, case):
    bins, low, high = int(words[0]), float(case.alpha), float(case.beta)
    if high > low:
        return lambda t: torch.histc(t['x'].float(), bins, low, high)
    return lambda t: torch.histc(t['x'].float(), bins, 0, bins)  # bincount cannot be captured


def indexed(torch, words):
    """gathers and scatters; negative indices count from the end, as Kiln's do"""
    is_scatter = words[0] == 'add'
    form = words[1] if is_scatter else words[0]
    if is_scatter and form == 'take':
        return lambda t: t['base'].index_add(0, t['index'], t['source'])
    if is_scatter:
        return lambda t: t['base'].scatter_add(0, t['index'].long(), t['source'])
    return (lambda t: t['x'].index_select(0, t['index'])) if form == 'take' else (lambda t: t['x'].gather(0, t['index'].long()))


def theirs(torch, op, given):
    F = torch.nn.functional
    words, axis = given.words(), given.axis
    case = SimpleNamespace(axis=axis, alpha=given.alpha, beta=given.beta, tensors=given.tensors)  # torch.compile cannot read a structure of ctypes
    table = {
        'elementwise': lambda: elementwise(F, words),
        'softmax': lambda: (lambda t: F.log_softmax(t['x'], axis)) if 'log' in words else (lambda t: F.softmax(t['x'], axis)),
        'norm': lambda: norm(F, words, case),
        'reduce': lambda: reduce(words),
        'scan': lambda: (lambda t: t['x'].cumsum(axis, dtype=t['x'].dtype)) if words[0] == 'sum' else None,
        'copy': lambda: copy(torch, words, case),
        'fuse': lambda: ten_ops(torch, F, words),
        'pool': lambda: pool(F, words),
        'conv': lambda: conv(F, words),
        'group_norm': lambda: lambda t: F.group_norm(t['x'], case.axis, t['weight'], t['bias'], case.alpha),
        'batch_norm': lambda: batch_norm(F, words, case),
        'cross_entropy': lambda: lambda t: F.cross_entropy(t['logits'], t['targets'].long()),
        'embedding': lambda: lambda t: F.embedding(t['index'], t['weight']),
        'rope': lambda: rope(torch, words, case),
        'dropout': lambda: lambda t: F.dropout(t['x'], case.alpha),
        'pad': lambda: (lambda t: F.pad(t['x'], (2, 3, 1, 0), 'reflect')) if words[0] == 'reflect' else
               (lambda t: F.pad(t['x'], (0, 0, 2, 2))),
        'upsample': lambda: (lambda t: F.interpolate(t['x'], scale_factor=2, mode='bilinear')) if words[0] == 'linear' else
                    (lambda t: F.interpolate(t['x'], scale_factor=2)),
        'quantise': lambda: quantise(torch, words),
        'sort': lambda: sort(torch, words, case),
        'histogram': lambda: histogram(torch, words, case),
        'gather': lambda: indexed(torch, words),
        'scatter': lambda: indexed(torch, words),
        'bitwise': lambda: (lambda t: t['a'] & t['b']) if words[0] == 'and' else None,
        'generate': lambda: (lambda t: t['in'].tril()) if words[0] == 'tril' else None,
    }
    return table[op]() if op in table else None


def copy(torch, words, case):
    if words[0] == 'order':
        order = [int(c) - 1 for c in words[1]]
        return lambda t: t['part'][0].permute(order).clone(memory_format=torch.contiguous_format)  # never the tensor itself
    return (lambda t: torch.cat(t['part'], axis_of(words))) if words[0] == 'concat' else None


def axis_of(words):
    return int(words_after(words, 'axis'))


def is_random(op):
    """results that differ by design"""
    return op in ('dropout', 'random')


def rounds_every_sum(op):
    """PyTorch adds 16-bit floats one by one and rounds each time: it is compared in f32"""
    return op == 'scatter'


def returns_view(op, words):
    """backward passes for which PyTorch hands the given gradient on: nothing to measure"""
    return (op == 'elementwise' and words[0] in ('add', 'copy')) or (op == 'reduce' and words[0] in ('sum', 'mean'))
