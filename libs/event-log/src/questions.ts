import type { Pool } from 'pg';
import type { RecordedEvent } from '#events/envelope';
import { reading } from './failures.ts';
import { EVENT_COLUMNS, type EventRow, eventOf } from './rows.ts';

/** Questions of all allocations, as candidates for lists: whoever shows one folds its stream first. */
export interface Questions {
  /** The events under which questions are open, newest first, below `beforePos`; cost grows with what is open. */
  open(beforePos: number, limit: number): Promise<readonly RecordedEvent[]>;
  /**
   * The events that first asked, newest first, below `beforePos`, without those that are open under their first id.
   * Cost does not grow with the log.
   */
  asked(beforePos: number, limit: number): Promise<readonly RecordedEvent[]>;
}

/** Above every position. */
export const FROM_NEWEST = Number.MAX_SAFE_INTEGER;

// Each open question by its id: left to choose, the planner may walk down the whole log to find them.
export const OPEN_QUESTIONS_SQL = `
  with open as materialized (
    select open_question from spillway.allocation where open_question is not null
  )
  select ${EVENT_COLUMNS} from (
    select e.* from open cross join lateral (
      select * from spillway.event where event_id = open.open_question offset 0
    ) e
  ) found
  where pos < $1 order by pos desc limit $2`;

export const ASKED_QUESTIONS_SQL = `
  select ${EVENT_COLUMNS} from spillway.event asked
  where type in ('FallbackPrompted', 'FailoverPrompted') and pos < $1
    and not exists (
      select 1 from spillway.allocation a where a.stream = asked.stream and a.open_question = asked.event_id
    )
  order by pos desc limit $2`;

export function questions(pool: Pool): Questions {
  async function events(name: string, text: string, values: readonly unknown[]) {
    const { rows } = await reading(() => pool.query<EventRow>({ name, text, values: [...values] }));
    return rows.map(eventOf);
  }

  return {
    open: (beforePos, limit) => events('open-questions', OPEN_QUESTIONS_SQL, [beforePos, limit]),
    asked: (beforePos, limit) => events('asked-questions', ASKED_QUESTIONS_SQL, [beforePos, limit]),
  };
}
