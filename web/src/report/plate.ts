// Values under the pointer and zoom for any static figure. Its curves are the paths of the SVG: a zoom moves
// their points, and the clip paths of the figure keep them inside the axes.

import { button, made, short } from "./controls";
import { nearest, Scale, ticks } from "./scale";
import type { Axis, Frame } from "./types";

const SVG = "http://www.w3.org/2000/svg";
/** Distance from a point at which its values are shown, and least length of a drag that zooms, in pixels. */
const NEAR = 40;
const DRAG = 8;
type Point = [number, number];
type Side = "x" | "y";

/** A part of the picture that a zoom moves: its place before, and how to put it elsewhere. */
interface Moved {
  place(at: (point: Point) => Point): void;
}

/** A curve or a set of dots, in coordinates of the SVG. */
interface Curve {
  name: string;
  colour: string;
  points: Point[];
  /** Whether x never decreases and the points are joined. */
  joined: boolean;
  texts: string[];
  halves?: { x?: number[]; y?: number[] };
}

class Panel {
  readonly x: Scale;
  readonly y: Scale;
  readonly curves: Curve[];
  private readonly moved: Moved[];
  private readonly ticks: Record<Side, SVGGElement[]>;
  private readonly added: SVGElement[] = [];

  constructor(readonly frame: Frame, readonly root: SVGGElement) {
    const [left, top, right, bottom] = frame.box;
    this.x = new Scale(left, right, frame.x);
    this.y = new Scale(bottom, top, frame.y);
    this.ticks = { x: [...root.querySelectorAll<SVGGElement>("[data-tick=x]")], y: [...root.querySelectorAll<SVGGElement>("[data-tick=y]")] };
    this.curves = frame.lines.map((line, i) => curve(root.querySelector(`[data-line="${i}"]`), line.name)).map((one, i) => this.described(one, i));
    const drawn = [...root.querySelectorAll<SVGElement>("path[clip-path], [clip-path] path, [clip-path] use")];
    this.moved = drawn.filter((one) => !one.closest("[data-tick], defs")).map(movable);
    (frame.notes ?? []).forEach((at, i) => {
      const group = root.querySelector<SVGGElement>(`[data-note="${i}"]`);
      if (group) this.moved.push(note(group, at, frame.box));
    });
  }

  /** Use the exact points of the figure, if it has them. */
  private described(found: Curve, i: number): Curve {
    const { points, names, halves } = this.frame.lines[i]!;
    if (points) found.points = points[0].map((x, k) => [this.x.at(x), this.y.at(points[1][k]!)]);
    found.joined &&= found.points.every(([x], k) => k === 0 || x >= found.points[k - 1]![0]);
    return { ...found, texts: names ?? [], ...(halves ? { halves } : {}) };
  }

  contains([x, y]: Point): boolean {
    const [left, top, right, bottom] = this.frame.box;
    return x >= left && x <= right && y >= top && y <= bottom;
  }

  /** Draw again after a change of the scales. */
  draw(): void {
    const at = ([x, y]: Point): Point => [this.x.moved(x), this.y.moved(y)];
    for (const one of this.moved) one.place(at);
    for (const one of this.added.splice(0)) one.remove();
    this.axis("x", this.x);
    this.axis("y", this.y);
  }

  private axis(side: Side, scale: Scale): void {
    const old = this.ticks[side];
    for (const one of old) one.style.display = scale.isWhole ? "" : "none";
    const first = old[0];
    if (scale.isWhole || !first) return;
    const [grid, text] = [first.querySelector("path[clip-path]"), first.querySelector("text")];
    const [left, top, right, bottom] = this.frame.box;
    const suffix = / %$/.test(text?.textContent ?? "") ? 100 : 0;
    for (const value of ticks(...scale.range(), scale.axis.log, side === "x" ? 6 : 4)) {
      const at = scale.moved(scale.at(value));
      if (grid) {
        const line = grid.cloneNode() as SVGPathElement;
        line.setAttribute("d", side === "x" ? `M${at} ${bottom}L${at} ${top}` : `M${left} ${at}L${right} ${at}`);
        this.add(line, first);
      }
      if (!text) continue;
      const label = text.cloneNode() as SVGTextElement;
      label.textContent = suffix ? `${short(suffix * value)} %` : short(value);
      label.removeAttribute("transform");
      label.setAttribute("x", String(side === "x" ? at : Number(text.getAttribute("x"))));
      label.setAttribute("y", String(side === "x" ? Number(text.getAttribute("y")) : at + 2.8));
      this.add(label, first);
    }
  }

