import { createHash, timingSafeEqual } from 'node:crypto';
import { LOCAL_SUBJECT } from '#domain/actor';

/** What a caller may do; a closed set. `unseal` = see names, invariants and texts (fallback 7). */
export const SCOPES = ['report', 'consent', 'audit', 'unseal', 'operate'] as const;
export type Scope = (typeof SCOPES)[number];

export interface Caller {
  readonly outcome: 'known';
  /** Stable name of the caller; recorded as a digest only, and `local` while authentication is off. */
  readonly subject: string;
  readonly scopes: readonly Scope[];
}

/** Answered with 401. */
export interface Refused {
  readonly outcome: 'refused';
}

export type RequestHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

export interface Authenticator {
  /** Who sent a request with these headers (names in lower case). Asked once per request; never throws for a bad credential. */
  authenticate(headers: RequestHeaders): Promise<Caller | Refused>;
}

/** Authentication off: everyone is `local` and may do everything. Only for loopback addresses (SPILLWAY_HOST). */
export const authenticationOff: Authenticator = {
  authenticate: async () => ({ outcome: 'known', subject: LOCAL_SUBJECT, scopes: SCOPES }),
};

/** True if the caller has the right; its lack is answered with 403. */
export function mayDo(caller: Caller, scope: Scope): boolean {
  return caller.scopes.includes(scope);
}

/** A test double: bearer tokens known beforehand. */
export class FixedTokens implements Authenticator {
  readonly #callers: readonly { readonly hash: Buffer; readonly caller: Caller }[];

  constructor(
    callers: Readonly<Record<string, { readonly subject: string; readonly scopes: readonly Scope[] }>>,
  ) {
    this.#callers = Object.entries(callers).map(([token, caller]) => ({
      hash: sha256(token),
      caller: { outcome: 'known', ...caller },
    }));
  }

  async authenticate(headers: RequestHeaders): Promise<Caller | Refused> {
    const authorization = headers.authorization;
    const token = typeof authorization === 'string' ? /^Bearer (\S+)$/i.exec(authorization)?.[1] : undefined;
    if (token === undefined) return { outcome: 'refused' };

    const hash = sha256(token);
    const found = this.#callers.find((known) => timingSafeEqual(known.hash, hash));
    return found?.caller ?? { outcome: 'refused' };
  }
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
