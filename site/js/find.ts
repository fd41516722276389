// Opens the search: by its link, and by the key / wherever it writes nothing. Its code
// loads when nothing else is to do, so that what is typed after / is not lost; where that
// fails the link leads to the page that lists everything.
import { idle } from "./idle";

export function finding(link: HTMLAnchorElement): void {
  let search: ((link: HTMLAnchorElement) => void) | undefined;
  const load = async () => { search ??= (await import("../search/dialog")).search; };
  const open = () => {
    if (search) search(link);
    else void load().then(() => search?.(link), () => location.assign(link.href));
  };
  void idle().then(load).catch(() => {}); // asked for again when it is opened
  link.setAttribute("aria-keyshortcuts", "/");
  link.title = "Search: press /";
  link.addEventListener("click", (e) => {
    if (e.ctrlKey || e.metaKey || e.shiftKey) return; // a new tab shows the list
    e.preventDefault();
    open();
  });
  addEventListener("keydown", (e) => {
    if (e.key !== "/" || e.ctrlKey || e.metaKey || e.altKey || e.defaultPrevented || writes(e.target)) return;
    e.preventDefault();
    open();
  });
}

function writes(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || target.matches("input, textarea, select"));
}
