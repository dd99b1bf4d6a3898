import { readFileSync } from 'node:fs';
import { z } from 'zod';

/** What a process is started with: variable name to text. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** One variable that cannot be used, named; the sentence never quotes what it was set to. */
export interface ConfigProblem {
  readonly variable: string;
  readonly problem: string;
}

/** The environment cannot be used. `problems` holds all of them, so that one restart repairs all. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';

  constructor(readonly problems: readonly ConfigProblem[]) {
    super(
      ['The configuration cannot be used:', ...problems.map((p) => `  ${p.variable}: ${p.problem}`)].join(
        '\n',
      ),
    );
  }
}

/** One line of the documentation of an app's variables. */
export interface VariableDoc {
  readonly name: string;
  readonly description: string;
  /** As it would be written in the environment; null = no default. */
  readonly default: string | null;
  readonly required: boolean;
}

/**
 * Reads an app's variables, before anything connects. A blank variable counts as absent. A variable declared
 * with `.meta({ orFile: true })` may also be given as `<NAME>_FILE`, the path of a file that holds it.
 * Throws ConfigError that names every variable in trouble, never what it was set to.
 */
export function loadConfig<Shape extends z.ZodRawShape>(
  schema: z.ZodObject<Shape>,
  env: Environment = process.env,
): z.output<z.ZodObject<Shape>> {
  const given = gather(schema, env);
  const parsed = schema.safeParse(given.values);
  const settled = new Set(given.problems.map((problem) => problem.variable));
  const problems = [
    ...given.problems,
    ...(parsed.error?.issues ?? [])
      .map((issue) => problemOfIssue(issue, given.values))
      // A file that cannot be read makes its variable look absent: one sentence says enough.
      .filter((problem) => !settled.has(problem.variable) && !settled.has(`${problem.variable}_FILE`)),
  ];
  if (problems.length > 0 || !parsed.success) throw new ConfigError(problems);
  return parsed.data;
}

/** Every variable of a schema in the order of declaration, for `--help` and the documentation. */
export function describeVariables(schema: z.ZodObject): readonly VariableDoc[] {
  return Object.entries(schema.shape).flatMap(([name, variable]) => {
    const described = {
      name,
      description: descriptionOf(variable),
      default: defaultOf(variable),
      required: !z.safeParse(variable, undefined).success,
    };
    if (!mayBeFile(variable)) return [described];
    return [
      described,
      {
        name: `${name}_FILE`,
        description: `Path of a file that holds ${name}; instead of it, not beside it.`,
        default: null,
        required: false,
      },
    ];
  });
}

interface Given {
  readonly values: Readonly<Record<string, string>>;
  readonly problems: readonly ConfigProblem[];
}

function gather(schema: z.ZodObject, env: Environment): Given {
  const values: Record<string, string> = {};
  const problems: ConfigProblem[] = [];
  for (const [name, variable] of Object.entries(schema.shape)) {
    const text = env[name]?.trim() ?? '';
    const path = mayBeFile(variable) ? (env[`${name}_FILE`]?.trim() ?? '') : '';
    if (text !== '') values[name] = text;
    if (path === '') continue;
    if (text !== '') {
      problems.push({ variable: `${name}_FILE`, problem: `is given beside ${name}; leave one of them out` });
      continue;
    }
    try {
      values[name] = readFileSync(path, 'utf8').trim();
    } catch (error) {
      problems.push({
        variable: `${name}_FILE`,
        problem: `names a file that cannot be read (${codeOf(error)})`,
      });
    }
  }
  return { values, problems };
}

function problemOfIssue(issue: z.core.$ZodIssue, values: Given['values']): ConfigProblem {
  const variable = String(issue.path[0] ?? 'environment');
  if (!(variable in values)) return { variable, problem: 'is missing' };
  // Only a sentence written beside the variable is repeated: a library's own might quote the value one day.
  return { variable, problem: issue.code === 'custom' ? issue.message : sentenceOf(issue) };
}

function sentenceOf(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'too_big':
      return `is above ${issue.maximum}`;
    case 'too_small':
      return `is below ${issue.minimum}`;
    case 'invalid_value':
      return `is none of ${issue.values.map(String).join(', ')}`;
    default:
      return 'does not have the form that its description asks for';
  }
}

function descriptionOf(variable: z.core.$ZodType): string {
  return z.globalRegistry.get(variable)?.description ?? '';
}

function mayBeFile(variable: z.core.$ZodType): boolean {
  return z.globalRegistry.get(variable)?.orFile === true;
}

function defaultOf(variable: z.core.$ZodType): string | null {
  return variable instanceof z.ZodDefault ? String(variable.def.defaultValue) : null;
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
}
