// Loads lean.wasm, the Go arithmetic of measure and gen, and calls it.
import type { LeanExports } from "../../wasm/lean/lean";

/** What pages ask of it; a query and an answer are packed as lean.d.ts says. */
export interface Lean {
  ceiling(query: readonly number[]): number[];
  /** The binding roof with its numbers filled in. */
  formula(query: readonly number[]): string;
  /** Its roofline as an SVG element width px wide, which the caller names. */
  plot(query: readonly number[], width: 296 | 720): string;
}

const room = 256; // slots of each buffer: above any packed query or answer

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

  const query = go.buffer(room);
  const answer = go.buffer(room);
  // A call may grow the memory and so detach a view: each view is made where it is used.
  const view = (at: number) => new Float64Array(go.memory.buffer, at, room);
  const ask = (packed: readonly number[]) => {
    if (packed.length > room) throw new Error(`a query of ${packed.length} slots, where ${room} fit`);
    view(query).set(packed);
  };
  const text = (n: number) => new TextDecoder().decode(bytes(go.text(), n));
  return {
    ceiling(packed) {
      ask(packed);
      const n = go.ceiling(query, packed.length, answer);
      if (n === 0) throw new Error(`the module refused a query of ${packed.length} slots`);
      return Array.from(view(answer).subarray(0, n));
    },
    formula(packed) {
      ask(packed);
      return text(go.formula(query, packed.length));
    },
    plot(packed, width) {
      ask(packed);
      return text(go.plot(query, packed.length, width));
    },
  };
}
