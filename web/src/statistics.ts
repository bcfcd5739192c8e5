// Means over seeds, and paired differences with 95 % intervals (Student's t).

/** 97.5 % quantiles of Student's t for 1 to 30 degrees of freedom. */
const T = [
  12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131, 2.12, 2.11,
  2.101, 2.093, 2.086, 2.08, 2.074, 2.069, 2.064, 2.06, 2.056, 2.052, 2.048, 2.045, 2.042,
];

export interface Estimate {
  mean: number;
  /** Half of the interval; null with one seed. */
  half: number | null;
  n: number;
}

export function estimate(values: number[]): Estimate | null {
  const n = values.length;
  if (n === 0) return null;
  const mean = values.reduce((a, b) => a + b, 0) / n;
  if (n === 1) return { mean, half: null, n };
  const variance = values.reduce((sum, x) => sum + (x - mean) ** 2, 0) / (n - 1);
  return { mean, half: (T[Math.min(n - 1, T.length) - 1] ?? 1.96) * Math.sqrt(variance / n), n };
}

/** Estimate the difference of two algorithms over the seeds that both have. */
export function difference(a: (number | null)[], b: (number | null)[]): Estimate | null {
  const both: number[] = [];
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const [x, y] = [a[i], b[i]];
    if (x != null && y != null) both.push(y - x);
  }
  return estimate(both);
}
