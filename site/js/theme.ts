// The theme: the system's, until the reader presses the switch; then theirs, kept for
// the next page.

const key = "theme";

/** Applies the kept choice. */
export function applyTheme(): void {
  const kept = read();
  if (kept === "light" || kept === "dark") document.documentElement.dataset["theme"] = kept;
}

/** Shows button as the switch; its text says what pressing it does. */
export function themeSwitch(button: HTMLButtonElement): void {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (document.documentElement.dataset["theme"] ?? (system.matches ? "dark" : "light")) === "dark";
  const name = () => { button.textContent = dark() ? "Light theme" : "Dark theme"; };
  name();
  button.hidden = false;
  system.addEventListener("change", name);
  button.addEventListener("click", () => {
    const next = dark() ? "light" : "dark";
    document.documentElement.dataset["theme"] = next;
    keep(next);
    name();
  });
}

// Storage is refused where the reader blocks it; then the choice lasts for this page.
function read(): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

function keep(theme: string): void {
  try {
    localStorage.setItem(key, theme);
  } catch {
    // nothing to keep it in
  }
}
