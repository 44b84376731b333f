# generate_ops.py: the op library as Python: one function for each call of ops.h, and one for each row of elementwise.def.
#
# What a field of a description is follows from its type and name: views named out…, or d… after an operand, are results; `stream` is the stream; a
# structure within it keeps its zeros. Shapes of results that are not those of an operand are rows of kiln/_shapes.py; a result without a rule is
# given by the caller.
import importlib.util
import keyword
import os
import re
import textwrap

import headers

here = os.path.dirname(os.path.abspath(__file__))
spec = importlib.util.spec_from_file_location("_shapes", os.path.join(here, "kiln", "_shapes.py"))
shapes = importlib.util.module_from_spec(spec)
spec.loader.exec_module(shapes)

ranges = {}  # of elementwise rows, as their own tests take them: lowest and highest operand, alpha, beta
BY_HAND = {"kiln_elementwise_forward", "kiln_elementwise_backward"}  # their rows are functions of their own
LEFT_OUT = {"kiln_fuse", "kiln_gguf_format_of"}  # expressions are built by calls; a question, not an op
FLAT = {"kiln_window", "kiln_pool_shape"}  # structs whose fields are parameters
# Calls whose first field says which op it is: every value is a function, under another name where that one is taken.
FAMILIES = {"kiln_reduce_forward": ("reduce", "kiln_reduction", {"max": "amax", "min": "amin", "norm": "vector_norm", "count": "count_nonzero"})}
FAMILY_PARAMETERS = {
    "reduce": (["x", "axis=None", "*", "keepdims=False", "{alpha}", "out=None", "dtype=None", "stream=None", "device=None"],
               ["x: ArrayLike", "axis: int | Sequence[int] | None = ...", "*", "keepdims: bool = ...", "{alpha}", "out: ArrayLike | None = ...",
                "dtype: Any = ...", "stream: Any = ...", "device: Device | str | None = ..."]),
}
FAMILY_ALPHA = {"norm": "2.0", "variance": "0.0", "deviation": "0.0"}
OPTIONAL = re.compile(r"without a buffer|nothing without|[Nn]one where|may be left out|without it|optional|or none")


def split_row(text):
    """The arguments of one ROW(…)."""
    parts, depth, is_quoted, start = [], 0, False, 0
    for at, letter in enumerate(text):
        if letter == '"':
            is_quoted = not is_quoted
        if is_quoted:
            continue
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            parts.append(text[start:at].strip())
            start = at + 1
    return parts + [text[start:].strip()]


def elementwise_rows(text):
    """[(name, signature, has alpha, has beta, derivatives, what it does)]"""
    rows = []
    text = re.sub(r"^//.*$", "", text, flags=re.M)
    for match in re.finditer(r"\bROW\(", text):
        depth, at = 1, match.end()
        while depth:
            depth += (text[at] == "(") - (text[at] == ")")
            at += 1
        parts = split_row(text[match.end() : at - 1])
        name, signature, types, value, da, db, dc = parts[:7]
        said = parts[-1].strip('"')
        every = " ".join([value, da, db, dc])
        low, high = parts[7:9]
        ranges[name] = (float(low), float(high), float(parts[12]), float(parts[13]))
        rows.append((name, signature, types, bool(re.search(r"\bp\b", every)), bool(re.search(r"\bq\b", every)), bool(da or db or dc), said))
    return rows


def query_of(parsed, query, text):
    """How a workspace is asked for: the call, and what it counts: bytes, or elements of the type that the comment names."""
    said = re.match(r"(u32|i32|f32|u64|f64)\b", text)
    return "query:%s:%s" % (query, "u8" if parsed.functions[query].parameters[-1].name == "bytes" else said.group(1) if said else "f32")


