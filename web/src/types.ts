// The data of the page and the view of one run, as Python and the simulator write them.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type Path = (string | number)[];
export type Value = number | string;
export type Values = Record<string, Value>;

/** `explore/controls.py`, `Control`. */
export interface Control {
  id: string;
  label: string;
  doc: string;
  kind: "number" | "choice";
  value: Value;
  toml: Path;
  unit: "" | "bit/s" | "ns" | "packets";
  range: [number, number];
  targets: [Path, number][];
  options: Record<string, [Path, Json][]>;
}

export interface Parameter {
  name: string;
  kind: string;
  unit: string;
  default: string;
  derived: boolean;
  range: { min: number | null; max: number | null };
  choices: string[];
  doc: string;
}

export interface Algorithm {
  name: string;
  title: string;
  doc: string;
  params: Parameter[];
  /** Unit of each quantity of its state. */
  probes: Record<string, string>;
}

export interface Step {
  text: string;
  question: string;
  specs: string[];
  set: Values;
}

export interface Tour {
  id: string;
  title: string;
  steps: Step[];
}

/** Everything that Python writes into the page. */
export interface Data {
  version: string;
  scenario: { name: string; toml: string };
  plan: Plan;
  measured: Path;
  controls: Control[];
  dependent: { hosts: Path[]; limits: [Path, number][]; senders: Path[]; marks: boolean };
  algorithms: Algorithm[];
  specs: string[];
  digests: Record<string, string>;
  /** By spec: the digest of what a stored run with seed 1 has counted. */
  stored: Record<string, string>;
  tours: Tour[];
  tour: string | null;
  engine: string | null;
  worker: string;
  /** Runs that a saved page has: by spec, the views of the seeds from 1 on. */
  recorded?: { state: string; views: Record<string, View[]> };
}

export interface Plan {
  [key: string]: Json;
}

export interface Curve {
  name: string;
  values: (number | null)[];
}

/** Some neighbouring bins of a run, or all: `crates/explore/src/view.rs`. */
export interface Curves {
  from: number;
  /** Bins of the whole run. */
  total: number;
  bin: number;
  queue: number[];
  queue_max: number[];
  delay: number[];
  throughput: number[];
  drops: number[];
  arrivals: number[];
  probes: Curve[];
  windows: Curve[];
  rates: Curve[];
  dropped: [number, number][];
}

/** One run: `crates/explore/src/view.rs`. */
export interface View extends Curves {
  digest: string;
  counters: string;
  events: number;
  spec: string;
  window: [number, number];
  distribution: [number, number][];
  flows: { traffic: number[]; goodput_bps: number[]; drops: number[]; marks: number[] };
  causes: string[];
  summary: Record<string, number | null>;
}

/** A packet at the queue: `crates/explore/src/packets.rs`. */
export interface Flying {
  arrival: number;
  flow: number;
  bytes: number;
  ce: boolean;
}

/** 0: enqueued, 1: dequeued, 2: dropped, 3: marked. */
export interface PacketEvent extends Flying {
  time: number;
  event: number;
  /** Whether it has not waited. */
  wasNew: boolean;
  words: string;
}

/** Some time at the queue. */
export interface Scene {
  from: number;
  until: number;
  over: boolean;
  waiting: Flying[];
  events: PacketEvent[];
  /** Number of the traffic of each flow. */
  flows: Record<number, number>;
}

export interface State {
  values: Values;
  specs: string[];
}
