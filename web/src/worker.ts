// Runs the simulator's WebAssembly module beside the page.

interface Exports {
  memory: WebAssembly.Memory;
  request(length: number): number;
  simulate(seed: number): number;
  answer(): number;
}

let simulator: Exports;

self.onmessage = async (event: MessageEvent): Promise<void> => {
  const { module, job, plan, seed } = event.data;
  if (module) {
    const instance = await WebAssembly.instantiate(module as WebAssembly.Module, {});
    simulator = instance.exports as unknown as Exports;
    return;
  }
  const bytes = new TextEncoder().encode(JSON.stringify(plan));
  const place = simulator.request(bytes.length); // may replace the buffer of the memory, as `simulate` may
  new Uint8Array(simulator.memory.buffer, place, bytes.length).set(bytes);
  const length = simulator.simulate(seed);
  const answer = new Uint8Array(simulator.memory.buffer, simulator.answer(), length);
  const text = new TextDecoder().decode(answer);
  self.postMessage({ job, view: JSON.parse(text) });
};
