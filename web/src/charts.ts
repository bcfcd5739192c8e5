// Curves over one shared time axis, as mean over seeds with the range of all seeds behind it.

import uPlot from "uplot";
import type { Curve, View } from "./types";

export const COLOURS = ["#c4572b", "#0b7a8c", "#7b3fb5", "#5c7a00"];
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
  private rows: Rows = [];

  constructor(
    title: string,
    unit: string,
    private readonly isTime = true,
    private readonly mark: ((u: uPlot) => void) | null = null,
  ) {
    this.root = document.createElement("figure");
    this.root.className = "chart";
    this.root.innerHTML = `<figcaption><span></span><button type="button" class="quiet">PNG</button></figcaption><div class="plot"></div>`;
    this.root.querySelector("span")!.textContent = unit ? `${title} (${unit})` : title;
    this.place = this.root.querySelector(".plot")!;
    this.root.querySelector("button")!.setAttribute("aria-label", `Save the picture: ${title}`);
    this.root.querySelector("button")!.addEventListener("click", () => this.save(title));
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
    this.plot?.destroy();
    this.plot = new uPlot(this.options(names), rows as uPlot.AlignedData, this.place);
  }

  redraw(): void {
    const labels = this.labels;
    this.labels = [];
    if (this.rows.length) this.draw(labels, this.rows);
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
      scales: { x: { time: false }, y: { range: (_, low, high) => [Math.min(0, low ?? 0), (high || 1) * 1.05] } },
      axes: [{ ...axis }, { ...axis, size: 56 }],
      cursor: this.isTime ? { sync: { key: sync.key, scales: ["x", null] }, y: false } : { y: false },
      hooks: {
        setScale: [(u, key) => this.isTime && key === "x" && zoomAll(this, u)],
        draw: [...(this.isTime ? [shadeWarmup] : []), ...(this.mark ? [this.mark] : [])],
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

  private save(title: string): void {
    this.place.querySelector("canvas")?.toBlob((blob) => blob && download(`${title}.png`, blob));
  }
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

export function download(name: string, content: Blob | string, type = "text/plain"): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** Mean, lowest and highest value of each bin over the seeds, as far as `until`. */
export function overSeeds(runs: (number | null)[][], factor: number, until = Infinity): Rows {
  const length = Math.max(0, ...runs.map((run) => run.length));
  const [mean, low, high]: [Rows[0], Rows[0], Rows[0]] = [[], [], []];
  for (let i = 0; i < length; i++) {
    const values = i < until ? runs.map((run) => run[i]).filter((x): x is number => x != null) : [];
    const scaled = values.map((x) => x * factor);
    mean.push(scaled.length ? scaled.reduce((a, b) => a + b, 0) / scaled.length : null);
    low.push(scaled.length > 1 ? Math.min(...scaled) : null);
    high.push(scaled.length > 1 ? Math.max(...scaled) : null);
  }
  return [mean, low, high];
}

/** The times of the bins' ends. */
export function times(views: View[]): number[] {
  const first = views[0];
  return first ? first.queue.map((_, i) => (i + 1) * first.bin) : [];
}

/** Curves with one name over all runs. */
export function named(views: View[], pick: (view: View) => Curve[], name: string): (number | null)[][] {
  return views.map((view) => pick(view).find((curve) => curve.name === name)?.values ?? []);
}
