// The calculator's form: what it offers, what it refuses and why, and the question it asks.
import { count } from "../js/format";
import { own, ownTarget, peakTypes, type Data, type Given, type Layout, type Model, type Question, type Target } from "./data";
import { plural } from "./words";

/** Fields in the order in which one limits the next; their ids, and their names in the address. */
export const fields = ["model", "target", "weights", "kv", "tp", "pp", "dp", "ep", "batch", "context", "isl", "osl", "concurrency", "cached", "chunk", "gamma", "acceptance", "mtp"] as const;
export type Field = (typeof fields)[number];

/** Fields of the reader's own device. */
export const deviceFields = ["gb", "gbs", "link", ...peakTypes] as const;
export type DeviceField = (typeof deviceFields)[number];

const dimensions = ["tp", "pp", "dp", "ep"] as const;

export interface Form {
  readonly box: HTMLElement;
  value(name: Field | DeviceField): string;
  /** Puts a value in; false where the field does not offer it. */
  set(name: Field | DeviceField, value: string): boolean;
  /** Fills what depends on other fields, and returns what had to change. */
  offer(): string[];
  /** The question; undefined while a field is wrong, which stands beside it. */
  read(): Question | undefined;
  /** The model that is chosen, and one of the reader's own from then on. */
  model(): Model | undefined;
  adopt(model: Model, file: string): void;
  /** What is wrong with fields, as it stands beside them. */
  problems(): Map<string, string>;
}

// withoutCommas takes them from where thousands have them; 0,8 stays what it is.
function withoutCommas(text: string): string {
  const trimmed = text.trim();
  return /^[1-9]\d{0,2}(,\d{3})+(\.\d*)?$/.test(trimmed) ? trimmed.replaceAll(",", "") : trimmed;
}

