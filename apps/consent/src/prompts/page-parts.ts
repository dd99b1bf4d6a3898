import type { StreamFinder } from '#event-log/find-stream';
import type { PlacementStates } from '#event-log/placement-states';
import type { PostgresLog } from '#event-log/postgres-log';
import { QuestionReader } from '#event-log/question-reader';
import { QuestionRenewal } from '#event-log/question-renewal';
import type { LogTail } from '#messaging/log-tail';
import type { Clock } from '#platform/clock';
import type { Logger } from '#platform/logger';
import type { Metrics } from '#platform/metrics';
import type { Sealer } from '#platform/sealer';
import type { ConsentAnswers } from '../consent-answers.ts';
import { ParkedCalls } from './parked-calls.ts';
import { PromptCalls } from './prompt-calls.ts';
import { PromptFeed } from './prompt-feed.ts';
import { PromptViews } from './prompt-views.ts';

export interface PageOptions {
  readonly deployment: string;
  readonly log: PostgresLog;
  readonly tail: LogTail;
  readonly streams: StreamFinder;
  readonly placements: PlacementStates;
  readonly answers: ConsentAnswers;
  readonly sealer: Sealer;
  readonly tokenLifeS: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

export interface PageParts {
  readonly prompts: PromptCalls;
  /** To be stopped before the server that its pages are connected to. */
  readonly feed: PromptFeed;
  readonly parked: ParkedCalls;
}

/** What serves the approver's page beside its files. */
export function pageParts(options: PageOptions): PageParts {
  const { deployment, log, tail, streams, placements, answers, sealer, clock, logger, metrics } = options;
  const reader = new QuestionReader({ log, placements });
  const renewal = new QuestionRenewal({ log, now: () => clock.now(), tokenLifeS: options.tokenLifeS });
  const views = new PromptViews({ streams, sealer, clock });
  const pages = metrics.gauge('spillway_pages_connected', 'Pages that hear of questions as they change.', {});
  pages.set({}, 0);
  return {
    prompts: new PromptCalls({ deployment, streams, reader, renewal, answers, views, clock }),
    feed: new PromptFeed({
      tail,
      log,
      reader,
      views,
      onFailure: (error) => logger.warn('feed_failed', {}, error),
      onCount: (count) => pages.set({}, count),
    }),
    parked: new ParkedCalls(log, clock),
  };
}
