const isoTime = /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$/;

/** A moment as ISO 8601, in UTC where it has no offset; an invalid date for any other text. */
export function momentOf(text: string): Date {
  const [, date = ''] = isoTime.exec(text) ?? [];
  // The engine takes the 30th of February for the 2nd of March.
  if (!isCalendarDay(date)) return new Date(NaN);
  return new Date(/T.*(Z|[+-]\d{2}:?\d{2})$/.test(text) || !text.includes('T') ? text : `${text}Z`);
}

const isCalendarDay = (date: string): boolean => {
  const midnight = new Date(date);
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(date);
};
