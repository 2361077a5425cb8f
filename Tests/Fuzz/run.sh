#!/bin/sh
# Fuzzes every target for SECONDS each (default 20), with libFuzzer and the address sanitizer. Found inputs are left in Tests/Fuzz/found; turn
# them into vectors. FUZZ_TARGETS="whatwg lines" chooses targets.
#
#   Tests/Fuzz/run.sh 120
set -eu
cd "$(dirname "$0")/../.."
seconds=${1:-20}
targets=${FUZZ_TARGETS:-"whatwg data-only eventsource eventsource-data-only lines ndjson custom limits simdjson scan foundation wukong-frames wukong-json"}
out=.build/fuzz
mkdir -p $out/modules $out/corpus
# The crash reporter of Swift would hang on a crashing fuzzer.
export SWIFT_BACKTRACE=enable=no

for module in CPlatform CStreams CSimdjson; do
  mkdir -p $out/modules/$module
  printf 'module %s { header "%s/Sources/%s/include/%s.h" export * }\n' $module "$PWD" $module $module > $out/modules/$module/module.modulemap
done
sanitize="-fsanitize=fuzzer-no-link,address -g -O1"
for file in Sources/CPlatform/*.c Sources/CStreams/*.c Tests/Fuzz/NoJemalloc.c; do
  module=$(basename "$(dirname "$file")")
  clang $sanitize -ISources/"$module"/include -c "$file" -o $out/"$module-$(basename "$file" .c)".o
done
clang++ -std=c++17 $sanitize -ISources/CSimdjson/include -c Sources/CSimdjson/CSimdjson.cpp -o $out/CSimdjson.o

swift="swiftc -sanitize=fuzzer,address -O -g -parse-as-library -swift-version 6 -package-name ssebench -I $out
  -enable-upcoming-feature ExistentialAny -enable-upcoming-feature MemberImportVisibility -enable-upcoming-feature InternalImportsByDefault
  -Xcc -fmodule-map-file=$out/modules/CPlatform/module.modulemap
  -Xcc -fmodule-map-file=$out/modules/CStreams/module.modulemap
  -Xcc -fmodule-map-file=$out/modules/CSimdjson/module.modulemap
  -Xcc -fmodule-map-file=$PWD/Sources/CWslay/module.modulemap"
compile() {
  name=$1
  shift
  $swift -wmo -emit-module -emit-module-path $out/"$name".swiftmodule -module-name "$name" -c "$@" -o $out/"$name".o
}
compile Primitives Sources/Primitives/*.swift
compile Streams Sources/Streams/*.swift Sources/Streams/Dialects/*.swift
# Only what decodes: the rest of the target needs the event loop.
compile FoundationClients Sources/FoundationClients/FoundationDecoder.swift Sources/FoundationClients/*Models.swift
link() {
  program=$1
  shift
  # The linker warns of each of the sanitizer's local symbols.
  if ! $swift -module-name Fuzz "$@" -o $out/"$program" > $out/link.log 2>&1; then
    grep -v "Cannot export local symbol" $out/link.log
    exit 1
  fi
}
link fuzz Tests/Fuzz/FuzzTargets.swift Tests/StreamsTests/Oracles/*.swift $out/*.o -lsimdjson -lstdc++
mkdir -p $out/wukong
compile WuKongIM Sources/WuKongIM/*.swift
mv $out/WuKongIM.o $out/wukong/
for name in Frames JSON; do
  link wukong-$(echo $name | tr '[:upper:]' '[:lower:]') Tests/Fuzz/FuzzWuKong$name.swift $out/wukong/WuKongIM.o $out/Primitives.o $out/CPlatform-*.o $out/Fuzz-*.o -lwslay
done

# Seeds: the vectors' bodies and the recorded streams, so that runs begin with what is known.
if [ ! -d $out/seeds ]; then
  mkdir -p $out/seeds
  cp Tests/Vectors/llm/*.sse Tests/Vectors/llm/*.ndjson $out/seeds/
  number=0
  grep -o '"input_b64": *"[^"]\{1,4000\}"' Tests/Vectors/sse/sse-vectors.jsonl | sed 's/.*"\([^"]*\)"$/\1/' | while read -r text; do
    number=$((number + 1))
    printf '%s' "$text" | base64 -d > $out/seeds/vector-$number
  done
  sed -n 's/^data: \({.*\)$/\1/p' Tests/Vectors/llm/*.sse | head -200 | split -l 3 - $out/seeds/json-
fi

# One target; says what it found and how fast it was.
fuzz_one() {
  target=$1
  mkdir -p $out/corpus/"$target"
  # The library's model and its oracle are quadratic, as the library is.
  case $target in eventsource*) length=512 ;; *) length=4096 ;; esac
  case $target in wukong-*) program=$target ;; *) program=fuzz ;; esac
  status=0
  FUZZ_TARGET=$target $out/$program -max_total_time="$seconds" -max_len=$length -timeout=20 -rss_limit_mb=4096 -print_final_stats=1 \
    -dict=Tests/Fuzz/events.dict -artifact_prefix=Tests/Fuzz/found/"$target"- $out/corpus/"$target" $out/seeds > $out/"$target".log 2>&1 || status=1
  {
    echo "== $target"
    # What it found, or, where it says nothing of the kind, how it ended.
    if [ $status != 0 ]; then
      if grep -qE "Fatal error|ERROR: |SUMMARY" $out/"$target".log; then
        grep -E "Fatal error|ERROR: |SUMMARY" $out/"$target".log | cut -c1-600
      else
        tail -20 $out/"$target".log | cut -c1-600
      fi
    fi
    grep -E "stat::(number_of_executed_units|average_exec_per_sec)" $out/"$target".log || echo "no statistics: it ended early"
  } > $out/"$target".said
  return $status
}

# As many at once as there are cores, a row after the other.
width=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
failed=0
await() {
  for process in $running; do wait "$process" || failed=1; done
  for name in $row; do cat $out/"$name".said; done
  running= row= count=0
}
running= row= count=0
for target in $targets; do
  fuzz_one "$target" &
  running="$running $!" row="$row $target" count=$((count + 1))
  if [ $count -ge "$width" ]; then await; fi
done
await
exit $failed
