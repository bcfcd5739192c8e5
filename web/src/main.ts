// The live page: a change of a control runs the simulator and draws the answer.

import { fromAddress, toAddress } from "./address";
import { Chart, COLOURS, overSeeds, redrawAll, setWarmup, times } from "./charts";
import { download } from "./download";
import { start, type Engine } from "./engine";
import { button, element, Form } from "./form";
import { sentence, table } from "./numbers";
import { Own } from "./own";
import { Packets } from "./packets";
import { planOf, rateOf } from "./plan";
import { Runs, SEEDS } from "./runs";
import { command, python, scenarioFile } from "./scenario";
import { Guide } from "./tour";
import type { Curves, Data, State, View } from "./types";

/** The page as it came, to be saved with other data. */
const source = document.documentElement.outerHTML;
const data = JSON.parse(document.querySelector("#data")!.textContent!) as Data;
const at = <T extends HTMLElement>(id: string): T => document.querySelector<T>(`#${id}`)!;

/** Time between two pictures while runs take place, and the time after a change in which there is none, ms. */
const FRAME = 60, FIRST = 60;
/** Times the pace of real time; 0: all at once. */
let pace = 0;
let begun = 0;
let state = fromAddress(data, location.hash);
let views: View[][] = [];
/** What is drawn: the views, or the runs that take place. */
let drawn: Curves[][] = [];

const charts = {
  delay: new Chart("Backlog over the link rate", "ms"),
  queue: new Chart("Queue", "packets"),
  throughput: new Chart("Throughput", "Mbit/s", true, () => ({ level: rateOf(data, planOf(data, state, state.specs[0]!)) / 1e6 })),
  drops: new Chart("Drops", "packets/s", true, () => ({ times: dropTimes() })),
  distribution: new Chart("Packets with at most a delay of x ms", "%", false),
};

for (const chart of Object.values(charts)) at("charts").append(chart.root);
const own = new Own(at("charts"), data);

/** Times of single drops of seed 1, for each algorithm. */
function dropTimes(): number[][] {
  return drawn.map((runs) => (runs[0]?.dropped ?? []).map(([time]) => time).filter((time) => time <= shownUntil()));
}

function shownUntil(): number {
  return pace ? ((performance.now() - begun) / 1000) * pace : Infinity;
}

function draw(): void {
  const first = drawn.find((runs) => runs.length)?.[0];
  if (!first) return;
  const x = times(first);
  const until = Math.floor(shownUntil() / first.bin);
  const rows = (pick: (run: Curves) => number[], factor = 1): (number | null)[][] => [
    x,
    ...drawn.flatMap((runs) => overSeeds(runs.map(pick), x.length, factor, until)),
  ];
  const { specs } = state;
  charts.delay.draw(specs, rows((run) => run.delay, 1e3));
  charts.queue.draw(specs, rows((run) => run.queue));
  charts.throughput.draw(specs, rows((run) => run.throughput, 1e-6));
  charts.drops.draw(specs, rows((run) => run.drops, 1 / first.bin));
  if (drawn === views) charts.distribution.draw(specs, distributions());
  own.draw(specs, drawn, x, until);
  const reached = Math.max(...drawn.map((runs) => (runs[0]?.queue.length ?? 0) / first.total));
  document.body.dataset["reached"] = String(reached);
  if (pace && shownUntil() < x.at(-1)!) requestAnimationFrame(draw);
}

/** Distribution functions of all seeds on one axis of delays. */
function distributions(): (number | null)[][] {
  const most = Math.max(0.001, ...views.flat().map((view) => quantile(view, 0.999)));
  const x = Array.from({ length: 201 }, (_, i) => (most * i) / 200);
  const share = (view: View): number[] => {
    let place = 0;
    return x.map((delay) => {
      while (place < view.distribution.length && view.distribution[place]![1] <= delay) place++;
      return place === 0 ? 0 : view.distribution[place - 1]![0];
    });
  };
  return [x.map((delay) => delay * 1e3), ...views.flatMap((runs) => overSeeds(runs.map(share), x.length, 100))];
}

function quantile(view: View, share: number): number {
  return view.distribution.find(([below]) => below >= share)?.[1] ?? 0;
}

function numbers(): void {
  const made = element("table");
  table(state.specs, views).forEach((row, r) => {
    const line = element("tr");
    row.forEach((cell, c) => {
      const one = element(r === 0 || c === 0 ? "th" : "td", "", cell);
      if (r === 0 && c > 0) one.style.borderBottom = `3px solid ${COLOURS[c - 1]}`;
      line.append(one);
    });
    made.append(line);
  });
  at("numbers").replaceChildren(made);
  at("sentence").textContent = sentence(state.specs, views);
}

