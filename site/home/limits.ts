// The reader's limits: which measured row gives the most within them. The module
// chooses, by internal/tradeoff; this writes the form, the sentence and, in regroup.ts,
// the table.
import { busy } from "../js/busy";
import { count, plain, prose, quantity, roundedUp } from "../js/format";
import { lean, type Lean } from "../js/lean";
import { make } from "../js/make";
import type { Mark } from "../js/marks";
import { regrouper, type Held, type Limit } from "./regroup";

const fields = { ttft: "TTFT", itl: "ITL" } as const;
type Field = keyof typeof fields;
const names: Field[] = ["ttft", "itl"];
const percentiles = ["p99", "p95", "p90", "p50"];

/**
 * Writes the form into the page before unlimited, the answer without limits, and answers
 * it from marks, by row id, in unlimited's place.
 */
export function limits(unlimited: HTMLElement, chart: HTMLElement, marks: Record<string, Mark>): void {
  const ids = Object.keys(marks);
  const all = Object.values(marks);
  const rows = all.map((m) => m.row.map((v) => v ?? NaN));
  const table = document.querySelector<HTMLTableElement>("table.cells");
  const regroup = table ? regrouper(table) : undefined;
  const form = make("fieldset", { className: "limits screen" }, make("legend", {}, "Your limits"));
  const problem = (id: string) => make("p", { className: "problem bad", id: `${id}-problem` });
  const input = (id: Field, such: string) => {
    const box = make("input", { id, inputMode: "decimal", autocomplete: "off", size: 6 });
    box.setAttribute("aria-describedby", `${id}-problem`);
    form.append(make("p", {}, make("label", { htmlFor: id }, `${fields[id]} at most, ms`), box));
    return { box, problem: problem(id), such };
  };
  const inputs = { ttft: input("ttft", "200"), itl: input("itl", "30") };
  const which = make("select", { id: "percentile" }, ...percentiles.map((p) => new Option(p, p)));
  const whichProblem = problem("percentile");
  which.setAttribute("aria-describedby", whichProblem.id);
  form.append(make("p", {}, make("label", { htmlFor: "percentile" }, "at"), which), inputs.ttft.problem, inputs.itl.problem, whichProblem);
  const answer = make("p", { className: "answer", id: "limits-answer" });
  answer.setAttribute("role", "status");
  const next = make("div", { id: "loosen" });
  unlimited.before(form, answer, next);

  const asked = new URLSearchParams(location.search);
  for (const id of names) inputs[id].box.value = asked.get(id) ?? "";
  const at = asked.get("at");
  if (at !== null && percentiles.includes(at)) which.value = at;
  else if (at !== null) whichProblem.textContent = `Percentile ${at} is not known and was left out.`;
  form.addEventListener("input", () => void busy(answer, update));
  if (inputs.ttft.box.value || inputs.itl.box.value) void busy(answer, update);

  // read takes the limits from the form; undefined while one of them is no number.
  function read(): Limit[] | undefined {
    let good = true;
    const limits: Limit[] = [];
    for (const id of names) {
      const { box, problem, such } = inputs[id];
      const text = box.value.trim().replaceAll(",", "");
      const bad = text !== "" && !(/^\d+(\.\d+)?$/.test(text) && Number(text) > 0);
      problem.textContent = bad ? `${fields[id]}: “${box.value}” is not a number above 0; write milliseconds, such as ${such}` : "";
      box.setAttribute("aria-invalid", String(bad));
      good &&= !bad;
      if (!bad && text !== "") limits.push({ name: fields[id], permille: Number(which.value.slice(1)) * 10, most: Number(text) });
    }
    return good ? limits : undefined;
  }

  async function update(): Promise<void> {
    const limits = read();
    if (!limits) return; // the last good answer stays
    remember();
    if (limits.length === 0) {
      answer.replaceChildren();
      next.replaceChildren();
      unlimited.hidden = false;
      regroup?.(undefined);
      show(ids);
      return;
    }
    let module: Lean;
    try {
      module = await lean();
    } catch (reason) {
      answer.textContent = `Limits are off: the module did not load (${reason instanceof Error ? reason.message : String(reason)}).`;
      return;
    }
    const packed = limits.map((l) => [l.name === "ITL" ? 1 : 0, l.permille, l.most]);
    const choice = module.choose(rows, packed);
    const held = rows.map((row) => module.hold(row, packed).map((h, i): Held => ({ ...h, limit: limits[i]! })));
    const best = choice.met[0] ?? (choice.known === 0 ? choice.lower[0] : undefined);
    unlimited.hidden = true;
    next.replaceChildren();
    answer.replaceChildren(...(best === undefined ? none(limits, choice, held) : most(best, limits, choice, held)));
    regroup?.({ marks: all, ids, held, met: choice.met, lower: choice.lower, permille: limits[0]!.permille, scope: scope(" · ") });
    const within = choice.met.length > 0 || best === undefined ? choice.met : choice.lower;
    show(within.length > 0 ? within.flatMap((i) => ids[i] ?? []) : ids);
  }

  // scope is the model and shape within which limits hold.
  function scope(joint: string): string {
    return [chart.dataset["model"], chart.dataset["shape"]].join(joint);
  }

  // most says which row gives the most within the limits, and how many are within.
  function most(best: number, limits: Limit[], choice: ReturnType<Lean["choose"]>, held: Held[][]): (Node | string)[] {
    const mark = all[best]!;
    const [figure, interval] = mark.line.per_gpu;
    const lacking = choice.known > 0 ? "" : ` (no row has the samples for ${p(limits[0]!.permille)})`;
    const said = within(choice.known > 0 ? limits : held[best]!.map((h) => ({ ...h.limit, permille: h.permille })));
    return [
      make("strong", {}, `${chart.dataset["model"]} · ${mark.name} at ${mark.load}`),
      ` gives the most per GPU at ${chart.dataset["shape"]} within ${said}${lacking}: `,
      make("strong", {}, figure), ` output tok/s/GPU${interval ? ` (${interval})` : ""}. `,
      choice.known > 0 ? `${howMany(choice.met.length, ids.length)} ${choice.met.length === 1 ? "meets" : "meet"} ${limits.length > 1 ? "both" : "it"}${further("; ", " more", limits, choice, held)}.` :
        `${further("", ` of ${rowsOf(ids.length)}`, limits, choice, held)}.`,
    ];
  }

  // further says how many rows meet the limits as far as their percentiles go.
  function further(joint: string, more: string, limits: Limit[], choice: ReturnType<Lean["choose"]>, held: Held[][]): string {
    const n = choice.lower.length;
    if (n === 0) return "";
    const lowest = [...new Set(choice.lower.map((i) => Math.min(...held[i]!.map((h) => h.permille))))].sort((a, b) => b - a);
    return `${joint}${count(n)}${more} ${n === 1 ? "meets" : "meet"} ${limits.length > 1 ? "them" : "it"} as far as ${lowest.map(p).join(" or ")} (too few samples for ${p(limits[0]!.permille)})`;
  }

  // none says that nothing meets the limits and what comes nearest, and offers to loosen
  // them as far as that.
  function none(limits: Limit[], choice: ReturnType<Lean["choose"]>, held: Held[][]): (Node | string)[] {
    let said = `Nothing measured meets ${within(limits)}.`;
    if (choice.lower.length > 0) said += `${further(" ", choice.lower.length === 1 ? " row" : " rows", limits, choice, held)}.`;
    const worst = limits[choice.worst];
    if (limits.length > 1 && worst) said += ` Most rows miss ${worst.name}.`;
    const nearest = all[choice.nearest];
    if (!nearest) return [said];
    const missed = held[choice.nearest]!.filter((h) => !h.met);
    said += ` Nearest: ${nearest.name} at ${nearest.load}, ${missed.map((h) => Number.isNaN(h.found)
      ? `${h.limit.name} not measured`
      : `${h.limit.name} ${p(h.permille)} ${quantity(prose(h.found), "ms")}, over by ${prose(h.found - h.limit.most)}`).join(" and ")}.`;
    if (missed.every((h) => !Number.isNaN(h.found))) next.replaceChildren(loosen(missed));
    return [said];
  }

  // loosen is a button that raises the missed limits to a round number that the nearest
  // row keeps.
  function loosen(missed: Held[]): HTMLElement {
    const to = missed.map((h) => ({ id: h.limit.name === "ITL" ? "itl" as const : "ttft" as const, at: h.permille, most: roundedUp(h.found) }));
    const button = make("button", { type: "button" }, `Loosen ${to.map((t) => `${fields[t.id]} ${p(t.at)} to ${quantity(plain(t.most), "ms")}`).join(", ")}`);
    button.addEventListener("click", () => {
      for (const t of to) inputs[t.id].box.value = String(t.most);
      inputs[to[0]!.id].box.focus();
      void busy(answer, update);
    });
    return make("p", {}, button);
  }

  // show draws what is outside the limits faintly; the table says the same.
  function show(within: string[]): void {
    for (const mark of chart.querySelectorAll("[data-row]")) {
      if (within.includes(mark.getAttribute("data-row") ?? "")) mark.removeAttribute("opacity");
      else mark.setAttribute("opacity", "0.25");
    }
  }

  function remember(): void {
    const state = new URLSearchParams();
    for (const id of names) if (inputs[id].box.value) state.set(id, inputs[id].box.value);
    if (state.size > 0 && which.value !== "p99") state.set("at", which.value);
    history.replaceState(null, "", state.size > 0 ? `?${state}` : location.pathname);
  }
}

function within(limits: Limit[]): string {
  return limits.map((l) => `${l.name} ${p(l.permille)} ≤\u00a0${quantity(plain(l.most), "ms")}`).join(" and ");
}

function howMany(n: number, of: number): string {
  return n === of ? `All ${rowsOf(of)}` : `${count(n)} of ${rowsOf(of)}`;
}

function rowsOf(n: number): string {
  return n === 1 ? "1\u00a0row" : `${count(n)}\u00a0rows`;
}

function p(permille: number): string {
  return `p${permille / 10}`;
}