export function calculatorForm(box: HTMLElement, data: Data): Form {
  let mine: Model | undefined; // the reader's own
  const problems = new Map<string, string>();
  let shown: Model | undefined; // whose formats and layouts stand in the selects
  const at = <T extends HTMLElement = HTMLInputElement>(id: string) => {
    const e = box.querySelector<T>(`#${id}`);
    if (!e) throw new Error(`the form has no #${id}`);
    return e;
  };
  const select = (id: string) => at<HTMLSelectElement>(id);
  const model = () => (select("model").value === own ? mine : data.models[select("model").value]);
  let last = data.targets[select("target").value]; // the catalogue's device chosen last

  for (const name of ["batch", "context"]) {
    at(`${name}-slider`).addEventListener("input", () => {
      at(name).value = String(stops(name)[Number(at(`${name}-slider`).value)] ?? 0);
    });
  }

  // end is the longest sequence of a model; where that is not stated, as long as any asks.
  function end(m: Model | undefined): number {
    return m?.max_context || 1_048_576;
  }

  // stops are where a slider can stand: powers of two and the middles between them.
  function stops(name: string): number[] {
    const most = name === "batch" ? 4096 : end(model());
    const list = name === "batch" ? [1] : [0];
    for (let n = name === "batch" ? 2 : 128; n < most; n *= 2) list.push(n, n * 1.5);
    return [...list.filter((n) => n < most), most];
  }

  function slide(name: string, value: number): void {
    const slider = at(`${name}-slider`);
    const all = stops(name);
    const place = Math.max(0, all.filter((n) => n <= value).length - 1);
    slider.max = String(all.length - 1);
    slider.value = String(place);
    slider.setAttribute("aria-valuetext", name === "batch" ? plural(value, "sequence", "sequences") : plural(value, "token", "tokens"));
  }

  function offer(): string[] {
    const changed: string[] = [];
    const m = model();
    if (m && m !== shown) {
      formats(select("weights"), m.weights, data.weights, shown?.weights[0]);
      formats(select("kv"), m.kv, [...m.kv, ...m.kv_also], shown?.kv[0]);
      if (shown) changed.push(...shorten(m));
      at("mtp-field").hidden = !m.mtp;
      if (!m.mtp) at("mtp").checked = false;
      shown = m;
    }
    if (m) layouts();
    const isOwn = select("target").value === own;
    at("own-device").hidden = !isOwn;
    if (!isOwn) last = data.targets[select("target").value];
    else if (last && deviceFields.every((f) => at(f).value === "")) copyDevice(last);
    return changed;
  }

  // shorten fits lengths into a model that ends sooner.
  function shorten(m: Model): string[] {
    const said: string[] = [];
    for (const [name, what, most] of [["context", "The context", end(m)], ["osl", "The output", Math.floor(end(m) / 2)], ["isl", "The prompt", end(m) - Number(at("osl").value)]] as const) {
      if (Number(at(name).value) <= most) continue;
      at(name).value = String(most);
      said.push(`${what} was shortened to ${plural(most, "token", "tokens")}: ${m.name} ends at ${count(end(m))}.`);
    }
    return said;
  }

  // formats fills a select with what a model offers, then with what else can be asked;
  // a choice that was not merely the last model's own stays.
  function formats(into: HTMLSelectElement, offered: string[], known: string[], before: string | undefined): void {
    const chosen = into.value;
    const group = (label: string, names: string[]) => {
      const g = document.createElement("optgroup");
      g.label = label;
      g.append(...names.map((n) => new Option(n, n)));
      return g;
    };
    const also = known.filter((n) => !offered.includes(n));
    into.replaceChildren(group("On offer", offered), ...(also.length > 0 ? [group("Also computable", also)] : []));
    into.value = chosen !== before && known.includes(chosen) ? chosen : offered[0] ?? "";
  }

  // layouts offers of each dimension what goes with those before it.
  function layouts(): void {
    let left = (model()?.layouts ?? []).map((l) => l.split(".").map(Number) as Layout);
    let devices = 1;
    dimensions.forEach((name, i) => {
      const values = [...new Set(left.map((l) => l[i] ?? 0))].sort((a, b) => a - b);
      const into = select(name);
      const chosen = into.value;
      if (values.join() !== [...into.options].map((o) => o.value).join()) {
        into.replaceChildren(...values.map((v) => new Option(v === 0 ? "none" : String(v), String(v))));
        into.value = values.includes(Number(chosen)) ? chosen : String(values[0] ?? 1);
      }
      into.disabled = values.length < 2;
      left = left.filter((l) => l[i] === Number(into.value));
      if (name !== "ep") devices *= Number(into.value);
    });
    at("device-count").textContent = plural(devices, "device", "devices");
  }

  function copyDevice(from: Target): void {
    const base = from.half.base;
    const shown = (v: number | null | undefined, unit: number) => (v ? String(Number((v / unit).toPrecision(12))) : "");
    for (const [field, slot] of Object.entries(data.own.slots)) at(field).value = shown(base[slot], 1e9);
    for (const type of peakTypes) at(type).value = String(from.peaks[type] ?? "");
  }

  // wrong says beside a field what is wrong with it, or that nothing is.
  function wrong(name: string, problem: string): void {
    problems.set(name, problem);
    at(`${name}-problem`).textContent = problem;
    at(name).setAttribute("aria-invalid", String(problem !== ""));
  }

  // whole reads a whole number; most may come with its reason.
  function whole(name: string, says: string, such: string, least: number, most: number, why = ""): number | undefined {
    const text = withoutCommas(at(name).value);
    const value = /^\d+$/.test(text) ? Number(text) : NaN;
    let problem = "";
    if (Number.isNaN(value)) problem = `${says}: “${at(name).value}” is not a whole number; write ${such}`;
    else if (value < least) problem = `${says}: at least ${count(least)}`;
    else if (value > most) problem = `${says}: at most ${count(most)}${why}`;
    wrong(name, problem);
    return problem === "" ? value : undefined;
  }

  // decimal reads a number above 0; undefined where the field is empty, NaN where it is wrong.
  function decimal(name: string, says: string, such: string, most: number): number | undefined {
    const text = withoutCommas(at(name).value);
    const value = /^\d*\.?\d+$/.test(text) ? Number(text) : NaN;
    let problem = "";
    if (text !== "" && !(value > 0)) problem = `${says}: “${at(name).value}” is not a number above 0; write ${such}`;
    else if (value > most) problem = `${says}: at most ${count(most)}`;
    wrong(name, problem);
    return problem ? NaN : text === "" ? undefined : value;
  }

  function device(): Target | undefined {
    if (select("target").value !== own) return data.targets[select("target").value];
    const given: Given = {
      gb: decimal("gb", "Memory", "gigabytes of 10⁹ bytes, such as 141", 1e6),
      gbs: decimal("gbs", "Bandwidth", "gigabytes a second, such as 4800", 1e6),
      link: decimal("link", "Link", "gigabytes a second in one direction, such as 450", 1e6),
    };
    for (const type of peakTypes) given[type] = decimal(type, type, `dense ${type === "int8" ? "TOP/s" : "TFLOP/s"}, such as 989`, 1e7);
    return Object.values(given).some((v) => Number.isNaN(v)) ? undefined : ownTarget(given, data);
  }

  function read(): Question | undefined {
    const m = model();
    const target = device();
    if (!m) return undefined;
    const most = end(m);
    const isl = whole("isl", "Prompt", "tokens, such as 2048", 0, most);
    const gamma = whole("gamma", "Drafted a step", "tokens, such as 3", 0, 64);
    const nothing = gamma === 0 && Number(at("acceptance").value) === 0; // nor anything drafted
    let acceptance = nothing ? 0 : decimal("acceptance", "Acceptance", "a chance of at most 1, such as 0.8", 1);
    if (nothing) wrong("acceptance", "");
    else if (gamma === 0) acceptance = Number.isNaN(acceptance) ? acceptance : 0;
    else if (acceptance === undefined) wrong("acceptance", "Acceptance: how many drafted tokens a step keeps is needed; write a chance of at most 1, such as 0.8");
    const numbers = {
      batch: whole("batch", "Batch", "sequences, such as 32", 1, 1_000_000),
      context: whole("context", "Context", "tokens, such as 2048", 0, most),
      isl,
      osl: whole("osl", "Output", "tokens, such as 256", 0, most - (isl ?? 0), `: with the prompt the model ends at ${count(most)}`),
      concurrency: whole("concurrency", "In flight", "requests, such as 32", 0, 1_000_000),
      cached: whole("cached", "Cached prefix", "tokens, such as 1024", 0, Math.max(0, (isl ?? 1) - 1), ": at least one token of the prompt is computed"),
      chunk: whole("chunk", "Chunk", "tokens, such as 8192", 0, most),
      gamma, acceptance,
      mtp: m.mtp && at("mtp").checked && (gamma ?? 0) > 0 ? 1 : 0,
    };
    if (numbers.batch !== undefined) slide("batch", numbers.batch);
    if (numbers.context !== undefined) slide("context", numbers.context);
    const good = (n: Record<string, number | undefined>): n is Record<string, number> => Object.values(n).every((v) => v !== undefined && !Number.isNaN(v));
    if (!target || !good(numbers)) return undefined;
    return {
      model: m, target, modelID: select("model").value, targetID: select("target").value, weights: select("weights").value, kv: select("kv").value,
      layout: dimensions.map((name) => Number(select(name).value)) as Layout, numbers,
    };
  }

  return {
    box,
    value: (name) => (name === "mtp" ? (at("mtp").checked ? "1" : "") : at(name).value),
    set(name, value) {
      const field = at<HTMLInputElement | HTMLSelectElement>(name);
      if (field instanceof HTMLSelectElement && ![...field.options].some((o) => o.value === value && (o.value !== own || name !== "model" || mine))) return false;
      if (name === "mtp") at("mtp").checked = value === "1";
      else field.value = value;
      return true;
    },
    offer, read, model,
    problems: () => new Map([...problems].filter(([, problem]) => problem !== "")),
    adopt(m, file) {
      mine = m;
      const option = [...select("model").options].find((o) => o.value === own);
      if (option) option.text = `Your own: ${file}`;
      select("model").value = own;
    },
  };
}
