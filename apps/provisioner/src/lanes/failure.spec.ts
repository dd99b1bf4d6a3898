import { describe, expect, test } from 'vitest';
import { answeredFailure, localFailure, unansweredFailure, withoutSecrets } from './failure.ts';

const site = { provider: 'runpod', call: 'create', secrets: ['rpa_SECRET_KEY', 'agent-token-1'] } as const;

describe('no text of a failure carries a secret', () => {
  test.each([
    { text: 'bad key rpa_SECRET_KEY, again rpa_SECRET_KEY', clean: 'bad key [secret], again [secret]' },
    { text: 'env: {"TOKEN":"agent-token-1"}', clean: 'env: {"TOKEN":"[secret]"}' },
    { text: 'Authorization: Bearer abcdef123456', clean: 'Authorization: Bearer [secret]' },
    { text: 'GET /graphql?api_key=abc123&x=1', clean: 'GET /graphql?api_key=[secret]&x=1' },
    { text: 'the bearer is unknown', clean: 'the bearer is unknown' },
    { text: 'nothing to hide', clean: 'nothing to hide' },
  ])('$text', ({ text, clean }) => {
    expect(withoutSecrets(text, site.secrets)).toBe(clean);
  });

  test('an empty secret hides nothing', () => {
    expect(withoutSecrets('text', [''])).toBe('text');
  });

  test('answered, unanswered and local failures are all cleaned', () => {
    const text = 'rpa_SECRET_KEY';
    const verdict = { kind: 'auth', code: null, codeIsKnown: false } as const;
    const answered = answeredFailure(
      site,
      { kind: 'answered', status: 401, retryAfterS: null, text, json: null },
      verdict,
    );
    const unanswered = unansweredFailure(site, { kind: 'unanswered', sent: true, text });
    for (const failure of [answered, unanswered, localFailure(site, 'rejected', text)]) {
      expect(failure.text).toBe('[secret]');
    }
  });

  test('a gateway page is cut', () => {
    expect(withoutSecrets('x'.repeat(100_000), []).length).toBe(8_192);
  });
});
