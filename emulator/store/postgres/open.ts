import type { WallClock } from "../../../src/base/clock.ts";
import { toTlsFailure } from "../../../src/base/errors.ts";
import { lookupTable } from "../../../src/base/object.ts";
import { type Blobs, compareByName, isSnapshotName, measureBlob, type SnapshotStore, storeContent } from "../blobs.ts";
import { formatCheckpoint } from "../journal/checkpoint.ts";
import { defaultStoreOptions, type StoreOptions } from "../journal/journaled-log.ts";
import { LiveStore } from "../live/live-store.ts";
import { StateAccessError, StateFormatError, StoreFailedError } from "../port.ts";
import { createWriteError, Database } from "./database.ts";
import { readDocument, recover, trimDocuments, writeDocument } from "./documents.ts";
import { type Candidate, defaultLeaseMs, type LeaderChangeHandler, Leadership } from "./leadership.ts";
import { PostgresLog, readHistoryStrings } from "./postgres-log.ts";
import { prepareSchema } from "./schema.ts";

export interface PostgresStoreOptions extends StoreOptions {
  /** `postgres://user@host/database`. */
  readonly url: string;
  readonly schema: string;
  /** The clock of the leases (default: the wall clock). */
  readonly leaseWall?: WallClock;
  readonly candidate: Candidate;
  readonly signal?: AbortSignal;
  /** Called when this process begins to lead, before it reads the state. */
  readonly onLeading?: (leadership: Leadership) => void;
  /** Called repeatedly with the present leader while this process waits. */
  readonly onLeaderChange?: LeaderChangeHandler;
  /** The time for which a leader may act without a confirmation. All processes use the same value. */
  readonly leaseMs?: number;
}

/** The limit is lower than for a file, because a new leader reads the lines first. */
const defaultCompactAfterBytes = 16 * 2 ** 20;

/**
 * Opens a state in PostgreSQL, or creates one, as soon as no other process leads. Fails with StateAccessError or
 * StateFormatError if that is impossible, and then changes nothing.
 */
export async function openPostgresStore(options: PostgresStoreOptions): ReturnType<typeof openAs> {
  const { url, schema, wall, leaseWall = wall, candidate, leaseMs = defaultLeaseMs } = options;
  const { report } = { ...defaultStoreOptions, ...options };
  const database = new Database(url, schema);
  let leadership: Leadership | undefined;
  try {
    await prepareSchema(database);
    const signal = options.signal ?? new AbortController().signal;
    leadership = await Leadership.acquire(
      { database, wall: leaseWall, candidate, leaseMs, report },
      signal,
      options.onLeaderChange ?? (() => {}),
    );
    options.onLeading?.(leadership);
    const openedStore = await openAs(database, leadership, options);
    await leadership.waitForPreviousLease();
    return openedStore;
  } catch (error) {
    await leadership?.release();
    await database.close();
    return explainDatabase(database.displayUrl, error);
  }
}

/** Opens the parts of a store in PostgreSQL, which are closed with its `store`. */
async function openAs(database: Database, leadership: Leadership, storeOptions: PostgresStoreOptions) {
  const options = { ...defaultStoreOptions, compactAfterBytes: defaultCompactAfterBytes, ...storeOptions };
  const { collections, wall, leaseWall = wall, getMoment } = options;
  const recovered = await recover(database.pool, database.displayUrl, collections);
  // Unfinished documents are removed, because no process completes them.
  await database.pool`with ${leadership.mine} delete from documents using mine where not whole`;
  const { state, position } = recovered;
  let { base, journalBytes } = recovered;
  // Later writes use the current format, so a new or outdated store first gets a checkpoint in it.
  if (!base || recovered.isOutdated) {
    const head = { generation: 0, position, past: position, moment: getMoment() };
    const checkpoint = formatCheckpoint(state, () => head);
    const previous = base && { id: base.id, followedBy: journalBytes };
    const getCheckpointPosition = () => ({ lastLine: position.number, previous });
    const documentOptions = { kind: "base", getPosition: getCheckpointPosition } as const;
    base = await writeDocument(database, leadership, checkpoint, documentOptions);
    journalBytes = 0;
  }
  await trimDocuments(database, leadership, base.id, options.historyBytes);
  const log = new PostgresLog({ ...options, ...{ database, leadership, position, base, journalBytes, leaseWall } });
  return {
    store: new LiveStore({ state, wall, log }),
    blobs: createPostgresBlobs(database, leadership),
    snapshotStore: createPostgresSnapshotStore(database, leadership),
    leadership,
  };
}

