import { InvalidArgumentError } from 'commander';
import { REF } from '../views/queries.ts';

/** A ref as it was typed. Refuses everything else, so that half a ref is not "no such allocation". */
export function refArgument(text: string): string {
  if (!REF.test(text)) throw new InvalidArgumentError('A ref is 64 lower-case hex digits.');
  return text;
}
