// The controls on the left: the scenario's, and the algorithms with their parameters.

import { worded } from "./plan";
import type { Algorithm, Control, Data, Parameter, State, Value } from "./types";

/** Steps of a slider. */
const STEPS = 200;
const UNITS: Record<string, string> = { span: "time", rate: "rate", size: "size" };

type Change = (state: State, final: boolean) => void;

export class Form {
  private state: State = { values: {}, specs: [] };

  constructor(
    private readonly root: HTMLElement,
    private readonly data: Data,
    private readonly change: Change,
  ) {}

  show(state: State): void {
    this.state = state;
    const open = [...this.root.querySelectorAll("details")].map((one) => one.open);
    this.root.replaceChildren();
    state.specs.forEach((spec, i) => this.root.append(this.algorithm(spec, i)));
    if (state.specs.length < 4) this.root.append(button("Add an algorithm", () => this.setSpecs([...state.specs, this.fresh()])));
    const group = element("fieldset", "controls");
    group.append(element("legend", "", "Link, queue and traffic"));
    for (const control of this.data.controls) group.append(this.control(control));
    this.root.append(group);
    [...this.root.querySelectorAll("details")].forEach((one, i) => (one.open = open[i] ?? false));
  }

  /** An algorithm that is not shown yet. */
  private fresh(): string {
    const used = this.state.specs.map((spec) => spec.split(" ")[0]);
    return ["fq_codel", "pie", "codel", "red", "droptail"].find((name) => !used.includes(name)) ?? "cobalt";
  }

  private setSpecs(specs: string[], final = true): void {
    this.change({ ...this.state, specs }, final);
  }

  private set(id: string, value: Value, final: boolean): void {
    this.state = { ...this.state, values: { ...this.state.values, [id]: value } };
    this.change(this.state, final);
  }

  private control(control: Control): HTMLElement {
    const value = this.state.values[control.id] ?? control.value;
    const id = `c-${control.id}`;
    const row = element("div", "row");
    const label = element("label", "", control.label) as HTMLLabelElement;
    label.htmlFor = id;
    label.title = control.doc;
    row.append(label);
    if (control.kind === "choice") {
      row.append(select(id, Object.keys(control.options), String(value), (chosen) => this.set(control.id, chosen, true)));
      return row;
    }
    const [min, max] = control.range;
    const linear = control.unit === "";
    const input = element("input") as HTMLInputElement;
    Object.assign(input, { type: "range", id, min: linear ? String(min) : "0", max: linear ? String(max) : String(STEPS), step: "1" });
    input.value = String(linear ? value : Math.round((STEPS * Math.log(Number(value) / min)) / Math.log(max / min)));
    const output = element("output", "", worded(control, value));
    input.setAttribute("aria-valuetext", output.textContent!);
    const update = (final: boolean): void => {
      const at = Number(input.value);
      const next = linear ? at : rounded(min * (max / min) ** (at / STEPS));
      output.textContent = worded(control, next);
      input.setAttribute("aria-valuetext", output.textContent);
      this.set(control.id, next, final);
    };
    input.addEventListener("input", () => update(false));
    input.addEventListener("change", () => update(true));
    row.append(output, input);
    return row;
  }

