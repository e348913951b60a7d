import { isoMillis } from "../../../src/base/clock.ts";
import type { Collection, Rows, Store } from "../../store/port.ts";
import { readRef } from "../../trace/ref.ts";
import { BeyondHistory, NoHistory, NotBehind, type RewindTarget } from "../../travel/rewind.ts";
import type { SnapshotInfo } from "../../travel/snapshots.ts";
import { NoSuchSnapshot, SnapshotThere, UnusableSnapshot } from "../../travel/troubles.ts";
import type { ControlHandlers } from "../world.ts";

export const snapshotHandlers = {
  "snapshots.save": async ({ params: { name }, query: { replace } }, { snapshots, fail }) => {
    try {
      return snapshotRecord(await snapshots.save(name, { replace }));
    } catch (error) {
      if (error instanceof SnapshotThere) fail("snapshot-there", { name: error.taken });
      throw error;
    }
  },

  "snapshots.list": async (_, { snapshots }) => (await snapshots.list()).map(snapshotRecord),

  "snapshots.show": async ({ params: { name } }, { snapshots, fail }) => {
    const { store, head, kept } = await snapshots.load(name).catch(refuse(fail));
    return {
      ...snapshotRecord(await snapshots.find(name)),
      written_by: String(head.written_by),
      ...(await sizesOf(store, snapshots.collections)),
      faults: kept.beside.faults.faults.length,
    };
  },

  "snapshots.diff": async ({ params: { name }, query: { to, most } }, { snapshots, fail }) => {
    const { items, ...rest } = await snapshots.diff(name, to).catch(refuse(fail));
    return { ...rest, items: items.slice(0, most), total: items.length };
  },

  "snapshots.restore": async ({ params: { name } }, { snapshots, clock, fail }) => {
    const { keptAs, dropped } = await snapshots.restore(name).catch(refuse(fail));
    return {
      name,
      now: isoMillis(clock.now()),
      kept_as: keptAs ?? null,
      dropped: dropped.map(({ kind, ref }) => ({ kind, ref })),
    };
  },

  "snapshots.rewind": async ({ body }, { snapshots, clock, fail }) => {
    const { keptAs, undone, dropped } = await snapshots.rewind(targetIn(body)).catch((error) => {
      if (error instanceof NoHistory) fail("no-history");
      if (error instanceof NotBehind) fail("not-behind", { now: isoMillis(error.now) });
      if (error instanceof BeyondHistory) {
        const { steps, reach } = error;
        const at = reach.at === undefined ? undefined : isoMillis(reach.at);
        fail("beyond-history", { lacks: lackingOf(body, steps), reach: at, steps, isOfCause: isOfCause(body) });
      }
      throw error;
    });
    return {
      now: isoMillis(clock.now()),
      kept_as: keptAs ?? null,
      undone,
      dropped: dropped.map(({ kind, ref }) => ({ kind, ref })),
    };
  },

  "snapshots.remove": async ({ params: { name } }, { snapshots, fail }) => {
    await snapshots.remove(name).catch(refuse(fail));
    return undefined;
  },
} satisfies ControlHandlers;

interface RewindRequest {
  readonly to?: string | undefined;
  readonly before?: string | undefined;
  readonly steps?: number | undefined;
}

/** Exactly one is given. */
function targetIn({ to, before, steps = 0 }: RewindRequest): RewindTarget {
  if (to !== undefined) return { to: Date.parse(to) };
  if (before === undefined) return { steps };
  const ref = readRef(before);
  return { before: ref?.by === "cause" ? ref.id : before };
}

/** What the history lacks of what was asked for. */
function lackingOf({ to, before, steps }: RewindRequest, counted: number | undefined): string {
  if (to !== undefined) return `does not go back to ${to}`;
  if (before !== undefined) return `has nothing of ${before}`;
  if (!counted) return "has no request and no move of time to take back";
  const there = counted === 1 ? "one request or move of time" : `${counted} requests and moves of time`;
  return `has ${there} to take back, not ${steps}`;
}

/** False where it is asked to go back before something that nothing follows from. */
const isOfCause = ({ before }: RewindRequest): boolean => before === undefined || readRef(before)?.by === "cause";

interface Refusing {
  (code: "no-such-snapshot", data: { name: string; known: string }): never;
  (code: "unusable-snapshot", data: { name: string; reason: string }): never;
}

/** The declared words for a snapshot that is not there or cannot be used. */
export const refuse =
  (fail: Refusing) =>
  (error: unknown): never => {
    if (error instanceof NoSuchSnapshot) {
      return fail("no-such-snapshot", { name: error.wanted, known: error.known.join(", ") || "none" });
    }
    if (error instanceof UnusableSnapshot) {
      return fail("unusable-snapshot", { name: error.snapshot, reason: error.reason });
    }
    throw error;
  };

export const snapshotRecord = ({ name, at, savedAt, bytes, file }: SnapshotInfo) => ({
  name,
  at: at === undefined ? null : isoMillis(at),
  saved_at: savedAt ?? null,
  bytes,
  file: file ?? null,
});

async function sizesOf(store: Store, collections: readonly Collection[]) {
  const sizes = await store.read((view) =>
    Promise.all(
      collections.map(async (one) => {
        const size = one.kind === "rows" ? view.count(one as unknown as Rows<object>) : view.size(one);
        return { kind: one.kind, name: one.name, size: await size };
      }),
    ),
  );
  const of = (kind: Collection["kind"]) =>
    Object.fromEntries(sizes.flatMap((one) => (one.kind === kind && one.size > 0 ? [[one.name, one.size]] : [])));
  return { rows: of("rows"), mappings: of("mapping") };
}