  private add(element: SVGElement, before: SVGElement): void {
    this.added.push(element);
    before.parentElement!.insertBefore(element, before);
  }
}

export class Plate {
  private readonly panels: Panel[];
  private readonly box = made("div", "readout");
  private readonly whole = button("Whole range", "Show the whole range", () => this.reset());
  private readonly cross = document.createElementNS(SVG, "path");
  private from: { panel: Panel; at: Point; client: Point } | null = null;
  private readonly area = document.createElementNS(SVG, "rect");

  constructor(private readonly svg: SVGSVGElement) {
    const frames = JSON.parse(svg.dataset["frames"]!) as (Frame | null)[];
    this.panels = frames.flatMap((frame, i) => {
      const root = svg.querySelector<SVGGElement>(`[data-frame="${i}"]`);
      return frame && root ? [new Panel(frame, root)] : [];
    });
    this.cross.setAttribute("class", "cross");
    this.area.setAttribute("class", "area");
    svg.append(this.cross, this.area);
    this.box.hidden = true;
    this.whole.hidden = true;
    this.whole.classList.add("whole");
    svg.parentElement!.after(this.whole, this.box);
    svg.classList.add("plate");
    svg.addEventListener("pointermove", (event) => this.pointed(event));
    svg.addEventListener("pointerleave", () => this.leave());
    svg.addEventListener("pointerdown", (event) => this.press(event));
    svg.addEventListener("pointerup", (event) => this.release(event));
    svg.addEventListener("dblclick", () => this.reset());
    addEventListener("beforeprint", () => this.reset());
  }

  /** Return a position of the pointer in coordinates of the SVG. */
  private at(event: MouseEvent): Point {
    const found = new DOMPoint(event.clientX, event.clientY).matrixTransform(this.svg.getScreenCTM()!.inverse());
    return [found.x, found.y];
  }

  private pointed(event: PointerEvent): void {
    const at = this.at(event);
    if (this.from) return this.drag(event, at);
    const panel = this.panels.find((one) => one.contains(at));
    if (panel) this.show(panel, at, event);
    else this.leave();
  }

  private leave(): void {
    this.box.hidden = true;
    this.cross.setAttribute("d", "");
  }

  private show(panel: Panel, at: Point, event: PointerEvent): void {
    const scale = this.svg.getBoundingClientRect().width / this.svg.viewBox.baseVal.width;
    const found = values(panel, at, NEAR / scale);
    if (!found) return this.leave();
    const { box } = panel.frame;
    this.cross.setAttribute("d", found.dot ? ring(found.dot, 4) : `M${found.x} ${box[1]}L${found.x} ${box[3]}`);
    this.box.replaceChildren(...found.lines.map(([text, colour]) => row(text, colour)));
    this.box.hidden = false;
    const left = Math.min(event.clientX + 14, innerWidth - this.box.offsetWidth - 8);
    const below = event.clientY + 16 + this.box.offsetHeight < innerHeight;
    this.box.style.left = `${Math.max(4, left)}px`;
    this.box.style.top = `${below ? event.clientY + 16 : event.clientY - 12 - this.box.offsetHeight}px`;
  }

  private press(event: PointerEvent): void {
    const at = this.at(event);
    const panel = this.panels.find((one) => one.contains(at));
    if (!panel || event.button || event.pointerType === "touch") return;
    event.preventDefault();
    this.from = { panel, at, client: [event.clientX, event.clientY] };
    this.svg.setPointerCapture(event.pointerId);
    this.leave();
  }

