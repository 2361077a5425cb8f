# Starts the built mock on a free port for one script, and counts what passes. Not a test itself.

import contextlib
import json
import os
import subprocess
import sys
import traceback

for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
    os.environ.pop(name, None)


@contextlib.contextmanager
def mock(*flags):
    """The base URL of a mock that ends with the block; 8 tokens, 1 ms apart, unless a flag says otherwise."""
    words = {"--tokens": "8", "--first-token": "5ms", "--interval": "1ms"}
    words.update(dict(zip(flags[::2], flags[1::2])))
    command = [os.environ["SSEBENCH"], "mock", "--control"] + [w for pair in words.items() for w in pair]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield json.loads(process.stdout.readline())["listening"]
    finally:
        process.stdin.close()
        process.wait(timeout=10)


def faults(*list_of_faults):
    return ("--faults", json.dumps(list_of_faults))


def run(tests):
    """Runs functions by their names; exits with 1 when one fails."""
    passed = failed = 0
    for test in tests:
        try:
            test()
            passed += 1
            print(f"  passed  {test.__name__}")
        except Exception:
            failed += 1
            print(f"  failed  {test.__name__}")
            traceback.print_exc(file=sys.stdout)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    sys.exit(1 if failed else 0)


def skip(reason):
    print("0 passed, 0 failed, 1 skipped")
    print(reason)
    sys.exit(77)
