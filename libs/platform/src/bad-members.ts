import { z } from 'zod';

/** Why a member was refused; a closed set (fallback 1.4). */
export const BAD_MEMBER_CODES = [
  'required',
  'wrong_type',
  'too_long',
  'too_short',
  'too_many',
  'empty',
  'out_of_range',
  'not_finite',
  'not_allowed',
  'wrong_format',
  'invalid_unicode',
  'unknown_member',
  'mismatch',
  'invalid',
] as const;
export type BadMemberCode = (typeof BAD_MEMBER_CODES)[number];

export interface BadMember {
  /** RFC 6901, from the body's root; '' is the body itself. */
  readonly pointer: string;
  readonly code: BadMemberCode;
}

/**
 * One row for each bad member, in the order in which zod found them. A rule of our own names its code by
 * `refine(..., { params: { code: 'invalid_unicode' } })`.
 */
export function badMembersOf(error: z.core.$ZodError, schema?: z.core.$ZodType): readonly BadMember[] {
  const byPointer = new Map<string, BadMember>();
  for (const issue of error.issues) {
    const path = schema === undefined ? issue.path : knownPath(schema, issue.path);
    const pointer = pointerOf(path);
    if (!byPointer.has(pointer)) byPointer.set(pointer, { pointer, code: codeOf(issue) });
  }
  return [...byPointer.values()];
}

function codeOf(issue: z.core.$ZodIssue): BadMemberCode {
  switch (issue.code) {
    case 'invalid_type':
      if (isMissing(issue)) return 'required';
      return typeof issue.input === 'number' && !Number.isFinite(issue.input) ? 'not_finite' : 'wrong_type';
    case 'invalid_value':
      if (isMissing(issue)) return 'required';
      return issue.values.some((allowed) => typeof allowed === typeof issue.input)
        ? 'not_allowed'
        : 'wrong_type';
    case 'invalid_union':
      if (isMissing(issue)) return 'required';
      return issue.discriminator === undefined ? 'wrong_type' : 'not_allowed';
    case 'too_big':
      if (issue.origin === 'string') return 'too_long';
      return isCountable(issue.origin) ? 'too_many' : 'out_of_range';
    case 'too_small':
      if (!isCountable(issue.origin) && issue.origin !== 'string') return 'out_of_range';
      return issue.minimum === 1 ? 'empty' : 'too_short';
    case 'invalid_format':
      return 'wrong_format';
    case 'unrecognized_keys':
      return 'unknown_member';
    case 'custom':
      return BAD_MEMBER_CODES.find((code) => code === issue.params?.code) ?? 'invalid';
    case 'not_multiple_of':
      return 'out_of_range';
    case 'invalid_key':
    case 'invalid_element':
      return 'invalid';
  }
}

/** Without the input reported, zod's own sentence is all there is. */
function isMissing(issue: z.core.$ZodIssue): boolean {
  return 'input' in issue ? issue.input === undefined : issue.message.endsWith('received undefined');
}

function isCountable(origin: string): boolean {
  return origin === 'array' || origin === 'set' || origin === 'object' || origin === 'map';
}

function pointerOf(path: readonly PropertyKey[]): string {
  return path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

/**
 * The leading steps of a path that the schema names: members of objects and places in lists. The keys of a
 * record are the caller's text, so a pointer ends at the record.
 */
function knownPath(schema: z.core.$ZodType, path: readonly PropertyKey[]): readonly PropertyKey[] {
  const known: PropertyKey[] = [];
  let here: readonly z.core.$ZodType[] = alternatives(schema);
  for (const step of path) {
    here = here.flatMap((type) => inside(type, step)).flatMap(alternatives);
    if (here.length === 0) return known;
    known.push(step);
  }
  return known;
}

function inside(type: z.core.$ZodType, step: PropertyKey): readonly z.core.$ZodType[] {
  if (type instanceof z.ZodObject) {
    const shape: Readonly<Record<PropertyKey, z.core.$ZodType | undefined>> = type.shape;
    const member = Object.hasOwn(shape, step) ? shape[step] : undefined;
    return member === undefined ? [] : [member];
  }
  if (type instanceof z.ZodArray && typeof step === 'number') return [type.element];
  return [];
}

/** What a schema may stand for, without the wrappers that leave the path as it is. */
function alternatives(type: z.core.$ZodType): readonly z.core.$ZodType[] {
  if (type instanceof z.ZodUnion) return type.options.flatMap(alternatives);
  if (type instanceof z.ZodIntersection) return [type.def.left, type.def.right].flatMap(alternatives);
  if (type instanceof z.ZodPipe) return [type.def.in, type.def.out].flatMap(alternatives);
  if (
    type instanceof z.ZodOptional ||
    type instanceof z.ZodNullable ||
    type instanceof z.ZodDefault ||
    type instanceof z.ZodPrefault ||
    type instanceof z.ZodReadonly ||
    type instanceof z.ZodCatch ||
    type instanceof z.ZodNonOptional
  ) {
    return alternatives(type.def.innerType);
  }
  if (type instanceof z.ZodLazy) return alternatives(type.def.getter());
  return [type];
}
