// The script of all reports: figures that can be explored, files of figures and tables, claims, copying.
// The page is complete without it; printing always shows the static figures.

import { claims, printEveryClaim } from "./claims";
import { made, menu } from "./controls";
import { Chart } from "./curves";
import { dataOf } from "./data";
import { Scatter } from "./points";
import { lab } from "./lab";
import { Plate } from "./plate";
import { figureTools, tableTools, type Drawn } from "./save";
import type { Choices, Data } from "./types";

for (const copy of document.querySelectorAll<HTMLButtonElement>("button.copy")) {
  const text = copy.parentElement!.querySelector("code")!.textContent!;
  copy.hidden = false;
  copy.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    copy.textContent = "Copied";
    setTimeout(() => (copy.textContent = "Copy"), 1500);
  });
}

/** A chart for each choice; the chosen one is shown. */
class Switched implements Drawn {
  readonly root = made("div", "switched");
  private readonly charts: Chart[];
  private at = 0;

  constructor(data: Choices) {
    this.charts = data.charts.map((one) => new Chart(one));
    const bar = made("div", "bar");
    bar.append(
      ...menu(data.label, data.names, (i) => {
        this.at = i;
        this.show();
      }),
    );
    this.root.append(bar, ...this.charts.map((one) => one.root));
    this.show();
  }

  private show(): void {
    this.charts.forEach((one, i) => (one.root.hidden = i !== this.at));
  }

  rows(): string[][] {
    return this.charts[this.at]!.rows();
  }

  picture(): HTMLCanvasElement | null {
    return this.charts[this.at]!.picture();
  }
}

function drawn(data: Data): Chart | Switched | Scatter {
  switch (data.kind) {
    case "choices":
      return new Switched(data);
    case "points":
      return new Scatter(data);
    case "curves":
      return new Chart(data);
  }
}

for (const figure of document.querySelectorAll<HTMLElement>("figure.plot")) {
  const data = figure.querySelector("script.data");
  let live: ReturnType<typeof drawn> | null = null;
  if (data) {
    live = drawn(dataOf<Data>(data));
    figure.classList.add("is-live");
    figure.querySelector(".sheet")!.before(live.root);
  }
  for (const svg of figure.querySelectorAll<SVGSVGElement>("svg[data-frames]")) new Plate(svg);
  figureTools(figure, live);
}
document.querySelectorAll<HTMLElement>(".lab").forEach(lab);
document.querySelectorAll<HTMLElement>("figure.table").forEach(tableTools);
document.querySelectorAll<HTMLElement>("figure.claims").forEach(claims);
printEveryClaim();
