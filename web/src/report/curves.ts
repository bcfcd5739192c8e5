// Curves with zoom, values under the pointer, and a choice of quantity, seed and algorithm.

import uPlot from "uplot";
import { button, colour, dark, Legend, made, menu, short, variable, withUnit } from "./controls";
import type { Curves, Values } from "./types";

const HEIGHT = 280;
/** The charts over time, which are zoomed together. */
const timed: Chart[] = [];
let following = false;

export class Chart {
  readonly root = made("div", "live");
  private readonly place = made("div", "canvas");
  private readonly whole: HTMLButtonElement;
  private readonly heading = made("p", "axis");
  private readonly legend: Legend;
  private readonly hidden = new Set<number>();
  private quantity = 0;
  /** A seed's place; -1: mean and range of all. */
  private seed: number;
  private plot: uPlot | null = null;

  constructor(private readonly data: Curves) {
    this.seed = data.seeds.length > 1 ? -1 : 0;
    this.whole = button("Whole range", "Show the whole range", () => this.reset());
    this.whole.hidden = true;
    this.legend = new Legend(data.lines, (i, on) => {
      if (on) this.hidden.delete(i);
      else this.hidden.add(i);
      this.draw();
    });
    const bar = made("div", "bar");
    bar.append(
      ...menu("Show", data.quantities.map((one) => withUnit(one.label, one.unit)), (i) => {
        this.quantity = i;
        this.draw();
      }),
      ...menu("Seeds", ["all: mean and range", ...data.seeds.map(String)], (i) => {
        this.seed = i - 1;
        this.draw();
      }).slice(0, data.seeds.length > 1 ? 1 : 0),
      this.whole,
    );
    this.root.append(bar, this.legend.root, this.heading, this.place);
    if (data.time) timed.push(this);
    new ResizeObserver(() => this.resize()).observe(this.place);
    dark.addEventListener("change", () => {
      this.legend.recolour();
      this.draw();
    });
  }

  /** The values that are drawn, for a file: headings, then rows. */
  rows(): string[][] {
    const { xLabel, x } = this.data;
    const columns = this.shown();
    return [
      [xLabel, ...columns.flatMap(({ name, low }) => (low ? [name, `${name}, low`, `${name}, high`] : [name]))],
      ...x.map((at, i) => [
        String(at),
        ...columns.flatMap(({ mean, low, high }) => [mean, ...(low ? [low, high!] : [])].map((one) => String(one[i] ?? ""))),
      ]),
    ];
  }

  picture(): HTMLCanvasElement | null {
    return this.place.querySelector("canvas");
  }

  zoom(min: number, max: number): void {
    this.plot?.setScale("x", { min, max });
  }

  private reset(): void {
    const { x } = this.data;
    this.zoom(x[0]!, x.at(-1)!);
  }

  private shown(): { index: number; name: string; mean: Values; low?: Values; high?: Values }[] {
    const { means, runs } = this.data.quantities[this.quantity]!;
    return this.data.lines.flatMap(({ name }, index) => {
      if (this.hidden.has(index)) return [];
      if (means) return [{ index, name, ...means[index]! }];
      const own = runs?.[index];
      if (!own) return [];
      return [{ index, name, ...(this.seed < 0 ? over(own) : { mean: own[this.seed] ?? [] }) }];
    });
  }

  draw(): void {
    const { data } = this;
    const quantity = data.quantities[this.quantity]!;
    const range = this.plot?.scales["x"];
    this.plot?.destroy();
    this.heading.textContent = withUnit(quantity.label, quantity.unit);
    const columns = this.shown();
    const series: uPlot.Series[] = [{}];
    const bands: uPlot.Band[] = [];
    const rows: Values[] = [];
    const few = data.x.length < 40;
    for (const { index, mean, low, high } of columns) {
      const line = data.lines[index]!;
      const stroke = colour(line);
      series.push({ stroke, width: 1.6, dash: line.dash.map((one) => 1.6 * one), points: { show: few, size: 6, fill: stroke } });
      rows.push(mean);
      if (!low || !high) continue;
      series.push({ stroke: "transparent", points: { show: false } }, { stroke: "transparent", points: { show: false } });
      bands.push({ series: [series.length - 1, series.length - 2], fill: `${stroke}30` });
      rows.push(low, high);
    }
    const lineColour = variable("--line");
    const axis: uPlot.Axis = { stroke: variable("--muted"), grid: { stroke: lineColour, width: 1 }, ticks: { stroke: lineColour, width: 1 }, font: "12px sans-serif" };
    const values: uPlot.Axis["values"] = (_, ticks) => ticks.map((one) => (one == null ? "" : short(one)));
    this.plot = new uPlot(
      {
        width: this.width(),
        height: HEIGHT,
        series,
        bands,
        legend: { show: false },
        scales: {
          x: { time: false, distr: data.logX ? 3 : 1 },
          y: data.logY ? { distr: 3 } : { range: () => limits(columns.map((one) => one.mean), columns.flatMap((one) => (quantity.means || !one.high ? [] : [one.low!, one.high]))) },
        },
        axes: [
          { ...axis, values, label: data.xLabel, labelFont: "12px sans-serif", labelSize: 18, size: 28, ...(data.logX && few ? { splits: () => data.x, filter: (_u: uPlot, ticks: number[]) => ticks } : {}) },
          { ...axis, values, size: 62 },
        ],
        cursor: { y: false, drag: { x: true, y: false }, ...(data.time ? { sync: { key: "time", scales: ["x", null] as [string, null] } } : {}) },
        hooks: {
          setCursor: [(u) => this.values(u, columns)],
          setScale: [(u, key) => key === "x" && this.zoomed(u)],
          drawClear: [(u) => shade(u, data.warmup)],
          draw: [(u) => this.drops(u, columns.map((one) => one.index))],
        },
      },
      [data.x, ...rows] as uPlot.AlignedData,
      this.place,
    );
    if (range?.min != null && range.max != null) this.zoom(range.min, range.max);
  }

