#!/usr/bin/env python3
"""Four tasks of Slurm's srun are the run of one. Starts a Slurm of one node for itself: munged, slurmctld, slurmd, all in a
folder of their own and on ports that are free, and ends them again. Runs `srun -n 4` and Scenarios/cluster/slurm.sbatch.

Needs: root, Debian's slurm-wlm and munge, and hdrhistogram.
"""

import glob
import math
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

from _cluster import CLUSTER, DONE, SHARDS, SSEBENCH, call, check_merge, fail, need, report, run_alone, scenario, skip


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Slurm:
    """Its daemons, in the foreground, as children of this script."""

    def __init__(self, folder):
        self.folder = folder
        self.processes = []
        self.socket = os.path.join(folder, "munge.socket")
        # munge will not trust a folder that others may write to, and its socket must be reached by all.
        os.chmod(folder, 0o755)
        self.environment = dict(os.environ, SLURM_CONF=os.path.join(folder, "slurm.conf"))
        host = socket.gethostname().split(".")[0]
        for name in ("state", "spool"):
            os.mkdir(os.path.join(folder, name))
        with open(self.environment["SLURM_CONF"], "w") as file:
            file.write(f"""
ClusterName=ssebench
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={free_port()}
SlurmdPort={free_port()}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={self.socket}
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
""")
        with open(os.path.join(folder, "cgroup.conf"), "w") as file:
            file.write("CgroupPlugin=cgroup/v1\n" if not os.path.exists("/sys/fs/cgroup/cgroup.controllers") else "")

    def start(self, *words):
        log = open(os.path.join(self.folder, os.path.basename(words[0]) + ".out"), "w")
        process = subprocess.Popen(
            words, env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
        self.processes.append(process)
        return process

    def __enter__(self):
        key = os.path.join(self.folder, "munge.key")
        with open(key, "wb") as file:
            file.write(os.urandom(1024))
        os.chmod(key, 0o400)
        inside = lambda name: os.path.join(self.folder, name)
        self.start(
            shutil.which("munged"), "--foreground", "--force", f"--socket={self.socket}", f"--key-file={key}",
            f"--pid-file={inside('munged.pid')}", f"--log-file={inside('munged.log')}", f"--seed-file={inside('munged.seed')}")
        self.wait("munged makes no socket", lambda: os.path.exists(self.socket))
        self.start(shutil.which("slurmctld"), "-D", "-c")
        self.wait("slurmctld does not answer", lambda: call("scontrol", "ping", env=self.environment).stdout.find("is UP") >= 0)
        self.start(shutil.which("slurmd"), "-D")
        self.wait("the node does not come up", lambda: call("sinfo", "-h", "-o", "%T", env=self.environment).stdout.startswith("idle"))
        return self

    def wait(self, what, is_true, limit=60):
        end = time.monotonic() + limit
        while time.monotonic() < end:
            if is_true():
                return
            time.sleep(0.3)
        logs = "".join(
            f"== {path}\n{open(path, errors='replace').read()[-1500:]}\n"
            for path in sorted(glob.glob(self.folder + "/*.log") + glob.glob(self.folder + "/*.out")))
        self.__exit__()
        fail(f"{what} within {limit} s\n{logs}")

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.terminate()
        for process in reversed(self.processes):
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.processes = []


def main():
    need("hdrh")
    if os.geteuid() != 0:
        skip("not root: slurmd starts tasks as other users")
    # Debian puts the daemons where only root's path leads.
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    for program, package in (("munged", "munge"), ("slurmctld", "slurm-wlm"), ("slurmd", "slurm-wlm"), ("srun", "slurm-wlm")):
        if shutil.which(program) is None:
            skip(f"there is no {program}; install {package}")
    problems = []
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as home, Slurm(home) as slurm:
        path = scenario(folder)
        alone = run_alone(path, folder)

        start = str(math.ceil(time.time() + 8 + os.getloadavg()[0]))
        direct = os.path.join(folder, "srun")
        result = call(
            "srun", "-n", str(SHARDS), SSEBENCH, "run", path, "--out", direct + "/{shard}", "--start-at", start, "--quiet",
            env=slurm.environment)
        shards = sorted(glob.glob(direct + "/*"))
        if len(shards) != SHARDS:
            fail("srun ended with", result.returncode, "and left", len(shards), "shards", result.stdout, result.stderr)
        merged = call(SSEBENCH, "merge", *shards, "--out", folder + "/merged")
        if merged.returncode not in DONE:
            fail("merge ended with", merged.returncode, merged.stdout, merged.stderr)
        problems += [f"srun: {problem}" for problem in check_merge(folder + "/merged", shards, alone)]

        batch = os.path.join(folder, "batch")
        log = os.path.join(folder, "batch.log")
        environment = dict(slurm.environment, SSEBENCH=SSEBENCH, LEAD=str(8 + int(os.getloadavg()[0])))
        result = call(
            "sbatch", "--wait", "--ntasks", str(SHARDS), "--chdir", folder, "--output", log,
            os.path.join(CLUSTER, "slurm.sbatch"), path, batch, env=environment)
        said = open(log).read() if os.path.exists(log) else ""
        shards = sorted(glob.glob(batch + "/shards/*"))
        if result.returncode not in DONE or len(shards) != SHARDS:
            fail("sbatch ended with", result.returncode, "and left", len(shards), "shards", result.stderr, said)
        problems += [f"sbatch: {problem}" for problem in check_merge(batch + "/merged", shards, alone)]

        # In the batch script itself no shard is meant.
        wrong = call(
            "sbatch", "--wait", "--ntasks", "4", "--chdir", folder, "--output", log + "2", "--wrap", f"{SSEBENCH} plan {path}",
            env=slurm.environment)
        if wrong.returncode != 64 or "srun" not in open(log + "2").read():
            problems.append(f"a run in the batch script ended with {wrong.returncode}: {open(log + '2').read()[:300]}")
    return report("cluster_slurm", problems)


if __name__ == "__main__":
    sys.exit(main())
