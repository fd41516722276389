// The calculator: asks the Go module the form's question and shows its answer. What is
// asked stands in the page's address.
import { lean, type Lean } from "../js/lean";
import { busy } from "../js/busy";
import { idle } from "../js/idle";
import { make } from "../js/make";
import { say } from "../js/status";
import { opening, remember, restore } from "./address";
import { command, deviceFile } from "./command";
import { configs } from "./config";
import { computeType, pack, type Data, type Question } from "./data";
import { calculatorForm, own, type DeviceField } from "./form";
import { draw } from "./plot";
import { everywhere, figures, measured, memory, parts } from "./tables";
import { decode, experts, load } from "./words";

const box = document.querySelector<HTMLElement>("#calculator");
const answer = document.querySelector<HTMLElement>("#ceiling-answer");
if (box && answer) void busy(answer, () => idle().then(() => start(box, answer)));

async function start(box: HTMLElement, answer: HTMLElement): Promise<void> {
  const off = (what: string) => (reason: unknown) => {
    tell(`Recomputing is off: ${what} did not load (${reason instanceof Error ? reason.message : String(reason)}). What stands here is the worked example.`);
    return undefined;
  };
  const [data, module] = await Promise.all([fetched(box.dataset["source"] ?? "").catch(off("its data")), lean().catch(off("the module"))]);
  if (data && module) calculate(box, answer, data, module);
}

function calculate(box: HTMLElement, answer: HTMLElement, data: Data, module: Lean): void {
  const form = calculatorForm(box, data);
  const first = opening(form);
  note(...restore(form));
  box.hidden = false;
  box.addEventListener("input", (event) => {
    // while a slider is drawn along, its answers are shown and the last is told
    if (event.target instanceof HTMLInputElement && event.target.type === "range") answer.setAttribute("aria-busy", "true");
    note(...form.offer());
    update();
  });
  box.addEventListener("change", () => answer.removeAttribute("aria-busy"));
  configs(box, (model) => {
    form.adopt(model);
    note(...form.offer());
    update();
    say(`Read ${model.name}.`);
  });
  update();

  function update(): void {
    const q = form.read();
    const lacking = form.value("model") === own && !form.model();
    box.querySelector("#drop")?.classList.toggle("asked-for", lacking);
    if (lacking) tell("Drop a config.json on the page, or choose it below the model. Until then the last answer stays.");
    if (!q) return; // the last good answer stays
    const packed = pack(q, data);
    const out = module.ceiling(packed);
    const a = { q, packed, out };
    answer.textContent = decode(a, data);
    write("ceiling-load", load(a, data));
    write("ceiling-experts", experts(a, data));
    for (const of of ["decode", "prefill", "links"] as const) {
      const text = module.formula(packed, of);
      write(`formula-${of}`, text);
      document.querySelector(`#formula-${of}`)?.closest("div")?.toggleAttribute("hidden", text === "");
    }
    write("command", command(q));
    const file = deviceFile(q, (name) => form.value(name as DeviceField));
    write("own-yaml", file);
    document.querySelector("#own-file")?.toggleAttribute("hidden", file === "");
    figures(packed, out);
    parts(out, data);
    memory(q, packed, out, module.kept(packed), data);
    const rows = q.modelID === own || q.targetID === own ? [] : data.rows[q.modelID]?.[q.targetID] ?? [];
    const layout = q.layout.join(".");
    draw(module, packed, answer.textContent, computeType(q, data), rows, (r) => r.types === `${q.weights}/${q.kv}` && r.layout === layout);
    measured(q, rows);
    everywhere(q, data, module, choose);
    conventions(q);
    remember(form, first);
  }

  // choose asks the question of another device.
  function choose(id: string): void {
    form.set("target", id);
    note(...form.offer());
    update();
    say(`Asked of ${data.targets[id]?.name ?? id}.`);
  }

  // note tells what had to change, and that a reader's own file is not in the address.
  function note(...lines: string[]): void {
    const mine = form.value("model") === own && form.model();
    tell(...lines, ...(mine ? ["Your config.json stays on this page: the address does not hold it."] : []));
  }
}

// tell says below the answer what the reader must know about it.
function tell(...lines: string[]): void {
  const line = document.querySelector<HTMLElement>("#ceiling-note");
  if (!line) return;
  line.textContent = lines.join(" ");
  line.hidden = lines.length === 0;
}

async function fetched(url: string): Promise<Data> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
  return (await response.json()) as Data;
}

// write puts text where an id is, and hides the place where there is none.
function write(id: string, text: string): void {
  const e = document.getElementById(id);
  if (!e) return;
  e.textContent = text;
  e.hidden = text === "";
}

function conventions({ model, target, weights, kv, layout: [tp, pp, dp] }: Question): void {
  const several = tp * pp * dp > 1;
  const list = (id: string, lines: string[]) => document.getElementById(id)?.replaceChildren(...lines.map((text) => make("li", {}, text)));
  const c = model.conventions;
  list("conventions", [...c.all, ...(c.weights[weights] ?? []), ...(c.kv[kv] ?? []), ...target.conventions, ...(several ? target.shared : [])]);
  list("sources", [...model.sources, ...target.sources, ...(several ? target.linked : [])]);
}
