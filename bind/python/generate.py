# generate.py: writes what kiln/ has of the public headers and the tables of ops/: _abi.py (the C library's declarations), ops.py and ops.pyi (the op
# library), _op_table.py (its calls) and _elementwise.py (its elementwise functions).
#     python3 bind/python/generate.py [--check]     --check: fails when a file is not what would be written
import os
import re
import sys

sys.dont_write_bytecode = True
here = os.path.dirname(os.path.abspath(__file__))
root = os.path.dirname(os.path.dirname(here))
sys.path.insert(0, here)

import generate_ops
import headers

BANNER = '"""%s Written by bind/python/generate.py from include/kiln: change those, then `make python`."""\n'


def ctype_of(parsed, one, is_argument=False):
    if one.is_pointer or (is_argument and one.count):
        return "c_char_p" if one.type == "char" and one.is_pointer == 1 else "POINTER(kiln_error)" if one.type == "kiln_error" and one.name == "result" else "c_void_p"
    if one.type in headers.SCALARS:
        return headers.SCALARS[one.type][0]
    if one.type in parsed.enums:
        return "c_int"
    return one.type


def abi(parsed, version):
    text = BANNER % "Declarations of libkiln.so."
    names = sorted({name for name, _, _ in headers.SCALARS.values()} - {"c_uint8", "c_char"} | {"c_uint8", "c_char", "c_char_p", "c_void_p"})
    text += "\nfrom __future__ import annotations\n\nfrom ctypes import POINTER, Structure, %s\n" % ", ".join(names)
    text += '\nVERSION = "%s"\n\n' % version
    for name, value in parsed.constants.items():
        text += "%s = %d\n" % (name, value)
    text += "\nENUMS = {\n"
    for name, rows in parsed.enums.items():
        if not name.startswith("kiln_status"):
            text += '    "%s": {%s},\n' % (name, ", ".join('"%s": %d' % (short_name(rows, row), value) for row, value in without_count(rows)))
    text += "}\n"
    for struct in parsed.structs.values():
        if struct.name in parsed.op_structs:
            continue
        text += "\n\nclass %s(Structure):\n    _fields_ = [\n" % struct.name
        for one in struct.fields:
            kind = ctype_of(parsed, one)
            text += '        ("%s", %s),\n' % (one.name, "%s * %d" % (kind, one.count) if one.count and not one.is_pointer else kind)
        text += "    ]\n"
    text += "\n\nFUNCTIONS = [\n"
    for function in parsed.functions.values():
        result = "None" if function.result.type == "void" and not function.result.is_pointer else ctype_of(parsed, function.result)
        text += '    ("%s", %s, [%s]),\n' % (function.name, result, ", ".join(ctype_of(parsed, p, True) for p in function.parameters))
    return text + "]\n"


def without_count(rows):
    """Without a last row that is their number."""
    return rows[:-1] if rows[-1][0].endswith("_COUNT") else rows


def short_name(rows, name):
    """KILN_EPILOGUE_BIAS_RELU among its sisters: bias_relu."""
    start = os.path.commonprefix([row for row, _ in without_count(rows)])
    start = start[: start.rfind("_") + 1]
    return name[len(start) :].lower()


def main():
    include = os.path.join(root, "include", "kiln")
    names = ["kiln.h", "dlpack.h"] + sorted(name for name in os.listdir(include) if re.fullmatch(r"ops(_\w+)?\.h", name))
    files = [os.path.join(include, name) for name in names]
    parsed = headers.read(files)
    of_ops = headers.read(files[:1] + files[2:])
    core = headers.read(files[:2])
    parsed.op_structs = set(of_ops.structs) - set(core.structs)
    version = re.search(r'KILN_VERSION\s+"(.*)"', open(files[0]).read()).group(1)
    functions = [parsed.functions[name] for name in parsed.functions if name not in core.functions]
    rows = generate_ops.elementwise_rows(open(os.path.join(root, "ops", "elementwise", "elementwise.def")).read())
    ops, table, elementwise, stubs = generate_ops.write(parsed, functions, rows, BANNER)
    stale = False
    for name, text in [("_abi.py", abi(parsed, version)), ("ops.py", ops), ("_op_table.py", table), ("_elementwise.py", elementwise), ("ops.pyi", stubs)]:
        path = os.path.join(here, "kiln", name)
        if os.path.exists(path) and open(path).read() == text:
            continue
        stale = True
        if "--check" in sys.argv:
            print("bind/python/kiln/%s is not what the headers say: make python" % name)
        else:
            open(path, "w").write(text)
    return 1 if stale and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
