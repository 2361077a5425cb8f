# Finds a program that comes from a Debian package, and installs it where this process may. Not a test itself.

import os
import shutil
import signal
import subprocess
import sys

from _mock import skip

# A script that is told to end still ends what it has started.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def program(name, *packages, also=None):
    """The path of `name`, installed from `packages` where it is missing (root only); `also` is a file that must be there too."""
    os.environ["PATH"] = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"

    def found():
        return shutil.which(name) if also is None or os.path.exists(also) else None

    if not found() and os.getuid() == 0 and shutil.which("apt-get"):
        # Services that the packages would start are none of ours: the tests start what they need.
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
        install = ["apt-get", "-qq", "-y", "--no-install-recommends", "-o", "Dpkg::Use-Pty=0", "install", *packages]
        for command in (["apt-get", "-qq", "update"], install):
            subprocess.run(command, capture_output=True, timeout=400, env=environment, stdin=subprocess.DEVNULL)
    return found() or skip(f"{name} is not installed (Debian: {' '.join(packages)})")
