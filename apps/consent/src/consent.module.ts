import { type DynamicModule, Module } from '@nestjs/common';
import { ConsentController } from './consent.controller.ts';
import { ConsentCalls } from './consent-calls.ts';
import { ParkedController } from './prompts/parked.controller.ts';
import { ParkedCalls } from './prompts/parked-calls.ts';
import { PromptCalls } from './prompts/prompt-calls.ts';
import { PromptFeed } from './prompts/prompt-feed.ts';
import { PromptsController } from './prompts/prompts.controller.ts';

export interface ConsentParts {
  readonly calls: ConsentCalls;
  readonly prompts: PromptCalls;
  readonly feed: PromptFeed;
  readonly parked: ParkedCalls;
}

/** Wiring only: the parts are made in main.ts, where their life begins and ends. */
@Module({})
export class ConsentModule {
  static with(parts: ConsentParts): DynamicModule {
    return {
      module: ConsentModule,
      controllers: [ConsentController, PromptsController, ParkedController],
      providers: [
        { provide: ConsentCalls, useValue: parts.calls },
        { provide: PromptCalls, useValue: parts.prompts },
        { provide: PromptFeed, useValue: parts.feed },
        { provide: ParkedCalls, useValue: parts.parked },
      ],
    };
  }
}
