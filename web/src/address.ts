// The state in the page's address: `#a=codel target 10ms&a=droptail&rate=20000000`.

import type { Data, State } from "./types";

export function toAddress(data: Data, state: State): string {
  const found = new URLSearchParams();
  for (const spec of state.specs) found.append("a", spec);
  for (const control of data.controls) {
    const value = state.values[control.id];
    if (value !== undefined && value !== control.value) found.set(control.id, String(value));
  }
  return `#${found}`;
}

/** Read an address; what the scenario does not have is left out. */
export function fromAddress(data: Data, address: string): State {
  const found = new URLSearchParams(address.replace(/^#/, ""));
  const specs = found.getAll("a").slice(0, 4);
  const state: State = { values: {}, specs: specs.length ? specs : data.specs };
  for (const control of data.controls) {
    const text = found.get(control.id);
    if (text === null) continue;
    if (control.kind === "choice") {
      if (text in control.options) state.values[control.id] = text;
    } else if (Number.isFinite(Number(text)) && text !== "") {
      state.values[control.id] = Math.min(Math.max(Number(text), control.range[0]), control.range[1]);
    }
  }
  return state;
}
