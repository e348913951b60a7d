import type { Wall } from "../../../src/base/clock.ts";
import { baseDocument } from "../file/base/base-document.ts";
import type { Moment } from "../history.ts";
import { LiveStore } from "../live/live-store.ts";
import type { Collection, Store } from "../port.ts";
import type { SnapshotStore } from "../snapshot-store.ts";
import { Database } from "./database.ts";
import { Documents } from "./documents.ts";
import { type Candidate, Leadership, type Seen, usualLeaseMs } from "./leadership.ts";
import { type PostgresBlobs, postgresBlobs } from "./postgres-blobs.ts";
import { PostgresLog } from "./postgres-log.ts";
import { postgresSnapshotStore } from "./postgres-snapshot-store.ts";
import { baseOf, recover } from "./recovery.ts";
import { prepareSchema } from "./schema.ts";
import { explainDatabase } from "./unusable.ts";

export interface PostgresStoreOptions {
  /** `postgres://user@host/database`. */
  readonly url: string;
  readonly schema: string;
  readonly collections: readonly Collection[];
  readonly wall: Wall;
  /** By which leases run, where that is another one. */
  readonly leaseWall?: Wall;
  readonly candidate: Candidate;
  /** Ends the waiting for leadership. */
  readonly signal?: AbortSignal;
  /** Told as soon as this process leads, before it has read the state. */
  readonly leads?: (leadership: Leadership) => void;
  /** Told again and again who leads, as long as this process waits. */
  readonly seen?: Seen;
  /** How long a leader may take itself for one unasked; all processes have the same. */
  readonly leaseMs?: number;
  /** A base is written when the lines behind the last one are more than this and than that one. */
  readonly compactAfterBytes?: number;
  /** How much is kept at most of what led to the present state; left out: nothing. */
  readonly historyBytes?: number | undefined;
  /** What is written down with each commit. */
  readonly moment?: () => Moment;
  readonly report?: (message: string) => void;
}

/** What a store in PostgreSQL consists of. It is closed with its `store`. */
export interface PostgresStore {
  readonly store: Store;
  readonly blobs: PostgresBlobs;
  readonly snapshotStore: SnapshotStore;
  readonly leadership: Leadership;
}

/** Less than in a file: whoever takes over reads the lines first. */
const compactAfterBytes = 16 * 1024 * 1024;

/**
 * Opens a state in PostgreSQL, or begins one, as soon as no other process leads. Fails with StateUnusable and StateRefused
 * where that cannot be; nothing is changed then.
 */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<PostgresStore> {
  const { url, schema, wall, leaseWall = wall, candidate, leaseMs = usualLeaseMs } = options;
  const database = new Database(url, schema);
  let leadership: Leadership | undefined;
  try {
    await prepareSchema(database);
    const wanted = options.signal ?? new AbortController().signal;
    leadership = await Leadership.take(
      { database, wall: leaseWall, candidate, leaseMs },
      wanted,
      options.seen ?? (() => {}),
    );
    options.leads?.(leadership);
    const opened = await openAs(database, leadership, options);
    await leadership.whenAlone();
    return opened;
  } catch (error) {
    await leadership?.release();
    await database.close();
    return explainDatabase(database.shown, error);
  }
}

async function openAs(
  database: Database,
  leadership: Leadership,
  { collections, wall, leaseWall = wall, ...options }: PostgresStoreOptions,
): Promise<PostgresStore> {
  const { moment = () => ({}), report = () => {}, historyBytes = 0 } = options;
  const documents = new Documents(database, leadership);
  const found = await recover(database.pool, database.shown, collections);
  // What nobody finished writing, nobody will.
  await database.pool`with ${leadership.mine} delete from documents using mine where not whole`;
  const { state, lines } = found;
  const { position } = lines;
  let { base } = found;
  let { bytes } = lines;
  // With the first one, and with every new form, what is written next is in the form of today.
  if (!base || found.isOutdated) {
    const at = { position: () => position, past: () => position, moment };
    const before = base && { id: base.id, followedBy: bytes };
    const place = () => ({ lastLine: position.number, before });
    base = baseOf(await documents.write(baseDocument(state, 0, at), { kind: "base", base: place }));
    bytes = 0;
  }
  await documents.trim(base.id, historyBytes);
  const log = new PostgresLog({
    database,
    leadership,
    documents,
    position,
    base,
    journalBytes: bytes,
    collections,
    wall,
    historyBytes,
    moment,
    now: () => leaseWall.now(),
    compactAfterBytes: options.compactAfterBytes ?? compactAfterBytes,
    report,
  });
  const store = new LiveStore({ state, wall, log });
  log.attach((work) => store.inspect(work));
  return {
    store,
    blobs: postgresBlobs(database, leadership, documents),
    snapshotStore: postgresSnapshotStore(database, leadership, documents),
    leadership,
  };
}
