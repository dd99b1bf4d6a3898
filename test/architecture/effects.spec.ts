import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { EFFECTS_FILE, looseEffectsIn } from './effects.ts';
import { PROJECT } from './planted-tree.ts';

const FOLDER = 'apps/provisioner/src';
const STEP = `${FOLDER}/steps/planted.ts`;

/** The provisioner without its drivers, which make the calls, and without specs. */
function filesOfProvisioner(): readonly string[] {
  return readdirSync(join(PROJECT, FOLDER), { recursive: true, encoding: 'utf8' })
    .map((file) => `${FOLDER}/${file}`)
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.spec.ts') && !file.includes('/lanes/'));
}

const read = (file: string) => readFileSync(join(PROJECT, file), 'utf8');

test('nothing irreversible is sent but by the function that takes the position of the recorded fact', () => {
  const files = filesOfProvisioner();
  expect(files.length).toBeGreaterThan(10);
  const loose = files
    .filter((file) => file !== EFFECTS_FILE)
    .flatMap((file) => looseEffectsIn(file, read(file)));
  expect(loose.map(({ path, line, what }) => `${path}:${line} ${what}`)).toEqual([]);
});

test('the calls that it looks for are those of the effects', () => {
  // A renamed call would be looked for in vain.
  expect(looseEffectsIn(EFFECTS_FILE, read(EFFECTS_FILE)).map(({ what }) => what)).toEqual([
    'lane.create',
    'lane.terminate',
    'lane.dispatch',
  ]);
  const sent = filesOfProvisioner().filter((file) =>
    /\b(creating|terminating|dispatching)\(/.test(read(file)),
  );
  expect(sent.length).toBeGreaterThan(3);
});

describe('a planted call beside it is found', () => {
  test.each([
    ['a lane', 'await lane.create(mark, request);'],
    ['a lane of the run', 'await run.lane(id).terminate(instance);'],
    ['a lane of the map', 'await this.parts.lanes.get(id)?.dispatch(instance, guard, workload);'],
    ['a lane that is sure to be there', 'const ending = (lanes.get(id)!).terminate(instance);'],
    ['a function that is kept', 'const end = lane.terminate;'],
    ['a lane that is taken apart', 'const { terminate } = run.lane(id);'],
    ['a lane that is taken apart under another name', 'const { create: make } = lane;'],
    ['a name that is put together', "await lane['cre' + 'ate'](mark, request);"],
    ['an effect that is run by hand', 'await creating(mark, request)(lane);'],
    ['an effect that is kept', 'const effect = terminating(instance);'],
    ['the maker of an effect that is kept', 'const end = terminating;'],
    ['an effect that is sent as something else', 'await send(terminating(instance), lane, other);'],
  ])('%s: %s', (_what, text) => {
    expect(looseEffectsIn(STEP, text)).not.toEqual([]);
  });
});

describe('what only looks like it is let be', () => {
  test.each([
    ['a sent effect', 'const answer = await send(announced.recorded, lane, terminating(instance));'],
    ['a sent effect of a lane of the run', 'await send(recorded, run.lane(id), creating(mark, request));'],
    ['a read of a lane', 'const read = await lane.get(instance);'],
    ['another create', 'const app = await NestFactory.create(module); LaneSeen.create({});'],
    ['an import', "import { creating, send } from '../effects.ts';"],
    ['what is spoken of', "// lane.create(mark)\nconst text = 'lane.create(mark)';"],
  ])('%s: %s', (_what, text) => {
    expect(looseEffectsIn(STEP, text)).toEqual([]);
  });
});