  private values(u: uPlot, columns: { index: number; mean: Values }[]): void {
    const at = u.cursor.idx;
    const texts: (string | null)[] = this.data.lines.map(() => null);
    if (at != null) for (const { index, mean } of columns) texts[index] = short(mean[at]);
    this.legend.show(texts);
    const quantity = this.data.quantities[this.quantity]!;
    const where = at == null ? "" : ` at ${this.data.xLabel} ${short(this.data.x[at])}`;
    this.heading.textContent = withUnit(quantity.label, quantity.unit) + where;
  }

  private zoomed(u: uPlot): void {
    const { x, time } = this.data;
    const { min, max } = u.scales["x"]!;
    if (min == null || max == null) return;
    this.whole.hidden = min <= x[0]! && max >= x.at(-1)!;
    this.root.dataset["zoomed"] = String(!this.whole.hidden);
    if (!time || following) return;
    following = true;
    for (const chart of timed) if (chart !== this) chart.zoom(min, max);
    following = false;
  }

  /** One row of ticks for each line: every drop of the seed, or of the first one. */
  private drops(u: uPlot, shown: number[]): void {
    const { drops, lines } = this.data;
    if (!drops) return;
    shown.forEach((index, row) => {
      u.ctx.fillStyle = colour(lines[index]!);
      for (const time of drops[index]?.[Math.max(0, this.seed)] ?? []) {
        const x = u.valToPos(time, "x", true);
        if (x >= u.bbox.left && x <= u.bbox.left + u.bbox.width) u.ctx.fillRect(x, u.bbox.top + 7 * row, 1.5, 5);
      }
    });
  }

  private width(): number {
    return Math.max(240, this.place.clientWidth);
  }

  private resize(): void {
    if (!this.plot) this.draw();
    else if (this.plot.width !== this.width()) this.plot.setSize({ width: this.width(), height: HEIGHT });
  }
}

/** From zero, or the smallest value, to the largest; intervals may add at most half of that. */
function limits(means: Values[], ends: Values[]): [number, number] {
  let [low, high] = [0, 0];
  for (const one of means) for (const value of one) if (value != null) [low, high] = [Math.min(low, value), Math.max(high, value)];
  const most = 1.5 * high || 1;
  for (const one of ends) for (const value of one) if (value != null) high = Math.max(high, Math.min(value, most));
  return [low * 1.05, high * 1.05 || 1];
}

/** Mean, smallest and largest value of all seeds. */
export function over(runs: Values[]): { mean: Values; low: Values; high: Values } {
  const found = { mean: [] as Values, low: [] as Values, high: [] as Values };
  const length = Math.max(...runs.map((run) => run.length));
  for (let i = 0; i < length; i++) {
    const known = runs.map((run) => run[i]).filter((one): one is number => one != null);
    found.mean.push(known.length ? known.reduce((a, b) => a + b, 0) / known.length : null);
    found.low.push(known.length ? Math.min(...known) : null);
    found.high.push(known.length ? Math.max(...known) : null);
  }
  return found;
}

function shade(u: uPlot, warmup: number | null): void {
  if (!warmup) return;
  const right = Math.min(u.valToPos(warmup, "x", true), u.bbox.left + u.bbox.width);
  if (right <= u.bbox.left) return;
  u.ctx.fillStyle = "rgba(128, 128, 128, 0.14)";
  u.ctx.fillRect(u.bbox.left, u.bbox.top, right - u.bbox.left, u.bbox.height);
}
