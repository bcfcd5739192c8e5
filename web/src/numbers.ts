// The table of numbers and the sentence that compares the algorithms.

import { difference, estimate } from "./statistics";
import type { View } from "./types";

interface Shown {
  key: string;
  label: string;
  factor: number;
  unit: string;
  better: "higher" | "lower";
}

/** Names and units as in the terminal and in reports. */
export const METRICS: Shown[] = [
  { key: "goodput_bps", label: "goodput", factor: 1e-6, unit: "Mbit/s", better: "higher" },
  { key: "utilization", label: "utilization", factor: 100, unit: "%", better: "higher" },
  { key: "mean_delay_s", label: "mean delay", factor: 1e3, unit: "ms", better: "lower" },
  { key: "p99_delay_s", label: "99th-percentile delay", factor: 1e3, unit: "ms", better: "lower" },
  { key: "drop_ratio", label: "drop ratio", factor: 100, unit: "%", better: "lower" },
  { key: "mark_ratio", label: "mark ratio", factor: 100, unit: "%", better: "lower" },
  { key: "jain_index", label: "Jain fairness index", factor: 1, unit: "", better: "higher" },
  { key: "page_time_mean_s", label: "mean page load time", factor: 1e3, unit: "ms", better: "lower" },
  { key: "mos", label: "calls: mean opinion score", factor: 1, unit: "", better: "higher" },
  { key: "late_ratio", label: "games: late or lost", factor: 100, unit: "%", better: "lower" },
];

/** A number with three significant digits, but at least those of its integer part. */
export function digits(x: number): string {
  const size = Math.abs(x);
  return size >= 100 || x === 0 ? x.toFixed(0) : x.toPrecision(3);
}

/** A mean and the half-width of its interval, to the digits that the interval supports, five at most. */
export function withMargin(mean: number, half: number): string {
  if (half === 0) return `${digits(mean)} ± 0`;
  const [size, leading] = [Math.floor(Math.log10(half)), half.toExponential(1)[0]];
  const most = 4 - Math.floor(Math.log10(Math.max(Math.abs(mean), half)));
  const decimals = Math.max(0, Math.min(9, most, -size + (leading === "1" ? 1 : 0)));
  const margin = half.toFixed(decimals);
  return `${mean.toFixed(decimals)} ± ${Number(margin) ? margin : `<${(10 ** -decimals).toFixed(decimals)}`}`;
}

const column = (views: View[], key: string): (number | null)[] => views.map((view) => view.summary[key] ?? null);
const known = (values: (number | null)[]): number[] => values.filter((x): x is number => x !== null);

export function table(specs: string[], runs: View[][]): string[][] {
  const rows = [["", ...specs]];
  for (const metric of METRICS) {
    const cells = runs.map((views) => {
      const found = estimate(known(column(views, metric.key)));
      if (!found) return "–";
      const mean = found.mean * metric.factor;
      return found.half === null ? digits(mean) : withMargin(mean, found.half * metric.factor);
    });
    if (cells.some((cell) => cell !== "–")) rows.push([metric.unit ? `${metric.label} (${metric.unit})` : metric.label, ...cells]);
  }
  return rows;
}

/** Say how the second algorithm differs from the first, by delay and goodput. */
export function sentence(specs: string[], runs: View[][]): string {
  const [a, b] = specs;
  if (a === undefined || b === undefined) return runs[0]?.length ? `${a}: ${count(runs[0])}.` : "";
  const parts: string[] = [];
  for (const key of ["p99_delay_s", "goodput_bps", "page_time_mean_s"]) {
    const metric = METRICS.find((one) => one.key === key)!;
    const found = difference(column(runs[0] ?? [], key), column(runs[1] ?? [], key));
    if (!found) continue;
    const size = Math.abs(found.mean) * metric.factor;
    const direction = found.mean < 0 ? "lower" : "higher";
    if (found.half === null) {
      parts.push(`${metric.label} ${digits(size)} ${metric.unit} ${direction} with one seed`);
    } else if (Math.abs(found.mean) <= found.half) {
      parts.push(`no difference of ${metric.label} shown (${withMargin(found.mean * metric.factor, found.half * metric.factor)} ${metric.unit})`);
    } else {
      const better = (direction === "lower") === (metric.better === "lower") ? "better" : "worse";
      parts.push(`${metric.label} ${withMargin(size, found.half * metric.factor)} ${metric.unit} ${direction} (${better})`);
    }
  }
  return `${b} beside ${a}: ${parts.join("; ")}. ${count(runs[1] ?? [])}, 95 % intervals of paired differences.`;
}

const count = (views: View[]): string => (views.length === 1 ? "1 seed" : `${views.length} seeds`);
