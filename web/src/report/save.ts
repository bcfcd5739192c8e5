// Files from figures and tables: SVG, PNG, CSV, LaTeX.

import { download } from "../download";
import { button, made, variable } from "./controls";

export interface Drawn {
  rows(): string[][];
  picture(): HTMLCanvasElement | SVGSVGElement | null;
}

/** Add the links of a figure: the static picture as SVG, what is shown as PNG, the data as CSV. */
export function figureTools(figure: HTMLElement, live: Drawn | null): void {
  const name = figure.id;
  const stills = [...figure.querySelectorAll<SVGSVGElement>(".sheet > svg")];
  const still = stills[0] ?? null;
  const tools = made("div", "tools");
  const save = (svg: SVGSVGElement, i: number): void => download(`${name}${i ? `-${i + 1}` : ""}.svg`, resolved(svg), "image/svg+xml");
  if (still) tools.append(button("SVG", `Save ${name} as SVG`, () => stills.forEach(save)));
  tools.append(
    button("PNG", `Save ${name} as PNG`, () => {
      const shown = live?.picture() ?? still;
      if (shown instanceof HTMLCanvasElement) shown.toBlob((blob) => blob && download(`${name}.png`, blob));
      else if (shown) void png(shown).then((blob) => blob && download(`${name}.png`, blob));
    }),
  );
  if (live) tools.append(button("CSV", `Save the data of ${name} as CSV`, () => download(`${name}.csv`, csv(live.rows()), "text/csv")));
  figure.querySelector("figcaption")!.append(tools);
}

export function tableTools(figure: HTMLElement): void {
  const name = figure.id;
  const tools = made("div", "tools");
  tools.append(
    button("CSV", `Save ${name} as CSV`, () => download(`${name}.csv`, csv(cells(figure)), "text/csv")),
    button("LaTeX", `Save ${name} as LaTeX`, () => download(`${name}.tex`, latex(cells(figure)), "application/x-tex")),
  );
  figure.querySelector("figcaption")!.append(tools);
}

/** An SVG file that does not depend on the page: colours written out, on the page's background. */
function resolved(svg: SVGSVGElement): string {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const style = getComputedStyle(document.documentElement);
  const fixed = (text: string): string =>
    text.replace(/var\((--[\w-]+), (#[0-9a-f]{6})\)/g, (_, name: string, light: string) => style.getPropertyValue(name).trim() || light);
  for (const one of copy.querySelectorAll("[style]")) one.setAttribute("style", fixed(one.getAttribute("style")!));
  const written = [".grid", "text", ".name"];
  if (!copy.getAttribute("style")?.includes("max-width")) for (const one of copy.querySelectorAll(written.join(","))) inline(one);
  copy.removeAttribute("data-frames");
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("style", `background: ${variable("--paper")}`);
  return new XMLSerializer().serializeToString(copy);
}

/** The styles of the page for the elements that `points.ts` draws. */
function inline(one: Element): void {
  if (one.tagName === "line") one.setAttribute("stroke", variable("--line"));
  if (one.tagName === "text" && !one.getAttribute("fill")) one.setAttribute("fill", variable("--muted"));
  if (one.tagName === "text") one.setAttribute("font-family", "sans-serif");
  if (one.tagName === "text") one.setAttribute("font-size", "12");
}

async function png(svg: SVGSVGElement): Promise<Blob | null> {
  const picture = new Image();
  picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(resolved(svg))}`;
  await picture.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [2 * picture.width, 2 * picture.height];
  const context = canvas.getContext("2d")!;
  context.fillStyle = variable("--paper");
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(picture, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob(done));
}

/** The text of a table; a column of means with margins becomes two columns. */
function cells(figure: HTMLElement): string[][] {
  const rows = [...figure.querySelectorAll<HTMLTableRowElement>("table tr")].filter((row) => !row.hidden);
  const split = new Set<number>();
  for (const row of rows) [...row.cells].forEach((cell, i) => cell.querySelector(".margin") && split.add(i));
  return rows.map((row, r) =>
    [...row.cells].flatMap((cell, i) => {
      const margin = cell.querySelector(".margin")?.textContent ?? "";
      const whole = clean(cell.textContent ?? "");
      if (!split.has(i)) return [whole];
      if (r === 0) return [whole, `${whole}, half-width`];
      const below = cell.querySelector(".below")?.textContent ?? "";
      return [clean(whole.replace(clean(below), "").split("±")[0]!), clean(margin).replace("±", "").trim()];
    }),
  );
}

function clean(text: string): string {
  return text.replace(/[\s\u00a0\u202f]+/g, " ").replace(/\u2212/g, "-").trim();
}

export function csv(rows: string[][]): string {
  const quoted = (text: string): string => (/[",\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);
  return rows.map((row) => row.map(quoted).join(",")).join("\n") + "\n";
}

function latex(rows: string[][]): string {
  const named: Record<string, string> = { "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "±": "$\\pm$" };
  const escaped = (text: string): string => text.replace(/[\\~^±]/g, (one) => named[one]!).replace(/[&%$#_]/g, "\\$&");
  const lines = rows.map((row) => `${row.map(escaped).join(" & ")} \\\\`);
  const columns = "l" + "r".repeat(Math.max(0, (rows[0]?.length ?? 1) - 1));
  return [`\\begin{tabular}{${columns}}`, "\\toprule", lines[0], "\\midrule", ...lines.slice(1), "\\bottomrule", "\\end{tabular}", ""].join("\n");
}
