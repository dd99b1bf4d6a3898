import { type DynamicModule, Module } from '@nestjs/common';
import { AttemptDecisions } from './attempt-decisions.ts';
import { AttemptHandlers } from './attempt-handlers.ts';

/** Wiring only: the parts are made in main.ts, where their life begins and ends. */
@Module({})
export class ClassifierModule {
  static with(decisions: AttemptDecisions): DynamicModule {
    return {
      module: ClassifierModule,
      controllers: [AttemptHandlers],
      providers: [{ provide: AttemptDecisions, useValue: decisions }],
    };
  }
}
