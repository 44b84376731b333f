"""python -m kiln: the kiln program."""

import os
import sys

from ._library import program


def main() -> None:
    found = program()
    if not found:
        sys.exit("python -m kiln: there is no kiln program in the package, beside the library or in the path: KILN_PROGRAM says where it is")
    os.execv(found, [found, *sys.argv[1:]])


if __name__ == "__main__":
    main()
