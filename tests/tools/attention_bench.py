"""bench/gpu/attention.py and attention_backward.py without a GPU: every kernel that they load compiles, and the structs that they pass have
the sizes of the kernel's parameters. PyTorch and the driver are stand-ins that do nothing.   python3 tests/tools/attention_bench.py BUILD
"""
import ctypes
import os
import sys
import unittest.mock

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
torch = unittest.mock.MagicMock()
torch.cuda.is_available.return_value = True
torch.cuda.get_device_capability.return_value = (9, 0)
for name in ('torch', 'torch.nn', 'torch.nn.attention'):
    sys.modules[name] = torch
ctypes.CDLL = lambda *_: unittest.mock.MagicMock()
sys.path.insert(0, os.path.join(ROOT, 'bench', 'gpu'))
build = os.path.abspath(sys.argv[1])

import attention_common  # noqa: E402, after the stand-ins

attention_common.load = lambda image, name, smem: f'.entry {name.decode()}(' in image
passed = failed = 0


def count(is_right, what):
    global passed, failed
    passed, failed = passed + is_right, failed + (not is_right)
    if not is_right:
        print('FAIL:', what)


def measured(_, *rest):
    for whose, kernel in next(r for r in rest if isinstance(r, list)):
        functions = getattr(kernel, 'functions', None) or [kernel.fn]
        count(all(functions), f'{whose} {kernel.label} lacks a kernel')


def run(script, error):
    """the main function of a script that measures nothing"""
    module = __import__(script)
    module.check, module.measure = (lambda _: error), measured
    module.finish = lambda *_: 0
    sys.argv = [script, '--kiln', os.path.join(build, 'kiln'), '--twin', '/nowhere', '--rows', '*.bf16.4096,*.f16.1024']
    try:
        count(module.main() == 0, script)
    except RuntimeError as wrong:
        count(False, f'{script}: {wrong}')
    return module


run('attention', 0.0)
backward = run('attention_backward', [0.0] * 3)
try:  # a struct of another size is noticed
    backward.Problem = attention_common.Steps
    backward.Kernel('ours', 128, False).jobs(attention_common.parse(1, ('nothing', 'nothing')))[1]()
    count(False, 'a struct of the wrong size was taken')
except RuntimeError:
    count(True, '')
ratios = {}  # within a round, whatever the clock does from round to round
attention_common.record(ratios, 'row', 1e9, [2.0, 4.0, 3.0], [1.0, 2.0, 1.5], {'before': [1.0, 2.2, 1.2], 'twin': None})
count(ratios == {'row.cudnn.TFLOPS': 1 / 3, 'row.TFLOPS': 1 / 1.5, 'row.of_cudnn': 2.0, 'row.of_before': 1.0}, f'record makes {ratios}')
print(f'attention-bench: {passed} passed, {failed} failed, 0 skipped')
sys.exit(failed != 0)
