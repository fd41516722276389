// The explorer: every row that ranks, filtered, sorted, pivoted and drawn as the address
// says. Which rows are on a front the module says, by internal/tradeoff.
import { busy } from "../js/busy";
import { swatch, type Width } from "../js/draw";
import { json } from "../js/file";
import { count } from "../js/format";
import { lean, type Lean } from "../js/lean";
import { make } from "../js/make";
import { explain, type Told } from "../js/marks";
import { cloud, fronts } from "./cloud";
import { bestOf, sorted, tableOf, within, type Table } from "./select";
import { filters, limited, nameOf, read, usual, valueOf, write, type Data, type Filter, type Rows, type State } from "./state";
import { formsOf, pageRows, pivotOf, tableOfRows, written } from "./table";

type Choices = [value: string, name: string];

let waiting = 0; // for the next drawing

const source = document.querySelector("#explore-data")?.textContent;
const said = document.querySelector<HTMLElement>("#said");
if (source && said) {
  said.setAttribute("role", "status");
  const data = JSON.parse(source) as Data;
  void busy(said, async () => {
    try {
      explore(data, await json<Rows>(data.file), said);
    } catch (reason) {
      said.textContent = `Exploring is off: ${reason instanceof Error ? reason.message : String(reason)}. The built pages below hold the same rows.`;
    }
  });
}

