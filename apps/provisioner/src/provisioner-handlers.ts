import { Controller, Inject } from '@nestjs/common';
import { EventPattern } from '@nestjs/microservices';
import type { EventOfType, HandlersFor } from '#messaging/log-transport';
import { Provisioner } from './provisioner.ts';

/**
 * Wakes a worker; nothing else. The work stands in the stream and in the table, so an event that is lost with
 * its process is found by the next pass (design 8).
 */
@Controller()
export class ProvisionerHandlers implements HandlersFor<'provisioner'> {
  constructor(@Inject(Provisioner) private readonly provisioner: Provisioner) {}

  @EventPattern('LaunchAccepted')
  onLaunchAccepted(event: EventOfType<'LaunchAccepted'>): Promise<null> {
    return this.#wake(event.row.stream);
  }

  @EventPattern('WalkStarted')
  onWalkStarted(event: EventOfType<'WalkStarted'>): Promise<null> {
    return this.#wake(event.row.stream);
  }

  @EventPattern('FailoverDecided')
  onFailoverDecided(event: EventOfType<'FailoverDecided'>): Promise<null> {
    return this.#wake(event.row.stream);
  }

  @EventPattern('CancelDecided')
  onCancelDecided(event: EventOfType<'CancelDecided'>): Promise<null> {
    return this.#wake(event.row.stream);
  }

  @EventPattern('LateInstanceSeen')
  onLateInstanceSeen(event: EventOfType<'LateInstanceSeen'>): Promise<null> {
    return this.#wake(event.row.stream);
  }

  @EventPattern('RewindReleased')
  onRewindReleased(event: EventOfType<'RewindReleased'>): Promise<null> {
    return this.#wake(event.row.stream);
  }

  @EventPattern('RewoundAdopted')
  onRewoundAdopted(event: EventOfType<'RewoundAdopted'>): Promise<null> {
    return this.#wake(event.row.stream);
  }

  @EventPattern('ConsentAccepted')
  onConsentAccepted(event: EventOfType<'ConsentAccepted'>): Promise<null> {
    return this.#wake(event.row.stream);
  }

  async #wake(stream: string): Promise<null> {
    void this.provisioner.carryOn(stream);
    return null;
  }
}
