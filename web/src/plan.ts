// From the controls to the simulator's plan. Only places that Python lists are changed.

import type { Control, Data, Json, Path, Plan, State } from "./types";

/** Return the plan of a state with one algorithm. */
export function planOf(data: Data, state: State, spec: string): Plan {
  const plan = structuredClone(data.plan);
  const limits: [Path, number][] = [];
  for (const control of data.controls) {
    const value = state.values[control.id] ?? control.value;
    if (control.kind === "choice") {
      for (const [path, set] of control.options[value] ?? []) put(plan, path, set);
    } else if (control.id === "limit") {
      for (const [path] of control.targets) {
        if (control.unit === "packets") put(plan, path, `${value}p`);
        else limits.push([path, Number(value)]);
      }
    } else {
      for (const [path, factor] of control.targets) put(plan, path, Math.floor(Number(value) * factor));
    }
  }
  put(plan, [...data.measured, "aqm"], spec);
  const rates = bottleneck(plan);
  const bytes = (ns: number, rate: number): string => `${Math.max(1, halfEven((ns * rate) / 8e9))}B`;
  for (const [path, ns] of limits) put(plan, path, bytes(ns, rates[0]));
  for (const [path, ns] of data.dependent.limits) put(plan, path, bytes(ns, rates[1]));
  for (const path of data.dependent.hosts) put(plan, path, Math.max(1e9, 10 * Math.max(...rates)));
  const ecn = data.dependent.marks || / ecn(?! off)( |$)/.test(spec) || get(plan, [...data.measured, "ecn"]) === true;
  for (const path of data.dependent.senders) put(plan, path, ecn);
  plan["traffic"] = (plan["traffic"] as { count: number }[]).filter((one) => one.count > 0) as unknown as Json;
  return plan;
}

/** Both rates of the dumbbell, bit/s; zeros for another topology. */
function bottleneck(plan: Plan): [number, number] {
  const topology = plan["topology"] as { dumbbell?: { rate: number; reverse_rate?: number } };
  const rate = topology.dumbbell?.rate ?? 0;
  return [rate, topology.dumbbell?.reverse_rate ?? rate];
}

/** Round as Python does: a half to the even neighbour. */
export function halfEven(x: number): number {
  const low = Math.floor(x);
  return x - low === 0.5 ? low + (low % 2) : Math.round(x);
}

/** Rate of the measured link in a plan, bit/s, or 0 if it varies. */
export function rateOf(data: Data, plan: Plan): number {
  const at = get(plan, data.measured.slice(0, -1)) as { rate?: number; reverse_rate?: number; capacity?: Json };
  if (at.capacity) return 0;
  return (data.measured.at(-1) === "reverse_queue" ? at.reverse_rate : at.rate) ?? at.rate ?? 0;
}

/** The value of a control, as text with its unit. */
export function worded(control: Control, value: number | string): string {
  if (typeof value === "string" || control.unit === "") return String(value);
  if (control.unit === "packets") return `${value}p`;
  const steps: [number, string][] =
    control.unit === "bit/s"
      ? [[1e9, "Gbit/s"], [1e6, "Mbit/s"], [1e3, "kbit/s"], [1, "bit/s"]]
      : [[1e9, "s"], [1e6, "ms"], [1e3, "us"], [1, "ns"]];
  const [size, unit] = steps.find(([size]) => value >= size && Number.isInteger((value / size) * 1000)) ?? steps.at(-1)!;
  return `${value / size}${unit}`;
}

function get(tree: Json, path: Path): Json {
  let at: Json = tree;
  for (const key of path) at = (at as { [key: string]: Json })[key] as Json;
  return at;
}

function put(tree: Json, path: Path, value: Json): void {
  const last = path.at(-1)!;
  (get(tree, path.slice(0, -1)) as { [key: string]: Json })[last] = value;
}