  /** The sides along which a drag is long enough to zoom. */
  private sides(event: PointerEvent): Record<Side, boolean> {
    const [x, y] = this.from!.client;
    const [wide, high] = [Math.abs(event.clientX - x), Math.abs(event.clientY - y)];
    return { x: wide >= DRAG && wide > 0.3 * high, y: high >= DRAG && high > 0.3 * wide };
  }

  private drag(event: PointerEvent, at: Point): void {
    const { panel, at: from } = this.from!;
    const [left, top, right, bottom] = panel.frame.box;
    const is = this.sides(event);
    const [x0, x1] = is.x ? ordered(from[0], at[0], left, right) : [left, right];
    const [y0, y1] = is.y ? ordered(from[1], at[1], top, bottom) : [top, bottom];
    const size = { x: x0, y: y0, width: is.x || is.y ? x1 - x0 : 0, height: y1 - y0 };
    for (const [name, value] of Object.entries(size)) this.area.setAttribute(name, String(value));
  }

  private release(event: PointerEvent): void {
    if (!this.from) return;
    const { panel, at: from } = this.from;
    const is = this.sides(event);
    this.from = null;
    this.area.setAttribute("width", "0");
    const to = this.at(event);
    const [left, top, right, bottom] = panel.frame.box;
    if (is.x) this.zoom("x", panel, ordered(from[0], to[0], left, right));
    if (is.y) this.zoom("y", panel, ordered(from[1], to[1], top, bottom));
    if (is.x || is.y) this.redraw();
  }

  /** Show a part of an axis, in every panel that shares it. */
  private zoom(side: Side, panel: Panel, ends: Point): void {
    for (const one of this.panels) if (one.frame[side].shared === panel.frame[side].shared) one[side].zoom(ends);
  }

  private redraw(): void {
    for (const one of this.panels) one.draw();
    this.whole.hidden = this.panels.every((one) => one.x.isWhole && one.y.isWhole);
    this.svg.dataset["zoomed"] = String(!this.whole.hidden);
  }

  private reset(): void {
    for (const one of this.panels) for (const scale of [one.x, one.y]) scale.reset();
    this.redraw();
  }
}

/** What is under the pointer: the texts, and the position of the line or of the dot that is read. */
function values(panel: Panel, at: Point, near: number): { x: number; dot?: Point; lines: [string, string][] } | null {
  const { frame, x, y } = panel;
  const heading = (value: number): string => `${named(frame.x)} ${short(value)}`;
  const dot = dotAt(panel, at, near);
  if (dot) {
    const { curve, index } = dot;
    const half = (side: Side): string => (curve.halves?.[side]?.[index] ? ` ± ${short(curve.halves[side]![index])}` : "");
    const [px, py] = curve.points[index]!;
    const { points } = frame.lines[panel.curves.indexOf(curve)]!;
    const lines: [string, string][] = [
      [`${named(frame.x)} ${short(points ? points[0][index] : x.read(px))}${half("x")}`, ""],
      [`${named(frame.y)} ${short(points ? points[1][index] : y.read(py))}${half("y")}`, ""],
    ];
    const name = curve.texts[index] || curve.name || frame.title;
    return { x: px, dot: [x.moved(px), y.moved(py)], lines: name ? [[name, curve.colour], ...lines] : lines };
  }
  if (frame.cells) {
    const { cells } = frame;
    const [i, j] = [nearest(cells.x.map((one) => x.at(one)), x.base(at[0])), nearest(cells.y.map((one) => y.at(one)), y.base(at[1]))];
    const place = (side: Side, k: number): string => `${frame[side].label}: ${cells.names?.[side === "x" ? 0 : 1][k] ?? short(cells[side][k])}`;
    const value = cells.z[j]![i];
    return { x: at[0], lines: [[place("x", i), ""], [place("y", j), ""], [`${cells.label}: ${value == null ? "none" : short(value)}`, ""]] };
  }
  const lines: [string, string][] = [];
  let read = at[0];
  for (const { joined, points, name, colour } of panel.curves) {
    if (!joined || points.length < 2) continue;
    const point = points[nearest(points.map((one) => one[0]), x.base(at[0]))]!;
    if (!lines.length) read = x.moved(point[0]);
    lines.push([`${name || frame.title || named(frame.y)} ${short(y.read(point[1]))}`, colour]);
  }
  if (!lines.length) return null;
  const above: [string, string][] = [[heading(x.read(x.base(at[0]))), ""]];
  if (frame.y.label) above.push([[frame.title, frame.y.label].filter(Boolean).join(": "), ""]);
  return { x: read, lines: [...above, ...lines] };
}

