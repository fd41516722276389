// What of ECharts the charts are drawn with; bundled and run by engine.go.
import { init, use } from "echarts/core";
import { LineChart, ScatterChart } from "echarts/charts";
import { GridComponent } from "echarts/components";
import { SVGRenderer } from "echarts/renderers";

use([LineChart, ScatterChart, GridComponent, SVGRenderer]);

globalThis.draw = (options, width, height) => {
  const chart = init(null, null, { renderer: "svg", ssr: true, width, height });
  chart.setOption(JSON.parse(options));
  const svg = chart.renderToSVGString();
  chart.dispose();
  return svg;
};