def family(parsed, function, generate):
    """A function for every value of the enum that says which op a call is."""
    name, enum, renamed = FAMILIES[function.name]
    code = stub = ""
    names = []
    for row, _ in generate.without_count(parsed.enums[enum]):
        op = generate.short_name(parsed.enums[enum], row)
        public = renamed.get(op, op)
        alpha = FAMILY_ALPHA.get(op)
        plain, typed = ([p.replace("{alpha}", text) for p in group if p != "{alpha}" or alpha]
                        for group, text in zip(FAMILY_PARAMETERS[name], ("alpha=%s" % alpha, "alpha: float = ...")))
        code += "\ndef %s(%s):\n    \"\"\"%s\"\"\"\n" % (public, ", ".join(plain), escape("%s along some dimensions%s" % (op, ": " + parsed.texts[row] if row in parsed.texts else "")))
        code += '    return %s("%s", x, axis, keepdims, %s, out, dtype, stream, device)\n\n' % (name, op, "alpha" if alpha else "0.0")
        stub += "\ndef %s(%s) -> Any: ...\n" % (public, ", ".join(typed))
        names.append(public)
    return code, stub, names


def flattened(parsed, struct):
    """The fields of a description, with those of structs within it in their place."""
    for one in struct.fields:
        if one.type in FLAT and not one.is_pointer:
            yield from flattened(parsed, parsed.structs[one.type])
        else:
            yield one


def classify(parsed, function, struct):
    """Fields as (kind, name, extra): what Op of kiln/_op.py is made of."""
    forward = {one.name for one in struct.fields}
    rules = shapes.RULES.get(function.name, {})
    query = struct.name.removesuffix("_desc") + "_workspace"
    is_backward = struct.name.endswith("_backward_desc")
    result, lists, has_result = [], [], False
    first_input = None
    for one in flattened(parsed, struct):
        name = one.name
        is_optional = bool(OPTIONAL.search(one.text)) and name != "out" or (function.name, name) in shapes.OPTIONAL
        # what a description has behind its result came later, or is rarely given
        is_behind = has_result and not is_backward and (function.name, name) not in shapes.REQUIRED
        has_result |= name == "out"
        if one.type == "kiln_view" and not one.is_pointer:
            like = re.match(r"as (\w+)", one.text)
            if (function.name, name) in shapes.INPUTS | shapes.GIVEN:
                is_result = (function.name, name) in shapes.GIVEN
            elif is_backward:  # out and its sisters come from the forward call
                is_result = name in rules or (name[0] == "d" and not name.startswith("dout"))
            else:
                is_result = name in rules or name == "out" or name.startswith("out_")
            if name == "workspace":
                extra = rules[name].__name__ if name in rules else query_of(parsed, query, one.text) if query in parsed.functions else "given"
                result.append(("work", name, extra))
            elif one.count:
                result.append(("views", name, str(one.count)))
            elif is_result:
                pair = None if (function.name, name) in shapes.GIVEN else name[1:] if name[0] == "d" and name[1:] in forward else like.group(1) if like and like.group(1) in forward else None
                sisters = [f.name for f in struct.fields if f.type == "kiln_view" and f.text == one.text]
                if name in rules:
                    extra = rules[name].__name__
                elif pair:
                    extra = "like:" + pair
                elif name == "out" and first_input in sisters:
                    extra = "like:" + first_input
                else:
                    extra = "given"
                result.append(("out?" if is_optional else "out", name, extra))
            else:
                first_input = first_input or name
                result.append(("in?" if is_optional or is_behind else "in", name, ""))
        elif one.type == "kiln_view":
            lists.append(name)
            result.append(("written" if (function.name, name) in shapes.WRITTEN else "viewlist", name, ""))
        elif name in ("count", "%s_count" % (lists or [""])[-1]) and lists:
            result.append(("count", name, lists[-1]))
        elif one.type == "kiln_stream":
            result.append(("stream", name, ""))
        elif one.is_pointer:
            result.append(("pointer", name, one.type))
        elif one.type in parsed.enums:
            result.append(("enum", name, one.type))
        elif one.type in parsed.structs:
            result.append(("zeros", name, ""))
        elif one.count:
            result.append(("numbers", name, str(one.count)))
        elif name == "axis":
            result.append(("axis", name, ""))
        else:
            result.append(("bool" if one.type == "bool" else "float" if one.type in ("float", "double") else "int", name, ""))
    if function.name in shapes.EXTRA:
        result.append(("extra", *shapes.EXTRA[function.name]))
    return result


def python_name(name):
    return {"in": "x"}.get(name, name + "_" if keyword.iskeyword(name) else name)


DEFAULTS = {"bool": "False", "float": "0.0", "int": "0", "axis": "-1"}
TYPES = {"bool": "bool", "float": "float", "int": "int", "axis": "int"}
NUMBERS = {"eps": "1e-5"}


