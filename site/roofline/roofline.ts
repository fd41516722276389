// The calculator: asks the Go module the form's question and shows its answer. What is
// asked stands in the page's address.
import { lean, type Lean } from "../js/lean";
import { busy } from "../js/busy";
import { idle, requestIdle } from "../js/idle";
import { make } from "../js/make";
import { say } from "../js/status";
import { opening, remember, restore } from "./address";
import { command, deviceFile } from "./command";
import { configs } from "./config";
import { computeType, own, pack, type Data, type Question } from "./data";
import { calculatorForm, type DeviceField } from "./form";
import { draw } from "./plot";
import { best, everywhere, expectations, figures, measured, memory, parts } from "./tables";
import { decode, experts, lacks, load, rate, type Answered } from "./words";

const box = document.querySelector<HTMLElement>("#calculator");
const answer = document.querySelector<HTMLElement>("#ceiling-answer");
if (box && answer) void busy(answer, () => start(box, answer));

async function start(box: HTMLElement, answer: HTMLElement): Promise<void> {
  const waiting = location.search === "" ? undefined : meanwhile(box, answer);
  await idle();
  const off = (what: string) => (reason: unknown) => {
    waiting?.giveUp();
    box.closest(".calculator")?.classList.add("off");
    tell(`${waiting ? "The question in the address was not answered" : "Recomputing is off"}: ${what} did not load (${reason instanceof Error ? reason.message : String(reason)}). What stands here is the worked example.`);
    return undefined;
  };
  const [data, module] = await Promise.all([fetched(box.dataset["source"] ?? "").catch(off("its data")), lean().catch(off("the module"))]);
  waiting?.end();
  if (data && module) calculate(box, answer, data, module);
}

// meanwhile says after 300 ms what is being worked out, lest the worked example be taken
// for the answer to a shared link.
function meanwhile(box: HTMLElement, answer: HTMLElement): { end: () => void; giveUp: () => void } {
  const asked = new URLSearchParams(location.search);
  const built = ["ceiling-answer", "ceiling-load", "ceiling-best"].flatMap((id) => document.getElementById(id) ?? []);
  const before = built.map((e) => [...e.childNodes]);
  const name = (of: string) => {
    const select = box.querySelector<HTMLSelectElement>(`#${of}`);
    return [...(select?.options ?? [])].find((o) => o.value === (asked.get(of) ?? select?.value))?.text;
  };
  const count = ["tp", "pp", "dp"].reduce((n, of) => n * (Number(asked.get(of)) || 1), 1);
  const [model, target] = [name("model"), name("target")];
  const timer = setTimeout(() => {
    built.forEach((e) => e.replaceChildren());
    answer.textContent = model && target ? `Computing ${model} on ${count > 1 ? `${count}× ` : ""}${target}…` : "Computing what the address asks…";
  }, 300);
  return {
    end: () => clearTimeout(timer),
    giveUp: () => {
      clearTimeout(timer);
      built.forEach((e, i) => e.replaceChildren(...(before[i] ?? [])));
    },
  };
}

function calculate(box: HTMLElement, answer: HTMLElement, data: Data, module: Lean): void {
  const form = calculatorForm(box, data);
  const first = opening(form);
  note(...restore(form, first));
  box.hidden = box.inert = false;
  let sliding = false;
  let pending = false; // the tables wait for the browser to be idle
  let last: Answered | undefined;
  box.addEventListener("input", (event) => {
    note(...form.offer());
    // while a slider is drawn along, its answers are shown and the last is told
    sliding = event.target instanceof HTMLInputElement && event.target.type === "range";
    if (!sliding) return update();
    answer.setAttribute("aria-busy", "true");
    if (!sentences() || pending) return;
    pending = true;
    requestIdle(() => {
      pending = false;
      tables();
      calm();
    });
  });
  box.addEventListener("change", () => {
    sliding = false;
    calm();
  });
  configs(box, (model, file) => {
    form.adopt(model, file);
    note(...form.offer());
    update();
    say(`Read ${file}.`);
  });
  update();

  function calm(): void {
    if (!sliding && !pending) answer.removeAttribute("aria-busy");
  }

  function update(): void {
    if (sentences()) tables();
  }

  // sentences answers in words and figures; false where the last good answer stays.
  function sentences(): boolean {
    const q = form.read();
    const lacking = form.value("model") === own && !form.model();
    box.querySelector("#drop")?.classList.toggle("asked-for", lacking);
    if (lacking) tell("Drop a config.json on the page, or choose it below the model. Until then the last answer stays.");
    if (!q) return false;
    const packed = pack(q, data);
    const out = module.ceiling(packed);
    const holds = (sequences: number, tokens: number) => {
      const other = [...packed];
      other[data.slots["batch"] ?? -1] = sequences;
      other[data.slots["context"] ?? -1] = tokens;
      return module.ceiling(other)[data.out["fits"] ?? -1] !== 0;
    };
    const a = { q, packed, out, holds };
    last = a;
    write("ceiling-answer", decode(a, data));
    write("step-rate", rate(a, data));
    write("ceiling-load", load(a, data));
    const distinct = experts(a, data);
    write("ceiling-experts", distinct);
    for (const of of ["decode", "prefill", "links"] as const) {
      const text = module.formula(packed, of);
      write(`formula-${of}`, text);
      document.querySelector(`#formula-${of}`)?.closest("div")?.toggleAttribute("hidden", text === "");
    }
    figures(packed, out);
    expectations(out, distinct !== "");
    parts(out, data);
    memory(q, packed, out, module.kept(packed), data);
    return true;
  }

  // tables answers for all devices, and draws.
  function tables(): void {
    if (!last) return;
    const { q, packed } = last;
    write("command", command(q));
    const file = deviceFile(q, (name) => form.value(name as DeviceField));
    write("own-yaml", file);
    document.querySelector("#own-file")?.toggleAttribute("hidden", file === "");
    const rows = q.modelID === own || q.targetID === own ? [] : data.rows[q.modelID]?.[q.targetID] ?? [];
    const layout = q.layout.join(".");
    draw(module, packed, decode(last, data), computeType(q, data), rows, (r) => r.types === `${q.weights}/${q.kv}` && r.layout === layout, lacks(last, data));
    best(rows);
    measured(q, rows);
    everywhere(q, data, module, choose);
    conventions(q);
    remember(form, first);
  }

  // choose asks the question of another device, and brings the answer into view.
  function choose(id: string): void {
    form.set("target", id);
    note(...form.offer());
    update();
    answer.scrollIntoView({ block: "nearest" });
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
