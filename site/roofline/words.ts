// The calculator's sentences, as render's ceilingwords.go says them.
import { count, prose, quantity } from "../js/format";
import type { Data, Question } from "./data";

/** A question with its answer. */
export interface Answered {
  q: Question;
  packed: number[];
  out: number[];
}

const slower = 1.005; // by how much an expected time must pass the hard one to be told

/** What a step cannot beat, which roof that is, and what it is expected to take where that is longer. */
export function decode({ q, packed, out }: Answered, data: Data): string {
  const get = (name: string) => out[data.out[name] ?? -1] ?? NaN;
  const binding = data.bindings[get("binding")] ?? "";
  if (!binding) return `Not computable: ${unknown(q, packed, data)} of ${q.model.name} on ${devices(q)} not known.`;
  const batch = q.numbers["batch"] ?? 1;
  const [rate, hard, expected] = [get("hard"), get("step"), get("expected_step")];
  const over = batch === 1 ? "one sequence" : `${count(batch)} sequences`;
  const each = batch === 1 ? "" : `, ${quantity(prose(rate / batch), "tok/s")} each`;
  let said = `${binding[0]?.toUpperCase()}${binding.slice(1)} binds: ${q.model.name} on ${devices(q)}${sharing(q)} decodes at most ` +
    `${quantity(prose(rate), "tok/s")} over ${over} of ${tokens(q.numbers["context"] ?? 0)}${each}; a step takes at least ${ms(hard)}`;
  if (expected > hard * slower) said += `, and is expected to take ${ms(expected)}`;
  said += ".";
  if (get("fits") === 0) {
    const most = get("most");
    said += ` It does not fit in memory${most > 0 ? `: at most ${plural(most, "such sequence does", "such sequences do")}` : ""}.`;
  }
  return said;
}

/** What a prompt and a load of requests cannot beat; "" where neither is asked. */
export function load({ q, packed, out }: Answered, data: Data): string {
  const get = (name: string) => out[data.out[name] ?? -1] ?? NaN;
  const { isl = 0, osl = 0, cached = 0, concurrency = 0 } = q.numbers;
  if (isl === 0) return "";
  const [hard, expected, rate, tpot] = [get("prefill"), get("expected_prefill"), get("serving"), get("tpot")];
  if (Number.isNaN(hard)) return `What a prompt takes is not computable: ${unknown(q, packed, data)} not known.`;
  let said = `A prompt of ${tokens(isl)}${cached > 0 ? `, ${count(cached)} of them cached,` : ""} takes at least ${ms(hard)}: ${data.bindings[get("prefill_binding")]} binds`;
  if (expected > hard * slower) said += `; ${ms(expected)} are expected`;
  said += ".";
  if (Number.isNaN(rate)) return said;
  said += ` With ${count(concurrency)} in flight at ${isl}:${osl}, at most ${quantity(prose(rate), "output tok/s")}, ${quantity(prose(get("serving_each")), "output tok/s/GPU")}`;
  if (!Number.isNaN(tpot)) said += `; a TPOT of at least ${ms(tpot)}, that of one request alone`;
  return `${said}.`;
}

/** How many distinct experts of a layer a step reads; "" in a dense model. */
export function experts({ q, packed, out }: Answered, data: Data): string {
  const { at, slots, experts, topk } = data.kinds;
  for (let kind = at; kind < packed.length; kind += slots) {
    const n = packed[kind + experts] ?? 0;
    if (n === 0) continue;
    const [of, k, t] = [count(n), count(packed[kind + topk] ?? 0), count((q.numbers["batch"] ?? 1) * ((q.numbers["gamma"] ?? 0) + 1))];
    return `Distinct experts that a step reads of the ${of} in a layer. Hard: D = k = ${k}, all tokens choosing alike. Expected: E[D] = ` +
      `${of} × (1 − (1 − ${k} ÷ ${of})^${t}) = ${prose(out[data.out["distinct"] ?? -1] ?? NaN)}, each token choosing by chance.`;
  }
  return "";
}

/** The devices of a question, on one line. */
export function devices({ target, layout: [tp, pp, dp] }: Question): string {
  const name = target.name.replaceAll(" ", "\u00a0");
  const n = tp * pp * dp;
  return n <= 1 ? name : `${count(n)}×\u00a0${name}`;
}

function sharing({ layout: [tp, pp, dp, ep] }: Question): string {
  const parts: [number, string, string][] = [[tp, "sharing each matrix", "tp"], [pp, "in stages", "pp"], [dp, "in copies that share experts", "dp"], [ep, "whole experts apart", "ep"]];
  return parts.flatMap(([n, what, short]) => (n > 1 ? [` ${what} (${short}\u00a0${count(n)})`] : [])).join();
}

function unknown({ layout: [tp, , dp] }: Question, packed: number[], data: Data): string {
  const links = tp * dp === 1 ? data.links : []; // nothing crosses a link
  return [...new Set(data.inputs.filter((_, i) => Number.isNaN(packed[i]) && !links.includes(i)))].join(", ");
}

function ms(v: number): string {
  return quantity(prose(v), "ms");
}

function tokens(n: number): string {
  return plural(n, "token", "tokens");
}

/** "1 row", "3 rows". */
export function plural(n: number, one: string, many: string): string {
  return n === 1 ? quantity("1", one) : quantity(count(n), many);
}