def signature(parsed, fields, first_of):
    """(parameters with defaults, the same with types)"""
    plain, typed = [], []
    for kind, name, extra in fields:
        if kind in ("in", "views", "viewlist", "written"):
            plain.append(python_name(name))
            typed.append("%s: %s" % (python_name(name), "ArrayLike" if kind == "in" else "Sequence[ArrayLike]"))
    plain.append("*")
    typed.append("*")
    for kind, name, extra in fields:
        if kind == "in?":
            plain.append(python_name(name) + "=None")
            typed.append("%s: ArrayLike | None = ..." % python_name(name))
        elif kind in DEFAULTS:
            plain.append("%s=%s" % (python_name(name), NUMBERS.get(name, DEFAULTS[kind])))
            typed.append("%s: %s = ..." % (python_name(name), TYPES[kind]))
        elif kind == "enum":
            plain.append('%s="%s"' % (python_name(name), first_of(extra)))
            typed.append("%s: str | int = ..." % python_name(name))
        elif kind == "numbers":
            plain.append("%s=()" % python_name(name))
            typed.append("%s: Sequence[int | float] = ..." % python_name(name))
        elif kind == "extra":
            plain.append("%s=%s" % (name, extra))
            typed.append("%s: %s = ..." % (name, "Sequence[int]" if extra == "()" else "int"))
        elif kind == "pointer":
            plain.append("%s=None" % python_name(name))
            typed.append("%s: Sequence[int | float] | None = ..." % python_name(name))
    for kind, name, extra in fields:
        if kind == "out" and extra == "given":
            plain.append(python_name(name))
            typed.append("%s: ArrayLike" % python_name(name))
        elif kind == "work" and extra == "given":
            plain.append(python_name(name) + "=None")
            typed.append("%s: ArrayLike | None = ..." % python_name(name))
        elif kind == "out":
            plain.append(python_name(name) + "=None")
            typed.append("%s: ArrayLike | None = ..." % python_name(name))
        elif kind == "out?":
            plain.append(python_name(name) + "=None")
            typed.append("%s: ArrayLike | bool | None = ..." % python_name(name))
    plain += ["stream=None", "device=None"]
    typed += ["stream: Any = ...", "device: Device | str | None = ..."]
    return plain, typed


def describe_fields(struct):
    """What the header says of each; fields that share a comment share a line."""
    shared = []  # (names, comment)
    for one in struct.fields:
        if one.text and one.name != "stream":
            if shared and shared[-1][1] == one.text:
                shared[-1][0].append(python_name(one.name))
            else:
                shared.append(([python_name(one.name)], one.text))
    return ["    %s: %s" % (", ".join(names), text) for names, text in shared]


def escape(text):
    return text.replace("\\", "\\\\").replace('"""', "'''")


def filled(words, indent):
    return "\n".join(textwrap.wrap(" ".join(words), 150, initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)) + "\n"


def op_text(name, function, form, fields):
    # a field's words stay together: no blank within it
    rows = filled(['("%s","%s","%s"),' % field for field in fields], "        ").replace('","', '", "')
    return "\n%s = Op(\n    \"%s\", \"%s\",\n    [\n%s    ],\n)\n" % (name, function.name, form, rows)


