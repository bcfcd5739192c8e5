// The state of the page as a scenario file, a command and Python.

import { worded } from "./plan";
import type { Control, Data, Path, State } from "./types";

/** Return the scenario file of a state; its algorithm is the first of the state. */
export function scenarioFile(data: Data, state: State): string {
  let text = data.scenario.toml;
  for (const control of data.controls) {
    const value = state.values[control.id];
    if (value !== undefined && value !== control.value) text = patched(text, control.toml, literal(control, value));
  }
  const queue = data.controls.find((control) => control.id === "ecn")!.toml.slice(0, -1);
  return patched(text, [...queue, "aqm"], JSON.stringify(state.specs[0]));
}

export function command(state: State, file: string): string {
  return ["sojourn compare", file, ...state.specs.map((spec) => `--aqm "${spec}"`), "--seeds 20"].join(" ");
}

export function python(state: State, file: string): string {
  const specs = state.specs.map((spec) => JSON.stringify(spec)).join(", ");
  return `import sojourn\n\nresults = sojourn.run(${JSON.stringify(file)}, aqm=[${specs}], seeds=20)\nprint(results)\n`;
}

function literal(control: Control, value: number | string): string {
  if (control.id === "ecn") return value === "on" ? "true" : "false";
  const text = worded(control, value);
  return control.unit === "" && control.kind === "number" ? text : JSON.stringify(text);
}

/** Return TOML, as Sojourn writes it, with one key changed. */
function patched(text: string, path: Path, value: string): string {
  const lines = text.split("\n");
  const [table, ...rest] = path;
  const keys = typeof rest[0] === "number" ? rest.slice(1) : rest;
  const wanted = typeof rest[0] === "number" ? rest[0] : 0;
  const header = typeof rest[0] === "number" ? `[[${table}]]` : `[${table}]`;
  let start = -1;
  for (let found = -1, i = 0; i < lines.length && start < 0; i++) {
    if (lines[i] === header && ++found === wanted) start = i;
  }
  const next = lines.findIndex((line, i) => i > start && line.startsWith("["));
  const end = next < 0 ? lines.length : next;
  const name = String(keys[0]);
  const row = lines.findIndex((line, i) => i > start && i < end && line.startsWith(`${name} = `));
  if (keys.length === 1) {
    if (row < 0) lines.splice(start + 1, 0, `${name} = ${value}`);
    else lines[row] = `${name} = ${value}`;
  } else {
    const inner = new RegExp(`([{,] *${String(keys[1])} = )("[^"]*"|[^,} ]+)`);
    lines[row] = lines[row]!.replace(inner, (_, before: string) => before + value);
  }
  return lines.join("\n");
}
