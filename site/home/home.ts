// The home page: its chart's marks tell their rows, and limits choose among them.
import { explain, told, type Mark } from "../js/marks";
import { limits, type Hope } from "./limits";

const chart = document.querySelector<HTMLElement>("section.chart");
const source = document.querySelector("#chart-marks")?.textContent;
const unlimited = document.querySelector<HTMLElement>("#unlimited");
const place = document.querySelector<HTMLElement>("#limits");
const hopes = document.querySelector("#hopes")?.textContent ?? "[]";
if (chart && source && unlimited && place) {
  const marks = JSON.parse(source) as Record<string, Mark>;
  explain(chart, Object.fromEntries(Object.entries(marks).map(([id, mark]) => [id, told(mark)])));
  limits(place, unlimited, chart, marks, JSON.parse(hopes) as Hope[]);
}