def write(parsed, functions, rows, banner):
    import generate

    code = banner % "The op library: one function for each op, with shapes as in NumPy."
    stub = banner % "Types of kiln.ops."
    code += "\nfrom __future__ import annotations\n\nfrom ._elementwise import *\nfrom ._elementwise import ELEMENTWISE, ELEMENTWISE_FORMS\nfrom . import _op_table as _table\nfrom ._op import elementwise_backward, reduce\n"
    table = banner % "The calls of the op library: their descriptions, field by field."
    table += "\nfrom ._op import Op\n"
    each = banner % "The elementwise ops: one function for each row of their table."
    each += "# mypy: ignore-errors\n# ops.pyi has the types.\n\nfrom __future__ import annotations\n\nfrom ._op import elementwise\n"
    stub += "\nfrom typing import Any, Sequence\n\nfrom ._device import Device\n\nArrayLike = Any  # NumPy, PyTorch, CuPy, JAX, kiln.Array; numbers in elementwise ops\n"
    names = []
    sections = {name: title for title, group in parsed.sections for name in group}
    for function in functions:
        if function.name in BY_HAND | LEFT_OUT or function.name.endswith("_workspace") or len(function.parameters) != 2:
            continue
        struct = parsed.structs.get(function.parameters[1].type)
        if struct is None:
            continue
        name = function.name.removeprefix("kiln_").removesuffix("_forward")
        fields = classify(parsed, function, struct)
        form, size, _, _ = headers.layout(parsed, struct.name, FLAT)
        first = lambda enum: generate.short_name(parsed.enums[enum], parsed.enums[enum][0][0])
        if function.name in FAMILIES:
            table += op_text(name, function, form, fields)
            more, typed, these = family(parsed, function, generate)
            code, stub, names = code + "\n" + more, stub + typed, names + these
            continue
        plain, typed = signature(parsed, fields, first)
        said = [sections.get(function.name, name)]
        said += ["", *textwrap.wrap(struct.text, 130)] if struct.text else []
        said += ["", *describe_fields(struct)]
        table += op_text(name, function, form, fields)
        code += "\n\ndef %s(%s):\n" % (name, ", ".join(plain))
        code += '    """%s\n    """\n' % escape("\n".join("    " + line if line else "" for line in said).strip())
        values = [python_name(n) if k not in ("stream", "zeros", "count") and not (k == "work" and e != "given") else "None" for k, n, e in fields]
        code += "    return _table.%s((%s,), stream, device)\n" % (name, ", ".join(values))
        stub += "\ndef %s(%s) -> Any: ...\n" % (name, ", ".join(typed))
        names.append(name)
    own = []
    for number, (name, form, types, alpha, beta, _, said) in enumerate(rows):
        operands = "abc"[: form.index("_")]
        numbers = (["alpha=1.0"] if alpha else []) + (["beta=0.0"] if beta else [])
        plain = [*operands, "*", *numbers, "out=None", "dtype=None", "stream=None", "device=None"]
        each += "\ndef %s(%s):\n" % (name, ", ".join(plain))
        each += '    """%s"""\n' % escape(said)
        each += '    return elementwise(%d, "%s", (%s), %s, %s, out, dtype, stream, device)\n\n' % (
            number, form, operands + "," if len(operands) == 1 else ", ".join(operands), "alpha" if alpha else "0.0", "beta" if beta else "0.0")
        typed = ["%s: ArrayLike" % o for o in operands] + ["*"] + ["%s: float = ..." % n.split("=")[0] for n in numbers]
        typed += ["out: ArrayLike | None = ...", "dtype: Any = ...", "stream: Any = ...", "device: Device | str | None = ..."]
        stub += "\ndef %s(%s) -> Any: ...\n" % (name, ", ".join(typed))
        names.append(name)
        own.append(name)
    stub += "\ndef elementwise_backward(op: str, operands: Sequence[ArrayLike], dout: ArrayLike, *, alpha: float = ..., beta: float = ..., wanted: Sequence[bool] | None = ..., stream: Any = ..., device: Device | str | None = ...) -> tuple[Any, ...]: ...\n"
    twice = {n for n in names if names.count(n) > 1}
    if twice:
        raise SystemExit("generate_ops.py: two functions are called %s: FAMILIES renames" % ", ".join(sorted(twice)))
    forms = tuple(headers.layout(parsed, "kiln_elementwise%s_desc" % end)[0] for end in ("", "_backward"))
    each += "\nELEMENTWISE_FORMS = %s\n" % repr(forms).replace("'", '"')
    each += "\n# name: (number, signature, has alpha, has beta, has derivatives)\nELEMENTWISE = {\n"
    for number, (name, form, types, alpha, beta, has, _) in enumerate(rows):
        each += '    "%s": (%d, "%s", %s, %s, %s),\n' % (name, number, form, alpha, beta, has)
    each += "}\n\n__all__ = [\n%s]\n" % filled(['"%s",' % n for n in own], "    ")
    code += "\n__all__ = [\n%s]\n" % filled(['"%s",' % n for n in ["elementwise_backward", *names]], "    ")
    stub += "\nELEMENTWISE: dict[str, tuple[int, str, bool, bool, bool]]\n__all__: list[str]\n"
    return code, table, each, stub
