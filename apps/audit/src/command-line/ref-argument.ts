import { InvalidArgumentError } from 'commander';

const REF = /^[0-9a-f]{64}$/;

/** A ref as it was typed. Refuses everything else, so that half a ref is not "no such allocation". */
export function refArgument(text: string): string {
  if (!REF.test(text)) throw new InvalidArgumentError('A ref is 64 lower-case hex digits.');
  return text;
}
