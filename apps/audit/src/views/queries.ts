import { z } from 'zod';
import { NAME_MAX_CHARS } from '#domain/attempt/attempt-body';
import { Scalars } from '#events/scalars';
import { OUTCOMES } from '#events/watch.events';
import { LINES_DEFAULT, LINES_MAX } from './allocation-view.ts';
import { type AsOf, parseAsOf } from './as-of.ts';

export const ROWS_DEFAULT = 50;
export const ROWS_MAX = 200;

/** The form of a ref: 64 lower-case hex digits. */
export const REF = /^[0-9a-f]{64}$/;
/** The form of what a ref begins with. */
export const REF_PREFIX = /^[0-9a-f]{1,64}$/;
const WORD = /^[\w.:-]{1,64}$/;
const POSITION = /^\d{1,15}$/;

const code = (name: string) => ({ params: { code: name } });

/** A moment of the log: a position in digits, or a time as RFC 3339. */
export const Moment = z.string().transform((text, context): AsOf => {
  const moment = parseAsOf(text);
  if (moment !== null) return moment;
  context.addIssue({ code: 'custom', ...code('wrong_format') });
  return z.NEVER;
});

const Position = z.string().regex(POSITION).transform(Number);
const Flag = z.enum(['true', 'false']).transform((text) => text === 'true');
const Word = z.string().regex(WORD);

/** A whole number from 1; above `most` it is refused rather than cut. */
const limitOf = (most: number, unlessGiven: number) =>
  z.string().regex(POSITION).transform(Number).pipe(z.number().min(1).max(most)).default(unlessGiven);

/** A parameter without a value is one that was not given: forms send such. */
const given = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z.preprocess(
    (query) =>
      typeof query === 'object' && query !== null
        ? Object.fromEntries(Object.entries(query).filter(([, value]) => value !== ''))
        : query,
    // A misspelt filter that is passed over would answer something else than was asked.
    z.strictObject(shape),
  );

/** `GET /api/audit/allocations`. */
export const ListQuery = given({
  status: Scalars.shape.status.optional(),
  outcome: z.enum(OUTCOMES).optional(),
  reason: Word.optional(),
  lane: Word.optional(),
  bills: Flag.optional(),
  alerts: Flag.optional(),
  since: Moment.optional(),
  until: Moment.optional(),
  q: z.string().max(NAME_MAX_CHARS).optional(),
  name: z.string().max(NAME_MAX_CHARS).optional(),
  limit: limitOf(ROWS_MAX, ROWS_DEFAULT),
  after: Position.optional(),
});
export type ListQuery = z.output<typeof ListQuery>;

/** `GET /api/audit/allocations/:ref`. */
export const ViewQuery = given({
  limit: limitOf(LINES_MAX, LINES_DEFAULT),
  before: Position.optional(),
});

/** `GET /api/audit/allocations/:ref/state`. */
export const StateQuery = given({ as_of: Moment.optional() });
