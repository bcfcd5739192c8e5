// Any metric of every run against any other: one dot for each seed, a ring for the mean.

import { colour, dark, Legend, made, menu, short, withUnit } from "./controls";
import type { Points } from "./types";

const SVG = "http://www.w3.org/2000/svg";
const HEIGHT = 340;
const MARGIN = { left: 64, right: 16, top: 10, bottom: 40 };

export class Scatter {
  readonly root = made("div", "live");
  private readonly place = made("div", "canvas");
  private readonly said = made("p", "axis");
  private readonly legend: Legend;
  private readonly hidden = new Set<number>();
  private x: number;
  private y: number;

  constructor(private readonly data: Points) {
    const names = data.metrics.map((one) => one.name);
    [this.x, this.y] = [Math.max(0, names.indexOf(data.x)), Math.max(0, names.indexOf(data.y))];
    this.legend = new Legend(data.lines, (i, on) => {
      if (on) this.hidden.delete(i);
      else this.hidden.add(i);
      this.draw();
    });
    const labels = data.metrics.map((one) => withUnit(one.label, one.unit));
    const bar = made("div", "bar");
    bar.append(
      ...menu("Up", labels, (i) => ((this.y = i), this.draw()), this.y),
      ...menu("Across", labels, (i) => ((this.x = i), this.draw()), this.x),
    );
    this.root.append(bar, this.legend.root, this.said, this.place);
    new ResizeObserver(() => this.draw()).observe(this.place);
    dark.addEventListener("change", () => {
      this.legend.recolour();
      this.draw();
    });
  }

  rows(): string[][] {
    const { metrics, lines, seeds } = this.data;
    const body = lines.flatMap((line, i) =>
      seeds.map((seed, s) => [line.name, String(seed), ...metrics.map((one) => String(one.values[i]?.[s] ?? ""))]),
    );
    return [["algorithm", "seed", ...metrics.map((one) => withUnit(one.label, one.unit))], ...body];
  }

  picture(): SVGSVGElement | null {
    return this.place.querySelector("svg");
  }

  draw(): void {
    const { lines, metrics, seeds } = this.data;
    const [across, up] = [metrics[this.x]!, metrics[this.y]!];
    const width = Math.max(260, this.place.clientWidth);
    const found = lines.flatMap((line, i) =>
      this.hidden.has(i)
        ? []
        : seeds.flatMap((seed, s) => {
            const [x, y] = [across.values[i]?.[s], up.values[i]?.[s]];
            return x == null || y == null ? [] : [{ line, i, seed, x, y }];
          }),
    );
    const [xs, ys] = [span(found.map((one) => one.x)), span(found.map((one) => one.y))];
    const px = (x: number): number => MARGIN.left + ((x - xs[0]) / (xs[1] - xs[0])) * (width - MARGIN.left - MARGIN.right);
    const py = (y: number): number => HEIGHT - MARGIN.bottom - ((y - ys[0]) / (ys[1] - ys[0])) * (HEIGHT - MARGIN.top - MARGIN.bottom);
    const svg = part("svg", { width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, role: "img" });
    svg.setAttribute("aria-label", `${up.label} against ${across.label}, one dot for each seed`);
    for (const { at, text } of ticks(xs, width > 500 ? 8 : 4)) {
      svg.append(part("line", { x1: px(at), x2: px(at), y1: MARGIN.top, y2: HEIGHT - MARGIN.bottom, class: "grid" }));
      svg.append(part("text", { x: px(at), y: HEIGHT - MARGIN.bottom + 15, "text-anchor": "middle" }, text));
    }
    for (const { at, text } of ticks(ys, 5)) {
      svg.append(part("line", { x1: MARGIN.left, x2: width - MARGIN.right, y1: py(at), y2: py(at), class: "grid" }));
      svg.append(part("text", { x: MARGIN.left - 6, y: py(at) + 4, "text-anchor": "end" }, text));
    }
    svg.append(part("text", { x: width - MARGIN.right, y: HEIGHT - 6, "text-anchor": "end" }, withUnit(across.label, across.unit)));
    const title = withUnit(up.label, up.unit);
    this.said.textContent = title;
    for (const { line, seed, x, y } of found) {
      const dot = part("circle", { cx: px(x), cy: py(y), r: 4, fill: colour(line), "fill-opacity": 0.45, class: "dot" });
      dot.append(part("title", {}, `${line.name}, seed ${seed}: ${short(x)} ${across.unit}, ${short(y)} ${up.unit}`));
      dot.addEventListener("pointerenter", () => (this.said.textContent = dot.textContent));
      dot.addEventListener("pointerleave", () => (this.said.textContent = title));
      svg.append(dot);
    }
    lines.forEach((line, i) => {
      const own = found.filter((one) => one.i === i);
      if (!own.length) return;
      const [x, y] = [mean(own.map((one) => one.x)), mean(own.map((one) => one.y))];
      svg.append(part("circle", { cx: px(x), cy: py(y), r: 7, fill: "none", stroke: colour(line), "stroke-width": 2 }));
      const right = px(x) > width - 150;
      svg.append(part("text", { x: px(x) + (right ? -11 : 11), y: py(y) - 8, "text-anchor": right ? "end" : "start", fill: colour(line), class: "name" }, line.name));
    });
    apart([...svg.querySelectorAll<SVGTextElement>("text.name")]);
    this.place.replaceChildren(svg);
  }
}

/** Move names down until none covers another; 14 is the height of a line, 7 the width of a letter. */
function apart(names: SVGTextElement[]): void {
  const place = (name: SVGTextElement): [number, number, number] => {
    const [x, width] = [Number(name.getAttribute("x")), 7 * name.textContent!.length];
    const left = name.getAttribute("text-anchor") === "end" ? x - width : x;
    return [left, left + width, Number(name.getAttribute("y"))];
  };
  names.sort((a, b) => place(a)[2] - place(b)[2]);
  names.forEach((name, i) => {
    for (const other of names.slice(0, i)) {
      const [[left, right, y], [from, to, above]] = [place(name), place(other)];
      if (left < to && from < right && y < above + 14) name.setAttribute("y", String(above + 14));
    }
  });
}

function part(tag: string, attributes: Record<string, string | number>, text = ""): SVGElement {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  if (text) element.textContent = text;
  return element;
}

function mean(values: number[]): number {
  return values.reduce((a, b) => a + b, 0) / values.length;
}

/** The range of the values with a margin. */
function span(values: number[]): [number, number] {
  if (!values.length) return [0, 1];
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const margin = (high - low) * 0.1 || Math.abs(high) * 0.1 || 1;
  return [low - margin, high + margin];
}

/** Round numbers in a range, with the digits that tell them apart. */
function ticks([low, high]: [number, number], count: number): { at: number; text: string }[] {
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough)!;
  const digits = Math.max(0, -Math.floor(Math.log10(step)));
  const found = [];
  for (let i = Math.ceil(low / step); i * step <= high; i++) found.push({ at: i * step, text: (i * step).toFixed(digits).replace("-", "−") });
  return found;
}
