// Guided tours: a step sets the page, says what to look at, and asks a question.

import { button, element } from "./form";
import type { Data, State, Tour } from "./types";

export class Guide {
  private tour: Tour | null = null;
  private step = 0;

  constructor(
    private readonly root: HTMLElement,
    private readonly data: Data,
    private readonly go: (state: State) => void,
  ) {
    this.open(data.tour);
  }

  open(id: string | null): void {
    this.tour = this.data.tours.find((one) => one.id === id) ?? null;
    this.step = 0;
    this.show();
  }

  private move(by: number): void {
    this.step += by;
    this.show();
    this.root.querySelector<HTMLElement>("h2")?.focus();
  }

  private show(): void {
    if (!this.data.tours.length) return;
    this.root.replaceChildren();
    const menu = element("select") as HTMLSelectElement;
    menu.setAttribute("aria-label", "Guided tour");
    menu.append(new Option("Guided tours …", ""));
    for (const one of this.data.tours) menu.append(new Option(one.title, one.id, false, one.id === this.tour?.id));
    menu.addEventListener("change", () => this.open(menu.value || null));
    this.root.append(menu);
    const step = this.tour?.steps[this.step];
    if (!this.tour || !step) return;
    const title = element("h2", "", `${this.tour.title} – ${this.step + 1} of ${this.tour.steps.length}`);
    title.tabIndex = -1;
    this.root.append(title, element("p", "", step.text), element("p", "question", step.question));
    const bar = element("div", "bar");
    if (this.step > 0) bar.append(button("Back", () => this.move(-1)));
    if (this.step + 1 < this.tour.steps.length) bar.append(button("Next", () => this.move(1)));
    bar.append(button("End the tour", () => this.open(null), "quiet"));
    this.root.append(bar);
    this.go({ specs: step.specs, values: step.set });
  }
}
