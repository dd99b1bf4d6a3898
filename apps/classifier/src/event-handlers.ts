import { Controller, Inject } from '@nestjs/common';
import { EventPattern } from '@nestjs/microservices';
import type { Command } from '#domain/log';
import type { KnownEvent } from '#events/catalogue';
import type { EventOfType, HandlersFor } from '#messaging/log-transport';
import { Sealer } from '#platform/sealer';
import { AttemptDecisions } from './attempt-decisions.ts';
import { DecisionStates } from './decision-states.ts';
import { ObservationDecisions } from './observation-decisions.ts';

/** What `classifier` does with each event that concerns it: a plain call each. */
@Controller()
export class EventHandlers implements HandlersFor<'classifier'> {
  constructor(
    @Inject(AttemptDecisions) private readonly attempts: AttemptDecisions,
    @Inject(ObservationDecisions) private readonly observations: ObservationDecisions,
    @Inject(DecisionStates) private readonly states: DecisionStates,
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
  @EventPattern('ConsentAccepted')
  onConsentAccepted(event: EventOfType<'ConsentAccepted'>): Promise<null> {
    return this.#follow(event);
  }

  @EventPattern('ConsentDeclined')
  onConsentDeclined(event: EventOfType<'ConsentDeclined'>): Promise<null> {
    return this.#follow(event);
  }

  @EventPattern('PromptRenewed')
  onPromptRenewed(event: EventOfType<'PromptRenewed'>): Promise<null> {
    return this.#follow(event);
  }

  @EventPattern('FailoverPrompted')
  onFailoverPrompted(event: EventOfType<'FailoverPrompted'>): Promise<null> {
    return this.#follow(event);
  }

  @EventPattern('FailoverAccepted')
  onFailoverAccepted(event: EventOfType<'FailoverAccepted'>): Promise<null> {
    return this.#follow(event);
  }

  @EventPattern('FailoverDeclined')
  onFailoverDeclined(event: EventOfType<'FailoverDeclined'>): Promise<null> {
    return this.#follow(event);
  }

  @EventPattern('FailoverVoided')
  onFailoverVoided(event: EventOfType<'FailoverVoided'>): Promise<null> {
    return this.#follow(event);
  }

  @EventPattern('AllocationErased')
  onAllocationErased(event: EventOfType<'AllocationErased'>): Promise<null> {
    this.sealer.forget(event.row.stream);
    return this.#follow(event);
  }

  /** A decision of another app: the state in memory goes with it. */
  async #follow({ row }: KnownEvent): Promise<null> {
    this.states.observe(row);
    return null;
  }
}
