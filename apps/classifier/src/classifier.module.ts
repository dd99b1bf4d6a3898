import { type DynamicModule, Module } from '@nestjs/common';
import { Sealer } from '#platform/sealer';
import { AttemptDecisions } from './attempt-decisions.ts';
import { DecisionStates } from './decision-states.ts';
import { EventHandlers } from './event-handlers.ts';
import { ObservationDecisions } from './observation-decisions.ts';

export interface ClassifierParts {
  readonly attempts: AttemptDecisions;
  readonly observations: ObservationDecisions;
  readonly states: DecisionStates;
  readonly sealer: Sealer;
}

/** Wiring only: the parts are made in main.ts, where their life begins and ends. */
@Module({})
export class ClassifierModule {
  static with(parts: ClassifierParts): DynamicModule {
    return {
      module: ClassifierModule,
      controllers: [EventHandlers],
      providers: [
        { provide: AttemptDecisions, useValue: parts.attempts },
        { provide: ObservationDecisions, useValue: parts.observations },
        { provide: DecisionStates, useValue: parts.states },
        { provide: Sealer, useValue: parts.sealer },
      ],
    };
  }
}
