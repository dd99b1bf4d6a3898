import { type DynamicModule, Module } from '@nestjs/common';
import { ConsentController } from './consent.controller.ts';
import { ConsentCalls } from './consent-calls.ts';

/** Wiring only: the parts are made in main.ts, where their life begins and ends. */
@Module({})
export class ConsentModule {
  static with(calls: ConsentCalls): DynamicModule {
    return {
      module: ConsentModule,
      controllers: [ConsentController],
      providers: [{ provide: ConsentCalls, useValue: calls }],
    };
  }
}
