// Work that must not hold up the page.

/** Runs work once the page has loaded and the browser has nothing better to do. */
export function onceIdle(work: () => void): void {
  const wait = () => "requestIdleCallback" in window ? requestIdleCallback(work, { timeout: 2000 }) : setTimeout(work, 200);
  if (document.readyState === "complete") wait();
  else addEventListener("load", wait, { once: true });
}
