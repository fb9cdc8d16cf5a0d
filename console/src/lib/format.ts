const units = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
] as const;

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'narrow' });
const exact = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'long' });
const numbers = new Intl.NumberFormat('en');

/** "3m ago", "in 20s". */
export function ago(time: string, now: number): string {
  const differenceMs = Date.parse(time) - now;
  const [unit, sizeMs] = units.find(([, ms]) => Math.abs(differenceMs) >= ms) ?? ['second', 1_000];
  return Math.abs(differenceMs) < 1_000 ? 'now' : relative.format(Math.trunc(differenceMs / sizeMs), unit);
}

export const exactTime = (time: string): string => exact.format(new Date(time));

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
/** "19:45". */
export const clockTime = (time: string): string => clock.format(new Date(time));

const dayAndClock = new Intl.DateTimeFormat('en-GB', {
  ...{ weekday: 'short', day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' },
});

/** "Fri 23 Jan, 10:30" or "Fri 23 Jan, 10:30 – 10:40". */
export function timeSpan(from: number, to?: number): string {
  const start = dayAndClock.format(from);
  if (to === undefined) return start;
  const isSameDay = new Date(from).toDateString() === new Date(to).toDateString();
  return `${start} – ${(isSameDay ? clock : dayAndClock).format(to)}`;
}

export const number = (value: number): string => numbers.format(value);

/** "85 %", "99.95 %": with as many digits as needed near 100 %. */
export function percent(share: number): string {
  const value = share * 100;
  return `${Number(value.toFixed(value > 99 ? 2 : 1))} %`;
}

/** "12 ms", "3.4 s", "2 min 5 s". */
export function duration(ms: number): string {
  if (ms < 999.5) return `${ms < 10 ? Number(ms.toFixed(1)) : Math.round(ms)} ms`;
  if (ms < 60_000) return `${Number((ms / 1_000).toFixed(ms < 10_000 ? 2 : 1))} s`;
  const seconds = Math.round(ms / 1_000);
  const minutes = Math.floor(seconds / 60);
  const rest = seconds % 60;
  if (minutes < 60) return rest === 0 ? `${minutes} min` : `${minutes} min ${rest} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** "< 1 min", "31 min", "2 h 31 min", "3 days": a duration that still grows. */
export function lasting(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 1) return '< 1 min';
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} days`;
}

/** "340 B", "1.2 kB", "3 MB". */
export function bytes(size: number): string {
  const power = byteUnits.findLastIndex((_, index) => index === 0 || size >= 1_000 ** index);
  const value = size / 1_000 ** power;
  return `${Number(value.toFixed(value < 10 && power > 0 ? 1 : 0))} ${byteUnits[power]}`;
}

const byteUnits = ['B', 'kB', 'MB', 'GB', 'TB'] as const;

/** A number with its noun: "1 call", "2 calls". */
export const counted = (amount: number, noun: string): string =>
  `${number(amount)} ${noun}${amount === 1 ? '' : 's'}`;

/** "raiseInvestigation" → "Raise investigation". */
export function words(name: string): string {
  const text = name.replaceAll(/([A-Z])/g, ' $1').toLowerCase();
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** US dollars: "$1.24", "$0.0021". */
export const cost = (dollars: number): string =>
  `$${dollars === 0 || dollars >= 1 ? dollars.toFixed(2) : Number(dollars.toPrecision(2))}`;
