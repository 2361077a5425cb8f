#!/usr/bin/env bash
# Runs the scripts of this folder (all, or those named) in a Python environment of their own under .build/interop, and
# says how many ran, failed and were skipped. A script exits with 0, with 77 when it must skip (its last line says why),
# or with anything else when it failed. With CI_NIGHTLY=1 or NIGHTLY=1 a skip is a failure.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
cd "$root" || exit 1
exec </dev/null

environment=.build/interop
export SSEBENCH="${SSEBENCH:-$root/.build/release/ssebench}"
[ -x "$SSEBENCH" ] || { echo "interop: there is no $SSEBENCH; run 'make build' first" >&2; exit 1; }

if [ ! -x "$environment/bin/python3" ]; then
  python3 -m venv "$environment" ||
    { echo "interop: python3 cannot make an environment; install python3 and python3-venv" >&2; exit 1; }
fi
stamp="$environment/requirements.installed"
if ! cmp -s "$here/requirements.txt" "$stamp"; then
  echo "interop: installing what Tests/Interop/requirements.txt names"
  # One at a time: what cannot be had here makes its own tests skip, not all of them.
  complete=1
  while read -r requirement; do
    case $requirement in '' | '#'*) continue ;; esac
    # shellcheck disable=SC2086 # a line may begin with an option
    "$environment/bin/pip" --quiet --disable-pip-version-check install --prefer-binary $requirement ||
      { echo "interop: $requirement could not be installed; its tests will skip" >&2; complete=0; }
  done <"$here/requirements.txt"
  [ $complete = 1 ] && cp "$here/requirements.txt" "$stamp"
fi

if [ $# -gt 0 ]; then
  scripts=("$@")
else
  # real_llm.py is `make real-llm`; names like _x.py and x_check.py are parts of other scripts.
  mapfile -t scripts < <(cd "$here" && printf '%s\n' *.py | grep -vE '^(_.*|.*_check\.py|real_llm\.py)$')
fi

ran=0
failed=()
skipped=()
for script in "${scripts[@]}"; do
  echo "== $script"
  output=$(mktemp)
  timeout "${INTEROP_LIMIT:-900}" "$environment/bin/python3" "$here/$script" 2>&1 | tee "$output"
  code=${PIPESTATUS[0]}
  case $code in
    0) ran=$((ran + 1)) ;;
    77) skipped+=("$script: $(tail -n 1 "$output")") ;;
    *) failed+=("$script: exit code $code") ;;
  esac
  rm -f "$output"
done

echo
echo "interop: $ran passed, ${#failed[@]} failed, ${#skipped[@]} skipped"
for line in "${failed[@]+"${failed[@]}"}"; do echo "  failed  $line"; done
for line in "${skipped[@]+"${skipped[@]}"}"; do echo "  skipped $line"; done
[ ${#failed[@]} -eq 0 ] || exit 1
if [ ${#skipped[@]} -gt 0 ] && [ "${CI_NIGHTLY:-${NIGHTLY:-0}}" = 1 ]; then
  echo "interop: a skip is a failure in the nightly" >&2
  exit 1
fi
