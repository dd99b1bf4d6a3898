import { describe, expect, test } from 'vitest';
import { badMembersOf } from '#platform/bad-members';
import { ALLOCATION, ATTEMPT_BODY } from '#support/attempt-bodies';
import { AttemptBody } from './attempt-body.ts';

/** Reads a body as it arrives: JSON text, so that 1e999 and an own `__proto__` member are possible. */
function read(text: string) {
  const parsed = AttemptBody.safeParse(JSON.parse(text), { reportInput: true });
  return parsed.success ? { body: parsed.data } : { bad: badMembersOf(parsed.error, AttemptBody) };
}

const json = (change: object = {}) => JSON.stringify({ ...ATTEMPT_BODY, ...change });
/** The ordinary body with one member of its request spelled out in JSON. */
const requestWith = (member: string) => `{"logical_allocation":"a","request":{"image":"i",${member}}}`;

const text = (length: number) => 'x'.repeat(length);
const emoji = (length: number) => '\u{1f600}'.repeat(length);

describe('takes', () => {
  test('the ordinary body as it is', () => {
    expect(read(json())).toEqual({ body: ATTEMPT_BODY });
  });
  test('only a name and a request', () => {
    expect(read('{"logical_allocation":"a","request":{"image":"i"}}')).toEqual({
      body: { logical_allocation: 'a', request: { image: 'i' } },
    });
  });

  test.each([
    { reason: 'the name is trimmed', change: { logical_allocation: ' \t\u00a0a b\n' }, name: 'a b' },
    {
      reason: '256 characters after trimming',
      change: { logical_allocation: ` ${text(256)} ` },
      name: text(256),
    },
    { reason: 'an emoji is one character', change: { logical_allocation: emoji(256) }, name: emoji(256) },
  ])('name: $reason', ({ change, name }) => {
    expect(read(json(change)).body?.logical_allocation).toBe(name);
  });

  test.each([
    { reason: 'attempt_id of 1 character', change: { attempt_id: '#' } },
    { reason: 'attempt_id of 200 characters', change: { attempt_id: text(200) } },
    { reason: 'attempt_id of 200 emoji', change: { attempt_id: emoji(200) } },
    { reason: 'code of 256 characters', change: { failure: { code: text(256) } } },
    { reason: 'empty code', change: { failure: { code: '' } } },
    { reason: 'message of 65,536 characters', change: { failure: { message: text(65_536) } } },
    { reason: 'failure without members', change: { failure: {} } },
    { reason: 'fingerprint of 1,024 characters', change: { evidence: { fingerprint: text(1_024) } } },
    { reason: 'empty fingerprint', change: { evidence: { fingerprint: '' } } },
    { reason: 'a source we do not know', change: { evidence: { source: 'carrier pigeon' } } },
    { reason: 'text invariant of 1,024 characters', change: { request: { model: text(1_024) } } },
    { reason: 'empty text invariant', change: { request: { image: '' } } },
    { reason: 'pool that is not on-demand', change: { request: { pool: 'spot' } } },
    { reason: 'count 0', change: { request: { gpu_count: 0 } } },
    { reason: 'count below 0', change: { request: { gpu_count: -1 } } },
    { reason: '2^53-1', change: { request: { boot_disk_size_bytes: Number.MAX_SAFE_INTEGER } } },
    { reason: 'empty candidate', change: { preemptible_candidate: {} } },
    { reason: 'success true', change: { success: true } },
    { reason: 'success false', change: { success: false } },
  ])('$reason', ({ change }) => {
    expect(read(json(change))).toEqual({ body: { ...ATTEMPT_BODY, ...change } });
  });

  test('4.0 is the number 4', () => {
    expect(read(requestWith('"gpu_count":4.0')).body?.request.gpu_count).toBe(4);
  });
  test('of a repeated member the last one', () => {
    expect(read(requestWith('"gpu_count":"x","gpu_count":2')).body?.request.gpu_count).toBe(2);
  });
});

