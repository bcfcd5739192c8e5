// The data of a figure, as `python/sojourn/report/live.py` writes it.

export type Values = (number | null)[];

export interface Line {
  name: string;
  colour: string;
  /** The colour on a dark page. */
  dark: string;
  /** Lengths of ink and gap. */
  dash: number[];
}

/** One quantity: for each line the values of each seed, or means with the ends of their intervals. */
export interface Quantity {
  label: string;
  unit: string;
  runs?: (Values[] | null)[];
  means?: { mean: Values; low: Values; high: Values }[];
}

/** Curves over a common axis. */
export interface Curves {
  kind: "curves";
  x: number[];
  xLabel: string;
  /** Whether the axis of x is time in seconds, shared by the charts of the page. */
  time: boolean;
  logX: boolean;
  logY: boolean;
  /** End of the warm-up, s. */
  warmup: number | null;
  seeds: number[];
  lines: Line[];
  quantities: Quantity[];
  /** Times of drops: by line, by seed. */
  drops?: number[][][];
}

/** The same curves for each of several choices, such as algorithms. */
export interface Choices {
  kind: "choices";
  label: string;
  names: string[];
  charts: Curves[];
}

/** Any two metrics of every run. */
export interface Points {
  kind: "points";
  seeds: number[];
  lines: Line[];
  metrics: { name: string; label: string; unit: string; values: Values[] }[];
  x: string;
  y: string;
}

/** Axes of a static figure, as `python/sojourn/plots/frames.py` writes them; lengths are those of the SVG. */
export interface Frame {
  /** Left, top, right, bottom. */
  box: [number, number, number, number];
  title: string;
  x: Axis;
  y: Axis;
  lines: Traced[];
  /** Where the notes point at; null along an axis that does not move them. */
  notes?: [number | null, number | null][];
  cells?: Cells;
}

export interface Axis {
  label: string;
  low: number;
  high: number;
  log: boolean;
  /** The first frame whose axis shows the same range. */
  shared: number;
}

/** A line of the SVG; points with names or intervals are repeated here. */
export interface Traced {
  name: string;
  points?: [number[], number[]];
  names?: string[];
  halves?: { x?: number[]; y?: number[] };
}

/** Values on a grid. */
export interface Cells {
  x: number[];
  y: number[];
  z: Values[];
  label: string;
  names?: [string[], string[]];
}

export type Data = Curves | Choices | Points;
