# gpu_arrays.py: kernels and ops on a GPU with arrays of CuPy and JAX; gpu.py runs each in a process of its own.
#     PYTHONPATH=bind/python KILN_LIBRARY=build/libkiln.so python3 tests/python/gpu_arrays.py [cupy | jax]
import os

from harness import Skip, raises, run, test

import kiln
from kiln import ops

DEVICE = "cuda:0"
SAXPY = """#include <kiln/kernel.h>
kernel block(256) void saxpy(f32 *y, const f32 *x, f32 a, u32 n)
{
    u32 i = global_x();
    if (i < n)
        y[i] = a * x[i] + y[i];
}
"""


@test
def arrays_of_cupy():
    try:
        import cupy
    except ImportError:
        raise Skip("CuPy is not installed") from None
    m = kiln.compile(SAXPY, device=DEVICE)
    x, y = cupy.arange(1000, dtype="f4"), cupy.ones(1000, "f4")
    address = y.data.ptr
    m.saxpy(y, x, 3.0, 1000, items=1000)
    assert y.data.ptr == address and bool((y == 3 * x + 1).all()), "in place"
    got = ops.matmul(x.reshape(20, 50), x.reshape(50, 20))
    assert isinstance(got, cupy.ndarray) and bool(cupy.allclose(got, x.reshape(20, 50) @ x.reshape(50, 20), rtol=1e-4))
    assert bool(cupy.allclose(ops.exp(x[::2].reshape(20, 25).T / 1000), cupy.exp(x[::2].reshape(20, 25).T / 1000), rtol=1e-5)), "any strides"
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:  # the launch goes where CuPy's own work goes: behind the long product
        a = cupy.ones((4096, 4096), "f4")
        b = a @ a
        m.saxpy(b, a, 1.0, b.size, items=b.size)
        c = b * 2
    stream.synchronize()
    assert bool((c == 2 * 4097).all())
    shared = kiln.from_dlpack(y, DEVICE)
    assert cupy.from_dlpack(shared).data.ptr == address and cupy.asarray(shared).data.ptr == address
    raises(kiln.TypeMismatch, ["'x'", "float32"], m.saxpy, y, x.astype("f8"), 1.0, 1000, items=1000)
    raises(kiln.ArgumentError, ["'y'", "contiguous"], m.saxpy, cupy.ones(2000, "f4")[::2], x, 1.0, 1000, items=1000)


@test
def arrays_of_jax():
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    try:
        import jax
        import jax.numpy as jnp

        jax.devices("gpu")
    except Exception as error:
        raise Skip("no JAX with a GPU: %s" % str(error).split("\n")[0]) from None
    m = kiln.compile(SAXPY, device=DEVICE)
    x = jnp.arange(1000, dtype="float32") * 2
    y = kiln.zeros(1000, "f32", DEVICE)
    m.saxpy(y, x, 3.0, 1000, items=1000)
    back = jnp.from_dlpack(y)
    assert bool((back == 6 * jnp.arange(1000)).all())
    assert bool(jnp.allclose(jnp.from_dlpack(ops.exp(x / 2000)), jnp.exp(x / 2000), rtol=1e-5))
    raises(kiln.ArgumentError, ["'y'", "read-only"], m.saxpy, x, x, 1.0, 1000, items=1000)


if __name__ == "__main__":
    run("python-gpu-arrays")
