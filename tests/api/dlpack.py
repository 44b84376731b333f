# Tensors between Kiln and NumPy or PyTorch through DLPack, in one process: values, strides, lifetimes, read-only arrays.
#     python3 tests/api/dlpack.py BUILD/libkiln.so
import ctypes
import gc
import sys
from ctypes import POINTER, byref, c_bool, c_char_p, c_int, c_int64, c_size_t, c_uint32, c_uint64, c_void_p

passed = failed = skipped = 0


def check(is_true, what):
    global passed, failed
    passed, failed = passed + bool(is_true), failed + (not is_true)
    if not is_true:
        print("failed:", what)


class View(ctypes.Structure):
    _fields_ = [("buffer", c_void_p), ("first", c_uint64), ("type", c_int), ("rank", c_uint32), ("sizes", c_uint64 * 8), ("has_strides", c_bool), ("strides", c_int64 * 8)]


kiln = ctypes.CDLL(sys.argv[1])
for name, result, arguments in [
    ("kiln_open", c_int, [c_char_p, POINTER(c_void_p)]),
    ("kiln_close", None, [c_void_p]),
    ("kiln_buffer_new", c_int, [c_void_p, c_int, c_size_t, POINTER(c_void_p)]),
    ("kiln_buffer_free", None, [c_void_p]),
    ("kiln_buffer_type", c_int, [c_void_p]),
    ("kiln_read_view", c_int, [View, c_void_p]),
    ("kiln_write_view", c_int, [View, c_void_p]),
    ("kiln_view_transpose", View, [View]),
    ("kiln_dlpack_import", c_int, [c_void_p, c_void_p, POINTER(View)]),
    ("kiln_dlpack_import_versioned", c_int, [c_void_p, c_void_p, POINTER(View)]),
    ("kiln_dlpack_export", c_int, [View, POINTER(c_void_p)]),
    ("kiln_dlpack_export_versioned", c_int, [View, POINTER(c_void_p)]),
]:
    function = getattr(kiln, name)
    function.restype, function.argtypes = result, arguments

python = ctypes.pythonapi
for name, result, arguments in [
    ("PyCapsule_New", ctypes.py_object, [c_void_p, c_char_p, c_void_p]),
    ("PyCapsule_GetPointer", c_void_p, [ctypes.py_object, c_char_p]),
    ("PyCapsule_GetName", c_char_p, [ctypes.py_object]),
    ("PyCapsule_SetName", c_int, [ctypes.py_object, c_char_p]),
]:
    function = getattr(python, name)
    function.restype, function.argtypes = result, arguments
NAMES = {False: b"dltensor", True: b"dltensor_versioned"}
USED = {False: b"used_dltensor", True: b"used_dltensor_versioned"}


def take(k, array, **how):
    """The array as a view of Kiln's; its capsule is used up."""
    capsule = array.__dlpack__(**how)
    is_versioned = python.PyCapsule_GetName(capsule) == NAMES[True]
    view, call = View(), kiln.kiln_dlpack_import_versioned if is_versioned else kiln.kiln_dlpack_import
    status = call(k, python.PyCapsule_GetPointer(capsule, NAMES[is_versioned]), byref(view))
    if not status:
        python.PyCapsule_SetName(capsule, USED[is_versioned])
    return status, view


class Exported:
    """A view as other libraries expect tensors."""

    def __init__(self, view, is_versioned):
        self.view, self.is_versioned = view, is_versioned

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **_):
        out = c_void_p()
        call = kiln.kiln_dlpack_export_versioned if self.is_versioned else kiln.kiln_dlpack_export
        check(call(self.view, byref(out)) == 0, "export")
        capsule = python.PyCapsule_New(out, NAMES[self.is_versioned], None)
        KEPT.append(NAMES[self.is_versioned])  # the name must outlive the capsule
        return capsule


KEPT = []


