# lifetime.py: threads, fork, copies, the order in which things are freed, and many calls: nothing crashes, hangs or leaks.
import copy
import gc
import multiprocessing
import os
import pickle
import random
import resource
import subprocess
import sys
import threading

import numpy
from harness import Skip, on_each_device, raises, run, test
from kernels import HELLO, SAXPY

import kiln

ROUNDS = int(os.environ.get("KILN_PYTHON_ROUNDS", "17000"))  # of six calls each: more than 100,000 calls


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def one_round(m, device, shape):
    x, y = numpy.ones(shape, "f4"), numpy.zeros(shape, "f4")
    m.saxpy(y, x, 2.0, y.size, items=y.size)
    kiln.ops.add(x, y, out=y, device=device)
    a = kiln.zeros(shape, device=device)
    b = kiln.ops.relu(a)
    c = kiln.from_dlpack(x, device)
    numpy.from_dlpack(b[1:])
    assert y.flat[0] == 3
    return c


@test
def many_calls_leak_nothing():
    device = kiln.device("interp")
    m = kiln.compile(SAXPY, device="interp")
    for _ in range(200):
        one_round(m, "interp", (4, 5))
    gc.collect()
    device.trim()
    buffers, bytes_before = device.memory()["buffer_count"], resident()
    for n in range(ROUNDS):
        one_round(m, "interp", (4, 5 + n % 3))
    gc.collect()
    device.trim()
    assert device.memory()["buffer_count"] <= buffers + 2, device.memory()
    grown = resident() - bytes_before
    assert grown < 8 << 20, "%d bytes more after %d rounds" % (grown, ROUNDS)


@test
def errors_leak_nothing():
    m = kiln.compile(SAXPY, device="interp")
    x = numpy.ones(4, "f4")
    for n in range(300):
        raises(kiln.TypeMismatch, ["f64"], m.saxpy, x, x.astype("f8"), 1.0, 4, items=4)
        if n % 30 == 0:
            raises(kiln.CompileError, ["K"], kiln.compile, SAXPY.replace("f32 a", "f33 a"), device="interp")
    bytes_before = resident()
    for n in range(300):
        raises(kiln.TypeMismatch, ["f64"], m.saxpy, x, x.astype("f8"), 1.0, 4, items=4)
        if n % 30 == 0:
            raises(kiln.CompileError, ["K"], kiln.compile, SAXPY.replace("f32 a", "f33 a"), device="interp")
    assert resident() - bytes_before < 4 << 20


@on_each_device
def threads_share_a_device(device):
    m = kiln.compile(SAXPY, device=device)
    wrong = []

    def work(seed):
        try:
            for n in range(20):
                x, y = numpy.full(100 + seed, seed, "f4"), numpy.ones(100 + seed, "f4")
                m.saxpy(y, x, 2.0, len(y), items=len(y))
                z = kiln.ops.mul(x, y, device=device)
                if not (z == seed * (2 * seed + 1)).all():
                    wrong.append((seed, n))
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong and not any(t.is_alive() for t in threads), wrong


@on_each_device
def a_device_of_its_own_for_a_thread(device):
    results = []

    def work():
        with kiln.Device(device) as own:
            results.append(kiln.ops.add(kiln.array([1, 2], "f32", own), kiln.array([3, 4], "f32", own)).tolist())

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert results == [[4, 6]] * 3


@on_each_device
def a_child_after_a_fork(device):
    m = kiln.compile(SAXPY, device=device)
    x, y = numpy.ones(1000, "f4"), numpy.ones(1000, "f4")
    m.saxpy(y, x, 1.0, 1000, items=1000)
    kept = kiln.zeros(4, device=device)
    child = os.fork()
    if not child:
        status = 1
        try:
            m.saxpy(y, x, 1.0, 1000, items=1000)
            ok = (y == 3).all() and (kiln.ops.add(x, x, device=device) == 2).all()
            try:
                kept.tolist()
            except kiln.ArgumentError as error:
                status = 0 if ok and "fork" in str(error) else 2
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    m.saxpy(y, x, 1.0, 1000, items=1000)  # and the parent goes on
    assert (y == 3).all() and kept.tolist() == [0, 0, 0, 0]


def _pool_work(n):
    return float(kiln.ops.square(numpy.full(3, n, "f4"))[0])


@test
def worker_processes():
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(_pool_work, range(6)) == [0, 1, 4, 9, 16, 25]


def _spawned_work(given):
    m, kernel, a = given
    x = numpy.ones(3, "f4")
    m.saxpy(x, x.copy(), 1.0, 3, items=3)
    kernel(x, x.copy(), 1.0, 3, items=3)
    return x.tolist() + a.tolist()


