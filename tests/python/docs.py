# docs.py: runs the Python of the documentation. Of a page, in order and in one folder: ```c NAME is written to NAME; ```python is run, with what it prints
# compared to the ```text block after it; ```python torch only where PyTorch is; ```python sketch is not run. And the example notebook: every cell, its
# text outputs compared to those that are stored.
#     python3 tests/python/docs.py [--bless]      --bless: writes the outputs of the notebook
import contextlib
import io
import json
import os
import re
import sys
import tempfile

from harness import Skip, run, test

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGES = ["README.md", "docs/guide/12-python.md", "docs/from-triton.md"]
NOTEBOOK = "bind/python/examples/kiln.ipynb"
try:
    import torch  # noqa: F401

    HAS_TORCH = True
except ImportError:
    HAS_TORCH = False


@contextlib.contextmanager
def in_folder():
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def run_block(code, names, title):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, title, "exec"), names)
    return out.getvalue()


def check_page(page):
    with open(os.path.join(ROOT, page), encoding="utf-8") as file:
        text = file.read()
    blocks = re.findall(r"^```(\w*)([^\n]*)\n(.*?)^```", text, re.S | re.M)
    names, ran, left_out, printed = {"__name__": "page"}, 0, 0, None
    with in_folder():
        for at, (kind, words, body) in enumerate(blocks):
            words = words.split()
            if kind == "c" and words and words[0].endswith(".c") and "wrong" not in words:
                with open(words[0], "w", encoding="utf-8") as file:
                    file.write(body)
            elif kind == "python" and "sketch" not in words:
                if "torch" in words and not HAS_TORCH:
                    compile(body, page, "exec")
                    left_out, printed = left_out + 1, None
                    continue
                printed, ran = run_block(body, names, "%s, block %d" % (page, at + 1)), ran + 1
            elif kind == "text" and printed is not None:
                assert printed == body, "%s prints\n%s" % (page, printed)
                printed = None
    if left_out and not ran:
        raise Skip("PyTorch is not installed")
    assert ran, "%s has no Python" % page


for _page in PAGES:

    def _test(page=_page):
        check_page(page)

    _test.__name__ = _page
    test(_test)


def outputs_of(cell):
    return "".join("".join(o.get("text", o.get("data", {}).get("text/plain", []))) for o in cell.get("outputs", []))


def run_cell(source, names, title):
    """What a cell prints; the value of a last line that is an expression, as notebooks show it."""
    import ast

    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(tree, title, "exec"), names)
        value = eval(compile(ast.Expression(last.value), title, "eval"), names) if last else None
    return out.getvalue() + (repr(value) if value is not None else "")


@test
def notebook():
    path = os.path.join(ROOT, NOTEBOOK)
    with open(path, encoding="utf-8") as file:
        book = json.load(file)
    names = {"__name__": "notebook"}
    with in_folder():
        for at, cell in enumerate(book["cells"]):
            if cell["cell_type"] != "code":
                continue
            source = "".join(cell["source"])
            if "torch" in cell["metadata"].get("tags", []) and not HAS_TORCH:
                continue
            printed = run_cell(source, names, "cell %d" % (at + 1))
            if "--bless" in sys.argv:
                lines = printed.splitlines(keepends=True)
                cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": lines}] if printed else []
            elif "varies" not in cell["metadata"].get("tags", []):
                assert printed == outputs_of(cell), "cell %d prints\n%s" % (at + 1, printed)
    if "--bless" in sys.argv:
        with open(path, "w", encoding="utf-8") as file:
            file.write(json.dumps(book, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    bless = "--bless" in sys.argv
    if bless:
        sys.argv.append("notebook")
    run("python-docs")
