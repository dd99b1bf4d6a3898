import { GoogleAuth } from 'google-auth-library';
import type { LaneFailureKind } from '#domain/provision/lane';
import type { Secret } from '#platform/secret';

export type TokenReply =
  | { readonly kind: 'ok'; readonly token: string }
  | { readonly kind: 'failed'; readonly failure: LaneFailureKind; readonly text: string };

/** Gives the bearer token of the next request. Never rejects; nothing of ours has been sent when it fails. */
export type TokenSource = () => Promise<TokenReply>;

/** One token that does not change: for the stand-in cloud. */
export function fixedToken(token: Secret<string>): TokenSource {
  return async () => ({ kind: 'ok', token: token.reveal() });
}

const SCOPE = 'https://www.googleapis.com/auth/compute';
const REFUSED: ReadonlySet<number> = new Set([400, 401, 403]);

/**
 * Tokens by Google's library: of a key file if one is named, else of the machine's own credentials. The library
 * keeps a token until shortly before its end.
 */
export function googleTokens(keyFile: string | null): TokenSource {
  const auth = new GoogleAuth({ scopes: [SCOPE], ...(keyFile === null ? {} : { keyFilename: keyFile }) });
  return async () => {
    try {
      const token = await auth.getAccessToken();
      if (typeof token === 'string' && token !== '') return { kind: 'ok', token };
      return { kind: 'failed', failure: 'auth', text: 'no token was given' };
    } catch (error) {
      const text = error instanceof Error ? error.message : 'no token was given';
      return { kind: 'failed', failure: failureOf(error), text };
    }
  };
}

/** A refused credential is a matter of auth; a server that cannot be reached is not. */
function failureOf(error: unknown): LaneFailureKind {
  if (!(error instanceof Error)) return 'auth';
  const status = 'status' in error ? error.status : null;
  if (typeof status === 'number') return REFUSED.has(status) ? 'auth' : 'unavailable';
  const code = 'code' in error ? error.code : null;
  // A file that is not there, or no credentials at all, will not come by waiting.
  if (code === 'ENOENT' || code === 'EACCES' || /default credentials/i.test(error.message)) return 'auth';
  return 'unavailable';
}
