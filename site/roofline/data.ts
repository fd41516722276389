// What the calculator's questions are made of, as gen writes it (render's calculatorData),
// and how a question is joined from it.

/** The reader's own model or device, as a value of its select. */
export const own = "own";

/** Slots of a packed question; null: not known. */
type Values = (number | null)[];

/** One side of a question in every format: slot, value, slot, value … changes the base. */
export interface Half {
  base: Values;
  weights?: Record<string, Values>;
  kv?: Record<string, Values>;
  both?: Record<string, Values>; // by "WEIGHTS/KV"
}

export interface Model {
  name: string;
  weights: string[]; // on offer, the published checkpoint's first
  kv: string[];
  kv_also: string[]; // others that can be asked of it
  max_context: number;
  mtp?: boolean; // has a module of its own that drafts
  layouts: string[]; // "tp.pp.dp.ep"
  half: Half;
  conventions: { all: string[]; weights: Record<string, string[]>; kv: Record<string, string[]> };
  sources: string[];
}

export type PeakType = "bf16" | "fp16" | "fp32" | "fp8" | "fp4" | "int8";

export interface Target {
  name: string;
  peaks: Partial<Record<PeakType, string | number>>; // dense TFLOP/s
  half: Half;
  conventions: string[]; // of one device
  shared: string[]; // of several besides
  sources: string[];
  linked: string[]; // of several besides
}

/** A measured row of a model on a device, its figures as written. */
export interface Row {
  id: string;
  address: string;
  name: string;
  load: string;
  verdict: string;
  types: string; // "WEIGHTS/KV"
  layout: string; // "tp.pp.dp.ep"
  on: string;
  batch: string;
  context: string;
  step: string;
  hard: string;
  share: string;
  above?: boolean;
  best?: boolean; // nearest to its roof of all of its model on its device
  at: number[]; // FLOP per byte read, FLOP/s of one device
}

/** A slot that holds a peak, and the types of which the greatest fills it, by format. */
interface PeakSlot {
  slot: number;
  weights?: Record<string, PeakType[]>;
  kv?: Record<string, PeakType[]>;
}

export interface Data {
  slots: Record<string, number>; // the reader's: field → slot of the question
  out: Record<string, number>; // slots of the answer that sentences are made of
  inputs: string[]; // name of each slot at the head of a question
  needed: { step: number[]; prompt: number[]; link: number }; // slots that a step, a prompt, and either between devices needs
  bindings: string[]; // word for each value of a binding slot
  kinds: { at: number; slots: number; experts: number; topk: number }; // of layers: where they begin, and two of their slots
  weights: string[]; // every format that is known
  kv: string[];
  own: { base: Values; slots: Record<string, number>; peaks: PeakSlot[] };
  models: Record<string, Model>;
  targets: Record<string, Target>;
  rows: Record<string, Record<string, Row[]>>;
}

/** A layout: tp, pp, dp, ep. */
export type Layout = [number, number, number, number];

/** A question that the form asks; every value is one that it offers. */
export interface Question {
  model: Model;
  target: Target;
  modelID: string;
  targetID: string; // "own" for the reader's
  weights: string;
  kv: string;
  layout: Layout;
  numbers: Record<string, number>; // batch, context, isl, osl, concurrency, cached, chunk, gamma, acceptance, mtp
}

/** The half in two formats. */
function half(of: Half, weights: string, kv: string): Values {
  const values = [...of.base];
  for (const changes of [of.weights?.[weights], of.kv?.[kv], of.both?.[`${weights}/${kv}`]]) {
    for (let i = 0; changes && i + 1 < changes.length; i += 2) values[changes[i] ?? 0] = changes[i + 1] ?? null;
  }
  return values;
}

/** Joins the model's half and the target's half of a question, and the reader's numbers. */
export function pack(q: Question, data: Data): number[] {
  const model = half(q.model.half, q.weights, q.kv);
  const target = half(q.target.half, q.weights, q.kv);
  const packed = model.map((v, i) => v ?? target[i] ?? NaN);
  const [tp, pp, dp, ep] = q.layout;
  for (const [name, value] of Object.entries({ ...q.numbers, tp, pp, dp, ep })) {
    const slot = data.slots[name];
    if (slot !== undefined) packed[slot] = value;
  }
  return packed;
}

/** What a reader says of a device of their own, in the form's units; undefined: not known. */
export type Given = Partial<Record<string, number>>;

/** The device that a reader describes. */
export function ownTarget(given: Given, data: Data): Target {
  const known = (v: number | undefined, unit: number) => (v === undefined ? null : v * unit);
  const base = [...data.own.base];
  for (const [field, slot] of Object.entries(data.own.slots)) base[slot] = known(given[field], 1e9);
  const half = { base, weights: {} as Record<string, Values>, kv: {} as Record<string, Values> };
  const fill = (into: Record<string, Values>, slot: number, orders: Record<string, PeakType[]> | undefined) => {
    for (const [format, types] of Object.entries(orders ?? {})) {
      (into[format] ??= []).push(slot, known(greatest(types, given)?.[1], 1e12));
    }
  };
  for (const order of data.own.peaks) {
    fill(half.weights, order.slot, order.weights);
    fill(half.kv, order.slot, order.kv);
  }
  const peaks: Target["peaks"] = {};
  for (const type of peakTypes) {
    const v = given[type];
    if (v !== undefined) peaks[type] = v;
  }
  return { name: "your device", peaks, half, conventions: [], shared: [], sources: ["your device: as you gave it"], linked: [] };
}

/** The types of peaks that the form asks of a reader's own device. */
export const peakTypes = ["bf16", "fp8", "fp4", "int8"] as const;

// greatest is the type of the greatest peak, and that peak, in TFLOP/s.
function greatest(types: PeakType[], peaks: Partial<Record<string, number | string>>): [PeakType, number] | undefined {
  let best: [PeakType, number] | undefined;
  for (const type of types) {
    const v = peaks[type];
    if (v !== undefined && !(best && Number(v) <= best[1])) best = [type, Number(v)];
  }
  return best;
}

/** The type at whose peak weights of a format compute on a device; "" where none is known. */
export function computeType(q: Question, data: Data): string {
  return greatest(data.own.peaks[0]?.weights?.[q.weights] ?? [], q.target.peaks)?.[0] ?? "";
}