  private algorithm(spec: string, place: number): HTMLElement {
    const [name, ...words] = spec.split(" ");
    const known = this.data.algorithms.find((one) => one.name === name);
    const box = element("fieldset", `algorithm a${place}`);
    box.append(element("legend", "", `Algorithm ${place + 1}`));
    const names = this.data.algorithms.map((one) => one.name);
    const row = element("div", "row");
    const label = element("label", "", known?.title ?? name!) as HTMLLabelElement;
    label.htmlFor = `a-${place}`;
    row.append(label, select(`a-${place}`, known ? names : [name!, ...names], name!, (chosen) => this.replace(place, chosen)));
    if (this.state.specs.length > 1) {
      const remove = button("×", () => this.setSpecs(this.state.specs.filter((_, i) => i !== place)), "quiet");
      remove.setAttribute("aria-label", `Remove ${name}`);
      row.append(remove);
    }
    box.append(row);
    if (known) {
      box.append(element("p", "doc", known.doc.replace(/[*`]/g, "")));
      const details = element("details");
      details.append(element("summary", "", "Parameters"));
      for (const one of known.params) details.append(this.parameter(place, known, one, words));
      box.append(details);
    }
    return box;
  }

  private parameter(place: number, algorithm: Algorithm, one: Parameter, words: string[]): HTMLElement {
    const at = words.indexOf(one.name);
    const value = at >= 0 ? (words[at + 1] ?? "on") : one.derived ? "" : one.default;
    const id = `p-${place}-${one.name}`;
    const row = element("div", "row");
    const label = element("label", "", one.name) as HTMLLabelElement;
    label.htmlFor = id;
    label.title = `${one.doc}. Default: ${one.default}.`;
    const set = (text: string, final: boolean): void => {
      const kept = pairs(words).filter(([key]) => key !== one.name);
      if (text !== "" && text !== one.default) kept.push([one.name, text]);
      this.replace(place, [algorithm.name, ...kept.flat()].join(" "), final);
    };
    const choices = one.kind === "flag" ? ["off", "on"] : one.choices;
    if (choices.length) {
      row.append(label, select(id, value === "" ? ["", ...choices] : choices, value, (text) => set(text, true)));
      return row;
    }
    const input = element("input") as HTMLInputElement;
    Object.assign(input, { type: "text", id, value, placeholder: one.derived ? one.default : UNITS[one.kind] ?? "" });
    input.addEventListener("change", () => set(input.value.trim(), true));
    row.append(label, input);
    const number = /^([0-9.]+)([a-zA-Z/]*)$/.exec(value);
    if (number && Number(number[1]) > 0) {
      const middle = Number(number[1]);
      const slider = element("input") as HTMLInputElement;
      Object.assign(slider, { type: "range", min: "-100", max: "100", step: "1", value: "0" });
      slider.setAttribute("aria-label", `${one.name}, factor`);
      const whole = one.kind === "integer" ? Math.round : (x: number): number => x;
      const text = (): string => `${whole(rounded(middle * 10 ** (Number(slider.value) / 100)))}${number[2]}`;
      slider.addEventListener("input", () => {
        input.value = text();
        set(input.value, false);
      });
      slider.addEventListener("change", () => set(text(), true));
      row.append(slider);
    }
    return row;
  }

  private replace(place: number, spec: string, final = true): void {
    const specs = this.state.specs.map((old, i) => (i === place ? spec : old));
    if (final) this.setSpecs(specs);
    else this.change({ ...this.state, specs }, false);
  }
}

/** Words of a spec as keys and values; a bare flag is `on`. */
function pairs(words: string[]): [string, string][] {
  const found: [string, string][] = [];
  for (let i = 0; i < words.length; i += 2) found.push([words[i]!, words[i + 1] ?? "on"]);
  return found;
}

/** Two significant digits. */
function rounded(x: number): number {
  return Number(x.toPrecision(2));
}

export function element(tag: string, name = "", text = ""): HTMLElement {
  const made = document.createElement(tag);
  if (name) made.className = name;
  if (text) made.textContent = text;
  return made;
}

export function button(text: string, act: () => void, name = ""): HTMLButtonElement {
  const made = element("button", name, text) as HTMLButtonElement;
  made.type = "button";
  made.addEventListener("click", act);
  return made;
}

function select(id: string, names: string[], chosen: string, act: (name: string) => void): HTMLSelectElement {
  const made = element("select") as HTMLSelectElement;
  made.id = id;
  for (const name of names) made.append(new Option(name, name, false, name === chosen));
  made.addEventListener("change", () => act(made.value));
  return made;
}
