// Runs the simulator's WebAssembly module beside the page, in slices, so that a run can be shown and cancelled.

interface Exports {
  memory: WebAssembly.Memory;
  request(length: number): number;
  begin(seed: number): number;
  advance(): number;
  part(): number;
  finish(): number;
  packets(seed: number, from: number, most: number): number;
  answer(): number;
}

/** Time between two parts of a run, ms: a picture each. */
const PAUSE = 25;

let simulator: Exports;
let cancelled = 0;
const channel = new MessageChannel();

self.onmessage = async (event: MessageEvent): Promise<void> => {
  const { module, cancel, job, plan, seed, from, most, streamed } = event.data;
  if (module) simulator = (await WebAssembly.instantiate(module as WebAssembly.Module, {})).exports as unknown as Exports;
  else if (cancel !== undefined) cancelled = cancel;
  else {
    request(plan);
    if (from === undefined) await run(job, seed, streamed);
    else self.postMessage({ job, answer: text(simulator.packets(seed, from, most)) });
  }
};

function request(plan: unknown): void {
  const bytes = new TextEncoder().encode(JSON.stringify(plan));
  const place = simulator.request(bytes.length); // may replace the buffer of the memory, as the others may
  new Uint8Array(simulator.memory.buffer, place, bytes.length).set(bytes);
}

async function run(job: number, seed: number, streamed: boolean): Promise<void> {
  const refused = simulator.begin(seed);
  let last = -Infinity;
  while (!refused && !simulator.advance()) {
    if (performance.now() - last < PAUSE) continue;
    if (streamed) self.postMessage({ job, part: text(simulator.part()) });
    last = performance.now();
    await others();
    if (cancelled === job) break;
  }
  self.postMessage(cancelled === job ? { job, cancelled: true } : { job, answer: text(refused || simulator.finish()) });
}

function text(length: number): unknown {
  return JSON.parse(new TextDecoder().decode(new Uint8Array(simulator.memory.buffer, simulator.answer(), length)));
}

/** Let other messages be handled. */
function others(): Promise<void> {
  return new Promise((resolve) => {
    channel.port1.onmessage = () => resolve();
    channel.port2.postMessage(0);
  });
}
