// Pictures as SVG: a chart drawn from its data, and any SVG element as a file.

export interface Scene {
  title: string;
  /** What the x axis shows. */
  xLabel: string;
  x: (number | null)[];
  /** Curves with mean, lowest and highest value of each point. */
  curves: { name: string; colour: string; dash: number[]; mean: (number | null)[]; low: (number | null)[]; high: (number | null)[] }[];
  /** Shown parts of the axes. */
  range: { x: [number, number]; y: [number, number] };
  /** A shaded part at the left, up to this x; 0: none. */
  shaded: number;
  marks: Marks;
}

/** What a chart shows besides its curves. */
export interface Marks {
  /** A horizontal line. */
  level?: number;
  /** Small marks at the top: a row for each algorithm. */
  times?: number[][];
}

const [WIDTH, HEIGHT] = [720, 300];
const [LEFT, TOP, RIGHT, BOTTOM] = [64, 34, 14, 44];

/** Draw a chart as an SVG file with the colours of the page. */
export function chartFile(scene: Scene, colours: string[]): string {
  const variable = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const [ink, muted, line, paper, faint] = ["--ink", "--muted", "--line", "--paper", "--faint"].map(variable);
  const { x: xs, y: ys } = scene.range;
  const right = WIDTH - RIGHT;
  const rows = Math.ceil(scene.curves.length / 2);
  const height = HEIGHT + 18 * rows;
  const low = HEIGHT - BOTTOM;
  const across = (value: number): number => LEFT + ((value - xs[0]) / (xs[1] - xs[0] || 1)) * (right - LEFT);
  const up = (value: number): number => low - ((value - ys[0]) / (ys[1] - ys[0] || 1)) * (low - TOP);
  const point = (i: number, value: number): string => `${across(scene.x[i]!).toFixed(1)},${up(value).toFixed(1)}`;
  const out: string[] = [
    `<rect width="${WIDTH}" height="${height}" fill="${paper}"/>`,
    `<text x="${LEFT}" y="20" font-size="14" fill="${ink}">${escaped(scene.title)}</text>`,
  ];
  for (const at of ticks(xs)) {
    const place = across(at).toFixed(1);
    out.push(`<path d="M${place} ${TOP}V${low}" stroke="${line}"/><text x="${place}" y="${low + 16}" text-anchor="middle" fill="${muted}">${at}</text>`);
  }
  for (const at of ticks(ys)) {
    const place = up(at).toFixed(1);
    out.push(`<path d="M${LEFT} ${place}H${right}" stroke="${line}"/><text x="${LEFT - 6}" y="${place}" dy="4" text-anchor="end" fill="${muted}">${at}</text>`);
  }
  out.push(`<text x="${(LEFT + right) / 2}" y="${low + 34}" text-anchor="middle" fill="${muted}">${escaped(scene.xLabel)}</text>`);
  out.push(`<clipPath id="inside"><rect x="${LEFT}" y="${TOP}" width="${right - LEFT}" height="${low - TOP}"/></clipPath><g clip-path="url(#inside)">`);
  if (scene.shaded > xs[0]) {
    const width = (across(Math.min(scene.shaded, xs[1])) - LEFT).toFixed(1);
    out.push(`<rect x="${LEFT}" y="${TOP}" width="${width}" height="${low - TOP}" fill="#808080" fill-opacity=".12"/>`);
  }
  if (scene.marks.level) out.push(`<path d="M${LEFT} ${up(scene.marks.level).toFixed(1)}H${right}" stroke="${faint}" stroke-dasharray="4 4"/>`);
  for (const { colour, dash, mean, low, high } of scene.curves) {
    for (const [first, end] of stretches(low)) {
      const edge = (values: (number | null)[]): string[] => range(first, end).map((i) => point(i, values[i]!));
      out.push(`<polygon points="${[...edge(high), ...edge(low).reverse()].join(" ")}" fill="${colour}" fill-opacity=".19"/>`);
    }
    for (const [first, end] of stretches(mean)) {
      const points = range(first, end).map((i) => point(i, mean[i]!));
      out.push(`<polyline points="${points.join(" ")}" fill="none" stroke="${colour}" stroke-width="1.5" stroke-dasharray="${dash.join(" ")}"/>`);
    }
  }
  scene.marks.times?.forEach((times, row) => {
    for (const time of times) out.push(`<rect x="${across(time).toFixed(1)}" y="${TOP + 5 * row}" width="1.5" height="4" fill="${colours[row]}"/>`);
  });
  out.push("</g>");
  scene.curves.forEach(({ name, colour, dash }, i) => {
    const [left, y] = [LEFT + (i % 2) * 320, HEIGHT + 8 + 18 * Math.floor(i / 2)];
    out.push(`<path d="M${left} ${y - 4}h24" stroke="${colour}" stroke-width="2" stroke-dasharray="${dash.join(" ")}"/>`);
    out.push(`<text x="${left + 30}" y="${y}" fill="${ink}">${escaped(name)}</text>`);
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" font-family="sans-serif" font-size="12">${out.join("\n")}</svg>\n`;
}

/** The first and the last place of each run of values. */
function stretches(values: (number | null)[]): [number, number][] {
  const found: [number, number][] = [];
  values.forEach((value, i) => {
    if (value === null || value === undefined) return;
    const last = found.at(-1);
    if (last && last[1] === i - 1) last[1] = i;
    else found.push([i, i]);
  });
  return found;
}

function range(first: number, end: number): number[] {
  return Array.from({ length: end - first + 1 }, (_, i) => first + i);
}

/** Round numbers within a range, about five. */
export function ticks([low, high]: [number, number]): number[] {
  const raw = (high - low) / 5;
  if (!(raw > 0)) return [];
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 5, 10].find((one) => one * power >= raw)!;
  const found: number[] = [];
  for (let i = Math.ceil(low / step); i * step <= high; i++) found.push(Number((i * step).toPrecision(12)));
  return found;
}

export function escaped(text: string): string {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}
