import { type DynamicModule, Module } from '@nestjs/common';
import { AttemptController } from './attempt.controller.ts';
import { AttemptCalls } from './attempt-calls.ts';
import { HealthController, LogHealth } from './health.controller.ts';
import { LaunchCalls } from './launch-calls.ts';
import { ObservationCalls } from './observation-calls.ts';
import { PlacementController } from './placement.controller.ts';
import { Results } from './results.ts';

export interface IngestParts {
  readonly attempts: AttemptCalls;
  readonly launches: LaunchCalls;
  readonly observations: ObservationCalls;
  readonly results: Results;
  readonly health: LogHealth;
}

/** Wiring only: the parts are made in main.ts, where their life begins and ends. */
@Module({})
export class IngestModule {
  static with(parts: IngestParts): DynamicModule {
    return {
      module: IngestModule,
      controllers: [AttemptController, PlacementController, HealthController],
      providers: [
        { provide: AttemptCalls, useValue: parts.attempts },
        { provide: LaunchCalls, useValue: parts.launches },
        { provide: ObservationCalls, useValue: parts.observations },
        { provide: Results, useValue: parts.results },
        { provide: LogHealth, useValue: parts.health },
      ],
    };
  }
}
