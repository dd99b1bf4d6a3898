import { Controller, Inject } from '@nestjs/common';
import { EventPattern } from '@nestjs/microservices';
import type { Command } from '#domain/log';
import type { EventOfType, HandlersFor } from '#messaging/log-transport';
import { Sealer } from '#platform/sealer';
import { AttemptDecisions } from './attempt-decisions.ts';
import { ObservationDecisions } from './observation-decisions.ts';

/**
 * What `classifier` does with each event that concerns it: a plain call each. Decisions of other apps reach its
 * states by the tail, so that they also count those that it does not handle.
 */
@Controller()
export class EventHandlers implements HandlersFor<'classifier'> {
  constructor(
    @Inject(AttemptDecisions) private readonly attempts: AttemptDecisions,
    @Inject(ObservationDecisions) private readonly observations: ObservationDecisions,
    @Inject(Sealer) private readonly sealer: Sealer,
  ) {}

  @EventPattern('AttemptReported')
  onAttemptReported(event: EventOfType<'AttemptReported'>): Promise<Command> {
    return this.attempts.decide(event);
  }

  @EventPattern('ObservationReported')
  onObservationReported(event: EventOfType<'ObservationReported'>): Promise<Command> {
    return this.observations.decide(event);
  }
}
