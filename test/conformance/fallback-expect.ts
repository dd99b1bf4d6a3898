import { isDeepStrictEqual } from 'node:util';
import type { Expectation } from './fallback-cases.ts';

/** What came back for one call. `json` is null when the body is not JSON. */
export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly json: unknown;
}

/** How an answer differs from the expectation: one sentence a difference, none when it conforms. */
export function mismatchesOf(expected: Expectation, answer: Answer): readonly string[] {
  const { json, text } = answer;
  return [
    ...statusMismatches(expected, answer),
    ...Object.entries(expected.decision ?? {}).flatMap(([member, value]) =>
      differs(DECISION_PATHS[member] ?? `decision.${member}`, value, json),
    ),
    ...Object.entries(expected.allocation ?? {}).flatMap(([member, value]) =>
      differs(`allocation.${member}`, value, json),
    ),
    ...(expected.token === undefined ? [] : tokenMismatches(expected.token, json)),
    ...(expected.no_prompt === true ? promptsIn(json) : []),
    ...(expected.has ?? [])
      .filter((path) => !holds(json, path))
      .map((path) => `lacks ${path}${foundAt(json, path)}`),
    ...(expected.lacks ?? []).filter((path) => holds(json, path)).map((path) => `has ${path}`),
    ...(expected.routes === undefined
      ? []
      : differs('capabilities.gpu_allocation_fallback.routes', expected.routes, json)),
    ...(expected.not_contains ?? [])
      .filter((part) => text.includes(part))
      .map((part) => `contains "${part}"`),
    ...(expected.allocation_not_contains ?? [])
      .filter((part) => (JSON.stringify(at(json, 'allocation')) ?? '').includes(part))
      .map((part) => `allocation contains "${part}"`),
    ...provenanceMismatches(expected, json),
  ];
}

/** How the answers to calls sent at once differ from what is expected of all of them together. */
export function totalMismatches(expected: Expectation, answers: readonly Answer[]): readonly string[] {
  const counts = answers
    .map(({ json }) => at(json, 'allocation.qualifying_attempts'))
    .filter((n) => typeof n === 'number');
  return [
    ...totalDiffers('max_qualifying_attempts', expected.max_qualifying_attempts, Math.max(0, ...counts)),
    ...totalDiffers(
      'prompts_total',
      expected.prompts_total,
      answers.filter(({ json }) => at(json, 'decision.prompt') === true).length,
    ),
    ...totalDiffers('ok_total', expected.ok_total, answers.filter(({ status }) => status === 200).length),
  ];
}

/** The value at a dotted path; undefined where there is none. Numbers are places in lists. */
export function at(json: unknown, path: string): unknown {
  let here = json;
  for (const step of path.split('.')) {
    if (typeof here !== 'object' || here === null || !Object.hasOwn(here, step)) return undefined;
    here = Reflect.get(here, step);
  }
  return here;
}

const DECISION_PATHS: Readonly<Record<string, string>> = {
  category: 'decision.classification.category',
  qualifying: 'decision.classification.qualifying',
};

function statusMismatches(expected: Expectation, { status, text }: Answer): readonly string[] {
  const allowed = expected.status_any_of ?? (expected.status === undefined ? [] : [expected.status]);
  if (allowed.length === 0 || allowed.includes(status)) return [];
  return [`status is ${status}, expected ${allowed.join(' or ')}: ${shortened(text)}`];
}

function differs(path: string, value: unknown, json: unknown): readonly string[] {
  const found = at(json, path);
  // An expected null may also be left out: null means absent (fallback 1).
  if (isDeepStrictEqual(found, value) || (value === null && found === undefined)) return [];
  return [`${path} is ${shown(found)}, expected ${shown(value)}`];
}

function tokenMismatches(expected: boolean, json: unknown): readonly string[] {
  const token = at(json, 'confirm_token');
  if (expected) return typeof token === 'string' && token !== '' ? [] : ['confirm_token is missing'];
  return token === undefined ? [] : ['confirm_token is present, expected none'];
}

function promptsIn(json: unknown): readonly string[] {
  return [
    ...(at(json, 'decision.prompt') === true ? ['decision.prompt is true, expected no prompt'] : []),
    ...['confirm_token', 'needs_confirmation', 'decision.proposed_action']
      .filter((path) => at(json, path) !== undefined)
      .map((path) => `${path} is present, expected no prompt`),
  ];
}

/** `a.b` = there is something at the path; `a.b=value` = it reads as `value`. */
function holds(json: unknown, condition: string): boolean {
  const [path = '', value] = splitAtFirst(condition, '=');
  const found = at(json, path);
  if (value === undefined) return found !== undefined;
  return found !== undefined && (String(found) === value || JSON.stringify(found) === value);
}

function foundAt(json: unknown, condition: string): string {
  const [path = '', value] = splitAtFirst(condition, '=');
  return value === undefined ? '' : `: it is ${shown(at(json, path))}`;
}

function provenanceMismatches(expected: Expectation, json: unknown): readonly string[] {
  const { provenance_max: max, provenance_last: last, provenance_has_outcome: outcome } = expected;
  if (max === undefined && last === undefined && outcome === undefined) return [];
  const found = at(json, 'allocation.provenance');
  if (!Array.isArray(found)) return ['allocation.provenance is no list'];
  const rows: readonly unknown[] = found;
  const newest = `${rows.length - 1}`;
  return [
    ...(max !== undefined && rows.length > max
      ? [`provenance has ${rows.length} rows, expected at most ${max}`]
      : []),
    ...Object.entries(last ?? {}).flatMap(([member, value]) =>
      differs(`allocation.provenance.${newest}.${member}`, value, json),
    ),
    ...(outcome !== undefined && !rows.some((row) => at(row, 'consent_outcome') === outcome)
      ? [`provenance has no row with consent_outcome ${outcome}`]
      : []),
  ];
}

function totalDiffers(name: string, expected: number | undefined, found: number): readonly string[] {
  return expected === undefined || expected === found ? [] : [`${name} is ${found}, expected ${expected}`];
}

function splitAtFirst(text: string, separator: string): readonly [string, string?] {
  const place = text.indexOf(separator);
  return place < 0 ? [text] : [text.slice(0, place), text.slice(place + separator.length)];
}

function shown(value: unknown): string {
  return shortened(JSON.stringify(value) ?? 'absent');
}

const MAX_SHOWN = 200;

function shortened(text: string): string {
  return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN)}...`;
}
