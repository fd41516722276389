#!/usr/bin/env bash
# Measure a list of recipes within a time: for each, measure bench --launch starts its
# server, climbs the ladder of concurrencies and ends the server. What has rows already is not
# measured again, so the same call goes on where the last one stopped.
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
# START_SECONDS (300), what must be left of the time to start a server, and READY_SECONDS
# (900), how long it may take.
set -euo pipefail
if [ $# -lt 3 ] || ! [[ $2 =~ ^[0-9]+$ ]]; then
  sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0" >&2
  exit 2
fi
out=$1 end=$(($(date +%s) + $2))
shift 2
port=${PORT:-8000} measure=${MEASURE:-measure}
ladder=${LADDER:-1,4,16,64} cells=${CELLS:-1024:256}
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

unfinished=()
for recipe; do
  name=$out/${recipe//\//_}
  loads=$(open_loads "$name")
  if [ -z "$loads" ]; then
    echo "$recipe: has every row" >&2
    continue
  fi
  if [ "$(left)" -lt "${START_SECONDS:-300}" ]; then
    unfinished+=("$recipe: not started, with $(left) s left")
    continue
  fi
  # Interrupted when the time is over, it writes what it has.
  timeout --foreground -s INT -k 90 "$(left)" "$measure" bench --recipe "$recipe" --launch --port "$port" \
    --launch-timeout "${READY_SECONDS:-900}s" --cells "$cells" --concurrency "$loads" --duration "${DURATION:-15s}" \
    --warmup "${WARMUP:-2}" --repeats "${REPEATS:-3}" --output "$(fresh "$name-ladder")" || true
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