@on_each_device
def copied_and_pickled(device):
    """A copy of a handle is the handle; a copy of an array has elements of its own. In another process modules are compiled and arrays made there."""
    m, a, stream = kiln.compile(SAXPY, device=device), kiln.array([[1, 2], [3, 4]], "i32", device), kiln.Stream(device)
    for one in (m, m.saxpy, m.device, stream):
        assert copy.copy(one) is one and copy.deepcopy([one])[0] is one
    for one in (m, m.saxpy, m.device):
        assert type(pickle.loads(pickle.dumps(one))) is type(one)
    assert pickle.loads(pickle.dumps(m.device)) is kiln.device(device)
    raises(kiln.TypeMismatch, ["Stream", "pickled"], pickle.dumps, stream)
    for make in (copy.copy, copy.deepcopy, kiln.Array.copy, lambda one: pickle.loads(pickle.dumps(one))):
        for one in (a, a.T, a[::-1, 1:], a[0, 0], a[:0], kiln.zeros(2, "bf16", device)):
            made = make(one)
            assert made.tolist() == one.tolist() and made.shape == one.shape and made.dtype == one.dtype and made.device is one.device
            if made.size:
                made.write(7)
        assert a.tolist() == [[1, 2], [3, 4]]
    del made, one, stream
    gc.collect()
    x = numpy.ones(3, "f4")
    m.saxpy(x, x.copy(), 1.0, 3, items=3)  # nothing was closed or freed for both
    assert (x == 2).all() and a.tolist() == [[1, 2], [3, 4]]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(_spawned_work, [(m, m.saxpy, a[0])]) == [[4, 4, 4, 1, 2]]


@test
def any_order_of_freeing():
    """Devices, modules, kernels and arrays let go of in every order, some of them after their device was closed."""
    shuffled = random.Random(1)
    for _ in range(30):
        device = kiln.Device("interp")
        m = kiln.compile(SAXPY, device=device)
        a = kiln.zeros((4, 4), device=device)
        things = {"device": device, "module": m, "kernel": m.saxpy, "array": a, "view": a[1:], "numpy": a.numpy(), "other": numpy.from_dlpack(a.T),
                  "capsule": a.__dlpack__(), "stream": kiln.Stream(device), "foreign": kiln.from_dlpack(numpy.ones(3, "f4"), device)}  # fmt: skip
        del device, m, a
        if shuffled.random() < 0.5:
            things["device"].close()
        names = list(things)
        shuffled.shuffle(names)
        for name in names:
            del things[name]
            if shuffled.random() < 0.2:
                gc.collect()
    closed = kiln.Device("interp")
    a, m = kiln.zeros(3, device=closed), kiln.compile(SAXPY, device=closed)
    closed.close()
    closed.close()
    raises(kiln.ArgumentError, ["closed"], a.tolist)
    raises(kiln.ArgumentError, ["closed"], closed.sync)
    x = numpy.ones(3, "f4")
    m.saxpy(x, x.copy(), 1.0, 3, items=3)  # compiled again for the shared device of that name
    assert (x == 2).all()


@test
def garbage_inside_of_a_call():
    """Arrays may be freed while a kernel prints, in the middle of a launch."""
    m = kiln.compile(HELLO, device="interp")

    class Out:
        def write(self, text):
            cycle = [things.pop()] if things else []
            cycle.append(cycle)
            del cycle
            gc.collect()

        def flush(self):
            pass

    things = [kiln.zeros(10, device="interp") for _ in range(4)]
    real, sys.stdout = sys.stdout, Out()
    try:
        m.hello(4, items=4)
    finally:
        sys.stdout = real
    assert not things
    kiln.sync("interp")


