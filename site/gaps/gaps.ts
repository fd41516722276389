// Narrows the gaps to a reader's devices or to one model; the address keeps the choice.
const form = document.querySelector<HTMLFieldSetElement>(".filter");
const line = document.querySelector("#filtered");
if (form && line) narrow(form, line);

function narrow(form: HTMLFieldSetElement, line: Element): void {
  const selects = [...form.querySelectorAll("select")];
  const gaps = [...document.querySelectorAll<HTMLElement>(".gaps > li")];
  const more = document.querySelector<HTMLDetailsElement>("details.more");
  const asked = new URLSearchParams(location.search);
  const unknown: string[] = [];
  for (const select of selects) {
    const value = asked.get(select.id) ?? "";
    if ([...select.options].some((o) => o.value === value)) select.value = value;
    else unknown.push(`${select.id} “${value}” has no gap here and was left out`);
  }
  form.hidden = false;
  form.addEventListener("change", () => {
    unknown.length = 0;
    show();
    const state = new URLSearchParams(chosen().map((s) => [s.id, s.value]));
    history.replaceState(null, "", state.size > 0 ? `?${state}` : location.pathname);
  });
  if (chosen().length > 0 || unknown.length > 0) show();

  function chosen(): HTMLSelectElement[] {
    return selects.filter((s) => s.value !== "");
  }

  function show(): void {
    const by = chosen();
    let left = 0;
    let below = false;
    for (const gap of gaps) {
      const fits = by.every((s) => gap.dataset[s.id] === s.value);
      gap.hidden = !fits;
      if (!fits) continue;
      left++;
      below ||= more?.contains(gap) === true;
    }
    for (const reason of document.querySelectorAll<HTMLElement>(".gaps .again")) reason.hidden = by.length === 0; // the gap that says it may be gone
    if (more) {
      more.hidden = by.length > 0 && !below;
      if (by.length > 0 && below) more.open = true;
    }
    const said = by.length > 0 ? `${left} of ${gaps.length} gaps.` : `All ${gaps.length} gaps.`;
    line.textContent = [...unknown.map((u) => `${u}.`), said].join(" ");
  }
}
