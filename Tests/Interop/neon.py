#!/usr/bin/env python3
"""The scan for line ends in NEON against the plain one: built for arm64 and run there, or under qemu where this machine is another.

The Swift above it knows no instruction set; every other path passes the whole suite in `swift test`.
"""

import os
import platform
import subprocess
import sys
import tempfile

import _packages

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
SOURCES = os.path.join(ROOT, "Sources", "CStreams")


def main():
    if platform.machine() in ("aarch64", "arm64"):
        compiler, runner = ["cc"], []
    else:
        gcc = _packages.program("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross")
        qemu = _packages.program("qemu-aarch64", "qemu-user")
        compiler, runner = [gcc, "-static"], [qemu]
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "neon")
        subprocess.run([*compiler, "-O2", "-Wall", f"-I{SOURCES}/include", os.path.join(os.path.dirname(__file__), "neon_check.c"),
                        f"{SOURCES}/LineEnds.c", f"{SOURCES}/CStreams.c", "-o", program, "-lpthread"], check=True)
        ended = subprocess.run([*runner, program], capture_output=True, text=True, timeout=600)
    print((ended.stdout or ended.stderr).strip())
    sys.exit(ended.returncode)


main()
