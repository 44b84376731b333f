# harness.py: what the tests of the Python package share: @test registers a function, @on_each_device one for every device; run() counts.
import sys
import time
import traceback

tests = []
DEVICES = ["cpu", "interp"]


class Skip(Exception):
    """A test that this machine cannot run, and why."""


def test(function):
    tests.append((function.__name__, function, ()))
    return function


def on_each_device(function):
    for device in DEVICES:
        tests.append(("%s[%s]" % (function.__name__, device), function, (device,)))
    return function


def raises(kind, words, function, *args, **named):
    """The call must raise `kind` with all the words in its message; returns the exception."""
    try:
        function(*args, **named)
    except kind as error:
        for word in words:
            assert word in str(error), "%r is not in: %s" % (word, error)
        return error
    raise AssertionError("no %s was raised" % kind.__name__)


def run(name):
    passed = failed = skipped = 0
    only = sys.argv[1:]
    for title, function, args in tests:
        if only and not any(word in title for word in only):
            continue
        start = time.time()
        try:
            function(*args)
            passed += 1
        except Skip as reason:
            skipped += 1
            print("skipped: %s: %s" % (title, reason))
        except Exception:
            failed += 1
            print("FAIL: %s" % title)
            traceback.print_exc(file=sys.stdout)
        if time.time() - start > 2:
            print("  %s: %.1f s" % (title, time.time() - start))
        sys.stdout.flush()
    print("%s: %d passed, %d failed, %d skipped" % (name, passed, failed, skipped))
    sys.exit(failed != 0)
