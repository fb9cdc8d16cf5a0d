/** Rounds to a number of decimal places, with exact ties to the even digit. */
export function rounded(value: number, digits: number): number {
  const scaled = value * 10 ** digits;
  const whole = Math.round(scaled);
  // Far enough from a tie that the product's error does not matter. Else `fixed` decides, which takes ten times as long.
  if (Math.abs(scaled - whole) < 0.499 && whole < 2 ** 40) return whole / 10 ** digits;
  return Number(fixed(value, digits));
}

/**
 * Rounds like `toFixed`, except that an exact tie goes to the even digit, as in Python: 81.25 becomes 81.2. A binary number is
 * an exact tie if and only if its product with 2^(digits + 1) is an odd integer, and that product has no rounding error.
 * @param value not negative
 */
export function fixed(value: number, digits: number): string {
  const text = value.toFixed(digits);
  const isTie = (value * 2 ** (digits + 1)) % 2 === 1;
  const isOdd = Number(text.at(-1)) % 2 === 1;
  if (!isTie || !isOdd) return text;
  // `toFixed` has rounded up. The exact text has one digit more, a 5, which is cut off.
  const roundedDown = value.toFixed(digits + 1).slice(0, -1);
  return digits === 0 ? roundedDown.slice(0, -1) : roundedDown;
}
