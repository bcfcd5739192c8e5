// Curves over one shared time axis, as mean over seeds with the range of all seeds behind it.

import uPlot from "uplot";
import { button } from "./form";
import { download } from "./download";
import { chartFile, type Marks } from "./svg";
import type { Curve, Curves } from "./types";

export const COLOURS = ["#c4572b", "#0b7a8c", "#7b3fb5", "#5c7a00"];
/** A single seed sets the axis up to this multiple of the highest mean. */
const PEAK = 4;
const DASHES = [[], [6, 3], [2, 3], [8, 3, 2, 3]];

/** Rows of a chart: x, then for each algorithm mean, lowest and highest. */
type Rows = (number | null)[][];

const sync = uPlot.sync("time");
let zooming = false;
const all: Chart[] = [];

export class Chart {
  readonly root: HTMLElement;
  private readonly place: HTMLElement;
  private plot: uPlot | null = null;
  private labels: string[] = [];
  private names: string[] = [];
  private rows: Rows = [];

  constructor(
    private readonly title: string,
    private readonly unit: string,
    private readonly isTime = true,
    private readonly marks: () => Marks = () => ({}),
  ) {
    this.root = document.createElement("figure");
    this.root.className = "chart";
    this.root.innerHTML = `<figcaption><span></span><span class="tools"></span></figcaption><div class="plot"></div>`;
    this.root.querySelector("span")!.textContent = unit ? `${title} (${unit})` : title;
    this.place = this.root.querySelector(".plot")!;
    for (const [kind, act] of [["PNG", () => this.savePng()], ["SVG", () => this.saveSvg()]] as const) {
      const one = button(kind, act, "quiet");
      one.setAttribute("aria-label", `Save as ${kind}: ${title}`);
      this.root.querySelector(".tools")!.append(one);
    }
    new ResizeObserver(() => this.resize()).observe(this.place);
    all.push(this);
  }

  /** Draw rows; `labels` name the algorithms. */
  draw(labels: string[], rows: Rows, names = labels): void {
    this.rows = rows;
    if (this.plot && labels.join("\n") === this.labels.join("\n")) {
      this.plot.setData(rows as uPlot.AlignedData, !zooming);
      return;
    }
    this.labels = labels;
    this.names = names;
    this.plot?.destroy();
    this.plot = new uPlot(this.options(names), rows as uPlot.AlignedData, this.place);
  }

  redraw(): void {
    const labels = this.labels;
    this.labels = [];
    if (this.rows.length) this.draw(labels, this.rows, this.names);
  }

  private options(names: string[]): uPlot.Options {
    const style = getComputedStyle(document.documentElement);
    const ink = style.getPropertyValue("--muted").trim();
    const grid = { stroke: style.getPropertyValue("--line").trim(), width: 1 };
    const axis = { stroke: ink, grid, ticks: grid, font: "12px sans-serif" };
    const series: uPlot.Series[] = [{ label: this.isTime ? "time (s)" : "x" }];
    const bands: uPlot.Band[] = [];
    names.forEach((label, i) => {
      const stroke = COLOURS[i % COLOURS.length]!;
      const edge = { stroke: "transparent", points: { show: false }, show: true, class: "hidden" };
      series.push({ label, stroke, width: 1.5, dash: DASHES[i % 4]!, points: { show: false }, value: (_, v) => (v == null ? "–" : v.toPrecision(3)) });
      series.push({ ...edge, label: `${label} low` }, { ...edge, label: `${label} high` });
      bands.push({ series: [3 * i + 3, 3 * i + 2], fill: `${stroke}30` });
    });
    return {
      width: this.width(),
      height: 170,
      series,
      bands,
      legend: { show: true, live: true },
      scales: { x: { time: false }, y: { range: (u, low, high) => [Math.min(0, low ?? 0), 1.05 * top(u, high || 1)] } },
      axes: [{ ...axis }, { ...axis, size: 56 }],
      cursor: this.isTime ? { sync: { key: sync.key, scales: ["x", null] }, y: false } : { y: false },
      hooks: {
        setScale: [(u, key) => this.isTime && key === "x" && zoomAll(this, u)],
        draw: [...(this.isTime ? [shadeWarmup] : []), (u) => drawMarks(u, this.marks())],
      },
    };
  }

  /** Show the same part of the time axis as another chart. */
  zoom(min: number, max: number): void {
    this.plot?.setScale("x", { min, max });
  }

  get timed(): boolean {
    return this.isTime;
  }

  private width(): number {
    return Math.max(240, this.place.clientWidth);
  }

