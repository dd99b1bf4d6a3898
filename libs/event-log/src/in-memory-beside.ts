import type { AllocationRow, Command, Mark, PlacementRow, RecordKeyRow, SealedRow } from '#domain/log';
import type {
  AllocationFilter,
  AllocationTable,
  Marks,
  SealedStore,
  SealedText,
  StoredAllocation,
  StreamKey,
} from '#domain/log-tables';
import { slotOf } from '#events/envelope';
import { compareText, isoOf, keyOf, type StoreClock } from './in-memory-rows.ts';

export class InMemorySealed implements SealedStore {
  readonly #texts = new Map<string, { readonly stream: string; readonly row: SealedRow }>();
  readonly #keys = new Map<string, { readonly stream: string; readonly row: RecordKeyRow }>();
  readonly #ringKeys = new Map<string, string>();
  readonly #now: StoreClock;

  constructor(now: StoreClock) {
    this.#now = now;
  }

  write({ stream, ringKeyId, recordKey, sealed = [] }: Command): void {
    if (ringKeyId !== undefined && !this.#ringKeys.has(stream)) this.#ringKeys.set(stream, ringKeyId);
    if (recordKey && !this.#keys.has(recordKey.keyId)) {
      this.#keys.set(recordKey.keyId, { stream, row: recordKey });
    }
    for (const row of sealed) {
      const key = keyOf(stream, row.digest, row.keyId);
      if (!this.#texts.has(key)) this.#texts.set(key, { stream, row });
    }
  }

  async find(stream: string, digest: string): Promise<readonly SealedText[]> {
    return (await this.ofStream(stream)).filter(({ row }) => row.digest === digest);
  }

  async ofStream(stream: string): Promise<readonly SealedText[]> {
    return [...this.#texts.values()]
      .filter((text) => text.stream === stream)
      .map(({ row }) => ({ row, key: this.#keys.get(row.keyId)?.row ?? null }))
      .sort((a, b) => compareText(a.row.digest, b.row.digest) || compareText(a.row.keyId, b.row.keyId));
  }

  async keysOf(stream: string): Promise<readonly RecordKeyRow[]> {
    return [...this.#keys.values()].filter((key) => key.stream === stream).map(({ row }) => row);
  }

  async ringKeyOf(stream: string): Promise<string | null> {
    return this.#ringKeys.get(stream) ?? null;
  }

  async ringKeys(
    afterStream: string,
    limit: number,
  ): Promise<readonly { readonly stream: string; readonly ringKeyId: string }[]> {
    return [...this.#ringKeys]
      .map(([stream, ringKeyId]) => ({ stream, ringKeyId }))
      .filter(({ stream }) => compareText(stream, afterStream) > 0)
      .sort((a, b) => compareText(a.stream, b.stream))
      .slice(0, limit);
  }

  async keyIdsInUse(): Promise<{ readonly ring: readonly string[]; readonly wrapping: readonly string[] }> {
    return {
      ring: [...new Set(this.#ringKeys.values())].sort(compareText),
      wrapping: [...new Set([...this.#keys.values()].map(({ row }) => row.wrappedBy))].sort(compareText),
    };
  }

  async keysWrappedBy(wrapKeyId: string, limit: number): Promise<readonly StreamKey[]> {
    return [...this.#keys.values()]
      .filter(({ row }) => row.wrappedBy === wrapKeyId)
      .slice(0, limit)
      .map(({ stream, row }) => ({ stream, key: row }));
  }

  async addKey(stream: string, row: RecordKeyRow): Promise<void> {
    if (!this.#keys.has(row.keyId)) this.#keys.set(row.keyId, { stream, row });
  }

  async wrappedOtherwise(wrapKeyId: string, limit: number, afterKeyId = ''): Promise<readonly StreamKey[]> {
    return [...this.#keys.values()]
      .filter(({ row }) => row.wrappedBy !== wrapKeyId && compareText(row.keyId, afterKeyId) > 0)
      .toSorted((one, other) => compareText(one.row.keyId, other.row.keyId))
      .slice(0, limit)
      .map(({ stream, row }) => ({ stream, key: row }));
  }

  async countWrappedOtherwise(wrapKeyId: string): Promise<number> {
    return [...this.#keys.values()].filter(({ row }) => row.wrappedBy !== wrapKeyId).length;
  }

  async rewrap(keyId: string, from: string, to: Omit<RecordKeyRow, 'keyId'>): Promise<boolean> {
    const key = this.#keys.get(keyId);
    if (key?.row.wrappedBy !== from) return false;
    this.#keys.set(keyId, { stream: key.stream, row: { ...to, keyId } });
    return true;
  }

  async erase(stream: string): Promise<{ readonly keys: number; readonly texts: number }> {
    return {
      keys: drop(this.#keys, (key) => key.stream === stream),
      texts: drop(this.#texts, (text) => text.stream === stream),
    };
  }

  async eraseKey(keyId: string): Promise<{ readonly keys: number; readonly texts: number }> {
    return {
      keys: drop(this.#keys, (key) => key.row.keyId === keyId),
      texts: drop(this.#texts, (text) => text.row.keyId === keyId),
    };
  }

  async dropExpired(limit: number): Promise<number> {
    let left = limit;
    const now = isoOf(this.#now());
    return drop(this.#texts, ({ row }) => row.expiresAt !== null && row.expiresAt <= now && left-- > 0);
  }
}

export class InMemoryAllocations implements AllocationTable, Marks {
  readonly #rows = new Map<string, StoredAllocation>();
  readonly #marks = new Map<string, Map<string, Mark>>();

  write({ stream, allocation, placement, mark }: Command, decisionVersion: number, pos: number): void {
    if (allocation || placement) {
      const present = this.#rows.get(stream);
      this.#rows.set(stream, {
        stream,
        decisionVersion,
        pos,
        record: allocation ?? present?.record ?? null,
        placement: placement ?? present?.placement ?? null,
      });
    }
    if (!mark) return;
    const marks = this.#marks.get(stream) ?? new Map<string, Mark>();
    this.#marks.set(stream, marks);
    const present = marks.get(mark.instance);
    if (!present || present.observedAt < mark.observedAt) marks.set(mark.instance, mark);
  }

  async list(
    filter: AllocationFilter,
    limit: number,
    afterStream = '',
  ): Promise<readonly StoredAllocation[]> {
    return this.#matching(filter)
      .filter((row) => compareText(row.stream, afterStream) > 0)
      .slice(0, limit);
  }

  async get(stream: string): Promise<StoredAllocation | null> {
    return this.#rows.get(stream) ?? null;
  }

  async count(filter: AllocationFilter): Promise<number> {
    return this.#matching(filter).length;
  }

  async of(stream: string): Promise<readonly Mark[]> {
    return [...(this.#marks.get(stream)?.values() ?? [])].sort((a, b) => compareText(a.instance, b.instance));
  }

  #matching(filter: AllocationFilter): readonly StoredAllocation[] {
    return [...this.#rows.values()]
      .filter((row) => matches(row, filter))
      .sort((a, b) => compareText(a.stream, b.stream));
  }
}

function matches(row: StoredAllocation, filter: AllocationFilter): boolean {
  const { partition } = filter;
  return (
    matchesRecord(row.record, filter) &&
    matchesPlacement(row.placement, filter) &&
    (partition === undefined || slotOf(row.stream) % partition.count === partition.index)
  );
}

/** A half that was never given has no question, no intent, no work, no bill and no alert. */
function matchesRecord(record: AllocationRow | null, filter: AllocationFilter): boolean {
  const { status, hasOpenQuestion, questionExpiresBy } = filter;
  return (
    (status === undefined || record?.status === status) &&
    (hasOpenQuestion === undefined || hasOpenQuestion === isGiven(record?.openQuestion)) &&
    (questionExpiresBy === undefined || isDue(record?.questionExpiresAt, questionExpiresBy))
  );
}

function matchesPlacement(placement: PlacementRow | null, filter: AllocationFilter): boolean {
  const { outcome, hasOpenIntent, bills, hasAlerts, retryDueAt, workDueAt } = filter;
  return (
    (outcome === undefined || placement?.outcome === outcome) &&
    (hasOpenIntent === undefined || hasOpenIntent === isGiven(placement?.openIntent)) &&
    (bills === undefined || bills === (placement?.bills ?? false)) &&
    (hasAlerts === undefined || hasAlerts === (placement?.alerts ?? 0) > 0) &&
    (retryDueAt === undefined || isDue(placement?.retryAt, retryDueAt)) &&
    (workDueAt === undefined || isWorkDue(placement, workDueAt))
  );
}

function isWorkDue(placement: PlacementRow | null, at: string): boolean {
  if (!placement?.needsWorker) return false;
  return placement.wakeAt === null || placement.wakeAt <= at;
}

function isDue(time: string | null | undefined, at: string): boolean {
  return isGiven(time) && time <= at;
}

function isGiven<Value>(value: Value | null | undefined): value is Value {
  return value !== null && value !== undefined;
}

function drop<Value>(rows: Map<string, Value>, condition: (value: Value) => boolean): number {
  let dropped = 0;
  for (const [key, value] of rows) {
    if (!condition(value)) continue;
    rows.delete(key);
    dropped++;
  }
  return dropped;
}
