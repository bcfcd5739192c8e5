// Small elements that the figures share.

import type { Line } from "./types";

export function made<K extends keyof HTMLElementTagNameMap>(tag: K, className = "", text = ""): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text) element.textContent = text;
  return element;
}

export function button(text: string, label: string, act: () => void): HTMLButtonElement {
  const element = made("button", "tool", text);
  element.type = "button";
  element.setAttribute("aria-label", label);
  element.addEventListener("click", act);
  return element;
}

/** A menu with a label; nothing if there is no choice. */
export function menu(label: string, options: string[], act: (index: number) => void, first = 0): HTMLElement[] {
  if (options.length < 2) return [];
  const root = made("label", "choice", `${label} `);
  const select = made("select");
  select.append(...options.map((text, i) => new Option(text, String(i), i === first, i === first)));
  select.addEventListener("change", () => act(select.selectedIndex));
  root.append(select);
  return [root];
}

export const dark = matchMedia("(prefers-color-scheme: dark)");

export function colour(line: Line): string {
  return dark.matches ? line.dark : line.colour;
}

/** The value of a variable of the style sheet. */
export function variable(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

export function short(value: number | null | undefined): string {
  if (value == null) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(2).replace("-", "−");
  return String(Number(value.toPrecision(size >= 1000 ? 6 : 4))).replace("-", "−");
}

export function withUnit(label: string, unit: string): string {
  return unit ? `${label} (${unit})` : label;
}

/** One switch for each line, with its colour and the value under the pointer. */
export class Legend {
  readonly root = made("div", "legend");
  private readonly outputs: HTMLElement[] = [];
  private readonly swatches: HTMLElement[] = [];

  constructor(private readonly lines: Line[], act: (index: number, on: boolean) => void) {
    lines.forEach((line, i) => {
      const label = made("label");
      const box = made("input");
      box.type = "checkbox";
      box.checked = true;
      box.addEventListener("change", () => act(i, box.checked));
      const swatch = made("i", "swatch");
      const output = made("span", "value");
      label.append(box, swatch, line.name, output);
      if (lines.length < 2) box.hidden = true;
      this.outputs.push(output);
      this.swatches.push(swatch);
      this.root.append(label);
    });
    this.recolour();
  }

  recolour(): void {
    this.lines.forEach((line, i) => (this.swatches[i]!.style.background = colour(line)));
  }

  show(values: (string | null)[]): void {
    values.forEach((value, i) => (this.outputs[i]!.textContent = value === null ? "" : ` ${value}`));
  }
}
