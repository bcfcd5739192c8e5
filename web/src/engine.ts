// The two engines behind one interface: the module in the page, and the local server.

import type { Curves, Data, Plan, Scene, View } from "./types";

export interface Engine {
  readonly name: string;
  /** Number of runs at the same time. */
  readonly width: number;
  /** Simulate a run; `part` gets its curves while it takes place. An aborted run is rejected. */
  view(plan: Plan, seed: number, signal: AbortSignal, part?: (curves: Curves) => void): Promise<View>;
  /** The packets at the measured queue of a run from `from` ns on: about `most` events. */
  packets(plan: Plan, seed: number, from: number, most: number): Promise<Scene>;
}

export class SimulationError extends Error {}

const LOST = "the local server does not answer; is `sojourn explore` still running?";

/** Return the engine of the page; null if it has recorded runs only. */
export async function start(data: Data): Promise<Engine | null> {
  if (data.engine !== null) return Module.load(data.engine, data.worker);
  return location.protocol.startsWith("http") && !data.recorded ? new Local() : null;
}

class Local implements Engine {
  readonly name = "local server";
  readonly width = 2;

  async view(plan: Plan, seed: number, signal: AbortSignal, part?: (curves: Curves) => void): Promise<View> {
    for await (const found of this.ask({ plan, seed, stream: part !== undefined }, signal)) {
      if (found.digest !== undefined) return found;
      part?.(found);
    }
    throw new SimulationError(LOST);
  }

  async packets(plan: Plan, seed: number, from: number, most: number): Promise<Scene> {
    for await (const found of this.ask({ plan, seed, from, most })) return found;
    throw new SimulationError(LOST);
  }

  /** The lines of the server's answer. */
  private async *ask(wanted: object, signal?: AbortSignal): AsyncGenerator<any> {
    const url = new URL("view", location.href.split(/[?#]/)[0]);
    const request = { method: "POST", body: JSON.stringify(wanted), signal: signal ?? null };
    const answer = await fetch(url, request).catch(() => {
      throw new SimulationError(LOST);
    });
    if (!answer.ok) throw new SimulationError(await answer.text());
    for await (const line of lines(answer.body!)) {
      const found = JSON.parse(line);
      if (found.error !== undefined) throw new SimulationError(found.error);
      yield found;
    }
  }
}

async function* lines(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<string> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    const found = (rest + read.value).split("\n");
    rest = found.pop()!;
    yield* found;
  }
  if (rest) yield rest;
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
    const width = Math.max(2, Math.min(8, (navigator.hardwareConcurrency || 2) - 1));
    const workers = Array.from({ length: width }, () => {
      const worker = new Worker(address);
      worker.postMessage({ module });
      return worker;
    });
    return new Module(workers, width);
  }

  async view(plan: Plan, seed: number, signal: AbortSignal, part?: (curves: Curves) => void): Promise<View> {
    return (await this.run({ plan, seed, streamed: part !== undefined }, signal, part)) as View;
  }

  async packets(plan: Plan, seed: number, from: number, most: number): Promise<Scene> {
    return (await this.run({ plan, seed, from, most })) as Scene;
  }

  /** Give a worker something to do. */
  private async run(wanted: object, signal?: AbortSignal, part?: (curves: Curves) => void): Promise<unknown> {
    while (this.idle.length === 0) await new Promise<void>((resolve) => this.waiting.push(resolve));
    const worker = this.idle.pop()!;
    const job = ++this.jobs;
    const cancel = (): void => worker.postMessage({ cancel: job });
    try {
      signal?.throwIfAborted();
      signal?.addEventListener("abort", cancel);
      return await new Promise((resolve, reject) => {
        worker.onmessage = ({ data }) => {
          if (data.part) part?.(data.part);
          else if (data.cancelled) reject(new SimulationError("cancelled"));
          else if (data.answer.error !== undefined) reject(new SimulationError(data.answer.error));
          else resolve(data.answer);
        };
        worker.onerror = (event) => reject(new SimulationError(`the simulator stopped: ${event.message}`));
        worker.postMessage({ job, ...wanted });
      });
    } finally {
      signal?.removeEventListener("abort", cancel);
      this.idle.push(worker);
      this.waiting.shift()?.();
    }
  }
}
