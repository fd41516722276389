// The compared figures, and what differs between the recipes, as tables.
import { decimals, fixed, interval } from "../js/format";
import type { Crossing, Pair } from "../js/lean";
import { make } from "../js/make";
import { figure, type Ladders, type Recipe, type Rung, type State } from "./data";
import type { Point } from "./ladder";

/** One recipe in the comparison. */
export interface Column {
  recipe: Recipe;
  slot: number;
  name: string;
  rungs: Rung[];
  points: Point[];
  ladders: Ladders;
  pairs: Pair[]; // against the reference
  crossings: Crossing[];
}

/** The figures at each concurrency, each with its interval and how it differs from the reference. */
export function figures(state: State, columns: Column[], reference: Column, name: string, points: string[]): HTMLElement[] {
  const loads = [...new Set(columns.flatMap((c) => c.rungs.map((r) => r.c)))].sort((a, b) => a - b);
  const d = decimals(columns.flatMap((c) => c.points.map((p) => p.y)));
  const reasons: string[] = [];
  const dash = (reason: string) => {
    if (!reasons.includes(reason)) reasons.push(reason);
    const letter = String.fromCharCode(97 + reasons.indexOf(reason));
    return make("span", { className: "none" }, make("span", { ariaHidden: "true" }, "—", make("sup", {}, letter)), make("span", { className: "vh" }, reason));
  };
  const cell = (c: Column, load: number): HTMLElement => {
    const rung = c.rungs.find((r) => r.c === load);
    if (!rung) return make("td", { className: "n" }, dash("not measured"));
    const f = figure(rung, state, points);
    if (typeof f === "string") return make("td", { className: "n" }, dash(f));
    const [v = NaN, lo, hi] = f;
    const link = make("a", { href: `${document.documentElement.dataset["base"] ?? "/"}r/${rung.id}/` }, fixed(v, d));
    const td = make("td", { className: "n" }, link);
    td.append(" ", make("span", { className: "ci" }, lo === undefined || hi === undefined ? "one repeat" : interval(lo, hi, d)));
    const pair = c.pairs.find((p) => p.load === load);
    if (pair) td.append(" ", make("span", { className: "against" }, difference(pair, state.metric.better)));
    return td;
  };
  const head = make("tr", {}, make("th", { scope: "col", className: "n" }, "c"),
    ...columns.map((c) => make("th", { scope: "col", className: "n" }, c.name, make("span", { className: "u" }, c === reference ? "reference" : state.metric.unit))));
  const body = make("tbody", {}, ...loads.map((load) => make("tr", {}, make("th", { scope: "row", className: "n" }, fixed(load, 0)), ...columns.map((c) => cell(c, load)))));
  const region = make("section", { className: "scroll always", tabIndex: 0, ariaLabel: "Figures" }, make("table", { className: "figures" }, make("thead", {}, head), body));
  const notes = make("p", { className: "note" });
  reasons.forEach((reason, i) => notes.append(make("sup", {}, String.fromCharCode(97 + i)), `\u00a0${reason.charAt(0).toUpperCase()}${reason.slice(1)}. `));
  return [make("h2", {}, "Figures"),
    make("p", { className: "note" }, `${name.charAt(0).toUpperCase()}${name.slice(1)}${state.metric.unit === "ms" ? ", ms" : ""}: medians of the repeats, 95% intervals below them. Against ${reference.name}: ▲ better, ▼ worse, with the range that both intervals allow; ≈ not shown to differ. Each figure leads to its row.`),
    region, ...(reasons.length > 0 ? [notes] : [])];
}

/** How a figure differs from the reference's: ▲ 23% (18–28) better, ▼ worse, ≈ not shown. */
export function difference(p: Pair, better: "high" | "low"): string {
  const percent = (ratio: number) => (ratio - 1) * 100;
  const digits = Math.abs(percent(p.ratio)) < 10 ? 1 : 0;
  const write = (v: number) => fixed(v, digits).replace("-", "−");
  if (!p.apart) return `≈ ${write(percent(p.lo))} to ${write(percent(p.hi))}%`;
  const ends = [Math.abs(percent(p.lo)), Math.abs(percent(p.hi))].sort((a, b) => a - b) as [number, number];
  return `${(p.ratio > 1) === (better === "high") ? "▲" : "▼"} ${write(Math.abs(percent(p.ratio)))}% (${interval(ends[0], ends[1], digits)})`;
}

/** What the recipes do not share, by who says it; what they share is counted. */
export function differences(columns: Column[]): HTMLElement[] {
  const head = make("tr", {}, make("th", { scope: "col" }, "What"), ...columns.map((c) => make("th", { scope: "col" }, c.name)));
  const bodies: HTMLElement[] = [];
  const told: HTMLElement[] = []; // arguments that engines reported: many, and closed
  let shared = 0;
  const groups = [...new Set(columns.flatMap((c) => c.ladders.groups.map((g) => g.name)))];
  for (const group of groups) {
    const facts = columns.map((c) => new Map(c.ladders.groups.find((g) => g.name === group)?.facts ?? []));
    const names = [...new Set(facts.flatMap((f) => [...f.keys()]))];
    const arguments_ = group === "Arguments that the server reported";
    const rows = names.flatMap((name) => {
      const values = facts.map((f) => f.get(name));
      if (arguments_ && values.filter((v) => v !== undefined).length < 2) return []; // of another engine's own
      if (values.every((v) => v === values[0])) {
        shared++;
        return [];
      }
      return [make("tr", {}, make("th", { scope: "row" }, name), ...values.map((v) => (v === undefined || v === "—"
        ? make("td", {}, make("span", { className: "none" }, make("span", { ariaHidden: "true" }, "—"), make("span", { className: "vh" }, "not set")))
        : make("td", {}, v))))];
    });
    if (rows.length === 0) continue;
    if (arguments_) {
      told.push(make("details", {}, make("summary", {}, `${rows.length} arguments that the servers reported differ`),
        make("section", { className: "scroll always", tabIndex: 0, ariaLabel: group }, make("table", {}, make("thead", {}, head.cloneNode(true)), make("tbody", {}, ...rows)))));
    } else bodies.push(make("tbody", {}, make("tr", {}, make("th", { scope: "rowgroup", colSpan: columns.length + 1 }, group)), ...rows));
  }
  const note = make("p", { className: "note" }, `${shared} further facts, flags and arguments are the same in all of them and are left out. Receipts and arguments are of each recipe's newest row.`);
  if (bodies.length + told.length === 0) return [make("h2", {}, "What differs"), make("p", {}, "Nothing that was recorded."), note];
  const table = make("section", { className: "scroll always", tabIndex: 0, ariaLabel: "What differs" }, make("table", {}, make("thead", {}, head), ...bodies));
  return [make("h2", {}, "What differs"), ...(bodies.length > 0 ? [table] : []), ...told, note];
}
