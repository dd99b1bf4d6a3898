import { type Command, InvalidArgumentError } from 'commander';
import { z } from 'zod';
import type { PromptRules } from '#domain/prompt/prompt';
import { type Environment, loadConfig } from '#platform/load-config';
import { ruleVariables } from '#platform/variables';

/** What an auditor sets to ask what other settings would have decided; each as its variable takes it. */
export interface RuleOptions {
  readonly threshold?: number;
  readonly promptBudget?: number;
  readonly tokenLife?: number;
}

/** Lets a command be told the settings of the rules that a deployment may choose (fallback 3, 6). */
export function ruleOptions(command: Command): Command {
  return command
    .option(
      '--threshold <n>',
      'counting failures before a question; else SPILLWAY_PROMPT_THRESHOLD, else 3',
      taken(ruleVariables.SPILLWAY_PROMPT_THRESHOLD),
    )
    .option(
      '--prompt-budget <n>',
      'questions per allocation in 24 hours; else SPILLWAY_PROMPT_BUDGET, else 20',
      taken(ruleVariables.SPILLWAY_PROMPT_BUDGET),
    )
    .option(
      '--token-life <seconds>',
      'life of a confirm token; else SPILLWAY_TOKEN_LIFE_S, else 86400',
      taken(ruleVariables.SPILLWAY_TOKEN_LIFE_S),
    );
}

/** The rules of today: what was given, else the environment, else the defaults. Throws ConfigError. */
export function rulesOf(options: RuleOptions, env?: Environment): PromptRules {
  const configured = loadConfig(z.object(ruleVariables), env);
  return {
    threshold: options.threshold ?? configured.SPILLWAY_PROMPT_THRESHOLD,
    questionsPerDay: options.promptBudget ?? configured.SPILLWAY_PROMPT_BUDGET,
    tokenLifeS: options.tokenLife ?? configured.SPILLWAY_TOKEN_LIFE_S,
  };
}

function taken(schema: z.ZodType<number>): (text: string) => number {
  return (text) => {
    const number = schema.safeParse(text);
    if (!number.success)
      throw new InvalidArgumentError('It is a whole number above 0 that its setting takes.');
    return number.data;
  };
}
