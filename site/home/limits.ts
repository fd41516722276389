// The reader's limits: which measured row gives the most within them. The module
// chooses, by internal/tradeoff; this writes the form, the sentence and, in regroup.ts,
// the table.
import { busy } from "../js/busy";
import { count, fixed, plain, prose, quantity, roundedUp } from "../js/format";
import { lean, type Lean } from "../js/lean";
import { make } from "../js/make";
import type { Mark } from "../js/marks";
import { goodput } from "./goodput";
import { regrouper, type Held, type Limit } from "./regroup";

// In the order of a row's slots.
const fields = { ttft: "TTFT", itl: "ITL", tpot: "TPOT", e2e: "E2E" } as const;
type Field = keyof typeof fields;
const names = Object.keys(fields) as Field[];
const examples: Record<Field, string> = { ttft: "200", itl: "30", tpot: "30", e2e: "5000" };
const percentiles = ["p99", "p95", "p90", "p50"];

/** A load that is not measured, and what it could come to. */
export interface Hope {
  name: string;
  gap: string;
  address: string;
  gpus: number;
  dtype: string;
  load: string;
  cost: string; // of the whole gap
  roofs: (number | null)[]; // see promising in lean.d.ts
}

/**
 * Writes the form into the page's place for it, and answers it from marks, by row id, in
 * the place of unlimited, the answer without limits.
 */
