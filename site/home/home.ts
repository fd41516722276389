// The home page: its chart's marks tell their rows.
import { explain, type Mark } from "../js/marks";

const chart = document.querySelector<HTMLElement>("section.chart");
const marks = document.querySelector("#chart-marks")?.textContent;
if (chart && marks) explain(chart, JSON.parse(marks) as Record<string, Mark>);