function createPostgresSnapshotStore(database: Database, leadership: Leadership): SnapshotStore {
  const findId = async (name: string) => {
    const [row] = isSnapshotName(name)
      ? await database.pool`select id from documents where kind = 'snapshot' and name = ${name} and whole`
      : [];
    return row?.id as string | undefined;
  };
  return {
    async put(name, document) {
      const write = (pieces: AsyncIterable<Uint8Array>) =>
        writeDocument(database, leadership, pieces, { kind: "snapshot", getName: () => name });
      await storeContent(document, write, toWriteError);
    },
    async open(name) {
      const id = await findId(name);
      return id === undefined ? undefined : readDocument(database.pool, id);
    },
    async list() {
      const rows = await database.pool`select name, bytes from documents where kind = 'snapshot' and whole`;
      return rows.map(({ name, bytes }) => ({ name, bytes: Number(bytes), file: undefined })).sort(compareByName);
    },
    async remove(name) {
      const id = await findId(name);
      if (id === undefined) return false;
      const { count } =
        await database.pool`with ${leadership.mine} delete from documents using mine where id = ${id}`.catch(
          (cause) => {
            throw toWriteError(cause);
          },
        );
      if (count === 0) throw toWriteError(leadership.createFencedError());
      return true;
    },
  };
}

const toWriteError = (cause: unknown): StoreFailedError =>
  createWriteError(`The snapshot cannot be written: ${(cause as Error).message}`, cause);

type ErrorExplanation = readonly [why: string, next: string, trouble?: StateAccessError["kind"]];

const unreachable: ErrorExplanation = ["the host cannot be reached", "Check host and network.", "temporary"];
const closed: ErrorExplanation = [
  "the server closed the connection",
  "Try again in a moment. See the server's log.",
  "temporary",
];
const untrusted: ErrorExplanation = [
  "the certificate of the server is not trusted",
  "Set NODE_EXTRA_CA_CERTS to the file of its authority, or use sslmode=require to accept any certificate.",
];

/** The meaning of PostgreSQL, TLS and network errors at a start, and their remedies. */
const errorExplanations = lookupTable<ErrorExplanation>({
  "28P01": [
    "the password is missing or wrong",
    "Set it in PGPASSWORD, in a password file that only you can read (PGPASSFILE, ~/.pgpass), or in the URL in SVC_STORE.",
    "forbidden",
  ],
  "08P01": [
    "a pooler rejects a setting of the connection",
    "Connect to PostgreSQL directly, or let PgBouncer ignore the setting (ignore_startup_parameters).",
  ],
  "28000": ["the server rejects this user", "Use another user, or allow this one (pg_hba.conf).", "forbidden"],
  "3D000": ["the database does not exist", "Create it (createdb), or use another database."],
  "42501": [
    "this user has no permission",
    "Allow this user to create schemas, or create the schema for it: CREATE SCHEMA … AUTHORIZATION ….",
    "forbidden",
  ],
  "42P01": [
    "this user cannot see the tables of the store",
    "Grant it access to the schema and its tables (GRANT USAGE ON SCHEMA …), or set another one in SVC_STORE_SCHEMA.",
    "forbidden",
  ],
  "53300": ["the server has no free connections", "Close some, or raise max_connections.", "temporary"],
  "53100": ["the server's disk is full", "Free disk space on the server."],
  "25006": ["the server is read-only", "Use the primary server."],
  "57P03": ["the server is starting or stopping", "Try again in a moment.", "temporary"],
  ECONNREFUSED: ["connection refused", "Start PostgreSQL, or correct host and port.", "temporary"],
  ENOENT: ["the socket does not exist", "Start PostgreSQL, or set the folder of its socket with host=.", "temporary"],
  ENOTFOUND: ["the host does not exist", "Correct the host."],
  EACCES: ["this user cannot access the socket", "Grant it access."],
  EAI_AGAIN: ["the host name lookup failed", "Try again in a moment, or correct the host.", "temporary"],
  EHOSTUNREACH: unreachable,
  ENETUNREACH: unreachable,
  CONNECT_TIMEOUT: ["the connection timed out", "Check host, port and firewall.", "temporary"],
  "no-tls": [
    "sslmode requires TLS, but the server does not support it",
    "Enable it on the server (ssl = on in postgresql.conf), or remove sslmode if the network is trusted.",
  ],
  "self-signed": untrusted,
  "unknown-authority": untrusted,
  expired: ["the certificate of the server has expired", "Renew it on the server."],
  "other-host": [
    "the certificate of the server has another name",
    "Connect to a name of the certificate, or use sslmode=require to accept any certificate.",
  ],
  CONNECTION_CLOSED: closed,
  ECONNRESET: closed,
});