export function limits(place: HTMLElement, unlimited: HTMLElement, chart: HTMLElement, marks: Record<string, Mark>, hopes: Hope[]): void {
  const ids = Object.keys(marks);
  const all = Object.values(marks);
  const rows = all.map((m) => m.row.map((v) => v ?? NaN));
  const table = document.querySelector<HTMLTableElement>("table.cells");
  const regroup = table ? regrouper(table) : undefined;
  const form = make("fieldset", { className: "limits screen" }, make("legend", {}, "Your limits"));
  const problem = (id: string) => make("p", { className: "problem bad", id: `${id}-problem` });
  const input = (id: string, label: string, name: string, such: string) => {
    const box = make("input", { id, inputMode: "decimal", autocomplete: "off", size: 5 });
    box.setAttribute("aria-describedby", `${id}-problem`);
    form.append(make("p", {}, make("label", { htmlFor: id }, label), box));
    return { box, problem: problem(id), name, such };
  };
  const inputs = Object.fromEntries(names.map((id) => [id, input(id, `${fields[id]} ≤ ms`, fields[id], `milliseconds, such as ${examples[id]}`)])) as Record<Field, ReturnType<typeof input>>;
  const which = make("select", { id: "percentile" }, ...percentiles.map((p) => new Option(p, p)));
  const whichProblem = problem("percentile");
  which.setAttribute("aria-describedby", whichProblem.id);
  form.append(make("p", {}, make("label", { htmlFor: "percentile" }, "at"), which));
  // only is a choice among what rows have, or any.
  const only = (id: string, label: string, values: string[], word: (v: string) => string) => {
    const box = make("select", { id }, new Option("any", ""), ...values.map((v) => new Option(word(v), v)));
    form.append(make("p", {}, make("label", { htmlFor: id }, label), box));
    return box;
  };
  const some = (of: (m: { gpus: number; dtype: string }) => string) => [...new Set([...all, ...hopes].map(of))].filter((v) => v !== "").sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
  const gpus = only("gpus", "GPUs", some((m) => String(m.gpus)), (v) => v);
  const dtype = only("dtype", "Weights", some((m) => m.dtype), (v) => v);
  const price = input("price", "$ a GPU-hour", "Price", "dollars an hour of one GPU, such as 2.50");
  form.append(...names.map((id) => inputs[id].problem), price.problem, whichProblem);
  const answer = make("p", { className: "answer", id: "limits-answer" });
  answer.setAttribute("role", "status");
  const more = make("div", { id: "limits-more" });
  const next = make("div", { id: "loosen" });
  place.replaceChildren(form);
  unlimited.before(answer, more, next);

  const asked = new URLSearchParams(location.search);
  for (const id of names) inputs[id].box.value = asked.get(id) ?? "";
  price.box.value = asked.get("price") ?? "";
  for (const [box, id] of [[gpus, "gpus"], [dtype, "dtype"]] as const) {
    const wanted = asked.get(id);
    if (wanted === null) continue;
    if ([...box.options].some((o) => o.value === wanted)) box.value = wanted;
    else whichProblem.append(`${id === "gpus" ? "A GPU count" : "A weight format"} of ${wanted} is not known here and was left out. `);
  }
  const at = asked.get("at");
  if (at !== null && percentiles.includes(at)) which.value = at;
  else if (at !== null) whichProblem.append(`Percentile ${at} is not known and was left out.`);
  form.addEventListener("input", () => void busy(answer, update));
  if (stated()) void busy(answer, update);

  // stated says whether the reader asks anything of the rows.
  function stated(): boolean {
    return [...names.map((id) => inputs[id].box), price.box, gpus, dtype].some((box) => box.value !== "");
  }

  // number reads a field; NaN while it is none, undefined where it is empty.
  function number({ box, problem, name, such }: ReturnType<typeof input>): number | undefined {
    const text = box.value.trim().replaceAll(",", "");
    const bad = text !== "" && !(/^\d+(\.\d+)?$/.test(text) && Number(text) > 0);
    problem.textContent = bad ? `${name}: “${box.value}” is not a number above 0; write ${such}` : "";
    box.setAttribute("aria-invalid", String(bad));
    return bad ? NaN : text === "" ? undefined : Number(text);
  }

  // read takes the limits from the form; undefined while one of them is no number.
  function read(): Limit[] | undefined {
    const values = names.map((id) => number(inputs[id]));
    if (values.concat(number(price)).some((v) => Number.isNaN(v))) return undefined;
    return names.flatMap((id, i) => (values[i] === undefined ? [] : [{ name: fields[id], permille: Number(which.value.slice(1)) * 10, most: values[i] }]));
  }

  // kept says whether a row or a gap is of the devices and weights that the reader has.
  function kept(m: { gpus: number; dtype: string }): boolean {
    return (gpus.value === "" || String(m.gpus) === gpus.value) && (dtype.value === "" || m.dtype === dtype.value);
  }

  async function update(): Promise<void> {
    const limits = read();
    if (!limits) return; // the last good answer stays
    remember();
    if (!stated()) {
      for (const part of [answer, more, next]) part.replaceChildren();
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
    const packed = limits.map((l) => [names.findIndex((id) => fields[id] === l.name), l.permille, l.most]);
    const among = all.flatMap((m, i) => (kept(m) ? [i] : []));
    const choose = (places: number[]): Choice => {
      const c = module.choose(places.map((i) => rows[i]!), packed);
      const of = (found: number[]) => found.flatMap((n) => places[n] ?? []);
      return { ...c, met: of(c.met), lower: of(c.lower), nearest: places[c.nearest] ?? -1, of: places.length };
    };
    const choice = choose(among);
    const held = rows.map((row) => (limits.length > 0 ? module.hold(row, packed) : []).map((h, i): Held => ({ ...h, limit: limits[i]! })));
    const best = bestOf(choice);
    unlimited.hidden = true;
    next.replaceChildren();
    answer.replaceChildren(...(best === undefined ? none(limits, choice, held) : most(best, limits, choice, held)));
    const notes = best === undefined ? [gap(module, packed)]
      : [runnerUp(best, choose(among.filter((i) => all[i]!.line.recipe !== all[best]!.line.recipe)), limits, held), ...cost(module, best)];
    more.replaceChildren(...notes.filter((n) => n.length > 0).map((n) => make("p", {}, ...n)));
    if (best !== undefined && limits.length > 0) more.append(goodput(all[best]!, limits, { address: chart.dataset["full"] ?? "", integrity: chart.dataset["integrity"] ?? "" }));
    regroup?.({ marks: all, ids, held, among, met: choice.met, lower: choice.lower, permille: limits[0]?.permille ?? 990, scope: scope(" · ") });
    const within = choice.met.length > 0 || best === undefined ? choice.met : choice.lower;
    show(within.length > 0 ? within.flatMap((i) => ids[i] ?? []) : ids);
  }

  // bestOf is the row that answers.
  function bestOf(choice: Choice): number | undefined {
    return choice.met[0] ?? (choice.known === 0 ? choice.lower[0] : undefined);
  }

  // runnerUp says what the best other cell gives, or how far the nearest is from the limits.
  function runnerUp(best: number, rest: Choice, limits: Limit[], held: Held[][]): string[] {
    const second = bestOf(rest);
    const [a, b] = [all[best]!, all[second ?? rest.nearest]];
    if (!b) return [`No other cell${filters()} is measured at ${chart.dataset["shape"]}.`];
    if (second === undefined) return [`No other cell meets ${limits.length > 1 ? "them all" : "it"}. Nearest: ${missedBy(rest.nearest, held)}.`];
    const [v, w] = [a.row[16] ?? NaN, b.row[16] ?? NaN];
    const overlap = (a.line.span[0] ?? NaN) <= (b.line.span[1] ?? NaN);
    return [`Next best: ${b.name} at ${b.load} with ${b.line.per_gpu[0]}, ${overlap ? "not shown to be less: the intervals overlap" : `${fixed((1 - w / v) * 100, 1 - w / v < 0.1 ? 1 : 0)}% less`}.`];
  }

  // cost says what tokens cost at the reader's price, and what energy was measured.
  function cost(module: Lean, best: number): string[][] {
    const m = all[best]!;
    const energy = m.joules ? `${quantity(m.joules, "J")} an output token by the devices' own meters.` : "";
    const dollars = Number(price.box.value.trim().replaceAll(",", ""));
    if (price.box.value.trim() === "") return energy ? [[energy]] : [];
    const c = module.cost(dollars, m.row[16] ?? NaN, m.total[0] ?? NaN);
    const of = (v: number, what: string) => (Number.isNaN(v) ? `${what} not known` : `$${prose(v)} per M ${what}`);
    return [[`At $${fixed(dollars, 2)} a GPU-hour: ${of(c.output, "output tokens")}, ${of(c.input, "input tokens")}, each as if it bore the whole price; ${of(c.blended, "tokens blended, input and output together")}. ${energy || "Energy was not measured."}`]];
  }

  // gap names the unmeasured load whose measuring would most likely meet the limits.
  function gap(module: Lean, packed: number[][]): (Node | string)[] {
    const of = hopes.filter(kept);
    if (of.length === 0) return [`No gap${filters()} is left at ${scope(", ")} whose roof is known.`];
    const { place, likely } = module.promising(of.map((h) => h.roofs.map((v) => v ?? NaN)), packed);
    const h = of[place];
    if (!h) return [`No gap could: even the roofs of the ${count(of.length)} loads that are not measured there lie outside.`];
    return [make("a", { href: h.address }, h.gap.replace("gap", "Gap")), ` might: ${h.name} at ${h.load}, about ${h.cost}. Its roofs allow it${likely ? ", and so would what measured runs reach of theirs" : "; at what measured runs reach of theirs it would not"}.`];
  }

  // filters are the reader's devices and weights in words.
  function filters(): string {
    return `${gpus.value ? ` on ${gpus.value}\u00a0GPU${gpus.value === "1" ? "" : "s"}` : ""}${dtype.value ? ` in ${dtype.value}` : ""}`;
  }

  // scope is the model and shape within which limits hold.
  function scope(joint: string): string {
    return [chart.dataset["model"], chart.dataset["shape"]].join(joint);
  }

  // most says which row gives the most within the limits, and how many are within.
  function most(best: number, limits: Limit[], choice: Choice, held: Held[][]): (Node | string)[] {
    const mark = all[best]!;
    const [figure, interval] = mark.line.per_gpu;
    const lacking = choice.known > 0 ? "" : ` (no row has the samples for ${p(limits[0]!.permille)})`;
    const said = within(choice.known > 0 ? limits : held[best]!.map((h) => ({ ...h.limit, permille: h.permille })));
    if (limits.length === 0) {
      return [
        make("strong", {}, `${chart.dataset["model"]} · ${mark.name} at ${mark.load}`), ` gives the most per GPU${filters()} at ${chart.dataset["shape"]}: `,
        make("strong", {}, figure), ` output tok/s/GPU${interval ? ` (${interval})` : ""}.`,
      ];
    }
    const whole = limits.length > 2 ? "all" : limits.length > 1 ? "both" : "it";
    return [
      make("strong", {}, `${chart.dataset["model"]} · ${mark.name} at ${mark.load}`),
      ` gives the most per GPU${filters()} at ${chart.dataset["shape"]} within ${said}${lacking}: `,
      make("strong", {}, figure), ` output tok/s/GPU${interval ? ` (${interval})` : ""}. `,
      choice.known > 0 ? `${howMany(choice.met.length, choice.of)} ${choice.met.length === 1 ? "meets" : "meet"} ${whole}${further("; ", " more", limits, choice, held)}.` :
        `${further("", ` of ${rowsOf(choice.of)}`, limits, choice, held)}.`,
    ];
  }

  // further says how many rows meet the limits as far as their percentiles go.
  function further(joint: string, more: string, limits: Limit[], choice: Choice, held: Held[][]): string {
    const n = choice.lower.length;
    if (n === 0) return "";
    const lowest = [...new Set(choice.lower.map((i) => Math.min(...held[i]!.map((h) => h.permille))))].sort((a, b) => b - a);
    return `${joint}${count(n)}${more} ${n === 1 ? "meets" : "meet"} ${limits.length > 1 ? "them" : "it"} as far as ${lowest.map(p).join(" or ")} (too few samples for ${p(limits[0]!.permille)})`;
  }

  // none says that nothing meets the limits and what comes nearest, and offers to loosen
  // them as far as that.
  function none(limits: Limit[], choice: Choice, held: Held[][]): (Node | string)[] {
    if (choice.of === 0) return [`Nothing${filters()} is measured of ${scope(" at ")}.`];
    let said = `Nothing measured${filters()} meets ${within(limits)}.`;
    if (choice.lower.length > 0) said += `${further(" ", choice.lower.length === 1 ? " row" : " rows", limits, choice, held)}.`;
    const worst = limits[choice.worst];
    if (limits.length > 1 && worst) said += ` Most rows miss ${worst.name}.`;
    if (choice.nearest < 0) return [said];
    const missed = held[choice.nearest]!.filter((h) => !h.met);
    said += ` Nearest: ${missedBy(choice.nearest, held)}.`;
    if (missed.every((h) => !Number.isNaN(h.found))) next.replaceChildren(loosen(missed));
    return [said];
  }

  // missedBy says of a row by how much it is over each limit that it misses.
  function missedBy(i: number, held: Held[][]): string {
    const m = all[i]!;
    return `${m.name} at ${m.load}, ${held[i]!.filter((h) => !h.met).map((h) => Number.isNaN(h.found)
      ? `${h.limit.name} not measured`
      : `${h.limit.name} ${p(h.permille)} ${quantity(prose(h.found), "ms")}, over by ${prose(h.found - h.limit.most)}`).join(" and ")}`;
  }

  // loosen is a button that raises the missed limits to a round number that the nearest
  // row keeps.
  function loosen(missed: Held[]): HTMLElement {
    const to = missed.map((h) => ({ id: names.find((id) => fields[id] === h.limit.name) ?? "ttft", at: h.permille, most: roundedUp(h.found) }));
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

  // remember writes the form into the address, and into those of the pages by model and
  // shape, so that the same is asked there.
  function remember(): void {
    const state = new URLSearchParams();
    for (const id of names) if (inputs[id].box.value) state.set(id, inputs[id].box.value);
    if (state.size > 0 && which.value !== "p99") state.set("at", which.value);
    for (const box of [gpus, dtype, price.box]) if (box.value) state.set(box.id, box.value);
    const query = state.size > 0 ? `?${state}` : "";
    history.replaceState(null, "", query || location.pathname);
    for (const a of document.querySelectorAll<HTMLAnchorElement>(".choose a")) a.search = query;
  }
}

/** What limits leave of so many rows; places are in marks. */
type Choice = ReturnType<Lean["choose"]> & { of: number };

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
