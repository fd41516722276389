// Loads lean.wasm, the Go arithmetic of measure and gen, and calls it.
import type { LeanExports } from "../../wasm/lean/lean";
import { reactor } from "./reactor";

/** What pages ask of it; a query and an answer are packed as lean.d.ts says. */
export interface Lean {
  ceiling(query: readonly number[]): number[];
  /** What its sequences keep in memory beside the weights, in bytes over all devices. */
  kept(query: readonly number[]): number;
  /** A roof with its numbers filled in. */
  formula(query: readonly number[], of: "decode" | "prefill" | "links"): string;
  /** Its roofline with measured rows as an SVG element width px wide, which the caller names. */
  plot(query: readonly number[], width: 296 | 720, rows: readonly number[][]): string;
  /**
   * The rows known to meet every limit, and those that meet them only as far as their
   * percentiles go, each best first; how many have the percentiles asked for; where
   * nothing answers the nearest row and the limit most missed.
   */
  choose(rows: readonly number[][], limits: readonly number[][]): { met: number[]; lower: number[]; known: number; nearest: number; worst: number };
  /** The unmeasured load whose measuring would most likely meet the limits; place -1: none could. */
  promising(hopes: readonly number[][], limits: readonly number[][]): { place: number; likely: boolean };
  /** The pairs of a ladder and a reference, and where they cross. */
  against(reference: readonly Rung[], ladder: readonly Rung[]): { pairs: Pair[]; crossings: Crossing[] };
  /** Of each point, whether nothing beats it on both axes. */
  front(points: readonly (readonly [number, number])[]): boolean[];
  /** What a million tokens cost, from a price an hour and rates of one GPU; NaN where a rate is not known. */
  cost(price: number, output: number, total: number): { input: number; output: number; blended: number };
  /** Each limit held against one row. */
  hold(row: readonly number[], limits: readonly number[][]): { found: number; permille: number; met: boolean }[];
}

/** Load, figure, and its interval's ends. */
export type Rung = readonly [number, number, number, number];

/** At a load: the ladder's figure ÷ the reference's. */
export interface Pair {
  load: number;
  ratio: number;
  lo: number;
  hi: number;
  apart: boolean; // the two are shown to differ
}

export interface Crossing {
  at: number;
  lo: number;
  hi: number;
  before: boolean; // the reference is greater below it
}

const room = 256; // slots for an answer: above any but choose's

let loading: Promise<Lean> | undefined;

/** Loads the module once; rejects with the reason when it cannot. */
export function lean(): Promise<Lean> {
  loading ??= load();
  return loading;
}

async function load(): Promise<Lean> {
  const named = document.querySelector<HTMLMetaElement>('meta[name="lean-wasm"]');
  if (!named?.content) throw new Error("the page names no module");
  const go = await reactor<LeanExports>(named.content, named.dataset["integrity"] ?? "");

  // One buffer a purpose, made anew only when it must be longer.
  const made = new Map<string, { at: number; slots: number }>();
  const space = (purpose: string, slots: number) => {
    let b = made.get(purpose);
    if (!b || b.slots < slots) {
      b = { at: go.buffer(slots), slots };
      made.set(purpose, b);
    }
    return b.at;
  };
  // A call may grow the memory and so detach a view: each view is made where it is used.
  const write = (purpose: string, values: readonly number[]) => {
    const at = space(purpose, values.length);
    new Float64Array(go.memory.buffer, at, values.length).set(values);
    return at;
  };
  const read = (at: number, slots: number) => {
    if (slots === 0) throw new Error("the module refused what it was given");
    return Array.from(new Float64Array(go.memory.buffer, at, slots));
  };
  const text = (n: number) => new TextDecoder().decode(new Uint8Array(go.memory.buffer, go.text(), n));
  return {
    ceiling(query) {
      const [at, answer] = [write("query", query), space("answer", room)];
      return read(answer, go.ceiling(at, query.length, answer));
    },
    kept(query) {
      return go.kept(write("query", query), query.length);
    },
    formula(query, of) {
      return text(go.formula(write("query", query), query.length, ["decode", "prefill", "links"].indexOf(of)));
    },
    plot(query, width, rows) {
      const [at, marks] = [write("query", query), write("rows", rows.flat())];
      return text(go.plot(at, query.length, width, marks, rows.length));
    },
    choose(rows, limits) {
      const answer = space("answer", rows.length + 5);
      const [at, most] = [write("rows", rows.flat()), write("limits", limits.flat())];
      const [met = 0, lower = 0, known = 0, nearest = -1, worst = -1, ...places] = read(answer, go.choose(at, rows.length, most, limits.length, answer));
      return { met: places.slice(0, met), lower: places.slice(met, met + lower), known, nearest, worst };
    },
    promising(hopes, limits) {
      if (hopes.length === 0) return { place: -1, likely: false };
      const answer = space("answer", room);
      const [at, most] = [write("rows", hopes.flat()), write("limits", limits.flat())];
      const [place = -1, likely] = read(answer, go.promising(at, hopes.length, most, limits.length, answer));
      return { place, likely: likely === 1 };
    },
    against(reference, ladder) {
      const answer = space("answer", 2 + 9 * Math.max(reference.length, 1));
      const [at, other] = [write("rows", reference.flat()), write("limits", ladder.flat())];
      const said = read(answer, go.against(at, reference.length, other, ladder.length, answer));
      const [n = 0, k = 0] = said;
      const pairs = Array.from({ length: n }, (_, i): Pair => {
        const [load = NaN, ratio = NaN, lo = NaN, hi = NaN, apart] = said.slice(2 + 5 * i);
        return { load, ratio, lo, hi, apart: apart === 1 };
      });
      const crossings = Array.from({ length: k }, (_, i): Crossing => {
        const [at = NaN, lo = NaN, hi = NaN, before] = said.slice(2 + 5 * n + 4 * i);
        return { at, lo, hi, before: before === 1 };
      });
      return { pairs, crossings };
    },
    front(points) {
      if (points.length === 0) return [];
      const answer = space("answer", points.length);
      const at = write("rows", points.flat());
      return read(answer, go.front(at, points.length, answer)).map((v) => v === 1);
    },
    cost(price, rate, total) {
      const answer = space("answer", room);
      const [input = NaN, output = NaN, blended = NaN] = read(answer, go.cost(price, rate, total, answer));
      return { input, output, blended };
    },
    hold(row, limits) {
      const answer = space("answer", room);
      const [at, most] = [write("rows", row), write("limits", limits.flat())];
      const held = read(answer, go.hold(at, most, limits.length, answer));
      return limits.map((_, i) => ({ found: held[3 * i] ?? NaN, permille: held[3 * i + 1] ?? 0, met: held[3 * i + 2] === 1 }));
    },
  };
}
