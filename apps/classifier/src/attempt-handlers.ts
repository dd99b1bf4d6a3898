import { Controller, Inject } from '@nestjs/common';
import { EventPattern } from '@nestjs/microservices';
import type { Command } from '#domain/log';
import type { KnownEvent } from '#events/catalogue';
import type { EventOfType, HandlersFor } from '#messaging/log-transport';
import { AttemptDecisions } from './attempt-decisions.ts';

/** What `classifier` does with each event that concerns it: a plain call each. */
@Controller()
export class AttemptHandlers implements HandlersFor<'classifier'> {
  constructor(@Inject(AttemptDecisions) private readonly decisions: AttemptDecisions) {}

  @EventPattern('AttemptReported')
  onAttemptReported(event: EventOfType<'AttemptReported'>): Promise<Command> {
    return this.decisions.decide(event);
  }

  @EventPattern('ConsentAccepted')
  onConsentAccepted(event: EventOfType<'ConsentAccepted'>): Promise<null> {
    return this.#observe(event);
  }

  @EventPattern('ConsentDeclined')
  onConsentDeclined(event: EventOfType<'ConsentDeclined'>): Promise<null> {
    return this.#observe(event);
  }

  @EventPattern('PromptRenewed')
  onPromptRenewed(event: EventOfType<'PromptRenewed'>): Promise<null> {
    return this.#observe(event);
  }

  @EventPattern('AllocationErased')
  onAllocationErased(event: EventOfType<'AllocationErased'>): Promise<null> {
    return this.#observe(event);
  }

  async #observe(event: KnownEvent): Promise<null> {
    this.decisions.observe(event);
    return null;
  }
}
