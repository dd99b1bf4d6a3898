import { expect, test } from 'vitest';
import { z } from 'zod';
import { laneDirectory, STAND_IN_LANES } from '#domain/provision/lane-directory';
import { planVariables } from '#platform/lane-variables';
import { loadConfig } from '#platform/load-config';
import { configuredLanes, LanesConfig } from '../../apps/provisioner/src/lanes/configured-lanes.ts';
import { standInLanes } from '../cloud/stand-in-lanes.ts';

const text = standInLanes('http://127.0.0.1:1');
const declared = loadConfig(z.object(planVariables), { SPILLWAY_LANES: text }).SPILLWAY_LANES;

test('plans are resolved by what the drivers say of themselves', () => {
  const drivers = [...configuredLanes(LanesConfig.parse(JSON.parse(text))).values()];
  const said = drivers.map(({ facts: { lane, kind, queueingPools } }) => ({ lane, kind, queueingPools }));
  expect([...declared.values()]).toEqual(said);
});

test('a deployment that configures no lanes has those of the stand-in cloud', () => {
  expect([...declared.values()]).toEqual([...laneDirectory(STAND_IN_LANES).values()]);
});
