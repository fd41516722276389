// The calculator: composes a packed query from the form, asks the Go module, and shows
// its answer. What is asked stands in the page's address.
import { lean, type Lean } from "../js/lean";
import { busy } from "../js/busy";
import { idle } from "../js/idle";
import { count, prose, quantity } from "../js/format";

interface Half {
  name: string;
  packed: Record<string, (number | null)[]>; // by "WEIGHT DTYPE/KV DTYPE"; null: not known
}

interface Model extends Half {
  weights: string[];
  kv: string[];
  max_context: number;
  heads: number[];
}

interface Target extends Half {
  compute: Record<string, string>; // the type that weights of a dtype compute in
}

/** What gen writes into #calculator-data (render's calculatorData). */
interface Data {
  slots: Record<"batch" | "context" | "tp", number>;
  out: Record<"step" | "rate" | "binding" | "fits" | "most", number>;
  bindings: string[];
  inputs: string[];
  models: Record<string, Model>;
  targets: Record<string, Target>;
}

/** A question that the form asks; every value is one that it offers. */
interface Query {
  model: Model;
  target: Target;
  weights: string;
  kv: string;
  tp: number;
  batch: number;
  context: number;
}

const form = document.querySelector<HTMLFieldSetElement>("#calculator");
const source = document.querySelector("#calculator-data")?.textContent;
if (form && source) calculate(form, JSON.parse(source) as Data);

function calculate(form: HTMLFieldSetElement, data: Data): void {
  const answer = element("#ceiling-answer");
  const at = <T extends HTMLSelectElement | HTMLInputElement>(name: string) => form.elements.namedItem(name) as T;
  const select = (name: string) => at<HTMLSelectElement>(name);
  const opening = new URLSearchParams(fields().map((name) => [name, at(name).value]));

  form.hidden = false;
  const dropped = restore();
  if (dropped.length > 0) note(dropped.join(" "));
  form.addEventListener("input", () => void busy(answer, update));
  void busy(answer, () => idle().then(update));

  // restore takes the address's values over and says which it had to leave out.
  function restore(): string[] {
    const said: string[] = [];
    const asked = new URLSearchParams(location.search);
    for (const name of fields()) {
      const value = asked.get(name);
      if (value !== null && at(name) instanceof HTMLSelectElement) {
        if (name === "weights" || name === "kv" || name === "tp") offer(); // what the model just set allows
        if ([...select(name).options].some((o) => o.value === value)) select(name).value = value;
        else said.push(name === "model" || name === "target" ? `${label(name)} ${value} is not known and was left out.` : `${label(name)} ${value} is not on offer and was left out.`);
      } else if (value !== null) {
        at(name).value = value;
      }
    }
    for (const name of asked.keys()) if (!fields().includes(name)) said.push(`“${name}” is not known and was left out.`);
    offer();
    return said;
  }

  // offer fills the choices that depend on the model, keeping what was chosen if it can.
  function offer(): void {
    const model = data.models[select("model").value];
    if (!model) return;
    fill(select("weights"), model.weights);
    fill(select("kv"), model.kv);
    fill(select("tp"), ["1", "2", "4", "8"].filter((n) => model.heads.every((h) => h % Number(n) === 0)));
  }

  function read(): Query | undefined {
    offer();
    const model = data.models[select("model").value];
    const target = data.targets[select("target").value];
    const batch = whole("batch", 1, 1_000_000, "sequences, such as 32");
    const context = whole("context", 0, model?.max_context ?? 0, "tokens, such as 2048");
    if (!model || !target || batch === undefined || context === undefined) return undefined;
    return { model, target, weights: select("weights").value, kv: select("kv").value, tp: Number(select("tp").value), batch, context };
  }

  // whole reads a whole number from a field; what is wrong with it stands beside it.
  function whole(name: "batch" | "context", least: number, most: number, such: string): number | undefined {
    const text = at(name).value.trim().replaceAll(",", "");
    const value = /^\d+$/.test(text) ? Number(text) : NaN;
    let problem = "";
    if (Number.isNaN(value)) problem = `${label(name)}: “${at(name).value}” is not a whole number; write ${such}`;
    else if (value < least) problem = `${label(name)}: at least ${count(least)}`;
    else if (value > most) problem = `${label(name)}: at most ${count(most)}`;
    element(`#${name}-problem`).textContent = problem;
    at(name).setAttribute("aria-invalid", String(problem !== ""));
    return problem === "" ? value : undefined;
  }

  async function update(): Promise<void> {
    const query = read();
    if (!query) return; // the last good result stays
    let module: Lean;
    try {
      module = await lean();
    } catch (reason) {
      note(`Recomputing is off: the module did not load (${reason instanceof Error ? reason.message : String(reason)}). What stands here is the worked example.`);
      return;
    }
    const packed = pack(query, data);
    const out = module.ceiling(packed);
    const formula = module.formula(packed);
    answer.textContent = sentence(query, packed, out, data);
    draw(module, packed, answer.textContent, query.target.compute[query.weights] ?? "");
    element("#ceiling-formula").textContent = formula || "—";
    for (const cell of document.querySelectorAll<HTMLElement>("[data-figure]")) {
      const value = slot(cell.dataset["figure"], packed, out);
      cell.textContent = Number.isNaN(value) ? "—" : prose(value / Number(cell.dataset["scale"]));
    }
    for (const cell of document.querySelectorAll<HTMLElement>("[data-exact]")) {
      const value = slot(cell.dataset["exact"], packed, out);
      cell.textContent = Number.isNaN(value) ? "not known" : String(value);
    }
    remember();
  }

  // remember writes what differs from the opening question into the address.
  function remember(): void {
    const changed = fields().filter((name) => at(name).value !== opening.get(name));
    const search = new URLSearchParams(changed.map((name) => [name, at(name).value])).toString();
    history.replaceState(null, "", search ? `?${search}` : location.pathname);
  }
}