describe('ignores', () => {
  test.each([
    { reason: 'unknown members at every level', member: '"x":1,"failure":{"x":[]},"evidence":{"x":{}}' },
    { reason: 'text that is not Unicode in them', member: '"x":"\\ud800","failure":{},"evidence":{}' },
    { reason: 'numbers without bounds in them', member: '"x":1e999,"failure":{},"evidence":{}' },
    {
      reason: 'a member named __proto__, which is no prototype',
      member: '"__proto__":{"success":true},"failure":{"__proto__":{"code":"c"}},"evidence":{}',
    },
  ])('$reason', ({ member }) => {
    const { body } = read(`{"logical_allocation":"a","request":{"image":"i"},${member}}`);
    expect(body).toEqual({ logical_allocation: 'a', request: { image: 'i' }, failure: {}, evidence: {} });
    expect(body?.success).toBeUndefined();
    expect(body?.failure?.code).toBeUndefined();
  });
  test.each(['{"unknown":1}', '{"__proto__":{"image":"i"}}', '{"image":null}'])(
    'all that it does not know of a request, which has one member all the same: %s',
    (request) => {
      expect(read(`{"logical_allocation":"a","request":${request}}`)).toEqual({
        body: { logical_allocation: 'a', request: {} },
      });
    },
  );
});

describe('null means absent', () => {
  test.each(['failure', 'evidence', 'preemptible_candidate', 'attempt_id'])('%s', (member) => {
    expect(read(json({ [member]: null }))).toEqual(read(json({ [member]: undefined })));
  });
  test.each(['code', 'message'])('failure.%s', (member) => {
    expect(read(json({ failure: { [member]: null } }))).toEqual(read(json({ failure: {} })));
  });
  test.each(['source', 'on_demand_impossible', 'preemptible_available', 'fingerprint'])(
    'evidence.%s',
    (member) => {
      expect(read(json({ evidence: { [member]: null } }))).toEqual(read(json({ evidence: {} })));
    },
  );
  test.each([...Object.keys(ALLOCATION), 'pool'])('%s of request and candidate', (member) => {
    const request = { ...ALLOCATION, pool: 'p' };
    const asNull = { ...request, [member]: null };
    const absent = { ...request, [member]: undefined };
    expect(read(json({ request: asNull, preemptible_candidate: asNull }))).toEqual(
      read(json({ request: absent, preemptible_candidate: absent })),
    );
  });
});

