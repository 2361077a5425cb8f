#!/usr/bin/env bash
# The tests of engine and transports under LeakSanitizer: a block that nothing points to at the end is a failure. In a build folder of its own; a few
# minutes the first time. What it cannot see: memory that is kept and still pointed to, which `measure.memory` measures.
set -euo pipefail
cd "$(dirname "$0")/../.."
exec </dev/null

folder=.build/leaks
swift build --build-tests --sanitize=address --scratch-path "$folder"
suppressions=$(mktemp)
trap 'rm -f "$suppressions"' EXIT
# Values that live as long as the process (`static let`): Swift keeps their address in a form that the sanitizer does not know.
echo 'leak:_WZ' >"$suppressions"
ASAN_OPTIONS=detect_leaks=1 LSAN_OPTIONS="suppressions=$suppressions" SWIFT_BACKTRACE=enable=no \
  swift test --skip-build --sanitize=address --scratch-path "$folder" --disable-xctest --filter "${1:-EngineTests|TransportsTests}"
