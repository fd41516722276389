#!/usr/bin/env bash
# Measure one recipe on vLLM: start the server, run the default sweep and the sustained
# ladder, three repeats each, then end the server.
#
#   bench/vllm.sh RECIPE OUT COMMAND...
#   bench/vllm.sh llama-3.1-8b/h200-sxm/latency/vllm out \
#     vllm serve llama-3.1-8b --load-format dummy --max-model-len 16384 --enable-prompt-tokens-details --port 8000
#
# COMMAND is the launch command of the recipe's page, with --port PORT (default 8000, or
# the environment's PORT). `measure` is taken from PATH or from the environment's MEASURE.
# OUT gets MODEL-sweep.* and MODEL-ladder.*, the server's log, and every gate's answer.
set -euo pipefail
if [ $# -lt 3 ]; then
  sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0" >&2
  exit 2
fi
recipe=$1 out=$2
shift 2
model=${recipe%%/*}
port=${PORT:-8000}
measure=${MEASURE:-measure}
url=http://127.0.0.1:$port
name=$out/$(echo "$recipe" | tr / _)
mkdir -p "$out"

setsid "$@" >"$name.log" 2>&1 &
server=$!
# The server's own children end with it; the group is ours alone.
trap 'kill -TERM -- -$server 2>/dev/null; wait $server 2>/dev/null || true' EXIT
start=$(date +%s)
until curl -sf -o /dev/null "$url/health"; do
  if ! kill -0 "$server" 2>/dev/null; then
    echo "the server ended while starting; the end of $name.log:" >&2
    tail -n 30 "$name.log" >&2
    exit 3
  fi
  if [ $(($(date +%s) - start)) -gt 900 ]; then
    echo "the server did not answer $url/health in 900 s; see $name.log" >&2
    exit 3
  fi
  sleep 1
done
echo "$recipe answers after $(($(date +%s) - start)) s" >&2

common=("$model" --base-url "$url" --recipe "$recipe" --repeats 3)
"$measure" bench "${common[@]}" --output "$name-sweep"
"$measure" bench "${common[@]}" --cells 1024:256 --concurrency "${LADDER:-1,4,16,64}" --duration 15s --output "$name-ladder"
"$measure" check "$name-sweep.json" "$name-ladder.json" >"$name-gates.txt" || true
cat "$name-gates.txt" >&2
