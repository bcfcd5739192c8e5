// Charts of the algorithms' own state, one for each quantity, and of the first flows, one for each algorithm.

import { Chart, named, overSeeds } from "./charts";
import type { Curve, Curves, Data } from "./types";

/** Quantities of an algorithm, and flows, that are drawn. */
const PROBES = 4, FLOWS = 4;
/** Times of the run's clock are drawn as the time until then. */
const CLOCK = ["first_above_time", "drop_next"];

export class Own {
  /** By title. */
  private readonly charts = new Map<string, Chart>();

  constructor(private readonly root: HTMLElement, private readonly data: Data) {}

  /** Draw the curves of every algorithm over the times `x`, as far as bin `until`. */
  draw(specs: string[], drawn: Curves[][], x: number[], until: number): void {
    const used = new Set<Chart>();
    const chart = (title: string): Chart => {
      const known = this.charts.get(title) ?? this.added(title);
      used.add(known);
      return known;
    };
    for (const [title, name] of this.probes(specs, drawn)) {
      const rows = drawn.flatMap((runs) => {
        const values = named(runs, (run) => run.probes.slice(0, PROBES), name);
        return overSeeds(CLOCK.includes(name) ? values.map((one) => untilThen(one, x)) : values, x.length, 1, until);
      });
      chart(title).draw(specs, [x, ...rows]);
    }
    const flows = (title: string, i: number, all: Curve[], factor: number): void => {
      const few = all.slice(0, FLOWS);
      const rows = few.flatMap((curve) => overSeeds([curve.values], x.length, factor, until));
      if (few.length) chart(title).draw(few.map((one) => `${specs[i]}: ${one.name}`), [x, ...rows]);
    };
    drawn.forEach((runs, i) => {
      const which = specs.length > 1 ? ` with algorithm ${i + 1}` : "";
      flows(`Rates of flows${which}, seed 1 (Mbit/s)`, i, runs[0]?.rates ?? [], 1e-6);
      flows(`Windows of flows${which}, seed 1 (packets)`, i, runs[0]?.windows ?? [], 1);
    });
    for (const one of this.charts.values()) one.root.hidden = !used.has(one);
  }

  /** Title and name of each quantity that an algorithm has recorded. */
  private probes(specs: string[], drawn: Curves[][]): Map<string, string> {
    const found = new Map<string, string>();
    drawn.forEach((runs, i) => {
      const units = this.data.algorithms.find((one) => one.name === specs[i]!.split(" ")[0])?.probes ?? {};
      for (const { name } of (runs[0]?.probes ?? []).slice(0, PROBES)) {
        const unit = units[name] ? ` (${units[name]})` : "";
        found.set(`State of the algorithm: ${CLOCK.includes(name) ? "time until " : ""}${name}${unit}`, name);
      }
    });
    return found;
  }

  private added(title: string): Chart {
    const made = new Chart(title, "");
    this.root.append(made.root);
    this.charts.set(title, made);
    return made;
  }
}

function untilThen(times: (number | null)[], x: number[]): (number | null)[] {
  return times.map((time, i) => (time == null ? null : Math.max(0, time - x[i]!)));
}
