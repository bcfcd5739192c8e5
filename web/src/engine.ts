// The two engines behind one interface: the module in the page, and the local server.

import type { Data, Plan, View } from "./types";

export interface Engine {
  readonly name: string;
  /** Number of runs at the same time. */
  readonly width: number;
  view(plan: Plan, seed: number): Promise<View>;
}

export class SimulationError extends Error {}

/** Return the engine of the page; null if it has recorded runs only. */
export async function start(data: Data): Promise<Engine | null> {
  if (data.engine !== null) return Module.load(data.engine, data.worker);
  return location.protocol.startsWith("http") && !data.recorded ? new Local() : null;
}

function checked(view: View & { error?: string }): View {
  if (view.error !== undefined) throw new SimulationError(view.error);
  return view;
}

class Local implements Engine {
  readonly name = "local server";
  readonly width = 2;

  async view(plan: Plan, seed: number): Promise<View> {
    const url = new URL("view", location.href.split(/[?#]/)[0]);
    const answer = await fetch(url, { method: "POST", body: JSON.stringify({ plan, seed }) }).catch(() => {
      throw new SimulationError("the local server does not answer; is `sojourn explore` still running?");
    });
    if (!answer.ok) throw new SimulationError(await answer.text());
    return checked(await answer.json());
  }
}

class Module implements Engine {
  readonly name = "in this page";
  private readonly idle: Worker[];
  private readonly waiting: (() => void)[] = [];
  private jobs = 0;

  private constructor(workers: Worker[], readonly width: number) {
    this.idle = workers;
  }

  static async load(text: string, source: string): Promise<Module> {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const module = await WebAssembly.compile(await new Response(stream).arrayBuffer());
    const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    const width = Math.max(1, Math.min(4, (navigator.hardwareConcurrency || 2) - 1));
    const workers = Array.from({ length: width }, () => {
      const worker = new Worker(address);
      worker.postMessage({ module });
      return worker;
    });
    return new Module(workers, width);
  }

  async view(plan: Plan, seed: number): Promise<View> {
    while (this.idle.length === 0) await new Promise<void>((resolve) => this.waiting.push(resolve));
    const worker = this.idle.pop()!;
    const job = ++this.jobs;
    try {
      return checked(
        await new Promise((resolve, reject) => {
          worker.onmessage = (event) => event.data.job === job && resolve(event.data.view);
          worker.onerror = (event) => reject(new SimulationError(`the simulator stopped: ${event.message}`));
          worker.postMessage({ job, plan, seed });
        }),
      );
    } finally {
      this.idle.push(worker);
      this.waiting.shift()?.();
    }
  }
}
