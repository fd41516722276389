// Opens the search: by its link, and by the key / wherever it writes nothing. Its code
// loads then; where that fails the link leads to the page that lists everything.

export function finding(link: HTMLAnchorElement): void {
  const open = () => void import("../search/dialog").then((m) => m.search(link), () => location.assign(link.href));
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
