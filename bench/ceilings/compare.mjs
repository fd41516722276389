// Times the module against JavaScript on the same questions, in one run:
//
//   node compare.mjs lean.wasm questions
//
// The file of questions holds each as its length and its slots, float64. A round asks all
// of them over and over, ROWS times, with another batch and context each time, as a page
// does for its rows: the slots that change are written where the question lies. It is
// timed in slices, which both ask in turn; of each slice the quickest of all rounds
// counts, so that what else runs on the host weighs little. Prints one line of JSON.
import { readFileSync } from "node:fs";
import { ceiling, BATCH, CONTEXT, OUT_SLOTS } from "./ceilings.mjs";

const ROWS = 100_000;
const SLICE = 5_000;
const ROUNDS = 15;

const [wasm, file] = process.argv.slice(2);
const all = new Float64Array(new Uint8Array(readFileSync(file)).buffer);
const questions = [];
for (let at = 0; at < all.length; at += 1 + all[at]) questions.push(all.slice(at + 1, at + 1 + all[at]));

let go;
const host = {
  clock_time_get: (_id, _precision, at) => (new DataView(go.memory.buffer).setBigUint64(at, process.hrtime.bigint(), true), 0),
  random_get: (at, n) => (crypto.getRandomValues(new Uint8Array(go.memory.buffer, at, n)), 0),
};
const { instance } = await WebAssembly.instantiate(readFileSync(wasm), {
  wasi_snapshot_preview1: new Proxy({}, { get: (_, name) => host[name] ?? (() => 0) }),
});
go = instance.exports;
go._initialize();

const answer = go.buffer(OUT_SLOTS);
const inside = questions.map(q => {
  const at = go.buffer(q.length);
  new Float64Array(go.memory.buffer, at, q.length).set(q);
  return at;
});
const out = new Float64Array(OUT_SLOTS);
const batch = i => 1 + (i % 512);
const context = i => 1 + (i % 8192);

function byScript(from) {
  let sum = 0;
  for (let i = from; i < from + SLICE; i++) {
    const q = questions[i % questions.length];
    q[BATCH] = batch(i);
    q[CONTEXT] = context(i);
    ceiling(q, out);
    sum += out[15];
  }
  return sum;
}

function byModule(from) {
  let sum = 0;
  let memory = new Float64Array(go.memory.buffer);
  for (let i = from; i < from + SLICE; i++) {
    const n = i % questions.length;
    const at = inside[n] >> 3;
    memory[at + BATCH] = batch(i);
    memory[at + CONTEXT] = context(i);
    go.ceiling(inside[n], questions[n].length, answer);
    if (memory.length === 0) memory = new Float64Array(go.memory.buffer); // it grew
    sum += memory[(answer >> 3) + 15];
  }
  return sum;
}

for (const [n, q] of questions.entries()) {
  ceiling(q, out);
  go.ceiling(inside[n], q.length, answer);
  const got = new Float64Array(go.memory.buffer, answer, OUT_SLOTS);
  for (let i = 0; i < OUT_SLOTS; i++) {
    if (!Object.is(got[i], out[i])) throw new Error(`question ${n}, slot ${i}: the module says ${got[i]}, the script ${out[i]}`);
  }
}
const quickest = { script: Array(ROWS / SLICE).fill(Infinity), module: Array(ROWS / SLICE).fill(Infinity) };
for (let round = 0; round < ROUNDS; round++) {
  for (let slice = 0; slice < ROWS / SLICE; slice++) {
    for (const [name, run] of [["script", byScript], ["module", byModule]]) {
      const began = performance.now();
      run(slice * SLICE);
      quickest[name][slice] = Math.min(quickest[name][slice], performance.now() - began);
    }
  }
}
const total = name => quickest[name].reduce((sum, ms) => sum + ms);
const [script, module] = [total("script"), total("module")];
console.log(JSON.stringify({ rows: ROWS, questions: questions.length, script_ms: script, module_ms: module, ratio: module / script }));
