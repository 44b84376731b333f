# backend.py: builds the wheel (PEP 517). make builds libkiln.so and the kiln program in the source tree; the wheel is the package with both inside.
#     pip install ./bind/python          or: make wheel
# KILN_BUILD names another build folder than build/; one that make finds fresh is used as it is.
import base64
import hashlib
import os
import platform
import re
import shutil
import subprocess
import tempfile
import zipfile

here = os.path.dirname(os.path.abspath(__file__))
root = os.path.dirname(os.path.dirname(here))
DISTRIBUTION = "kiln_gpu"
ENTRY_POINTS = "[console_scripts]\nkiln = kiln.__main__:main\n"


def version():
    with open(os.path.join(root, "include", "kiln", "kiln.h"), encoding="utf-8") as file:
        return re.search(r'KILN_VERSION\s+"(.*)"', file.read()).group(1)


def build_native(folder):
    """libkiln.so and kiln into `folder`, without what only a debugger reads."""
    build = os.environ.get("KILN_BUILD", "build")
    targets = [os.path.join(build, name) for name in ("libkiln.so", "kiln")]
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    subprocess.run(["make", "-C", root, "-j%d" % (os.cpu_count() or 1), "BUILD=" + build, *targets], check=True, env=environment)
    for target in targets:
        to = os.path.join(folder, os.path.basename(target))
        shutil.copy(os.path.join(root, target), to)
        if shutil.which("strip"):
            subprocess.run(["strip", "--strip-debug", to], check=False)


def metadata():
    text = "Metadata-Version: 2.1\nName: kiln-gpu\nVersion: %s\nSummary: GPU kernels in plain C, from Python and PyTorch\nLicense: MIT\n" % version()
    text += "Requires-Python: >=3.10\nProvides-Extra: numpy\nRequires-Dist: numpy>=1.22; extra == 'numpy'\n"
    text += "Provides-Extra: torch\nRequires-Dist: torch>=2.4; extra == 'torch'\nDescription-Content-Type: text/markdown\n\n"
    with open(os.path.join(here, "README.md"), encoding="utf-8") as file:
        return text + file.read()


def tag(is_pure):
    return "py3-none-any" if is_pure else "py3-none-%s_%s" % (platform.system().lower(), platform.machine())


class Wheel:
    """A wheel being written, with the list of its files and their hashes."""

    def __init__(self, folder, is_pure):
        self.tag = tag(is_pure)
        self.name = "%s-%s-%s.whl" % (DISTRIBUTION, version(), self.tag)
        self.info = "%s-%s.dist-info" % (DISTRIBUTION, version())
        self.file = zipfile.ZipFile(os.path.join(folder, self.name), "w", zipfile.ZIP_DEFLATED)
        self.record = []
        self.is_pure = is_pure

    def add(self, name, data, is_program=False):
        entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.external_attr = (0o100755 if is_program else 0o100644) << 16
        self.file.writestr(entry, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.record.append("%s,sha256=%s,%d" % (name, digest, len(data)))

    def close(self):
        self.add(self.info + "/METADATA", metadata().encode())
        self.add(self.info + "/entry_points.txt", ENTRY_POINTS.encode())
        with open(os.path.join(root, "LICENSE"), "rb") as file:
            self.add(self.info + "/LICENSE", file.read())
        pure = "true" if self.is_pure else "false"
        self.add(self.info + "/WHEEL", ("Wheel-Version: 1.0\nGenerator: kiln\nRoot-Is-Purelib: %s\nTag: %s\n" % (pure, self.tag)).encode())
        self.file.writestr(self.info + "/RECORD", "\n".join(self.record + [self.info + "/RECORD,,"]) + "\n")
        self.file.close()
        return self.name


def package_files():
    for folder, folders, names in os.walk(os.path.join(here, "kiln")):
        folders[:] = sorted(f for f in folders if f not in ("__pycache__", "_native"))
        for name in sorted(names):
            if name.endswith((".py", ".pyi", ".typed", ".c")):
                path = os.path.join(folder, name)
                yield path, os.path.relpath(path, here)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    wheel = Wheel(wheel_directory, False)
    for path, name in package_files():
        with open(path, "rb") as file:
            wheel.add(name, file.read())
    with tempfile.TemporaryDirectory() as folder:
        build_native(folder)
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name), "rb") as file:
                wheel.add("kiln/_native/" + name, file.read(), True)
    return wheel.close()


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """pip install -e: the package of the source tree, with the library of its build folder."""
    build_native(tempfile.mkdtemp())
    wheel = Wheel(wheel_directory, True)
    wheel.add("kiln_gpu.pth", (here + "\n").encode())
    return wheel.close()


def build_sdist(sdist_directory, config_settings=None):
    raise SystemExit("kiln: there is no source distribution of the Python package alone: it is built from the whole source tree")


if __name__ == "__main__":
    import sys

    print(build_wheel(sys.argv[1]))
