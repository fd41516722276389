// What every page loads: the theme switch, copy buttons, sortable tables.
import { copyButton } from "./copy";
import { openTarget } from "./details";
import { sortable } from "./sort";
import { applyTheme, themeSwitch } from "./theme";

applyTheme();
openTarget();
document.querySelectorAll<HTMLButtonElement>("#theme").forEach(themeSwitch);
document.querySelectorAll<HTMLButtonElement>(".cmd button").forEach(copyButton);
document.querySelectorAll("table").forEach(sortable);
