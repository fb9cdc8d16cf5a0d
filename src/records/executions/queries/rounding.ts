/** Rounds to a number of decimal places, with exact ties to the even digit. */
export function rounded(value: number, digits: number): number {
  const scaled = value * 10 ** digits;
  const whole = Math.round(scaled);
  // Far enough from a tie that no error of the product matters; else its text decides, which takes ten times as long.
  if (Math.abs(scaled - whole) < 0.499 && whole < 2 ** 40) return whole / 10 ** digits;
  return Number(fixed(value, digits));
}

/**
 * Rounds as `toFixed` does, except that an exact tie goes to the even digit (81.25 → 81.2), as Python rounds. A tie can only
 * be a value that needs just one binary digit more than it may keep, which multiplying by a power of two shows
 * exactly; its text with one place more is exact, too, and ends in 5. Values are not negative.
 */
export function fixed(value: number, digits: number): string {
  const text = value.toFixed(digits);
  const tie = (value * 2 ** (digits + 1)) % 2 === 1;
  const odd = Number(text.at(-1)) % 2 === 1;
  if (!tie || !odd) return text;
  const cut = value.toFixed(digits + 1).slice(0, -1);
  return digits === 0 ? cut.slice(0, -1) : cut;
}
