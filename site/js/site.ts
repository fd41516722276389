// What every page loads: the search, the theme switch, copy buttons, sortable tables.
import { copyButton } from "./copy";
import { openTarget } from "./details";
import { finding } from "./find";
import { sortable } from "./sort";
import { applyTheme, themeSwitch } from "./theme";

applyTheme();
openTarget();
document.querySelectorAll<HTMLAnchorElement>("#find").forEach(finding);
document.querySelectorAll<HTMLButtonElement>("#theme").forEach(themeSwitch);
document.querySelectorAll<HTMLButtonElement>(".cmd button").forEach(copyButton);
document.querySelectorAll("table").forEach(sortable);
