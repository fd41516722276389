// Loads lean.wasm, the Go arithmetic of measure and gen, and calls it.
import type { LeanExports } from "../../wasm/lean/lean";

/** What pages ask of it; a query and an answer are packed as lean.d.ts says. */
export interface Lean {
  ceiling(query: readonly number[]): number[];
  /** The binding roof with its numbers filled in. */
  formula(query: readonly number[]): string;
  /** Its roofline as an SVG element width px wide, which the caller names. */
  plot(query: readonly number[], width: 296 | 720): string;
  /**
   * The rows known to meet every limit, and those that meet them only as far as their
   * percentiles go, each best first; how many have the percentiles asked for; where
   * nothing answers the nearest row and the limit most missed.
   */
  choose(rows: readonly number[][], limits: readonly number[][]): { met: number[]; lower: number[]; known: number; nearest: number; worst: number };
  /** Each limit held against one row. */
  hold(row: readonly number[], limits: readonly number[][]): { found: number; permille: number; met: boolean }[];
}

const room = 256; // slots for an answer: above any but choose's

let loading: Promise<Lean> | undefined;

/** Loads the module once; rejects with the reason when it cannot. */
export function lean(): Promise<Lean> {
  loading ??= load();
  return loading;
}

async function load(): Promise<Lean> {
  const url = document.querySelector<HTMLMetaElement>('meta[name="lean-wasm"]')?.content;
  if (!url) throw new Error("the page names no module");
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);

  let go: LeanExports;
  const data = () => new DataView(go.memory.buffer);
  const bytes = (at: number, n: number) => new Uint8Array(go.memory.buffer, at, n);
  let said = ""; // what a panic printed
  // Go's runtime asks these of its host; any other answers 0, "done".
  const host: Record<string, (...args: never[]) => number> = {
    clock_time_get: (_id: number, _precision: bigint, at: number) => {
      data().setBigUint64(at, BigInt(Math.round(performance.now() * 1e6) + 1), true);
      return 0;
    },
    random_get: (at: number, n: number) => (crypto.getRandomValues(bytes(at, n)), 0),
    fd_write: (_fd: number, vectors: number, n: number, written: number) => {
      let sum = 0;
      for (let i = 0; i < n; i++) {
        const length = data().getUint32(vectors + 8 * i + 4, true);
        said += new TextDecoder().decode(bytes(data().getUint32(vectors + 8 * i, true), length));
        sum += length;
      }
      data().setUint32(written, sum, true);
      return 0;
    },
    proc_exit: (code: number) => {
      throw new Error(`the module stopped with code ${code}: ${said.split("\n", 1)[0]}`);
    },
  };
  const rest = { get: (_: object, name: string) => host[name] ?? (() => 0) };
  const { instance } = await WebAssembly.instantiate(await response.arrayBuffer(), {
    wasi_snapshot_preview1: new Proxy({}, rest),
  });
  go = instance.exports as LeanExports;
  go._initialize();

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
  const text = (n: number) => new TextDecoder().decode(bytes(go.text(), n));
  return {
    ceiling(query) {
      const [at, answer] = [write("query", query), space("answer", room)];
      return read(answer, go.ceiling(at, query.length, answer));
    },
    formula(query) {
      return text(go.formula(write("query", query), query.length));
    },
    plot(query, width) {
      return text(go.plot(write("query", query), query.length, width));
    },
    choose(rows, limits) {
      const answer = space("answer", rows.length + 5);
      const [at, most] = [write("rows", rows.flat()), write("limits", limits.flat())];
      const [met = 0, lower = 0, known = 0, nearest = -1, worst = -1, ...places] = read(answer, go.choose(at, rows.length, most, limits.length, answer));
      return { met: places.slice(0, met), lower: places.slice(met, met + lower), known, nearest, worst };
    },
    hold(row, limits) {
      const answer = space("answer", room);
      const [at, most] = [write("rows", row), write("limits", limits.flat())];
      const held = read(answer, go.hold(at, most, limits.length, answer));
      return limits.map((_, i) => ({ found: held[3 * i] ?? NaN, permille: held[3 * i + 1] ?? 0, met: held[3 * i + 2] === 1 }));
    },
  };
}
