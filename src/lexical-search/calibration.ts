/** The confidence from which something is worth showing: the threshold that callers use by default. */
const worthShowing = 0.7;

/**
 * Puts a raw score on the common scale, straight in between: floor → 0, cut → 0.70, 1 → 1. The cut of a kind of score
 * is where right answers part from noise.
 */
export function calibrated(
  raw: number,
  { floor, cut }: { readonly floor: number; readonly cut: number },
): number {
  if (raw <= floor) return 0;
  if (raw < cut) return (worthShowing * (raw - floor)) / (cut - floor);
  return Math.min(1, worthShowing + ((1 - worthShowing) * (raw - cut)) / (1 - cut));
}
