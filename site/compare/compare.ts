// The compare page: two to six recipes over concurrency, by any metric. The address
// states what is compared; the module compares, by internal/tradeoff, and this writes
// the sentences, the chart, the tables and the files.
import { busy } from "../js/busy";
import { swatch, widths } from "../js/draw";
import { decimals, fixed, interval } from "../js/format";
import { lean, type Crossing, type Lean, type Pair, type Rung as Step } from "../js/lean";
import { make } from "../js/make";
import { explain, type Told } from "../js/marks";
import { say } from "../js/status";
import { common, figure, namesOf, pinned, read, shapesOf, write, type Data, type Ladders, type Recipe, type Rung, type State } from "./data";
import { csv, save, svgFile } from "./files";
import { ladder, type Point, type Series } from "./ladder";
import { differences, figures, type Column } from "./tables";

const source = document.querySelector("#compare-data")?.textContent;
const controls = document.querySelector<HTMLElement>("#pins");
const finding = document.querySelector<HTMLElement>("#finding");
if (source && controls && finding) compare(JSON.parse(source) as Data, controls, finding);

function compare(data: Data, controls: HTMLElement, finding: HTMLElement): void {
  const place = (id: string) => document.querySelector<HTMLElement>(`#${id}`)!;
  const [chart, turns, table, differs] = [place("ladder"), place("turns"), place("figures"), place("differs")];
  const files = new Map<string, Promise<Ladders>>();
  const { state, dropped } = read(location.search, data);
  let shown: { state: State; columns: Column[] } | undefined;
  finding.setAttribute("role", "status");

  const chips = make("ul", { className: "pins", ariaLabel: "Pinned recipes" });
  const select = (id: string, text: string, change: (value: string) => void) => {
    const box = make("select", { id });
    box.addEventListener("input", () => {
      change(box.value);
      void update();
    });
    return { box, whole: make("p", {}, make("label", { htmlFor: id }, text), box) };
  };
  const adding = select("add", "Pin another", (code) => {
    const recipe = data.recipes.find((r) => r.code === code);
    if (!recipe) return;
    const free = state.pins.indexOf(undefined);
    if (free >= 0) state.pins[free] = recipe;
    else state.pins.push(recipe);
  });
  const shape = select("shape", "Shape, ISL:OSL", (v) => { state.shape = v; });
  const metric = select("metric", "Metric", (v) => { state.metric = data.metrics.find((m) => m.key === v) ?? state.metric; });
  const point = select("point", "Percentile", (v) => { state.point = v; });
  const reference = select("reference", "Against", (v) => { state.reference = v; });
  metric.box.append(...data.metrics.map((m) => new Option(m.name, m.key)));
  point.box.append(...data.points.map((p) => new Option(p, p)));
  const link = make("button", { type: "button" }, "Copy link");
  link.addEventListener("click", () => {
    navigator.clipboard.writeText(location.href).then(() => { say("Copied."); }, () => { say("Copying was refused; the address bar holds the link."); });
  });
  const button = (text: string, press: (now: NonNullable<typeof shown>) => void) => {
    const b = make("button", { type: "button" }, text);
    b.addEventListener("click", () => { if (shown) press(shown); });
    return b;
  };
  const svg = button("Save SVG", ({ state }) => { save(`${fileName(state)}.svg`, "image/svg+xml", svgFile(chart.querySelector<SVGSVGElement>("svg.wide")!, finding.textContent ?? "")); });
  const sheet = button("Save CSV", ({ state, columns }) => { save(`${fileName(state)}.csv`, "text/csv", csv(state, columns, data.points)); });
  const problem = make("p", { className: "note", id: "dropped" }, dropped.join(" "));
  controls.replaceChildren(chips,
    make("div", { className: "picks" }, adding.whole, shape.whole, metric.whole, point.whole, reference.whole),
    make("div", { className: "picks" }, link, svg, sheet), problem);
  addEventListener("popstate", () => { location.reload(); });
  void update();

  // offer writes what can be chosen from here.
  function offer(): void {
    const pins = pinned(state);
    const names = namesOf(pins.map((p) => p.recipe));
    controls.dataset["pinned"] = String(Math.max(2, pins.length)); // as much room as these take
    chips.replaceChildren(...pins.map(({ recipe, slot }, i) => {
      const off = make("button", { type: "button", ariaLabel: `Unpin ${names[i]}` }, "Unpin");
      off.addEventListener("click", () => {
        state.pins[slot - 1] = undefined;
        if (state.reference === recipe.code) state.reference = "";
        const next = off.closest("li")?.nextElementSibling ?? off.closest("li")?.previousElementSibling;
        const at = next ? [...chips.children].indexOf(next) : -1;
        void update();
        // The focus stays among the chips.
        (chips.children[Math.max(0, Math.min(at, chips.children.length - 1))]?.querySelector("button") ?? adding.box).focus();
      });
      return make("li", {}, swatch(data.slots, slot), make("a", { href: recipe.address }, recipe.names.join(" · ")), off);
    }));
    const rest = data.recipes.filter((r) => !pins.some((p) => p.recipe === r));
    const groups = [...new Set(rest.map((r) => r.names[0]))].map((model) => {
      const group = make("optgroup", { label: model });
      group.append(...rest.filter((r) => r.names[0] === model).map((r) => new Option(r.names.slice(1).join(" · "), r.code)));
      return group;
    });
    adding.box.replaceChildren(new Option(pins.length < data.most ? "Choose a recipe" : `${data.most} are pinned`, ""), ...groups);
    adding.box.disabled = pins.length >= data.most;
    if (!shapesOf(state.pins).includes(state.shape)) state.shape = common(state.pins);
    shape.box.replaceChildren(...shapesOf(state.pins).map((s) => new Option(s, s)));
    shape.box.value = state.shape;
    metric.box.value = state.metric.key;
    point.box.value = state.point;
    point.box.disabled = !state.metric.points;
    reference.box.replaceChildren(...pins.map((p, i) => new Option(names[i], p.recipe.code)));
    if (state.reference) reference.box.value = state.reference;
  }

  async function update(): Promise<void> {
    offer();
    const asked: State = { ...state, pins: [...state.pins] };
    if (location.search || shown) history.replaceState(null, "", write(state)); // at first the bare address stands
    await busy(finding, async () => {
      const pins = pinned(asked);
      if (pins.length < 2) {
        finding.textContent = "Pin two recipes at least to compare them.";
        for (const part of [chart, turns, table, differs]) part.hidden = true;
        return;
      }
      let module: Lean;
      let ladders: Ladders[];
      try {
        [module, ladders] = await Promise.all([lean(), Promise.all(pins.map((p) => fetched(p.recipe)))]);
      } catch (reason) {
        finding.textContent = `Comparing is off: ${reason instanceof Error ? reason.message : String(reason)}. The built comparisons below stand.`;
        return;
      }
      if (write(asked) !== write(state)) return; // the reader has gone on
      show(module, asked, pins, ladders);
    });
  }

  function fetched(recipe: Recipe): Promise<Ladders> {
    let file = files.get(recipe.file);
    if (!file) {
      file = fetch(recipe.file).then((r) => {
        if (!r.ok) throw new Error(`${recipe.file} answered ${r.status}`);
        return r.json() as Promise<Ladders>;
      });
      files.set(recipe.file, file);
    }
    return file;
  }

  function show(module: Lean, state: State, pins: ReturnType<typeof pinned>, ladders: Ladders[]): void {
    const names = namesOf(pins.map((p) => p.recipe));
    const base = Math.max(0, pins.findIndex((p) => p.recipe.code === state.reference));
    const columns: Column[] = pins.map((p, i) => {
      const rungs = ladders[i]!.shapes[state.shape] ?? [];
      const points = rungs.flatMap((r) => pointOf(r, state));
      return { recipe: p.recipe, slot: p.slot, name: names[i]!, rungs, points, ladders: ladders[i]!, pairs: [], crossings: [] };
    });
    const reference = columns[base]!;
    for (const c of columns) if (c !== reference) Object.assign(c, module.against(steps(reference), steps(c)));
    const others = columns.filter((c) => c !== reference);

    const said = others.map((c) => verdict(reference, c, state));
    finding.replaceChildren(...said[0]!);
    const rest = said.slice(1);
    turns.replaceChildren(make("h2", {}, rest.length > 0 ? "Where else the winner changes" : "How this is read"),
      make("ul", { className: "crossings" }, ...rest.map((s) => make("li", {}, ...s))),
      make("p", { className: "note" }, "Between two measured concurrencies each ratio is taken as a straight line on logarithmic axes. A crossover's interval runs from where the widest reading of the 95% intervals still shows one ahead to where it shows the other; without two such sides none is named."));

    const tokens = `${state.metric.name}${state.metric.points ? ` ${state.point}` : ""}`;
    const arrow = state.metric.better === "high" ? "↑ " : "↓ ";
    const spec = {
      label: `${shapeAnd(state)}. ${finding.textContent}`, yName: `${arrow}${tokens}${state.metric.unit === "ms" ? ", ms" : ""}`, ratioName: `÷ ${reference.name}`,
      series: columns.map((c): Series => ({ cell: c.recipe.id, name: c.name, slot: c.slot, points: c.points, ratios: c.pairs.map((p) => ({ row: c.points.find((q) => q.x === p.load)?.row ?? "", x: p.load, y: p.ratio, lo: p.lo, hi: p.hi })) })),
      crossings: others.flatMap((c) => c.crossings.map((x) => ({ slot: c.slot, at: x.at, lo: x.lo, hi: x.hi, text: crossing(x) }))),
    };
    const caption = make("figcaption", {}, `${shapeAnd(state)}, sustained, cold. ${capital(tokens)} at each measured concurrency, and below it each ÷ ${reference.name}. Whiskers and bands are 95% intervals.`);
    const keys = make("ul", { className: "keys" }, ...columns.map((c) => make("li", {}, swatch(data.slots, c.slot), make("a", { href: c.recipe.address }, c.name))));
    chart.replaceChildren(caption, keys, ...widths.map((w) => ladder(spec, data.slots, w)));
    const d = decimals(columns.flatMap((c) => c.points.map((p) => p.y)));
    explain(chart, Object.fromEntries(columns.flatMap((c) => c.points.map((p) => [p.row, told(c, p, d, state)]))));

    table.replaceChildren(...figures(state, columns, reference, tokens, data.points));
    differs.replaceChildren(...differences(columns));
    for (const part of [chart, turns, table, differs]) part.hidden = false;
    shown = { state, columns };
  }

  function pointOf(r: Rung, state: State): Point[] {
    const f = figure(r, state, data.points);
    if (typeof f === "string") return [];
    const [y = NaN, lo = NaN, hi = NaN] = f;
    return [{ row: r.id, x: r.c, y, lo, hi }];
  }

  function told(c: Column, p: Point, d: number, state: State): Told {
    const rung = c.rungs.find((r) => r.id === p.row)!;
    return {
      title: `${c.name}, c\u00a0=\u00a0${p.x}`,
      lines: [`${fixed(p.y, d)}\u00a0${state.metric.unit} ${state.metric.points ? `${state.metric.name} ${state.point}` : state.metric.name}${Number.isNaN(p.lo) ? "" : ` (${interval(p.lo, p.hi, d)})`}`, `${state.shape}, measured ${rung.date}`],
      verdict: rung.verdict, address: `${document.documentElement.dataset["base"] ?? "/"}r/${p.row}/`,
    };
  }

  function shapeAnd(state: State): string {
    const models = [...new Set(pinned(state).map((p) => p.recipe.names[0]))];
    return `${models.join(" and ")}, ${state.shape}`;
  }
}

