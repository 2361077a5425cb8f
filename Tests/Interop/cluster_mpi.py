#!/usr/bin/env python3
"""Four processes of Open MPI's mpirun are the run of one: through Scenarios/cluster/mpirun.sh, as users start it.

Needs: Debian's openmpi-bin, and hdrhistogram.
"""

import glob
import os
import shutil
import sys
import tempfile

from _cluster import CLUSTER, DONE, SHARDS, SSEBENCH, call, check_merge, fail, need, report, run_alone, scenario, skip


def main():
    need("hdrh")
    if shutil.which("mpirun") is None:
        skip("there is no mpirun; install openmpi-bin")
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        path = scenario(folder)
        alone = run_alone(path, folder)
        runs = os.path.join(folder, "mpi")
        environment = dict(os.environ, SSEBENCH=SSEBENCH, LEAD=str(8 + int(os.getloadavg()[0])), OMPI_MCA_plm="isolated")
        result = call(
            os.path.join(CLUSTER, "mpirun.sh"), path, str(SHARDS), runs, "--oversubscribe", "--allow-run-as-root",
            env=environment)
        shards = sorted(glob.glob(os.path.join(runs, "shards", "*")))
        if result.returncode not in DONE or len(shards) != SHARDS:
            fail("mpirun.sh ended with", result.returncode, "and left", len(shards), "shards", result.stdout, result.stderr)
        problems += check_merge(os.path.join(runs, "merged"), shards, alone)
        # A rank that a flag contradicts does not run.
        wrong = call(
            "mpirun", "--oversubscribe", "--allow-run-as-root", "-n", "2", SSEBENCH, "plan", path, "--shard", "0/3",
            env=environment)
        if wrong.returncode == 0 or "--shard says shard 0/3 and Open MPI says" not in wrong.stderr:
            problems.append(f"a contradiction passed: exit {wrong.returncode}, {wrong.stderr[:300]}")
    return report("cluster_mpi", problems)


if __name__ == "__main__":
    sys.exit(main())
