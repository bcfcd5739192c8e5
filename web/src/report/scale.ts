// From values to positions on an axis and back, with a part of the axis enlarged; round numbers for ticks.

import type { Axis } from "./types";

export class Scale {
  /** The part that is shown, as positions of the whole axis. */
  private shown: [number, number];

  /** `from` and `to` are the positions of the ends of the axis. */
  constructor(private readonly from: number, private readonly to: number, readonly axis: Axis) {
    this.shown = [from, to];
  }

  /** The position of a value before a zoom. */
  at(value: number): number {
    const { low, high, log } = this.axis;
    const share = log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
    return this.from + share * (this.to - this.from);
  }

  /** The value at a position before a zoom. */
  value(position: number): number {
    const { low, high, log } = this.axis;
    const share = (position - this.from) / (this.to - this.from);
    return log ? low * (high / low) ** share : low + share * (high - low);
  }

  /** The value at a position before a zoom, with the digits that positions with two decimals support. */
  read(position: number): number {
    const { low, high, log } = this.axis;
    const value = this.value(position);
    if (log) return Number(value.toPrecision(3));
    const step = (10 ** Math.floor(Math.log10(Math.abs(high - low)))) / (Math.abs(this.to - this.from) > 200 ? 1000 : 100);
    return Number((Math.round(value / step) * step).toPrecision(12));
  }

  /** Where the zoom puts a position. */
  moved(position: number): number {
    const [from, to] = this.shown;
    return this.isWhole ? position : this.from + ((position - from) / (to - from)) * (this.to - this.from);
  }

  /** The position that the zoom has put here. */
  base(position: number): number {
    const [from, to] = this.shown;
    return from + ((position - this.from) / (this.to - this.from)) * (to - from);
  }

  /** Enlarge the part between two positions of the picture. */
  zoom([one, other]: [number, number]): void {
    const ends: [number, number] = [this.base(one), this.base(other)];
    const isReversed = this.to < this.from;
    this.shown = ends[0] < ends[1] === isReversed ? [ends[1], ends[0]] : ends;
  }

  reset(): void {
    this.shown = [this.from, this.to];
  }

  get isWhole(): boolean {
    return this.shown[0] === this.from && this.shown[1] === this.to;
  }

  /** The values at the ends of what is shown, the smaller first. */
  range(): [number, number] {
    const [low, high] = [this.value(this.shown[0]), this.value(this.shown[1])];
    return low < high ? [low, high] : [high, low];
  }
}

/** About `count` round numbers in a range; on a logarithmic axis 1, 2, 5 of each decade while they are enough. */
export function ticks(low: number, high: number, log: boolean, count: number): number[] {
  if (log && high / low > 4) {
    const found: number[] = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) for (const one of [1, 2, 5]) found.push(one * 10 ** power);
    const inside = found.filter((one) => one >= low && one <= high);
    const whole = inside.filter((one) => Number.isInteger(Math.round(1e9 * Math.log10(one)) / 1e9));
    return inside.length > 2 * count && whole.length > 1 ? whole : inside;
  }
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough)!;
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.max(0, Math.floor(high / step) - first + 1) }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

/** The place of the number that is nearest to a value. */
export function nearest(numbers: number[], value: number): number {
  let best = 0;
  numbers.forEach((one, i) => {
    if (Math.abs(one - value) < Math.abs(numbers[best]! - value)) best = i;
  });
  return best;
}