function explore(data: Data, rows: Rows, said: HTMLElement): void {
  const t: Table = tableOf(rows);
  const forms = formsOf(t, data.columns);
  const base = document.documentElement.dataset["base"] ?? "/";
  const place = (id: string) => document.querySelector<HTMLElement>(`#${id}`)!;
  const [controls, table, chart] = [place("controls"), place("rows"), place("cloud")];
  const { state, dropped } = read(location.search, data, rows);
  const names = new Map<string, string>([...data.columns.map((c) => [c.key, c.name] as const), ["c", "c"], ["date", "day measured"]]);
  let module: Lean | undefined;
  let noModule = "";

  // What can be asked.
  const titles: Record<Filter, string> = { model: "Model", target: "Target", strategy: "Strategy", engine: "Engine", dtype: "Weights", gpus: "GPUs", shape: "ISL:OSL" };
  const labelled = (id: string, text: string, box: HTMLElement) => make("p", {}, make("label", { htmlFor: id }, text), box);
  const pick = (id: string, text: string, options: Choices[], value: string, change: (v: string) => void) => {
    const box = make("select", { id }, ...options.map(([v, name]) => new Option(name, v)));
    box.value = value;
    box.addEventListener("input", () => { change(box.value); update(true); });
    return { box, whole: labelled(id, text, box) };
  };
  const boxes = filters.map((f) => {
    const values = new Map<string, string>();
    for (let i = 0; i < rows.ids.length; i++) {
      const v = t.parts.get(f)![i]!;
      if (!values.has(v)) values.set(v, nameOf(rows, i, f));
    }
    const options = [...values].sort((a, b) => a[1].localeCompare(b[1], "en", { numeric: true }));
    return pick(`only-${f}`, titles[f], [["", "any"], ...options], state.only[f] ?? "", (v) => {
      if (v) state.only[f] = v;
      else delete state.only[f];
    });
  });
  const problem = make("p", { className: "note", id: "dropped" }, dropped.join(" "));
  const limits = limited.map((f) => {
    const box = make("input", { id: `most-${f}`, inputMode: "decimal", autocomplete: "off", value: state.most[f] ?? "" });
    box.setAttribute("aria-describedby", "dropped");
    box.addEventListener("input", () => {
      const text = box.value.trim();
      const bad = text !== "" && !(Number(text.replaceAll(",", "")) > 0);
      box.setAttribute("aria-invalid", String(bad));
      problem.textContent = bad ? `${names.get(f)}: “${box.value}” is not a number above 0; write milliseconds, such as 200` : "";
      if (bad) return; // the last good answer stays
      state.most[f] = text;
      update(true);
    });
    return labelled(box.id, `${names.get(f)} ≤ ms`, box);
  });
  const tick = (id: string, text: string, on: boolean, change: (on: boolean) => void) => {
    const box = make("input", { type: "checkbox", id, checked: on });
    box.addEventListener("change", () => { change(box.checked); update(true); });
    return make("p", { className: "tick" }, box, make("label", { htmlFor: id }, text));
  };
  const pivot = pick("pivot", "Pivot by", [["", "no pivot"], ["target", "target"], ["strategy", "strategy"]], state.pivot, (v) => { state.pivot = v as State["pivot"]; });
  const axes = pick("axes", "Axes", [["", "as the rows need"], ["linear", "linear"], ["log", "logarithmic"]], state.axes, (v) => { state.axes = v as State["axes"]; });
  const every = tick("every", "Every load, not the best of each cell", state.every, (on) => { state.every = on; });
  const columns = make("details", {}, make("summary", {}, "Columns"), make("fieldset", { className: "columns" }, make("legend", {}, "Columns of the table"),
    make("div", {}, ...data.columns.map((c) => {
      const box = make("input", { type: "checkbox", checked: state.columns.includes(c.key) });
      box.addEventListener("change", () => {
        const on = new Set(state.columns);
        if (box.checked) on.add(c.key);
        else on.delete(c.key);
        state.columns = data.columns.filter((k) => on.has(k.key)).map((k) => k.key);
        update(false);
      });
      return make("label", {}, box, c.name);
    }))));
  const reset = make("button", { type: "button" }, "Reset");
  reset.addEventListener("click", () => {
    history.pushState(null, "", location.pathname);
    Object.assign(state, usual(data));
    for (const b of boxes) b.box.value = "";
    for (const i of controls.querySelectorAll<HTMLInputElement>("input:not([type=checkbox])")) i.value = "";
    controls.querySelector<HTMLInputElement>("#every")!.checked = false;
    columns.querySelectorAll<HTMLInputElement>("input").forEach((box, i) => { box.checked = data.columns[i]!.shown; });
    pivot.box.value = axes.box.value = problem.textContent = "";
    update(true);
  });
  const tray = make("p", { className: "tray" });
  controls.replaceChildren(make("div", { className: "picks" }, ...boxes.map((b) => b.whole)),
    make("div", { className: "picks" }, ...limits, pivot.whole, axes.whole, every, reset), columns, problem, tray);
  addEventListener("popstate", () => { location.reload(); });
  new ResizeObserver(() => { if (drawn !== width()) draw(); }).observe(chart);
  void lean().then((m) => { module = m; draw(); }, (reason: unknown) => { noModule = reason instanceof Error ? reason.message : String(reason); draw(); });
  let drawn: Width | undefined;
  let [keptBy, orderBy, kept, order] = ["", "", [] as number[], [] as number[]];
  update(false);

  // update shows the state; first goes back to the first page.
  function update(first: boolean): void {
    if (first) state.page = 1;
    const order = ordered();
    const list = state.every ? order : bestOf(t, order);
    const pages = Math.max(1, Math.ceil(list.length / pageRows));
    state.page = Math.min(state.page, pages);
    history.replaceState(null, "", write(state, data) || location.pathname);
    const held = focused();
    const region = make("section", { className: "scroll", tabIndex: 0, ariaLabel: "Rows" });
    const column = data.columns.find((c) => c.key === state.sort[0]?.key) ?? data.columns[0]!;
    let note = "";
    if (state.pivot) {
      region.append(pivotOf(t, forms, order, state, column, base));
      note = `${column.name}, ${forms.get(column.key)?.unit ?? column.unit}: of each cell the row that comes first by the order below, with its concurrency and engine.`;
    } else {
      const page = list.slice((state.page - 1) * pageRows, state.page * pageRows);
      region.append(tableOfRows(t, forms, page, state, data, base, sort, pin));
      note = `${state.every ? "Every load of each cell" : "Of each cell and shape the row that comes first"}. Medians of the repeats, 95% intervals below them. Shift with a press on a head sorts by it after the others.`;
    }
    const heading = make("h2", {}, state.pivot ? `By ${state.pivot}` : "Rows");
    table.replaceChildren(heading, make("p", { className: "note" }, note), region, ...(state.pivot || pages === 1 ? [] : [turn(pages)]));
    const key = held && table.querySelector<HTMLElement>(held);
    if (key) key.focus();
    const order1 = state.sort.map((k, i) => `${i > 0 ? "then " : ""}${names.get(k.key)} ${k.down ? "descending" : "ascending"}`).join(", ");
    said.textContent = `${count(list.length)} of ${count(rows.ids.length)} rows; sorted by ${order1}.${list.length === 0 ? " Nothing measured is within what is asked." : ""}`;
    trayed();
    queue();
  }

  // rows within what is asked, and in order, are kept until something else is asked.
  function asked(): number[] {
    const by = JSON.stringify([state.only, state.most]);
    if (by !== keptBy) [keptBy, kept, orderBy] = [by, within(t, state), ""];
    return kept;
  }

  function ordered(): number[] {
    const of = asked();
    const by = JSON.stringify(state.sort);
    if (by !== orderBy) [orderBy, order] = [by, sorted(t, of, state)];
    return order;
  }

  // focused is how to find the control of the table that has the focus, once it is made anew.
  function focused(): string {
    const on = document.activeElement;
    if (!(on instanceof HTMLElement) || !table.contains(on)) return "";
    if (on.dataset["key"]) return `[data-key="${on.dataset["key"]}"]`;
    return on.id ? `#${on.id}` : "";
  }

  function sort(key: string, then: boolean): void {
    const at = state.sort.findIndex((k) => k.key === key);
    const down = key === "date" || data.columns.find((c) => c.key === key)?.better === "high";
    if (then && at < 0) state.sort.push({ key, down });
    else if (then || at === 0) state.sort[at]!.down = !state.sort[at]!.down;
    else state.sort = [{ key, down }];
    update(true);
  }

  function pin(code: string, on: boolean): void {
    if (on && state.pins.length < data.most) state.pins.push(code);
    else state.pins = state.pins.filter((c) => c !== code);
    for (const box of table.querySelectorAll<HTMLInputElement>("tbody input")) box.disabled = state.pins.length >= data.most && !box.checked;
    history.replaceState(null, "", write(state, data) || location.pathname);
    trayed();
  }

  // trayed says what is chosen for comparing, and leads there.
  function trayed(): void {
    const of = state.pins.flatMap((code) => rows.recipes.filter((r) => r.code === code));
    const shapes = of.map((r) => new Set(rows.ids.flatMap((_, i) => (rows.recipes[rows.recipe[i]!] === r ? [rows.shapes[rows.shape[i]!]!] : []))));
    const common = rows.shapes.find((s) => (state.only.shape ?? s) === s && shapes.every((set) => set.has(s))) ?? "";
    if (of.length === 0) tray.replaceChildren(`Tick two to ${data.most} rows to compare their recipes.`);
    else tray.replaceChildren(`${of.length} to compare: ${of.map((r) => r.names.join(" · ")).join("; ")}. `,
      ...(of.length > 1 ? [make("a", { href: `${base}compare/?r=${state.pins.join("~")}${common ? `&s=${common}` : ""}` }, "Compare them")] : []));
  }

  // turn leads through the pages.
  function turn(pages: number): HTMLElement {
    const go = (id: string, text: string, to: number) => {
      const b = make("button", { type: "button", id, disabled: to < 1 || to > pages }, text);
      b.addEventListener("click", () => { state.page = to; update(false); });
      return b;
    };
    return make("div", { className: "pages" }, go("before", "Previous", state.page - 1), make("p", {}, `Page ${state.page} of ${pages}`), go("after", "Next", state.page + 1));
  }

  // queue draws after the table is on the screen.
  function queue(): void {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(() => { setTimeout(draw); });
  }

  function width(): Width {
    return chart.clientWidth >= 720 ? 720 : 296;
  }

  function draw(): void {
    const heading = make("h2", {}, "Faster for each user, or cheaper for all?");
    if (!module) {
      chart.replaceChildren(heading, make("p", { className: "note" }, noModule ? `Fronts are off: the module did not load (${noModule}).` : "The fronts are being worked out."));
      return;
    }
    const of = asked();
    const all = fronts(module, t, of, data.slots.length - 1);
    drawn = width();
    const { svg, marked, log } = cloud(t, of, all, state, data.slots, drawn);
    const keyed = all.filter((f) => f.slot > 0);
    const keys = make("ul", { className: "keys" }, ...keyed.map((f) => make("li", {}, swatch(data.slots, f.slot), `${f.name}: ${count(f.rows.length)} of ${count(f.of)} rows`)));
    const rest = all.length - keyed.length;
    chart.replaceChildren(heading, make("figure", {}, make("figcaption", {},
      `Each mark is a row at one concurrency, ${log ? "on logarithmic axes" : "on linear axes from 0"}. A stepped line is the front of one model, weight format and shape: nothing measured of it lies above and right.${marked.length < of.length ? ` ${count(marked.length)} rows on fronts can be pointed at; the others are drawn behind them and stand in the table.` : ""}${rest > 0 ? ` ${rest === 1 ? "One more front is" : `${count(rest)} more fronts are`} drawn in grey.` : ""}`), svg), keys);
    explain(chart, Object.fromEntries(marked.map((i) => [rows.ids[i]!, told(i)])));
  }

  function told(i: number): Told {
    const r = rows.recipes[rows.recipe[i]!]!;
    const f = (key: string, text: string) => {
      const [v, iv] = written(t, forms, i, key);
      return v ? [`${v}\u00a0${text}${iv ? ` (${iv})` : ""}`] : [];
    };
    const unit = (key: string) => forms.get(key)?.unit ?? "ms";
    return {
      title: `${r.names.slice(0, 3).join(" · ")}, c\u00a0=\u00a0${rows.c[i]!}`,
      lines: [`${valueOf(rows, i, "shape")}, ${rows.engine[i]!}, ${r.gpus === 1 ? "1\u00a0GPU" : `${r.gpus}\u00a0GPUs`}, ${r.dtype}`,
        ...f("user", "tok/s per user, median"), ...f("gpu", "output tok/s/GPU"),
        ...f("ttft50", `${unit("ttft50")} TTFT p50`), ...f("ttft99", `${unit("ttft99")} TTFT p99`), ...f("itl50", `${unit("itl50")} ITL p50`), ...f("itl99", `${unit("itl99")} ITL p99`)],
      verdict: `${rows.verdict[i]!} ${rows.date[i]!}`, address: `${base}r/${rows.ids[i]!}/`,
    };
  }
}
