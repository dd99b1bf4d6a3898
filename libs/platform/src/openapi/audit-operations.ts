import { Scalars } from '#events/scalars';
import { OUTCOMES } from '#events/watch.events';
import { ALLOCATION, ALLOCATIONS, OVERVIEW, STATE } from './audit-examples.ts';
import { json, noStore } from './operation-parts.ts';
import { problemResponses } from './problem-responses.ts';
import type { Part } from './schemas.ts';

const REFUSALS = ['unknown_caller', 'not_permitted', 'internal', 'log_unavailable'] as const;

const query = (name: string, description: string, schema: Part): Part => ({
  name,
  in: 'query',
  required: false,
  description,
  schema,
});
const ref: Part = {
  name: 'ref',
  in: 'path',
  required: true,
  description: 'Ref of the allocation.',
  schema: { type: 'string', pattern: '^[0-9a-f]{64}$' },
};
const text: Part = { type: 'string' };
const flag: Part = { type: 'string', enum: ['true', 'false'] };
const position: Part = { type: 'integer', minimum: 0 };
const MOMENT = 'a position of the log, or a time (RFC 3339).';
const READS = 'Needs the scope `audit`; names and what callers wrote are shown with `unseal` only.';

const limit = (maximum: number, unlessGiven: number): Part =>
  query('limit', 'At most so many.', { type: 'integer', minimum: 1, maximum, default: unlessGiven });

/** The reads of the audit (design 3), by path. */
export const AUDIT_PATHS: Part = {
  '/api/audit/overview': {
    get: {
      operationId: 'readOverview',
      tags: ['audit'],
      summary: 'Everything at a glance',
      description: `Open questions, allocations by state, what bills, alerts, lag. At most a second old. ${READS}`,
      responses: {
        200: {
          description: 'The overview.',
          headers: noStore,
          content: json('AuditOverview', { overview: ['One allocation bills', OVERVIEW] }),
        },
        ...problemResponses(REFUSALS),
      },
    },
  },
  '/api/audit/allocations': {
    get: {
      operationId: 'listAllocations',
      tags: ['audit'],
      summary: 'List allocations, newest change first',
      description: `Every filter that is given must hold. An unknown one is refused. ${READS}`,
      parameters: [
        query('status', 'Status of the record.', { type: 'string', enum: [...Scalars.shape.status.options] }),
        query('outcome', 'Outcome of the placement.', { type: 'string', enum: [...OUTCOMES] }),
        query('reason', 'Why the placement is so.', text),
        query('lane', 'Lane of the current instance.', text),
        query('bills', 'Whether something of it bills.', flag),
        query('alerts', 'Whether an alert about it is open.', flag),
        query('since', `Changed last at or after: ${MOMENT}`, text),
        query('until', `Changed last at or before: ${MOMENT}`, text),
        query('q', 'Hex digits that its ref begins with; any other text is a name.', text),
        query('name', 'Its whole name. Needs the scope `unseal`.', text),
        limit(200, 50),
        query('after', '`next` of the page before.', text),
      ],
      responses: {
        200: {
          description: 'One page.',
          headers: noStore,
          content: json('AuditAllocations', { page: ['A caller who may not unseal', ALLOCATIONS] }),
        },
        ...problemResponses(['invalid_query', ...REFUSALS]),
      },
    },
  },
  '/api/audit/allocations/{ref}': {
    get: {
      operationId: 'readAllocation',
      tags: ['audit'],
      summary: 'The story of one allocation, with the state after every line',
      description: `The newest lines, oldest first, and the bars of its whole life. ${READS}`,
      parameters: [ref, limit(2_000, 500), query('before', 'Only lines before this position.', position)],
      responses: {
        200: {
          description: 'The story.',
          headers: noStore,
          content: json('AuditAllocation', { story: ['A caller who may unseal', ALLOCATION] }),
        },
        ...problemResponses(['invalid_query', 'not_found', ...REFUSALS]),
      },
    },
  },
  '/api/audit/allocations/{ref}/state': {
    get: {
      operationId: 'readAllocationState',
      tags: ['audit'],
      summary: 'Where one allocation stood at a moment',
      description: 'After the last of its events at or before that moment. Needs the scope `audit`.',
      parameters: [ref, query('as_of', `Absent = now; else ${MOMENT}`, text)],
      responses: {
        200: {
          description: 'The state. 404 when nothing was recorded of it by then.',
          headers: noStore,
          content: json('AuditState', { state: ['It runs on the paid lane', STATE] }),
        },
        ...problemResponses(['invalid_query', 'not_found', ...REFUSALS]),
      },
    },
  },
};
