// The reader's limits: which measured row gives the most within them. The module
// chooses, by internal/tradeoff; this writes the form, the sentence and the table.
import { busy } from "../js/busy";
import { column, count, prose, quantity } from "../js/format";
import { lean, type Lean } from "../js/lean";
import type { Mark } from "../js/marks";

interface Limit {
  name: "TTFT" | "ITL";
  permille: number;
  most: number; // ms
}

const fields = { ttft: "TTFT", itl: "ITL" } as const;
const percentiles = ["p99", "p95", "p90", "p50"];
const longest = 20; // rows of the table

/** Writes the form into the page before where, and answers it from marks, by row id. */
export function limits(where: Element, chart: Element, marks: Record<string, Mark>): void {
  const ids = Object.keys(marks);
  const rows = ids.map((id) => marks[id]!.row.map((v) => v ?? NaN));
  const form = make("fieldset", { className: "limits screen" }, make("legend", {}, "Your limits"));
  const input = (id: keyof typeof fields, such: string) => {
    const box = make("input", { id, inputMode: "decimal", autocomplete: "off", size: 6 });
    const problem = make("span", { className: "problem bad", id: `${id}-problem` });
    box.setAttribute("aria-describedby", problem.id);
    form.append(make("p", {}, make("label", { htmlFor: id }, `${fields[id]} at most, ms`), box, problem));
    return { box, problem, such };
  };
  const inputs = { ttft: input("ttft", "200"), itl: input("itl", "30") };
  const which = make("select", { id: "percentile" }, ...percentiles.map((p) => new Option(p, p)));
  form.append(make("p", {}, make("label", { htmlFor: "percentile" }, "at"), which));
  const answer = make("p", { className: "answer", id: "limits-answer" });
  answer.setAttribute("role", "status");
  const found = make("div", { id: "within" });
  where.before(form, answer, found);

  const asked = new URLSearchParams(location.search);
  for (const id of ["ttft", "itl"] as const) inputs[id].box.value = asked.get(id) ?? "";
  if (percentiles.includes(asked.get("at") ?? "")) which.value = asked.get("at") ?? "p99";
  form.addEventListener("input", () => void busy(answer, update));
  if (inputs.ttft.box.value || inputs.itl.box.value) void busy(answer, update);

  // read takes the limits from the form; undefined while one of them is no number.
  function read(): Limit[] | undefined {
    let good = true;
    const limits: Limit[] = [];
    for (const id of ["ttft", "itl"] as const) {
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
    found.replaceChildren();
    if (limits.length === 0) {
      answer.textContent = "";
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
    const both = limits.map((l) => `${l.name} p${l.permille / 10} ≤ ${quantity(String(l.most), "ms")}`).join(" and ");
    const met = choice.met.flatMap((i) => ids[i] ?? []);
    show(met.length > 0 ? met : ids);
    const best = marks[met[0] ?? ""];
    if (best) {
      const rate = quantity(prose(best.row[8] ?? NaN), "output tok/s/GPU");
      answer.textContent = `${best.name} at ${best.load} gives the most per GPU within ${both}: ${rate}. ` +
        `${count(met.length)} of ${count(ids.length)} measured rows ${met.length === 1 ? "meets" : "meet"} ${limits.length > 1 ? "both" : "it"}.`;
      for (const [i, h] of module.hold(rows[choice.met[0] ?? 0] ?? [], packed).entries()) {
        const limit = limits[i];
        if (limit && h.permille < limit.permille) answer.append(` Its ${limit.name} is known up to p${h.permille / 10}: too few samples for p${limit.permille / 10}.`);
      }
      found.replaceChildren(table(met.map((id) => marks[id]!), which.value));
      return;
    }
    const nearest = marks[ids[choice.nearest] ?? ""];
    answer.textContent = `Nothing measured meets ${both}.`;
    const worst = limits[choice.worst];
    if (limits.length > 1 && worst) answer.append(` Most rows miss ${worst.name}.`);
    if (!nearest) return;
    const held = module.hold(rows[choice.nearest] ?? [], packed).map((h, i) => ({ ...h, limit: limits[i]! }));
    const missed = held.filter((h) => !h.met);
    answer.append(` Nearest: ${nearest.name} at ${nearest.load}, ${missed.map((h) => Number.isNaN(h.found)
      ? `${h.limit.name} not measured`
      : `${h.limit.name} p${h.permille / 10} ${quantity(prose(h.found), "ms")}, over by ${prose(h.found - h.limit.most)}`).join(" and ")}.`);
    if (missed.every((h) => !Number.isNaN(h.found))) found.replaceChildren(loosen(missed));
  }

  // loosen is a button that raises the missed limits to what the nearest row reached.
  function loosen(missed: { limit: Limit; found: number }[]): HTMLElement {
    const to = missed.map((h) => ({ id: h.limit.name === "ITL" ? "itl" as const : "ttft" as const, most: String(Math.ceil(h.found * 100) / 100) }));
    const button = make("button", { type: "button" }, `Loosen ${to.map((t) => `${fields[t.id]} to ${quantity(t.most, "ms")}`).join(", ")}`);
    button.addEventListener("click", () => {
      for (const t of to) inputs[t.id].box.value = t.most;
      inputs[to[0]!.id].box.focus();
      void busy(answer, update);
    });
    return make("p", {}, button);
  }

  // show draws what is outside the limits faintly; the table beside it says the same.
  function show(within: string[]): void {
    for (const mark of chart.querySelectorAll("[data-row]")) {
      if (within.includes(mark.getAttribute("data-row") ?? "")) mark.removeAttribute("opacity");
      else mark.setAttribute("opacity", "0.25");
    }
  }

  function remember(): void {
    const state = new URLSearchParams();
    for (const id of ["ttft", "itl"] as const) if (inputs[id].box.value) state.set(id, inputs[id].box.value);
    if (state.size > 0 && which.value !== "p99") state.set("at", which.value);
    history.replaceState(null, "", state.size > 0 ? `?${state}` : location.pathname);
  }
}

// table lists the rows within the limits, best first.
function table(marks: Mark[], percentile: string): HTMLElement {
  const at = { p50: 0, p90: 1, p95: 2, p99: 3 }[percentile] ?? 3;
  const shown = marks.slice(0, longest);
  const columns = [
    { name: "Per GPU", unit: "output tok/s", slot: 8 },
    { name: `TTFT ${percentile}`, unit: "ms", slot: at },
    { name: `ITL ${percentile}`, unit: "ms", slot: 4 + at },
  ].map((c) => ({ ...c, write: column(shown.flatMap((m) => m.row[c.slot] ?? [])) }));
  const head = (name: string, unit: string, n: boolean) => {
    const th = make("th", { scope: "col", className: n ? "n" : "" }, name);
    if (unit) th.append(make("span", { className: "u" }, unit));
    return th;
  };
  const lines = shown.map((m) => make("tr", {},
    make("th", { scope: "row" }, make("a", { href: m.address }, `${m.name}, ${m.load}`)),
    ...columns.map((c) => {
      const value = m.row[c.slot];
      return typeof value === "number" ? make("td", { className: "n" }, c.write(value)) : make("td", { className: "n" },
        make("span", { className: "none", ariaHidden: "true" }, "—"), make("span", { className: "vh" }, "too few samples"));
    })));
  const region = make("section", { className: "scroll", tabIndex: 0, ariaLabel: "Rows within your limits" },
    make("table", {}, make("thead", {}, make("tr", {}, head("Within your limits", "", false), ...columns.map((c) => head(c.name, c.unit, true)))), make("tbody", {}, ...lines)));
  if (marks.length <= longest) return region;
  return make("div", {}, region, make("p", { className: "note" }, `The first ${longest} of ${count(marks.length)}.`));
}

function make<K extends keyof HTMLElementTagNameMap>(tag: K, set: Partial<HTMLElementTagNameMap[K]>, ...children: (Node | string)[]): HTMLElementTagNameMap[K] {
  const e = Object.assign(document.createElement(tag), set);
  e.append(...children);
  return e;
}
