import type { Command, CommandEvent } from '#domain/log';
import type { EventRole } from '#events/define-event';

let made = 0;

/** A name that no other test of this process uses. */
export function fresh(prefix: string): string {
  made += 1;
  return `${prefix}-${made.toString(36)}-${process.pid.toString(36)}`;
}

export function event(type: string, role: EventRole = 'input', data: unknown = { note: type }): CommandEvent {
  return {
    event: { type, version: 1, role, data },
    meta: { causedBy: null, saw: role === 'input' ? null : 0 },
  };
}

export const input = (type = 'Seen'): CommandEvent => event(type);
export const decision = (type = 'Decided'): CommandEvent => event(type, 'decision');

/** One input on a stream of its own, "any"; the test names what matters to it. */
export function command(given: Partial<Command> = {}): Command {
  const commandId = given.commandId ?? fresh('command');
  return {
    commandId,
    digest: `digest of ${commandId}`,
    stream: fresh('stream'),
    expected: 'any',
    occurredAt: '2026-11-29T10:00:00.120Z',
    events: [input()],
    ...given,
  };
}
