const bytes = Array.from({ length: 256 }, (_, byte) => (256 + byte).toString(16).slice(1));

const hex2 = (value: number): string => bytes[value & 0xff] ?? '';

/** The lower 16 bits as four hexadecimal digits. */
export const hex4 = (value: number): string => hex2(value >>> 8) + hex2(value);

/** The lower 32 bits as eight digits. The engine writes a number this large in another base ten times as slowly. */
export const hex8 = (value: number): string => hex4(value >>> 16) + hex4(value);
