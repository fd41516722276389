// The calculator's sentences, as render's ceilingwords.go says them.
import { count, prose, quantity } from "../js/format";
import { own, type Data, type Question } from "./data";

/** A question with its answer. */
export interface Answered {
  q: Question;
  packed: number[];
  out: number[];
  /** Whether so many sequences of so many tokens fit, as far as memory is known. */
  holds: (sequences: number, tokens: number) => boolean;
}

/**
 * What a step cannot beat, which roof that is, and what is expected where that is slower.
 * What stands in the way of believing it comes first: that it does not fit, or that a peak
 * is unknown and computing therefore unbounded.
 */
export function decode({ q, packed, out }: Answered, data: Data): string {
  const get = (name: string) => out[data.out[name] ?? -1] ?? NaN;
  const where = `${q.model.name} on ${devices(q)}${sharing(q)}`;
  const binding = data.bindings[get("binding")] ?? "";
  if (!binding) return `Not computable: ${where} needs what ${notKnown(q)}: ${lacking(q, packed, data, data.needed.step)}.`;
  let [said, decodes, takes] = ["", "decodes", "takes"];
  const fits = get("fits") !== 0;
  if (!fits) {
    const most = get("most");
    said = `Does not fit in memory${most > 0 ? `: at most ${plural(most, "such sequence does", "such sequences do")}` : ""}. `;
    [decodes, takes] = ["would decode", "would take"];
  }
  const peakless = Number.isNaN(get("computing"));
  if (peakless) {
    const bound = alone(q) ? "memory alone bounds" : "memory and links alone bound";
    said += `No dense peak of ${device(q)} is ${q.targetID === own ? "given" : "published"} for these types: ${bound} this. `;
  }
  if (!fits) said += `With room enough, ${peakless ? "" : `${binding} would bind: `}`;
  else if (!peakless) said += `${binding[0]?.toUpperCase()}${binding.slice(1)} binds: `;
  const batch = q.numbers["batch"] ?? 1;
  const [rate, likely] = [get("hard"), get("expected")];
  const over = batch === 1 ? "one sequence" : `${count(batch)} sequences`;
  const each = batch === 1 ? "" : `, ${besideExpected(rate / batch, likely / batch, "tok/s")} each`;
  return `${said}${where} ${decodes} at most ${besideExpected(rate, likely, "tok/s")} over ${over} of ${tokens(q.numbers["context"] ?? 0)}${each}; ` +
    `a step ${takes} at least ${besideExpected(get("step"), get("expected_step"), "ms")}.`;
}

/** What a step would need to have a ceiling; "" where it has one. */
export function lacks({ q, packed, out }: Answered, data: Data): string {
  return data.bindings[out[data.out["binding"] ?? -1] ?? NaN] ? "" : `the step has no ceiling without ${lacking(q, packed, data, data.needed.step)}`;
}

/** The rate of a step alone, for beside what it depends on. */
export function rate({ q, out }: Answered, data: Data): string {
  const get = (name: string) => out[data.out[name] ?? -1] ?? NaN;
  const [hard, likely, batch] = [get("hard"), get("expected"), q.numbers["batch"] ?? 1];
  if (Number.isNaN(hard)) return "Not computable: see the answer.";
  const each = batch === 1 ? "" : `, ${besideExpected(hard / batch, likely / batch, "tok/s")} each`;
  return `${get("fits") === 0 ? "Does not fit; with room enough at" : "At"} most ${besideExpected(hard, likely, "tok/s")}${each}.`;
}

// besideExpected writes a hard figure, and the expected one where the two part.
function besideExpected(hard: number, expected: number, unit: string): string {
  return quantity(prose(hard), unit) + (Math.max(hard, expected) > Math.min(hard, expected) * parted ? ` (${prose(expected)} expected)` : "");
}

const parted = 1.005; // by how much an expected figure must differ from the hard one to be told

/** What a prompt and a load of requests cannot beat; "" where neither is asked. */
export function load({ q, packed, out, holds }: Answered, data: Data): string {
  const get = (name: string) => out[data.out[name] ?? -1] ?? NaN;
  const { isl = 0, osl = 0, cached = 0, concurrency = 0 } = q.numbers;
  if (isl === 0) return "";
  const [hard, serving, tpot] = [get("prefill"), get("serving"), get("tpot")];
  if (Number.isNaN(hard)) return `What a prompt takes needs what ${notKnown(q)}: ${lacking(q, packed, data, data.needed.prompt)}.`;
  const [a, takes] = holds(1, isl) ? ["A prompt of", "takes"] : ["With room enough, a prompt of", "would take"];
  let said = `${a} ${tokens(isl)}${cached > 0 ? `, ${count(cached)} of them cached,` : ""} ${takes} at least ` +
    `${besideExpected(hard, get("expected_prefill"), "ms")}: ${data.bindings[get("prefill_binding")]} binds.`;
  if (Number.isNaN(serving)) return said;
  said += ` With ${count(concurrency)} in flight at ${isl}:${osl}, ${holds(concurrency, isl + osl) ? "" : "more than memory holds, it would be "}` +
    `at most ${besideExpected(serving, get("expected_serving"), "output tok/s")}${number(q) > 1 ? `, ${prose(get("serving_each"))} from each device` : ""}.`;
  if (!Number.isNaN(tpot)) said += ` No request’s TPOT is below ${ms(tpot)}, what one alone would have.`;
  return said;
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
export function devices(q: Question): string {
  const n = number(q);
  return n <= 1 ? device(q) : `${count(n)}×\u00a0${device(q)}`;
}

function device({ target }: Question): string {
  return target.name.replaceAll(" ", "\u00a0");
}

function number({ layout: [tp, pp, dp] }: Question): number {
  return tp * pp * dp;
}

// alone says whether nothing of a step crosses a link.
function alone({ layout: [tp, , dp] }: Question): boolean {
  return tp * dp === 1;
}

function sharing({ layout: [tp, pp, dp, ep] }: Question): string {
  const parts: [number, string, string][] = [[tp, "sharing each matrix", "tp"], [pp, "in stages", "pp"], [dp, "in copies that share experts", "dp"], [ep, `whole experts spread over ${plural(ep, "device", "devices")}`, "ep"]];
  return parts.flatMap(([n, what, short]) => (n > 1 ? [` ${what} (${short}\u00a0${count(n)})`] : [])).join();
}

function notKnown(q: Question): string {
  return q.targetID === own ? "was not given" : "is not published";
}

// lacking names what is not known of what is needed, and of links where there are any.
function lacking(q: Question, packed: number[], data: Data, needed: number[]): string {
  const slots = alone(q) ? needed : [...needed, data.needed.link];
  return [...new Set(slots.flatMap((slot) => (Number.isNaN(packed[slot]) ? [data.inputs[slot] ?? ""] : [])))].join(", ");
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
