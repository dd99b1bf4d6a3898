import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { canonicalJson } from '#events/canonical-json';
import type { EventType, KnownEvent } from '#events/catalogue';
import type { RecordedEvent } from '#events/envelope';
import { readEvent } from '#events/upcast';
import { recordedRow } from './recorded.ts';

const GOLDEN = join(import.meta.dirname, '..', 'golden');

/** The stored sample of an event, with members of its body and of its row changed. */
export function goldenEvent<Type extends EventType>(
  type: Type,
  change: object = {},
  row: Partial<RecordedEvent> = {},
): Extract<KnownEvent, { readonly type: Type }> {
  const golden = JSON.parse(readFileSync(join(GOLDEN, `${type}.v1.json`), 'utf8'));
  const body = canonicalJson({ ...JSON.parse(golden.body), ...change });
  const event = readEvent(recordedRow({ ...golden, ...row, body }));
  if (!isOf(event, type)) throw new Error(`the sample of ${type} is one of ${event.type}`);
  return event;
}

function isOf<Type extends EventType>(
  event: KnownEvent,
  type: Type,
): event is Extract<KnownEvent, { readonly type: Type }> {
  return event.type === type;
}
