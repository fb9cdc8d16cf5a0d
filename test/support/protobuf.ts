/** The fields of one protobuf message, by their numbers: bytes where they have a length, else the number. */
export type Fields = ReadonlyMap<number, readonly (Buffer | bigint)[]>;

/** Reads the wire format without knowing the schema. */
export function fieldsOf(message: Buffer): Fields {
  const fields = new Map<number, (Buffer | bigint)[]>();
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = BigInt(message.readUInt8(at++));
      value |= (byte & 0x7fn) << shift;
      if (byte < 0x80n) return value;
    }
  };
  const bytes = (length: number): Buffer => message.subarray(at, (at += length));
  const readers: Record<number, () => Buffer | bigint> = {
    0: varint,
    1: () => bytes(8).readBigUInt64LE(),
    2: () => bytes(Number(varint())),
    5: () => BigInt(bytes(4).readUInt32LE()),
  };
  while (at < message.length) {
    const tag = Number(varint());
    const read = readers[tag & 7];
    if (!read) throw new Error(`Wire type ${tag & 7} at byte ${at}`);
    const number = tag >> 3;
    fields.set(number, [...(fields.get(number) ?? []), read()]);
  }
  return fields;
}

export const messagesIn = (fields: Fields, number: number): Fields[] =>
  buffersIn(fields, number).map((bytes) => fieldsOf(bytes));

export const buffersIn = (fields: Fields, number: number): Buffer[] =>
  (fields.get(number) ?? []).filter((value) => Buffer.isBuffer(value));

export const textIn = (fields: Fields, number: number): string =>
  buffersIn(fields, number)[0]?.toString() ?? '';

export const numberIn = (fields: Fields, number: number): bigint => {
  const value = fields.get(number)?.[0];
  return typeof value === 'bigint' ? value : 0n;
};
