// The home page: its chart's marks tell their rows, and limits choose among them.
import { explain, told, type Mark } from "../js/marks";
import { limits } from "./limits";

const chart = document.querySelector<HTMLElement>("section.chart");
const source = document.querySelector("#chart-marks")?.textContent;
const unlimited = document.querySelector<HTMLElement>("#unlimited");
if (chart && source && unlimited) {
  const marks = JSON.parse(source) as Record<string, Mark>;
  explain(chart, Object.fromEntries(Object.entries(marks).map(([id, mark]) => [id, told(mark)])));
  limits(unlimited, chart, marks);
}
