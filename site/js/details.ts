// Opens the closed section that the address points into; where the browser does so by
// itself nothing changes.

/** Opens it now, and whenever the address's fragment changes. */
export function openTarget(): void {
  open();
  addEventListener("hashchange", open);
}

function open(): void {
  const target = document.getElementById(location.hash.slice(1));
  const closed = target?.closest<HTMLDetailsElement>("details:not([open])");
  if (!target || !closed) return;
  closed.open = true;
  target.scrollIntoView();
}
