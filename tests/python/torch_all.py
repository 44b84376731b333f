# torch_all.py: all tests of kiln.torch on PyTorch's CPU tensors in one process, and at last: was every registered op checked, and differentiated?
#     python3 tests/python/torch_all.py [TEST…]
import glob
import os
import re
import sys

import torch_direct
import torch_layers
import torch_more
import torch_ops
from harness import Skip, run, test
from torch_checks import NO_GRADIENT, ROOT, checked, differentiated

from kiln.torch._direct import direct


@test
def every_registered_op_was_checked():
    if sys.argv[1:]:
        raise Skip("only some of the tests were run")
    names = {name for name in vars(direct) if not name.startswith("fused_")}  # those of kiln.torch.fuse are their tests' own
    assert len(names) > 100
    assert names <= checked, "without opcheck: %s" % sorted(names - checked)
    forward = {name for name in names if not name.endswith("_backward")}
    assert NO_GRADIENT.keys() <= names and not differentiated & NO_GRADIENT.keys(), "%s are said to have no gradient" % sorted(differentiated & NO_GRADIENT.keys())
    missing = forward - differentiated - NO_GRADIENT.keys()
    assert not missing, "without gradcheck: %s" % sorted(missing)


# Ops of ops.h whose backward pass has another name in kiln.torch.
NAMES = {"elementwise": "mul", "scan": "cumsum"}


@test
def every_backward_pass_of_the_library_is_used():
    """An op with a backward pass in ops.h is an op of PyTorch with a gradient."""
    if sys.argv[1:]:
        raise Skip("only some of the tests were run")
    found = set()
    for path in glob.glob(os.path.join(ROOT, "include", "kiln", "ops*.h")):
        with open(path, encoding="utf-8") as file:
            found |= set(re.findall(r"kiln_status kiln_(\w+)_backward\(", file.read()))
    assert len(found) > 15, found
    missing = {name for name in found if NAMES.get(name, name) not in differentiated}
    assert not missing, sorted(missing)


if __name__ == "__main__":
    assert torch_direct and torch_layers and torch_more and torch_ops
    run("python-torch")