// steps are a column's points that have an interval: without one nothing is shown to differ.
function steps(c: Column): Step[] {
  return c.points.filter((p) => !Number.isNaN(p.lo)).map((p) => [p.x, p.y, p.lo, p.hi]);
}

// crossing writes an estimate with its interval: c = 15 (12–19).
function crossing(x: Crossing): string {
  return `c\u00a0=\u00a0${fixed(x.at, 0)}\u00a0(${interval(x.lo, x.hi, 0)})`;
}

// verdict says where the better of two changes, or which one is shown to lead.
function verdict(reference: Column, c: Column, state: State): (Node | string)[] {
  const high = state.metric.better === "high";
  const [a, b] = [reference.name, c.name];
  if (c.crossings.length > 0) {
    return c.crossings.flatMap((x, i) => {
      // The reference is greater below the crossing; whether that is better is the metric's.
      const [below, above] = x.before === high ? [a, b] : [b, a];
      return [i > 0 ? " " : "", `${below} leads up to `, make("strong", {}, crossing(x)), `; above it ${above} does.`];
    });
  }
  if (c.pairs.length === 0) return [`No concurrency is measured of both ${a} and ${b} at ${state.shape} with an interval.`];
  const ahead = (p: Pair) => p.apart && (p.ratio > 1) === high;
  const behind = (p: Pair) => p.apart && (p.ratio > 1) !== high;
  const loads = (of: Pair[]) => of.map((p) => String(p.load)).join(", ");
  const every = c.pairs.length === 1 ? `at c\u00a0=\u00a0${loads(c.pairs)}, the only concurrency measured of both` : `at every concurrency measured of both (${loads(c.pairs)})`;
  if (c.pairs.every(behind)) return [make("strong", {}, a), ` leads ${b} ${every}.`];
  if (c.pairs.every(ahead)) return [make("strong", {}, b), ` leads ${a} ${every}.`];
  if (!c.pairs.some((p) => p.apart)) return [`No difference shown between ${a} and ${b}: the intervals overlap ${every}.`];
  const parts: string[] = [];
  for (const [who, of] of [[a, c.pairs.filter(behind)], [b, c.pairs.filter(ahead)]] as const) if (of.length > 0) parts.push(`${who} leads at c\u00a0=\u00a0${loads(of)}`);
  return [`No crossover can be named between ${a} and ${b}: ${parts.join("; ")}; elsewhere the intervals overlap.`];
}

function capital(s: string): string {
  return s.charAt(0).toUpperCase() + s.slice(1);
}

function fileName(s: State): string {
  return ["compare", ...pinned(s).map((p) => p.recipe.code), s.shape.replace(":", "x"), s.metric.key, ...(s.metric.points ? [s.point] : [])].join("-");
}
