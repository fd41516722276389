#!/usr/bin/env bash
# Hold an engine's own client and measure at one live server, one after the other: the same
# shape, streams and number of requests, and each client's own prompts. What the methodology
# page says of it came from this.
#
#   bench/beside/beside.sh vllm|sglang URL MODEL OUT
#   bench/beside/beside.sh vllm http://127.0.0.1:8000 llama-3.1-8b out/beside
#
# MODEL is the name that the server serves, which is also a folder or repository with its
# tokenizer. OUT gets client-cN.json and measure-cN.* for N streams, and stdout what measure
# compare says of each pair.
#
# Environment: MEASURE, the program (measure, of PATH); STREAMS (1,8); EACH (10), requests a
# stream; ISL (1024), OSL (256).
set -euo pipefail
if [ $# -ne 4 ] || { [ "$1" != vllm ] && [ "$1" != sglang ]; }; then
  sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0" >&2
  exit 2
fi
engine=$1 url=$2 model=$3 out=$4
measure=${MEASURE:-measure} isl=${ISL:-1024} osl=${OSL:-256}
mkdir -p "$out"
if compgen -G "$out/*-c*.json" >/dev/null; then
  echo "$out holds an earlier run; name another folder" >&2
  exit 2
fi

# client STREAMS REQUESTS FILE: the engine's own, with its defaults but for the load.
client() {
  case $engine in
  vllm)
    vllm bench serve --backend vllm --base-url "$url" --model "$model" --dataset-name random --random-input-len "$isl" \
      --random-output-len "$osl" --ignore-eos --num-prompts "$2" --max-concurrency "$1" --seed "$1" \
      --save-result --save-detailed --result-dir "$(dirname "$3")" --result-filename "$(basename "$3")"
    ;;
  sglang)
    python3 -m sglang.bench_serving --backend sglang --base-url "$url" --model "$model" --dataset-name random-ids --random-input-len "$isl" \
      --random-output-len "$osl" --random-range-ratio 1 --num-prompts "$2" --max-concurrency "$1" --seed "$1" \
      --output-file "$3" --output-details --disable-tqdm
    ;;
  esac >&2
}

IFS=, read -ra streams <<<"${STREAMS:-1,8}"
for c in "${streams[@]}"; do
  n=$((c * ${EACH:-10}))
  client "$c" "$n" "$out/client-c$c.json"
  "$measure" bench --base-url "$url" --cells "$isl:$osl" --concurrency "$c" --num-prompts "$n" --warmup 1 --output "$out/measure-c$c" >/dev/null
  "$measure" compare "$out/client-c$c.json" "$out/measure-c$c.json"
done
