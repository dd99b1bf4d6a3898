import type { LaneCall, LaneFailure, LaneFailureKind } from '#domain/provision/lane';
import type { HttpReply } from './exchange.ts';
import { kindOfSilence } from './status-map.ts';

/** What an answer of a provider was taken for. */
export interface Verdict {
  readonly kind: LaneFailureKind;
  readonly code: string | null;
  /** Whether the code is a row of the provider's table. */
  readonly codeIsKnown: boolean;
}

/** Which call of which provider failed, and what must not be told on. */
export interface CallSite {
  readonly provider: string;
  readonly call: LaneCall;
  /** Removed from every text, in case the provider echoes them. */
  readonly secrets: readonly string[];
}

/** Longer texts are gateway pages; the reason stands at their start. */
const TEXT_MAX_CHARACTERS = 8_192;

/** The failure of an answered call. */
export function answeredFailure(
  site: CallSite,
  reply: Extract<HttpReply, { kind: 'answered' }>,
  verdict: Verdict,
): LaneFailure {
  return {
    ...verdict,
    provider: site.provider,
    call: site.call,
    status: reply.status,
    text: withoutSecrets(reply.text, site.secrets),
    retryAfterS: reply.retryAfterS,
    sent: true,
  };
}

/** The failure of a call that got no answer (providers 1.3). */
export function unansweredFailure(
  site: CallSite,
  reply: Extract<HttpReply, { kind: 'unanswered' }>,
): LaneFailure {
  return {
    kind: kindOfSilence(site.call, reply.sent),
    code: null,
    codeIsKnown: false,
    provider: site.provider,
    call: site.call,
    status: null,
    text: withoutSecrets(reply.text, site.secrets),
    retryAfterS: null,
    sent: reply.sent,
  };
}

/** A failure found before anything was sent. */
export function localFailure(site: CallSite, kind: LaneFailureKind, text: string): LaneFailure {
  return {
    kind,
    code: null,
    codeIsKnown: false,
    provider: site.provider,
    call: site.call,
    status: null,
    text: withoutSecrets(text, site.secrets),
    retryAfterS: null,
    sent: false,
  };
}

/** A provider's text without the secrets that the driver knows, without bearer tokens, and not endless. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  let clean = text;
  for (const secret of secrets) {
    if (secret !== '') clean = clean.replaceAll(secret, '[secret]');
  }
  return clean
    .replace(/\b(bearer|basic)\s+[\w.~+/=-]{8,}/gi, '$1 [secret]')
    .replace(/\b(api_?key|access_token|token)=[^&\s"']+/gi, '$1=[secret]')
    .slice(0, TEXT_MAX_CHARACTERS);
}