/** The dot that is nearest to the pointer, of the curves that are not joined. */
function dotAt(panel: Panel, at: Point, near: number): { curve: Curve; index: number } | null {
  let [best, found] = [near, null as { curve: Curve; index: number } | null];
  for (const curve of panel.curves) {
    if (curve.joined && !curve.halves && !curve.texts.length) continue;
    curve.points.forEach(([px, py], index) => {
      const distance = Math.hypot(panel.x.moved(px) - at[0], panel.y.moved(py) - at[1]);
      if (distance < best) [best, found] = [distance, { curve, index }];
    });
  }
  return found;
}

function named(axis: Axis): string {
  return axis.label.replace(/\.$/, "");
}

function row(text: string, colour: string): HTMLElement {
  const line = made("div");
  if (colour) {
    const swatch = made("i", "swatch");
    swatch.style.background = colour;
    line.append(swatch);
  }
  line.append(text);
  return line;
}

function ring([x, y]: Point, r: number): string {
  return `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`;
}

function ordered(a: number, b: number, low: number, high: number): Point {
  const inside = (one: number): number => Math.min(high, Math.max(low, one));
  return [inside(Math.min(a, b)), inside(Math.max(a, b))];
}

/** The points of a path; gaps are left out. */
function vertices(d: string): Point[] {
  const numbers = d.match(/-?[\d.]+(?:e-?\d+)?/g)?.map(Number) ?? [];
  return Array.from({ length: numbers.length >> 1 }, (_, i) => [numbers[2 * i]!, numbers[2 * i + 1]!]);
}

/** Read a line of the figure: its path, or its dots. */
function curve(group: Element | null, name: string): Curve {
  const path = group?.querySelector<SVGPathElement>(":scope > path");
  const dots = [...(group?.querySelectorAll("use") ?? [])].map((one): Point => [Number(one.getAttribute("x")), Number(one.getAttribute("y"))]);
  const style = (path ?? group?.querySelector("use"))?.getAttribute("style") ?? "";
  const colour = /stroke: ([^;]+)/.exec(style)?.[1] ?? /fill: ([^;]+)/.exec(style)?.[1] ?? "currentColor";
  const points = path ? vertices(path.getAttribute("d") ?? "") : dots;
  return { name, colour, points, joined: path != null, texts: [] };
}

function movable(one: SVGElement): Moved {
  if (one.tagName === "use") {
    const from: Point = [Number(one.getAttribute("x")), Number(one.getAttribute("y"))];
    return {
      place(at) {
        const [x, y] = at(from);
        one.setAttribute("x", String(x));
        one.setAttribute("y", String(y));
      },
    };
  }
  const before = one.getAttribute("d")!;
  return {
    place(at) {
      one.setAttribute("d", before.replace(/(-?[\d.]+) (-?[\d.]+)/g, (_, x: string, y: string) => at([Number(x), Number(y)]).map((v) => v.toFixed(2)).join(" ")));
    },
  };
}

/** A note moves with the point that it explains, and disappears with it. */
function note(group: SVGGElement, [x, y]: [number | null, number | null], [left, top, right, bottom]: Frame["box"]): Moved {
  return {
    place(at) {
      const to = at([x ?? left, y ?? top]);
      const [dx, dy] = [x == null ? 0 : to[0] - x, y == null ? 0 : to[1] - y];
      const isInside = (x == null || (to[0] >= left && to[0] <= right)) && (y == null || (to[1] >= top && to[1] <= bottom));
      group.setAttribute("transform", `translate(${dx} ${dy})`);
      group.style.display = isInside ? "" : "none";
    },
  };
}