/** Whether the first run of the untouched page is that of the native simulator, or the stored one. */
function checked(): void {
  const untouched = toAddress(data, { ...state, specs: [] }) === "#";
  const isStored = Object.keys(data.stored).length > 0;
  const known = state.specs.map((spec, i) => {
    const first = views[i]?.[0];
    return isStored ? ([data.stored[spec], first?.counters] as const) : ([data.digests[spec], first?.digest] as const);
  });
  const comparable = untouched && known.length > 0 && known.every(([expected, found]) => expected && found);
  const same = known.every(([expected, found]) => expected === found);
  const box = at("digest");
  box.hidden = !comparable;
  const other = isStored ? "stored run, in every count of its queues, flows, transfers and pages" : "run of the native simulator, bit for bit";
  box.textContent = same
    ? `Seed 1 equals the ${other} (${known.map(([one]) => one).join(", ")}).`
    : `Seed 1 differs from the ${isStored ? "stored run: it is of another version" : "run of the native simulator"}.`;
  box.classList.toggle("bad", !same);
}

async function main(): Promise<void> {
  const engine: Engine | null = await start(data);
  let [timer, frame] = [0, 0];
  const runs = engine && new Runs(data, engine, () => {
    at("error").hidden = runs!.error === null;
    at("error").textContent = runs!.error;
    document.body.classList.toggle("stale", runs!.error !== null);
    document.body.dataset["pending"] = String(runs!.pending);
    if (runs!.error !== null) return;
    document.body.classList.toggle("running", runs!.parts.length > 0);
    const seeds = runs!.parts.length ? 0 : (runs!.views[0]?.length ?? 0);
    if (seeds === 1 || seeds === SEEDS) picture();
    else frame ||= window.setTimeout(picture, begun + FIRST > performance.now() ? 0 : FRAME);
  });
  const picture = (): void => {
    clearTimeout(frame);
    frame = 0;
    if (!runs!.parts.length) return show(runs!.views);
    if (!runs!.parts.some((one) => one !== null)) return;
    drawn = runs!.parts.map((one) => (one ? [one] : []));
    draw();
  };
  const show = (found: View[][]): void => {
    drawn = views = found;
    draw();
    numbers();
    checked();
    document.body.dataset["seeds"] = String(views[0]?.length ?? 0);
  };
  setWarmup(Number(data.plan["warmup"]) * 1e-9);
  const packets = engine && new Packets(at("packets"), data, engine, state);
  const form = new Form(at("form"), data, (next, final) => change(next, final, false));
  const change = (next: State, final: boolean, anew: boolean): void => {
    const added = next.specs.length !== state.specs.length || final || anew;
    state = next;
    begun = performance.now();
    if (added) form.show(state);
    history.replaceState(null, "", toAddress(data, state));
    clearTimeout(timer);
    if (!runs) return;
    const rest = (): void => {
      runs.complete();
      packets!.show(state);
    };
    void runs.start(state);
    if (final) rest();
    else timer = window.setTimeout(rest, 400);
    document.body.dataset["pending"] = String(runs.pending);
    document.body.dataset["seeds"] = "0";
  };
  at("engine").textContent = engine ? `Simulated ${engine.name} · ${data.version}` : `Recorded runs · ${data.version}`;
  share(engine);
  const menu = at<HTMLSelectElement>("pace");
  menu.addEventListener("change", () => {
    pace = Number(menu.value);
    begun = performance.now();
    draw();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawAll);
  window.addEventListener("hashchange", () => change(fromAddress(data, location.hash), true, true));
  if (!engine && data.recorded) {
    state = fromAddress(data, data.recorded.state);
    form.show(state);
    at<HTMLFieldSetElement>("inputs").disabled = true;
    show(state.specs.map((spec) => data.recorded!.views[spec] ?? []));
    return;
  }
  form.show(state);
  new Guide(at("guide"), data, (next) => change(next, true, true));
  if (!data.tour) change(state, true, true);
}

function share(engine: Engine | null): void {
  const file = `${data.scenario.name}.toml`;
  const copy = (text: string): void => {
    void navigator.clipboard?.writeText(text);
    at("shared").textContent = text;
  };
  at("share").append(
    button("Address", () => copy(location.href)),
    button("Scenario file", () => {
      const text = scenarioFile(data, state);
      at("shared").textContent = text;
      download(file, text, "application/toml");
    }),
    button("Command", () => copy(command(state, file))),
    button("Python", () => copy(python(state, file))),
    button("HTML file", () => download(`${data.scenario.name}.html`, saved(engine), "text/html")),
  );
}

/** The page with the current state; it has the recorded runs if it cannot simulate on its own. */
function saved(engine: Engine | null): string {
  const kept: Data = { ...data, specs: state.specs, tour: null };
  if (data.engine === null || engine === null) {
    const runs = Object.fromEntries(state.specs.map((spec, i) => [spec, (views[i] ?? []).slice(0, 5)]));
    kept.recorded = { state: toAddress(data, state), views: runs };
  }
  const embedded = JSON.stringify(kept).replace(/</g, "\\u003c");
  return `<!doctype html>${source.replace(/(<script id="data"[^>]*>)[^<]*/, (_, tag: string) => tag + embedded)}`;
}

// For tests, and for scripts on the console: the plan and the scenario file of a state.
Object.assign(window, {
  sojourn: {
    planOf: (spec: string, values?: State["values"]) => planOf(data, values ? { values, specs: [spec] } : state, spec),
    fileOf: (spec: string, values: State["values"]) => scenarioFile(data, { values, specs: [spec] }),
    state: () => state,
  },
});

void main();
