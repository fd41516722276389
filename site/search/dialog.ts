// The search: a dialog over any page. Its index is fetched at the first use; what it finds
// are links, so that they open as any others do.
import { json } from "../js/file";
import { make } from "../js/make";
import { ranker, type Entry, type Index } from "./rank";

const most = 12; // finds at once

let made: { dialog: HTMLDialogElement; input: HTMLInputElement } | undefined;

/** Opens it; link names the index and leads to the page that stands in for it. */
export function search(link: HTMLAnchorElement): void {
  made ??= build(link);
  if (!made.dialog.open) made.dialog.showModal();
  made.input.focus();
  made.input.select();
}

function build(link: HTMLAnchorElement): { dialog: HTMLDialogElement; input: HTMLInputElement } {
  const input = make("input", { type: "search", id: "query", autocomplete: "off", spellcheck: false, placeholder: "llama fp8, h200, tpot …" });
  input.setAttribute("aria-describedby", "finds");
  const label = make("label", { htmlFor: "query", className: "vh" }, "Search models, recipes, devices, terms and rows");
  const said = make("p", { className: "note", id: "finds", role: "status" });
  const list = make("ul", { className: "found" });
  const close = make("button", { type: "button" }, "Close");
  const dialog = make("dialog", { className: "search", ariaLabel: "Search" }, make("div", {}, label, input, close), said, list);
  document.body.append(dialog);
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (e) => {
    if (e.target === dialog || (e.target as Element).closest("a")) dialog.close(); // beside it; a find may lie on this page
  });

  let find: ((query: string, most: number) => Entry[]) | undefined;
  let kinds: string[] = [];
  const show = () => {
    if (!find) return;
    const finds = find(input.value, most);
    list.replaceChildren(...finds.map((entry) => make("li", {}, found(entry, kinds, link.dataset["base"] ?? "/"))));
    said.textContent = input.value.trim() === "" ? "↓ and ↑ choose, Enter opens."
      : finds.length === 0 ? `Nothing is called “${input.value.trim()}”.`
      : finds.length === most ? `The first ${most} finds.` : finds.length === 1 ? "1 find." : `${finds.length} finds.`;
  };
  said.textContent = "Loading the index…";
  json<Index>(link.dataset["index"] ?? "").then((index) => {
    kinds = index.kinds;
    find = ranker(index);
    show();
  }, (reason: unknown) => {
    made = undefined; // the next opening asks again
    dialog.addEventListener("close", () => dialog.remove(), { once: true });
    said.replaceChildren(`The index did not load: ${reason instanceof Error ? reason.message : String(reason)}. `,
      make("a", { href: link.href }, "Everything on one page"));
  });
  input.addEventListener("input", show);

  dialog.addEventListener("keydown", (e) => {
    const links = [...list.querySelectorAll("a")];
    const at = links.indexOf(document.activeElement as HTMLAnchorElement);
    if (e.key === "ArrowDown") links[Math.min(at + 1, links.length - 1)]?.focus();
    else if (e.key === "ArrowUp") (at > 0 ? links[at - 1]! : input).focus();
    else if (e.key === "Escape") dialog.close(); // in a search field it would clear the text first
    else if (e.key === "Enter" && document.activeElement === input) links[0]?.click();
    else return;
    e.preventDefault();
  });
  return { dialog, input };
}

function found([kind, title, sub, address]: Entry, kinds: string[], base: string): HTMLAnchorElement {
  return make("a", { href: base + address }, make("strong", {}, title), make("span", {}, [kinds[kind] ?? "", sub].filter((s) => s !== "").join(" · ")));
}