/** Throws the error of a start as StateAccessError, in one sentence with a hint. Rejections stay unchanged. */
function explainDatabase(displayUrl: string, cause: unknown): never {
  if (cause instanceof StateFormatError || cause instanceof StateAccessError) throw cause;
  const { message, name, code: input = "" } = cause as NodeJS.ErrnoException;
  // This is the message of Node when a server declines TLS and then ends the connection.
  const code = message.includes("before secure TLS connection was established")
    ? "no-tls"
    : (toTlsFailure(input) ?? input);
  const [reason, remedy, kind] = errorExplanations[code] ?? [];
  if (reason === undefined && name !== "PostgresError" && !/^[A-Z_]+$/.test(code)) throw cause;
  const detail = name === "PostgresError" ? ` (${message})` : "";
  throw new StateAccessError(
    `The store ${displayUrl} cannot be used: ${reason === undefined ? message : `${reason}${detail}`}. Nothing was written. ${remedy ?? "See the server's log."}`,
    { cause, ...(kind !== undefined && { kind }) },
  );
}

/** Retention of unreferenced bytes by the server's clock (reasons: `file/blob-collection.ts`). */
const unreferencedRetention = "30 days";

type FindBlobsInHistory = (texts: AsyncIterable<string>) => Promise<ReadonlySet<string>>;

/** Uploaded bytes in the database, by their hash. */
interface PostgresBlobs extends Blobs {
  /**
   * Removes blobs that have been unreferenced for that time. Resolves with their number. Call it only before requests
   * are served. The strings of the history are many, so they are read only if a blob would be removed.
   */
  collect(findReferencedBlobs: () => Promise<ReadonlySet<string>>, findInHistory: FindBlobsInHistory): Promise<number>;
}

function createPostgresBlobs(database: Database, leadership: Leadership): PostgresBlobs {
  return {
    async put(bytes, maxBytes) {
      const { pieces, getBlob } = measureBlob(bytes, maxBytes);
      // An upload of the same content replaces the same bytes.
      await storeContent(
        pieces,
        (content) => writeDocument(database, leadership, content, { kind: "blob", getName: () => getBlob().sha256 }),
        (cause) => new StoreFailedError(`The upload cannot be written: ${(cause as Error).message}`, { cause }),
      );
      return getBlob();
    },
    async open(sha256) {
      const [row] = await database.pool`select id from documents where kind = 'blob' and name = ${sha256} and whole`;
      return row && readDocument(database.pool, row.id);
    },
    async extendUnreferencedRetention() {
      await database.pool`with ${leadership.mine} update documents set unnamed_since = null from mine where kind = 'blob'`;
    },
    async collect(findReferencedBlobs, findInHistory) {
      const blobs = await database.pool`select name from documents where kind = 'blob' and whole`;
      if (blobs.length === 0) return 0;
      const referenced = await findReferencedBlobs();
      const unreferenced = blobs.flatMap(({ name }) => (referenced.has(name) ? [] : [name as string]));
      await database.pool`
        with ${leadership.mine} update documents
        set unnamed_since = case when name in ${database.pool(["", ...unreferenced])} then coalesce(unnamed_since, now()) end
        from mine where kind = 'blob'`;
      const expired = await database.pool`
        select id, name from documents where kind = 'blob' and whole
          and greatest(unnamed_since, made) < now() - ${unreferencedRetention}::interval and unnamed_since is not null`;
      if (expired.length === 0) return 0;
      const referencedInHistory = await findInHistory(readHistoryStrings(database));
      const idsToRemove = expired.flatMap(({ id, name }) => (referencedInHistory.has(name) ? [] : [id as string]));
      const { count } = await database.pool`
        with ${leadership.mine} delete from documents using mine where id in ${database.pool(["0", ...idsToRemove])}`;
      return count;
    },
  };
}
