#!/usr/bin/env bash
# Measure a list of recipes within a time: for each, start its server by its own command,
# climb the ladder of concurrencies, end the server. What has rows already is not measured
# again, so the same call goes on where the last one stopped.
#
#   bench/recipes.sh OUT SECONDS RECIPE...
#   bench/recipes.sh out 1500 llama-3.3-70b/h200-sxm-x2/latency/vllm qwen3-32b/h200-sxm-x2/latency/vllm
#
# OUT gets NAME-ladder.* a recipe (NAME-ladder-2.* and so on where a run was cut short),
# the server's log and every gate's answer. Exit 0: every recipe has every row; 1: something
# is left, as the last lines say.
#
# Environment: PORT (8000); MEASURE, the program (measure, of PATH); LADDER (1,4,16,64),
# CELLS (1024:256), DURATION (15s), WARMUP (2), REPEATS (3), as the flags of measure bench are;
# SWEEP=1 runs its default sweep too; START_SECONDS (300), what must be left of the time
# to start a server, and READY_SECONDS (900), how long it may take.
set -euo pipefail
if [ $# -lt 3 ] || ! [[ $2 =~ ^[0-9]+$ ]]; then
  sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0" >&2
  exit 2
fi
out=$1 end=$(($(date +%s) + $2))
shift 2
port=${PORT:-8000} measure=${MEASURE:-measure}
ladder=${LADDER:-1,4,16,64} cells=${CELLS:-1024:256}
url=http://127.0.0.1:$port
mkdir -p "$out"

left() { echo $((end - $(date +%s))); }

# open_loads NAME: the concurrencies that lack a row that is ok at one of the shapes,
# joined by commas.
open_loads() {
  local files=("$1"-ladder*.csv)
  [ -e "${files[0]}" ] || files=(/dev/null)
  awk -F, -v ladder="$ladder" -v cells="$cells" '
    FNR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
    $column["status"] == "ok" { ok[$column["isl"] ":" $column["osl"] " " $column["concurrency"]] = 1 }
    END {
      n = split(ladder, load, ",")
      m = split(cells, shape, ",")
      for (i = 1; i <= n; i++) {
        whole = 1
        for (j = 1; j <= m; j++) if (!((shape[j] " " load[i]) in ok)) whole = 0
        if (!whole) { printf "%s%s", comma, load[i]; comma = "," }
      }
    }' "${files[@]}"
}

# fresh PREFIX: a prefix of which no report is there.
fresh() {
  local n=1 name=$1
  while compgen -G "$name.*" >/dev/null; do
    n=$((n + 1)) name=$1-$n
  done
  echo "$name"
}

server=
# The server's own children are of its group, which is ours alone.
stop() {
  [ -n "$server" ] || return 0
  kill -TERM -- "-$server" 2>/dev/null || true
  for _ in $(seq 30); do
    kill -0 -- "-$server" 2>/dev/null || break
    sleep 1
  done
  kill -KILL -- "-$server" 2>/dev/null || true
  wait "$server" 2>/dev/null || true
  server=
}
trap stop EXIT

# start RECIPE LOG: start the server and wait until it answers.
start() {
  local command begun
  command=$("$measure" launch "$1" --port "$port") || return 1
  if curl -s -o /dev/null "$url/health"; then
    echo "something answers $url already" >&2
    return 1
  fi
  setsid bash -c "exec env $command" >"$2" 2>&1 &
  server=$!
  begun=$(date +%s)
  until curl -sf -o /dev/null "$url/health"; do
    if ! kill -0 "$server" 2>/dev/null; then
      echo "the server ended while starting; the end of $2:" >&2
      tail -n 30 "$2" >&2
      return 1
    fi
    if [ $(($(date +%s) - begun)) -gt "${READY_SECONDS:-900}" ] || [ "$(left)" -le 0 ]; then
      echo "the server did not answer $url/health in $(($(date +%s) - begun)) s; see $2" >&2
      return 1
    fi
    sleep 1
  done
  echo "$1 answers after $(($(date +%s) - begun)) s" >&2
}

# run PREFIX FLAGS...: one run of measure, interrupted when the time is over; it then
# writes what it has.
run() {
  local name=$1
  shift
  if [ "$(left)" -lt 30 ]; then
    return 1
  fi
  timeout --foreground -s INT -k 60 "$(left)" "$measure" bench "$model" --base-url "$url" --recipe "$recipe" \
    --warmup "${WARMUP:-2}" --repeats "${REPEATS:-3}" --output "$name" "$@"
}

unfinished=()
for recipe; do
  model=${recipe%%/*} name=$out/${recipe//\//_}
  loads=$(open_loads "$name")
  sweep=
  if [ -n "${SWEEP:-}" ] && ! compgen -G "$name-sweep*.json" >/dev/null; then
    sweep=1
  fi
  if [ -z "$loads$sweep" ]; then
    echo "$recipe: has every row" >&2
    continue
  fi
  if [ "$(left)" -lt "${START_SECONDS:-300}" ]; then
    unfinished+=("$recipe: not started, with $(left) s left")
    continue
  fi
  if start "$recipe" "$(fresh "$name-server").log"; then
    if [ -n "$loads" ]; then
      run "$(fresh "$name-ladder")" --cells "$cells" --concurrency "$loads" --duration "${DURATION:-15s}" || true
    fi
    if [ -n "$sweep" ]; then
      run "$(fresh "$name-sweep")" || true
    fi
  fi
  stop
  reports=("$name"-*.json)
  if [ -e "${reports[0]}" ]; then
    "$measure" check "${reports[@]}" >"$name-gates.txt" || true
    cat "$name-gates.txt" >&2
  fi
  loads=$(open_loads "$name")
  if [ -n "$loads" ]; then
    unfinished+=("$recipe: no row at c = $loads")
  fi
done
if [ ${#unfinished[@]} -gt 0 ]; then
  printf '%s\n' "${unfinished[@]}" >&2
  exit 1
fi
