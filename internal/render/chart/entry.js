// What of ECharts the charts are drawn with; bundled and run by engine.go.
import { init, use } from "echarts/core";
import { LineChart, ScatterChart } from "echarts/charts";
import { GridComponent } from "echarts/components";
import { SVGRenderer } from "echarts/renderers";

use([LineChart, ScatterChart, GridComponent, SVGRenderer]);

globalThis.draw = (text, width, height) => {
  const options = JSON.parse(text);
  for (const axis of [...options.xAxis, ...options.yAxis]) {
    const { ticks } = axis.axisLabel; // words for customValues, which options alone cannot give
    axis.axisLabel.formatter = (value, i) => ticks[i];
  }
  const chart = init(null, null, { renderer: "svg", ssr: true, width, height });
  chart.setOption(options);
  const svg = chart.renderToSVGString();
  chart.dispose();
  return svg;
};
