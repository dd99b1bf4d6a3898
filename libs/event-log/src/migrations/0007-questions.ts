/**
 * The history of questions, newest first, over all allocations: without an index of its own it would read the log
 * backwards, event by event. It holds one row a question, so an append hardly notices it.
 */
export const sql = `
create index event_questions on spillway.event (pos)
  where type in ('FallbackPrompted', 'FailoverPrompted');
`;
