import { z } from 'zod';
import { CATALOGUE } from '#events/catalogue';
import { Escalation } from '#events/intent.events';
import { Plan } from '#events/plan';
import { RecordedRow } from '#events/recorded-row';
import { Scalars } from '#events/scalars';
import { SignedCheckpoint } from '#events/signed-checkpoint';
import { InstanceFacts, Observation, Verdict } from '#events/watch.events';
import type { Part } from '../openapi/schemas.ts';

const refTo = (id: string) => `#/components/schemas/${id}`;

const registry = z.registry<{ readonly id: string }>();
registry.add(RecordedRow, { id: 'RecordedEvent' });
registry.add(Scalars, { id: 'RecordedScalars' });
registry.add(Verdict, { id: 'RecordedVerdict' });
registry.add(Plan, { id: 'RecordedPlan' });
registry.add(Escalation, { id: 'RecordedEscalation' });
registry.add(Observation, { id: 'RecordedObservation' });
registry.add(InstanceFacts, { id: 'RecordedFacts' });
registry.add(SignedCheckpoint, { id: 'SignedCheckpoint' });
for (const { type, data } of Object.values(CATALOGUE)) registry.add(data, { id: bodySchemaOf(type) });

/** Name of the schema of what an event of this type says. */
export function bodySchemaOf(type: string): string {
  return `${type}Body`;
}

/**
 * The schemas of what the relay and the signer publish, by name. They stay closed, other than those of answers: whoever meets
 * a member that a version does not have reads what another version wrote.
 */
export function eventSchemas(): Part {
  const { schemas } = z.toJSONSchema(registry, { uri: refTo, io: 'output', target: 'draft-7' });
  return Object.fromEntries(Object.entries(schemas).map(([id, { $id, $schema, ...rest }]) => [id, rest]));
}
