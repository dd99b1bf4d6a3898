import { type DynamicModule, Module } from '@nestjs/common';
import { AttemptController } from './attempt.controller.ts';
import { AttemptCalls } from './attempt-calls.ts';
import { HealthController, LogHealth } from './health.controller.ts';

/** Wiring only: the parts are made in main.ts, where their life begins and ends. */
@Module({})
export class IngestModule {
  static with(calls: AttemptCalls, health: LogHealth): DynamicModule {
    return {
      module: IngestModule,
      controllers: [AttemptController, HealthController],
      providers: [
        { provide: AttemptCalls, useValue: calls },
        { provide: LogHealth, useValue: health },
      ],
    };
  }
}