@test
def signals_leave_no_lock_behind():
    """An exception of a signal's handler, as Ctrl-C is, may come anywhere: another thread can use the device afterwards."""
    script = """
import random, signal, sys, threading, time
import kiln
class Alarm(Exception): pass
def ring(*_): raise Alarm
signal.signal(signal.SIGALRM, ring)
sys.unraisablehook = lambda _: None # those that come while an array is freed
device, times, caught, end = kiln.device("cpu"), random.Random(1), 0, time.time() + 2.5
while time.time() < end:
    try:
        while time.time() < end:
            signal.setitimer(signal.ITIMER_REAL, times.uniform(0.0001, 0.0005))
            for _ in range(100): # an alarm within __del__ is seen by nobody
                kiln.zeros(4, device="cpu")
        signal.setitimer(signal.ITIMER_REAL, 0)
        for _ in range(100): pass # the last one, if it is on its way
    except Alarm: # none is set now
        caught += 1
signal.signal(signal.SIGALRM, signal.SIG_IGN)
assert caught > 100 and device._depth == 0
done = []
other = threading.Thread(target=lambda: done.append(kiln.zeros(4, device="cpu").tolist()), daemon=True)
other.start()
other.join(20)
assert done == [[0, 0, 0, 0]], "the device's lock is still locked"
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and not done.stderr, (done.returncode, done.stderr)


@test
def streams_of_others():
    """The object behind a CuPy array's stream lives as long as Kiln has a stream over it; old ones are let go."""
    library = os.path.join(os.environ.get("KILN_BUILD", ""), "tests", "libfakecuda.so")
    if not os.path.exists(library):
        raise Skip("the driver that runs nothing is not built")
    script = """
import sys, types
import kiln
theirs = kiln._device.Device("cuda:0")
class Stream: # the driver's is gone with the object, as CuPy's
    alive = 0
    def __init__(self):
        self.own = kiln.Stream(theirs)
        self.ptr = self.own.native
        Stream.alive += 1
    def __del__(self):
        Stream.alive -= 1
class Ndarray:
    def __init__(self, base):
        self.base = base
    @property
    def __cuda_array_interface__(self):
        return {**self.base.__cuda_array_interface__, "stream": current.ptr}
sys.modules["cupy"] = types.ModuleType("cupy")
sys.modules["cupy"].cuda = types.SimpleNamespace(get_current_stream=lambda: current)
m = kiln.compile(%r, device="cuda:0")
x, y = Ndarray(kiln.zeros(8, device="cuda:0")), Ndarray(kiln.zeros(8, device="cuda:0"))
shared = kiln.from_dlpack(kiln.zeros(8, device="cuda:0"), "cuda:0")
most = 0
for n in range(300):
    current = Stream()
    m.saxpy(y, x, 1.0, 8, items=8)
    assert n >= 20 or Stream.alive == n + 1, (n, Stream.alive)
    most = max(most, Stream.alive)
assert 20 < most < 100, most
current = shared = None  # frees memory of others, and so waits for all streams
""" % SAXPY
    env = {**os.environ, "KILN_CUDA_LIBRARY": library, "FAKE_CUDA": "", "KILN_CACHE": "off"}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=env, timeout=60)
    assert done.returncode == 0 and not done.stderr, (done.returncode, done.stderr)


@test
def copies_for_a_call_that_is_not_made():
    """Where there is no memory for an array of the host on a GPU, those that were copied before it are given back."""
    library = os.path.join(os.environ.get("KILN_BUILD", ""), "tests", "libfakecuda.so")
    if not os.path.exists(library):
        raise Skip("the driver that runs nothing is not built")
    script = """
import numpy
import kiln
from kiln._borrow import Borrowed
m = kiln.compile(%r, device="cuda:0")
device, copy = m.device, Borrowed._copy
def full(self, one, *rest):
    if one.count == 8:
        raise kiln.OutOfMemory("full")
    return copy(self, one, *rest)
x, y = numpy.ones(8, "f4"), numpy.ones(4, "f4")
m.saxpy(y, y.copy(), 1.0, 4, items=4)
before = device.memory()["buffer_count"]
Borrowed._copy = full
for call in (lambda: m.saxpy(y, x, 1.0, 4, items=4), lambda: kiln.ops.add(y[:1], x, device="cuda:0"), lambda: kiln.fuse(lambda a, b: a + b)(y[:1], x, device="cuda:0")):
    try:
        call()
    except kiln.OutOfMemory:
        assert device.memory()["buffer_count"] == before
    else:
        raise AssertionError("nothing was raised")
""" % SAXPY
    env = {**os.environ, "KILN_CUDA_LIBRARY": library, "FAKE_CUDA": "", "KILN_CACHE": "off"}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=env, timeout=60)
    assert done.returncode == 0 and not done.stderr, (done.returncode, done.stderr)


@test
def the_end_of_the_process():
    """A process that ends with everything alive, or while a thread works, ends without a word."""
    script = ("import kiln, numpy, threading\n"
              "m = kiln.compile(%r)\n"
              "a = kiln.zeros(10)\nb = a.numpy()\nc = a.__dlpack__()\ns = kiln.Stream()\nx = numpy.ones(4, 'f4')\nm.saxpy(x, x.copy(), 1.0, 4, items=4)\n"
              "globals()['self'] = [m, a, b, c, s, globals()]\n" % SAXPY)  # fmt: skip
    daemon = "def work():\n    while True: m.saxpy(x, x.copy(), 1.0, 4, items=4)\nthreading.Thread(target=work, daemon=True).start()\n"
    for text in (script, script + daemon):
        for device in ("cpu", "interp"):
            done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, env={**os.environ, "KILN_DEVICE": device}, timeout=60)
            assert done.returncode == 0 and not done.stderr, (done.returncode, done.stderr)


if __name__ == "__main__":
    run("python-lifetime")