describe('refuses', () => {
  test.each(['[]', '"text"', '1', 'null', 'true'])('a body that is no object: %s', (body) => {
    expect(read(body)).toEqual({ bad: [{ pointer: '', code: 'wrong_type' }] });
  });
  test('an empty body, naming both required members', () => {
    expect(read('{}')).toEqual({
      bad: [
        { pointer: '/logical_allocation', code: 'required' },
        { pointer: '/request', code: 'required' },
      ],
    });
  });

  test.each([
    { member: 'logical_allocation', value: null, code: 'wrong_type', reason: 'null is no name' },
    { member: 'logical_allocation', value: '', code: 'empty', reason: 'empty' },
    { member: 'logical_allocation', value: ' \n\u3000', code: 'empty', reason: 'blank' },
    { member: 'logical_allocation', value: 7, code: 'wrong_type', reason: 'a number' },
    { member: 'logical_allocation', value: ['a'], code: 'wrong_type', reason: 'an array' },
    { member: 'logical_allocation', value: text(257), code: 'too_long', reason: '257 characters' },
    { member: 'logical_allocation', value: emoji(257), code: 'too_long', reason: '257 emoji' },
    { member: 'logical_allocation', value: 'a\ud800', code: 'invalid_unicode', reason: 'half a pair' },
    { member: 'request', value: null, code: 'required', reason: 'null is absent' },
    { member: 'request', value: {}, code: 'empty', reason: 'no member' },
    { member: 'request', value: [], code: 'wrong_type', reason: 'an array' },
    { member: 'request', value: 'on-demand', code: 'wrong_type', reason: 'text' },
    { member: 'failure', value: [], code: 'wrong_type', reason: 'an array' },
    { member: 'failure', value: 'NotEnoughResources', code: 'wrong_type', reason: 'text' },
    { member: 'evidence', value: [], code: 'wrong_type', reason: 'an array' },
    { member: 'evidence', value: true, code: 'wrong_type', reason: 'a boolean' },
    { member: 'preemptible_candidate', value: [], code: 'wrong_type', reason: 'an array' },
    { member: 'preemptible_candidate', value: 'preemptible', code: 'wrong_type', reason: 'text' },
    { member: 'success', value: null, code: 'wrong_type', reason: 'the one null that is refused' },
    { member: 'success', value: 1, code: 'wrong_type', reason: '1 is not true' },
    { member: 'success', value: 'true', code: 'wrong_type', reason: 'text is not true' },
    { member: 'success', value: [], code: 'wrong_type', reason: 'an array' },
    { member: 'success', value: {}, code: 'wrong_type', reason: 'an object' },
    { member: 'attempt_id', value: '', code: 'empty', reason: 'empty' },
    { member: 'attempt_id', value: 7, code: 'wrong_type', reason: 'a number' },
    { member: 'attempt_id', value: text(201), code: 'too_long', reason: '201 characters' },
    { member: 'attempt_id', value: '\udc00', code: 'invalid_unicode', reason: 'half a pair' },
  ])('$member: $reason', ({ member, value, code }) => {
    expect(read(json({ [member]: value }))).toEqual({ bad: [{ pointer: `/${member}`, code }] });
  });

  test.each([
    { path: 'failure/code', value: 5, code: 'wrong_type', reason: 'a number' },
    { path: 'failure/code', value: text(257), code: 'too_long', reason: '257 characters' },
    { path: 'failure/message', value: {}, code: 'wrong_type', reason: 'an object' },
    { path: 'failure/message', value: text(65_537), code: 'too_long', reason: '65,537 characters' },
    { path: 'failure/message', value: '\ud800', code: 'invalid_unicode', reason: 'half a pair' },
    { path: 'evidence/source', value: 1, code: 'wrong_type', reason: 'a number' },
    { path: 'evidence/source', value: text(1_025), code: 'too_long', reason: '1,025 characters' },
    { path: 'evidence/on_demand_impossible', value: 'false', code: 'wrong_type', reason: 'text' },
    { path: 'evidence/on_demand_impossible', value: 1, code: 'wrong_type', reason: '1' },
    { path: 'evidence/preemptible_available', value: 0, code: 'wrong_type', reason: '0' },
    { path: 'evidence/fingerprint', value: 7, code: 'wrong_type', reason: 'a number' },
    { path: 'evidence/fingerprint', value: text(1_025), code: 'too_long', reason: '1,025 characters' },
    { path: 'request/pool', value: false, code: 'wrong_type', reason: 'a boolean' },
    { path: 'request/pool', value: text(1_025), code: 'too_long', reason: '1,025 characters' },
    { path: 'preemptible_candidate/pool', value: 1, code: 'wrong_type', reason: 'a number' },
  ])('$path: $reason', ({ path, value, code }) => {
    const [parent = '', member = ''] = path.split('/');
    expect(read(json({ [parent]: { [member]: value } }))).toEqual({ bad: [{ pointer: `/${path}`, code }] });
  });

  const texts = ['gpu_family', 'gpu_product', 'image', 'image_digest', 'sm'];
  const more = ['backend', 'model', 'workload_tier', 'execution_mode'];
  test.each([...texts, ...more])('%s: no text, or more than 1,024 characters', (name) => {
    for (const [value, code] of [
      ['4', 'wrong_type'],
      ['false', 'wrong_type'],
      ['[]', 'wrong_type'],
      [JSON.stringify(text(1_025)), 'too_long'],
      ['"\\ud83d"', 'invalid_unicode'],
    ]) {
      expect(read(requestWith(`"${name}":${value}`))).toEqual({
        bad: [{ pointer: `/request/${name}`, code }],
      });
    }
  });
  test.each(['gpu_count', 'boot_disk_count', 'boot_disk_size_bytes'])(
    '%s: no whole number in bounds',
    (name) => {
      for (const [value, code] of [
        ['"4"', 'wrong_type'],
        ['1.5', 'wrong_type'],
        ['true', 'wrong_type'],
        ['{}', 'wrong_type'],
        ['1e999', 'not_finite'],
        ['-1e999', 'not_finite'],
        ['9007199254740992', 'out_of_range'],
        ['-9007199254740992', 'out_of_range'],
        ['1e300', 'out_of_range'],
      ]) {
        expect(read(requestWith(`"${name}":${value}`))).toEqual({
          bad: [{ pointer: `/request/${name}`, code }],
        });
      }
    },
  );
  test.each(['0', '1', '"false"', '[]'])('rt_cores_required: %s is no boolean', (value) => {
    expect(read(requestWith(`"rt_cores_required":${value}`))).toEqual({
      bad: [{ pointer: '/request/rt_cores_required', code: 'wrong_type' }],
    });
  });

  test('everything that is wrong at once, never quoting a value', () => {
    const { bad } = read(
      json({ success: 'hush', evidence: { fingerprint: 1 }, request: { gpu_count: 'hush', sm: 9 } }),
    );
    expect(bad).toEqual([
      { pointer: '/request/gpu_count', code: 'wrong_type' },
      { pointer: '/request/sm', code: 'wrong_type' },
      { pointer: '/evidence/fingerprint', code: 'wrong_type' },
      { pointer: '/success', code: 'wrong_type' },
    ]);
  });
});
