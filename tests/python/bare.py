# bare.py: the package alone, as a fresh virtual environment has it: no NumPy, no PyTorch.
import subprocess
import sys

from harness import on_each_device, raises, run, test
from kernels import HELLO, SAXPY, WRONG

import kiln


@test
def nothing_else_is_installed():
    for name in ("numpy", "torch"):
        raises(ImportError, [name], __import__, name)
    raises(ImportError, ["PyTorch", "pip install torch"], __import__, "kiln.torch")
    assert "site-packages" in kiln.__file__ and "site-packages" in kiln.program()


@on_each_device
def kernels_and_arrays(device):
    m = kiln.compile(SAXPY, device=device)
    x, y = kiln.array([1.0, 2.0, 3.0], "f32", device), kiln.zeros(3, "f32", device)
    m.saxpy(y, x, 2.0, 3, items=3)
    assert y.tolist() == [2, 4, 6] and y[1:].tolist() == [4, 6] and kiln.array(3.5, device=device).tolist() == 3.5
    assert kiln.array([[1, 2], [3, 4]], "i8", device).T.tolist() == [[1, 3], [2, 4]] and kiln.array([True, False], device=device).dtype == "bool"
    assert kiln.array([[1, 2], [3, 4]], device=device).dtype == "i64" and kiln.zeros((2, 0, 3), "f32", device).tolist() == [[], []]
    raises(kiln.ArgumentError, ["u8"], kiln.array, [1, 300], "u8", device)
    assert kiln.ops.add(x, 1.0).tolist() == [2, 3, 4] and kiln.ops.matmul(x.reshape(3, 1), x.reshape(1, 3)).tolist()[2] == [3, 6, 9]
    assert kiln.ops.sum(x).tolist() == 6 and kiln.fuse(lambda a: a * a + 1)(x).tolist() == [2, 5, 10]
    assert memoryview(x.tobytes()).cast("f").tolist() == [1, 2, 3]


@test
def tools():
    m = kiln.compile(SAXPY, device="interp")
    x, y = kiln.zeros(4, "f32", "interp"), kiln.zeros(4, "f32", "interp")
    (finding,) = kiln.check(m.saxpy, y, x, 1.0, 5, items=5, all=False)[:1]
    assert finding.code == "K6201" and ".entry saxpy" in kiln.show(m, "ptx", target="sm_90a")
    assert kiln.bench(m.saxpy, y, x, 1.0, 4, items=4, rounds=1, seconds=0.001).best > 0
    raises(kiln.CompileError, ["K2005"], kiln.compile, WRONG, device="interp")
    raises(kiln.TypeMismatch, ["'x'", "list"], m.saxpy, y, [1.0], 1.0, 4, items=4)
    ran = subprocess.run([sys.executable, "-m", "kiln", "--version"], capture_output=True, text=True)
    assert ran.stdout == "kiln %s\n" % kiln.__version__
    kiln.compile(HELLO, device="interp").hello(1, items=1)


if __name__ == "__main__":
    run("python-bare")
