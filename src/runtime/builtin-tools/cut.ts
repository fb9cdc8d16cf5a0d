/** The beginning of a text, without half of a character at its end. */
export function cut(text: string, maxLength: number): string {
  const last = text.charCodeAt(maxLength - 1);
  const isHalf = last >= 0xd800 && last < 0xdc00;
  return text.slice(0, isHalf ? maxLength - 1 : maxLength);
}