  private resize(): void {
    if (this.plot && this.plot.width !== this.width()) this.plot.setSize({ width: this.width(), height: 170 });
  }

  private savePng(): void {
    this.place.querySelector("canvas")?.toBlob((blob) => blob && download(`${this.title}.png`, blob));
  }

  private saveSvg(): void {
    if (!this.plot) return;
    const { x, y } = this.plot.scales;
    const curves = this.names.map((name, i) => {
      const [mean, low, high] = this.rows.slice(3 * i + 1, 3 * i + 4);
      return { name, colour: COLOURS[i % COLOURS.length]!, dash: DASHES[i % 4]!, mean: mean!, low: low!, high: high! };
    });
    const scene = {
      title: this.unit ? `${this.title} (${this.unit})` : this.title,
      xLabel: this.isTime ? "time (s)" : "x",
      x: this.rows[0]!,
      curves,
      range: { x: [x!.min!, x!.max!] as [number, number], y: [y!.min!, y!.max!] as [number, number] },
      shaded: this.isTime ? warmup : 0,
      marks: this.marks(),
    };
    download(`${this.title}.svg`, chartFile(scene, COLOURS), "image/svg+xml");
  }
}

/** The highest value of a chart; rare peaks of single seeds do not set the axis. */
function top(u: uPlot, high: number): number {
  let mean = 0;
  for (let i = 1; i < u.data.length; i += 3) for (const value of u.data[i]!) if (value != null && value > mean) mean = value;
  return mean > 0 ? Math.min(high, PEAK * mean) : high;
}

function drawMarks(u: uPlot, { level, times }: Marks): void {
  const { left, top, width } = u.bbox;
  u.ctx.save();
  if (level) {
    const y = u.valToPos(level, "y", true);
    u.ctx.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--faint");
    u.ctx.setLineDash([4, 4]);
    u.ctx.beginPath();
    u.ctx.moveTo(left, y);
    u.ctx.lineTo(left + width, y);
    u.ctx.stroke();
  }
  times?.forEach((row, i) => {
    u.ctx.fillStyle = COLOURS[i % COLOURS.length]!;
    for (const time of row) {
      const x = u.valToPos(time, "x", true);
      if (x >= left && x <= left + width) u.ctx.fillRect(x, top + 5 * i, 1.5, 4);
    }
  });
  u.ctx.restore();
}

let warmup = 0;

/** Set the time before which nothing is measured, s. */
export function setWarmup(seconds: number): void {
  warmup = seconds;
}

function shadeWarmup(u: uPlot): void {
  const right = Math.min(u.valToPos(warmup, "x", true), u.bbox.left + u.bbox.width);
  if (right <= u.bbox.left) return;
  u.ctx.save();
  u.ctx.fillStyle = "rgba(128, 128, 128, 0.12)";
  u.ctx.fillRect(u.bbox.left, u.bbox.top, right - u.bbox.left, u.bbox.height);
  u.ctx.restore();
}

function zoomAll(from: Chart, u: uPlot): void {
  if (zooming) return;
  const { min, max } = u.scales["x"]!;
  if (min == null || max == null) return;
  zooming = true;
  for (const chart of all) if (chart !== from && chart.timed) chart.zoom(min, max);
  zooming = false;
}

export function redrawAll(): void {
  for (const chart of all) chart.redraw();
}

/** Mean, lowest and highest value of each of `length` bins over the seeds, as far as `until`. */
export function overSeeds(runs: (number | null)[][], length: number, factor = 1, until = Infinity): Rows {
  const [mean, low, high] = [0, 1, 2].map(() => new Array<number | null>(length).fill(null)) as [Rows[0], Rows[0], Rows[0]];
  for (let i = 0; i < Math.min(length, until); i++) {
    let [count, sum, least, most] = [0, 0, Infinity, -Infinity];
    for (const run of runs) {
      const value = run[i];
      if (value == null) continue;
      const scaled = value * factor;
      count++;
      sum += scaled;
      if (scaled < least) least = scaled;
      if (scaled > most) most = scaled;
    }
    if (count) mean[i] = sum / count;
    if (count > 1) [low[i], high[i]] = [least, most];
  }
  return [mean, low, high];
}

/** The times of the ends of all bins of a run. */
export function times(run: Curves): number[] {
  return Array.from({ length: run.total }, (_, i) => (i + 1) * run.bin);
}

/** Curves with one name over all runs. */
export function named(runs: Curves[], pick: (run: Curves) => Curve[], name: string): (number | null)[][] {
  return runs.map((run) => pick(run).find((curve) => curve.name === name)?.values ?? []);
}
