# typed.py: a program that mypy must accept, and one line of which it must not: the stubs say something.
import kiln
from kiln import ops


def use(path: str) -> float:
    module: kiln.Module = kiln.compile(path, define={"N": 3})
    kernel: kiln.Kernel = module.saxpy
    a: kiln.Array = kiln.zeros((3, 4), "f32", "cpu")
    kernel(a, 1.0, items=3)
    found: list[kiln.Finding] = kiln.check(kernel, a, items=3)
    names: list[str] = [f.code for f in found] + kiln.devices()
    ops.add(a, 1.0, out=a)
    ops.softmax(a, axis=0, is_log=True)
    ops.softmax(a, axis="first")  # type: ignore[arg-type]
    ops.no_such_op(a)  # type: ignore[attr-defined]
    timing: kiln.Timing = kiln.bench(kernel, a, items=3)
    return timing.median + len(names) + len(kiln.show(path))
