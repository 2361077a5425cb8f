#!/usr/bin/env bash
# One run in as many processes as asked, started by mpirun; then one merge.
#
#   Scenarios/cluster/mpirun.sh SCENARIO.json PROCESSES FOLDER [words for mpirun, such as --hostfile hosts]
#
# FOLDER must lie where every host sees it. SSEBENCH names the program, LEAD the seconds until all start together, CLOCK a
# server that every host holds its clock against (default: the scenario's endpoint).
set -euo pipefail
scenario=$1 processes=$2 folder=$3
shift 3
ssebench=${SSEBENCH:-ssebench}
start=$(($(date +%s) + ${LEAD:-15}))
clock=()
[ -z "${CLOCK:-}" ] || clock=(--clock "$CLOCK")

# mpirun ends all processes when one ends with another code than 0, and a shard does so when its machine was too slow. The
# shell in between says 0 to mpirun; the merge says what became of each shard.
# shellcheck disable=SC2016
mpirun -n "$processes" "$@" \
  sh -c '"$@" || echo "shard ${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-?}} ended with exit code $?" >&2' sh \
  "$ssebench" run "$scenario" --out "$folder/shards/{shard}" --start-at "$start" --quiet "${clock[@]+"${clock[@]}"}" ||
  echo "mpirun ended with exit code $?" >&2

exec "$ssebench" merge "$folder"/shards/* --out "$folder/merged"
