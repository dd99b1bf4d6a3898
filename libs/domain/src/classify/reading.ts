import { presentFailure } from './history.ts';
import { type InnerCodes, innerCodes } from './inner-codes.ts';
import { maskNames } from './names.ts';
import { codeForms, plainText } from './normalise.ts';
import { isQuotaDenial, withoutPreemption } from './scheduler-message.ts';

/** The failure as a caller reports it (fallback 1.1). */
export interface FailureReport {
  readonly code?: string | undefined;
  readonly message?: string | undefined;
}

/** A report made ready for the rules. */
export interface Reading {
  /** Forms of the caller's code, compact, the whole one first. */
  readonly codes: readonly string[];
  /** Codes that stand in the text. */
  readonly inner: InnerCodes;
  /** The present failure, normalised. */
  readonly text: string;
  /** The same with names masked, at the same positions. */
  readonly words: string;
  /** The scheduler of Nebius gave up on finding a host: a shortage and no timeout (fallback 2.2). */
  readonly scheduleTimeout: boolean;
  /** Whether a code, in compact form, is the caller's or stands in the text. */
  readonly has: (code: string) => boolean;
}

/** Normalises a report, opens its wrappers, and leaves out history, hints and names (fallback 2). */
export function readFailure(failure: FailureReport): Reading {
  const codes = codeForms(failure.code ?? '');
  const text = withoutPreemption(presentFailure(plainText(failure.message ?? '')));
  const spoken = withoutFetchClass(withoutQuotaForbidden(text));
  const inner = innerCodes(spoken);
  const has = (code: string) =>
    codes.includes(code) || inner.positioned.includes(code) || inner.mentioned.includes(code);
  const words = maskNames(spoken);
  const scheduleTimeout = words.includes(SCHEDULE_TIMEOUT) && PLACING_CODES.some(has);
  return {
    codes,
    inner,
    text,
    words: scheduleTimeout ? withoutScheduleTimeout(words) : words,
    scheduleTimeout,
    has,
  };
}

/** Codes under which the scheduler's "VM schedule timeout" means that no host was free (fallback 2.2). */
const PLACING_CODES = ['notenoughresources', 'resourceexhausted', 'capacityexhausted'];

const SCHEDULE_TIMEOUT = 'vm schedule timeout';

function withoutScheduleTimeout(words: string): string {
  return words.replaceAll(SCHEDULE_TIMEOUT, '~'.repeat(SCHEDULE_TIMEOUT.length));
}

/** The fetch of Node and of browsers reports every lost connection as a TypeError, which is no fault of a program. */
function withoutFetchClass(text: string): string {
  return text.replace(
    /typeerror(?=: (?:fetch failed|failed to fetch|terminated))/g,
    '~'.repeat('typeerror'.length),
  );
}

const GOOGLE_REFUSAL = /googleapi: error 403|insufficient (?:regional|global|project) quota to satisfy/;

/**
 * A quota is refused with status 403 both by Kubernetes ("is forbidden: exceeded quota: ...") and by Google
 * ("googleapi: Error 403: ... quota ..., forbidden", or `"reason": "forbidden"` in its JSON). There the word names the status, not a permission.
 */
function withoutQuotaForbidden(text: string): string {
  if (isQuotaDenial(text)) return text.replaceAll('forbidden', '~'.repeat('forbidden'.length));
  if (!GOOGLE_REFUSAL.test(text) || !/(?<!\w)quota(?!\w)/.test(text)) return text;
  return text.replace(/, forbidden(?!\w)|"reason" ?: ?"forbidden"/g, (found) => '~'.repeat(found.length));
}