def with_numpy(device):
    import numpy

    k = c_void_p()
    check(kiln.kiln_open(device, byref(k)) == 0, "open")
    base = numpy.arange(24, dtype=numpy.float32).reshape(4, 6)
    for array in [base, base.T, base[1:, ::2], base[::-1, ::-1], base[:0], base[2, 3], numpy.broadcast_to(base[0], (3, 6)).copy(), base[:, 1:4]]:
        array = numpy.asarray(array)
        if array.size and not array.flags.writeable:
            array = array.copy()
        for how in [{}, {"max_version": (1, 0)}]:
            status, view = take(k, array, **how)
            check(status == 0, "import of %s" % (array.shape,))
            check(tuple(view.sizes[: view.rank]) == array.shape and kiln.kiln_buffer_type(view.buffer) == 14, "shape and type")
            got = numpy.empty(array.shape, array.dtype)
            check(kiln.kiln_read_view(view, got.ctypes.data) == 0 and (got == array).all(), "values of %s" % (array.shape,))
            if array.size:
                more = numpy.ascontiguousarray(array + 1)
                check(kiln.kiln_write_view(view, more.ctypes.data) == 0 and (array == more).all(), "the same memory")
                array -= 1
            before = sys.getrefcount(array)
            kiln.kiln_buffer_free(view.buffer)
            check(sys.getrefcount(array) == before - 1, "the array is let go of")
    for name, number in [("int8", 2), ("uint8", 3), ("int16", 4), ("uint16", 5), ("int32", 6), ("uint32", 7), ("int64", 8), ("uint64", 9), ("float16", 10), ("float64", 15), ("bool", 1)]:
        status, view = take(k, numpy.ones(3, name))
        check(status == 0 and kiln.kiln_buffer_type(view.buffer) == number, name)
        kiln.kiln_buffer_free(view.buffer)
    check(take(k, numpy.ones(3, numpy.complex64))[0] != 0, "complex numbers are refused")
    locked = numpy.ones(4, numpy.float32)
    locked.flags.writeable = False
    status, view = take(k, locked, max_version=(1, 0))
    check(status == 0 and kiln.kiln_write_view(view, locked.ctypes.data) != 0, "read-only stays read-only")
    kiln.kiln_buffer_free(view.buffer)

    b = c_void_p()
    check(kiln.kiln_buffer_new(k, 14, 12, byref(b)) == 0, "a buffer")
    view = View(buffer=b, rank=2, sizes=(c_uint64 * 8)(3, 4))
    check(kiln.kiln_write_view(view, base.ctypes.data) == 0, "write")
    for is_versioned in [False, True]:
        array = numpy.from_dlpack(Exported(kiln.kiln_view_transpose(view), is_versioned))
        check(array.shape == (4, 3) and (array == base.reshape(-1)[:12].reshape(3, 4).T).all(), "export")
    kiln.kiln_buffer_free(b)
    kiln.kiln_close(k)
    check(array[3, 2] == 11, "an array outlives kiln_close")
    del array
    gc.collect()


def with_torch(device):
    import torch

    k = c_void_p()
    check(kiln.kiln_open(device, byref(k)) == 0, "open")
    for kind, number in [(torch.float32, 14), (torch.bfloat16, 11), (torch.float16, 10), (torch.int64, 8), (torch.bool, 1)]:
        tensor = torch.ones(3, 4).to(kind).t()
        status, view = take(k, tensor)
        check(status == 0 and kiln.kiln_buffer_type(view.buffer) == number and tuple(view.sizes[:2]) == (4, 3), str(kind))
        kiln.kiln_buffer_free(view.buffer)
    b = c_void_p()
    check(kiln.kiln_buffer_new(k, 14, 12, byref(b)) == 0, "a buffer")
    tensor = torch.from_dlpack(Exported(View(buffer=b, rank=2, sizes=(c_uint64 * 8)(3, 4)), False))
    check(tuple(tensor.shape) == (3, 4) and float(tensor.sum()) == 0, "export to torch")
    kiln.kiln_close(k)
    del tensor
    gc.collect()


for name, run in [("numpy", with_numpy), ("torch", with_torch)]:
    try:
        __import__(name)
    except ImportError:
        print("skipped: %s is not installed" % name)
        skipped += 1
        continue
    for device in [b"interp", b"cpu"]:
        run(device)
print("dlpack-python: %d passed, %d failed, %d skipped" % (passed, failed, skipped))
sys.exit(failed != 0)