// note says below the answer what the reader must know about it.
function note(text: string): void {
  const line = element("#ceiling-note");
  line.textContent = text;
  line.hidden = false;
}

// fields in the order in which one limits the next.
function fields(): string[] {
  return ["model", "target", "weights", "kv", "tp", "batch", "context"];
}

// draw replaces the plot by that of another query; without a ceiling there is none.
function draw(module: Lean, packed: number[], name: string, compute: string): void {
  const drawings = ([296, 720] as const).flatMap((width) => {
    const text = module.plot(packed, width);
    if (!text) return [];
    const svg = document.importNode(new DOMParser().parseFromString(text, "image/svg+xml").documentElement, true);
    svg.setAttribute("aria-label", name);
    if (compute) svg.querySelector(".peak")?.prepend(`${compute} `);
    return [svg];
  });
  element("#ceiling-plot").replaceChildren(...drawings);
}

/** Joins the model's half and the target's half of a query, and the reader's numbers. */
function pack(query: Query, data: Data): number[] {
  const dtypes = `${query.weights}/${query.kv}`;
  const model = query.model.packed[dtypes] ?? [];
  const target = query.target.packed[dtypes] ?? [];
  const packed = model.map((v, i) => v ?? target[i] ?? NaN);
  packed[data.slots.batch] = query.batch;
  packed[data.slots.context] = query.context;
  packed[data.slots.tp] = query.tp;
  return packed;
}

/** Says an answer in words, as render's ceilingSentence does. */
function sentence(query: Query, packed: number[], out: number[], data: Data): string {
  const get = (name: keyof Data["out"]) => out[data.out[name]] ?? NaN;
  const where = query.tp === 1 ? query.target.name : `${query.tp}× ${query.target.name}`;
  const named = where.replaceAll(" ", "\u00a0");
  const sharing = query.tp === 1 ? "" : ` sharing each matrix (tp\u00a0${query.tp})`;
  const binding = data.bindings[get("binding")] ?? "";
  if (!binding) {
    const unknown = new Set(packed.flatMap((v, i) => (Number.isNaN(v) ? [data.inputs[i] ?? ""] : [])));
    return `Not computable: ${[...unknown].join(", ")} of ${query.model.name} on ${named} not known.`;
  }
  const rate = get("rate");
  const over = query.batch === 1 ? "one sequence" : `${count(query.batch)} sequences`;
  const each = query.batch === 1 ? "" : `, ${quantity(prose(rate / query.batch), "tok/s")} each`;
  let said = `${binding[0]?.toUpperCase()}${binding.slice(1)} binds: ${query.model.name} on ${named}${sharing} decodes at most ` +
    `${quantity(prose(rate), "tok/s")} over ${over} of ${quantity(count(query.context), query.context === 1 ? "token" : "tokens")}${each}; ` +
    `a step takes at least ${quantity(prose(get("step")), "ms")}.`;
  if (get("fits") === 0) {
    const most = get("most");
    said += ` It does not fit in memory${most > 0 ? `: at most ${count(most)} such sequences do` : ""}.`;
  }
  return said;
}

// slot reads "in 13" or "out 6".
function slot(place: string | undefined, packed: number[], out: number[]): number {
  const [from, index] = (place ?? "").split(" ");
  return (from === "in" ? packed : out)[Number(index)] ?? NaN;
}

function fill(select: HTMLSelectElement, values: string[]): void {
  const chosen = select.value;
  if (values.join() === [...select.options].map((o) => o.value).join()) return;
  select.replaceChildren(...values.map((v) => new Option(v, v)));
  select.value = values.includes(chosen) ? chosen : values[0] ?? "";
}

function label(name: string): string {
  const text = document.querySelector(`label[for="${name}"]`)?.textContent ?? name;
  return text.split(":", 1)[0] ?? text;
}

function element(selector: string): HTMLElement {
  const e = document.querySelector<HTMLElement>(selector);
  if (!e) throw new Error(`the page has no ${selector}`);
  return e;
}
