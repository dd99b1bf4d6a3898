const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const SHORT_REF = 10;

/** A stretch of time in its two largest units: `3 d 4 h`, `12 min`, `8 s`. Negative counts as 0. */
export function stretch(ms: number): string {
  const left = Math.max(0, ms);
  if (left < MINUTE) return `${Math.floor(left / SECOND)} s`;
  if (left < HOUR) return `${Math.floor(left / MINUTE)} min`;
  if (left < DAY) return two(left, HOUR, 'h', MINUTE, 'min');
  return two(left, DAY, 'd', HOUR, 'h');
}

/** A stretch that is counted down, to the second below an hour: `9 min 04 s`. */
export function countdown(ms: number): string {
  const left = Math.max(0, ms);
  if (left >= HOUR) return stretch(left);
  const minutes = Math.floor(left / MINUTE);
  const seconds = Math.floor((left % MINUTE) / SECOND);
  return minutes === 0 ? `${seconds} s` : `${minutes} min ${String(seconds).padStart(2, '0')} s`;
}

function two(ms: number, large: number, largeUnit: string, small: number, smallUnit: string): string {
  const rest = Math.floor((ms % large) / small);
  const whole = `${Math.floor(ms / large)} ${largeUnit}`;
  return rest === 0 ? whole : `${whole} ${rest} ${smallUnit}`;
}

/** How long ago, for people: `just now` below 5 s. A moment ahead of the clock is `just now` too. */
export function ago(ms: number): string {
  return ms < 5 * SECOND ? 'just now' : `${stretch(ms)} ago`;
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** `29 Nov 2026`, in UTC. */
export function day(iso: string): string {
  const at = new Date(iso);
  return `${at.getUTCDate()} ${MONTHS[at.getUTCMonth()] ?? ''} ${at.getUTCFullYear()}`;
}

/** `22:04:11`, in UTC. */
export function timeOfDay(iso: string): string {
  return new Date(iso).toISOString().slice(11, 19);
}

/** `29 Nov 2026, 22:04:11 UTC`: two people who speak of a moment must mean the same one. */
export function instant(iso: string): string {
  return `${day(iso)}, ${timeOfDay(iso)} UTC`;
}

/** `29 Nov, 22:04 UTC`: a moment beside how long ago it was. */
export function minute(iso: string): string {
  const at = new Date(iso);
  return `${at.getUTCDate()} ${MONTHS[at.getUTCMonth()] ?? ''}, ${timeOfDay(iso).slice(0, 5)} UTC`;
}

/** `$2.49`, with four digits where two would hide it. */
export function usd(amount: number): string {
  const digits = amount !== 0 && Math.abs(amount) < 0.1 ? 4 : 2;
  return `$${amount.toFixed(digits)}`;
}

/** The beginning of a digest or an id: enough to recognise it on one page. */
export function short(id: string, characters = SHORT_REF): string {
  return id.length <= characters ? id : `${id.slice(0, characters)}…`;
}

/** `1 machine`, `2 machines`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** A word of the log as people write it: `awaiting_consent` and `awaiting-consent` are `awaiting consent`. */
export function plain(word: string): string {
  return word.replaceAll(/[_-]/g, ' ');
}

/** An amount of bytes as disks are sold: `200 GiB`. */
export function bytes(count: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = count;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${Number.isInteger(value) ? value : value.toFixed(1)} ${units[unit]}`;
}
