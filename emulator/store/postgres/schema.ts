import { svcVersion } from "../../../src/base/version.ts";
import { StateAccessError, StateFormatError } from "../port.ts";
import type { Database, Sql, Tx } from "./database.ts";

/** The first supported PostgreSQL version. All maintained versions have the features that the store needs. */
const minServerVersion = 13;

/**
 * Creates the schema if it is missing, and migrates its tables. Fails with StateAccessError or StateFormatError if that
 * is impossible, and then changes nothing.
 */
export async function prepareSchema(database: Database): Promise<void> {
  await requireServer(database);
  if ((await readVersion(database.pool, database.schema)) === migrations.length) return;
  await database.pool.begin(async (tx) => {
    // Serializes processes that start at the same time.
    await tx`select pg_advisory_xact_lock(hashtextextended(${`svc-migrations ${database.schema}`}, 0))`;
    await migrate(database, tx);
  });
}

async function requireServer({ pool, displayUrl, schema }: Database): Promise<void> {
  const [server] = await pool<[Server & { readonly searchPath: string }]>`
    select current_setting('server_version_num')::int as version, current_setting('server_encoding') as encoding,
      current_setting('server_version') as "versionName", current_setting('search_path') as "searchPath"`;
  const isSchemaUsed = server.searchPath.replaceAll('"', "") === schema;
  const problem =
    findServerProblem(server) ??
    (isSchemaUsed ? undefined : `a pooler ignores search_path (ALTER ROLE … SET search_path = ${schema} sets it)`);
  if (problem !== undefined)
    throw new StateAccessError(`The store ${displayUrl} cannot be used: ${problem}. Nothing was written.`);
}

interface Server {
  readonly version: number;
  readonly versionName: string;
  readonly encoding: string;
}

/** Explains why a server cannot store a state. Returns undefined if it can. */
export function findServerProblem({ version, versionName, encoding }: Server): string | undefined {
  if (version < minServerVersion * 10_000)
    return `PostgreSQL ${minServerVersion} or later is required, but the server is ${versionName}`;
  if (encoding === "UTF8") return undefined;
  return `the database encoding is ${encoding}, but UTF8 is required (createdb -E UTF8 -T template0)`;
}

/** Reads the version of the tables: 0 if there are none, undefined if another program uses the schema. */
async function readVersion(sql: Sql | Tx, schema: string): Promise<number | undefined> {
  const [counts] = await sql`
    select count(*) filter (where relname = 'svc_store') > 0 as ours, count(*) > 0 as used
    from pg_class join pg_namespace on pg_namespace.oid = relnamespace where nspname = ${schema}`;
  if (counts!.ours === true) {
    const [row] = await sql`select version from svc_store`;
    return row!.version as number;
  }
  return counts!.used === true ? undefined : 0;
}

async function migrate({ displayUrl, schema }: Database, tx: Tx): Promise<void> {
  const version = await readVersion(tx, schema);
  const throwFormatError = (reason: string): never => {
    throw new StateFormatError(`${reason}. Nothing was changed.`, { repairable: false });
  };
  if (version === undefined) {
    return throwFormatError(
      `The schema of the store ${displayUrl} has tables of another program. Use another schema with the option schema`,
    );
  }
  if (version > migrations.length) {
    const [{ written_by } = { written_by: "" }] = await tx`select written_by from svc_store`;
    return throwFormatError(
      `The store ${displayUrl} has tables of version ${version}, written by svc ${written_by}. This version reads up to ${migrations.length}. Use that version`,
    );
  }
  if (version === 0) {
    // A user without the right to create a schema may be given one.
    const [existing] = await tx`select from pg_namespace where nspname = ${schema}`;
    if (!existing) await tx.unsafe(`create schema "${schema}"`);
    await tx.unsafe(`create table svc_store (one boolean primary key default true check (one),
      version integer not null, written_by text not null)`);
    await tx`insert into svc_store (version, written_by) values (0, ${svcVersion})`;
  }
  for (const step of migrations.slice(version)) await tx.unsafe(step);
  await tx`update svc_store set version = ${migrations.length}, written_by = ${svcVersion}`;
}

/**
 * The migrations of the tables. Each one upgrades a version to the next and does not change after its release. The
 * contents of `journal` and of documents have versions of their own (`emulator/store/journal/document.ts`).
 */
export const migrations: readonly string[] = [
  `
  create table leadership (
    one boolean primary key default true check (one),
    -- Incremented by each new leader. Writes of an earlier epoch are rejected.
    epoch bigint not null default 0,
    -- Incremented by the leader while it leads.
    beat bigint not null default 0,
    renewed timestamptz not null default now(),
    -- The instance that leads. Null after a handover.
    leader text,
    -- Its server process, which holds the lock.
    backend integer,
    -- The database that it leads. A copy of it has no leader.
    database text,
    -- The addresses of its listeners.
    address jsonb,
    -- The token of the control plane, which all processes share.
    token text
  );
  insert into leadership default values;

  -- One row per group commit: its lines in the form of a journal file, by the number of the last line.
  create table journal (
    last bigint primary key,
    first bigint not null,
    lines text not null,
    -- The version of svc that wrote them. Rows of the current version are not checked again.
    written_by text
  );
  -- Compression would take longer than writing the lines uncompressed.
  alter table journal alter column lines set storage external;

  -- Contents that are too long for one row: checkpoints, snapshots and uploaded bytes.
  create table documents (
    id bigint generated always as identity primary key,
    kind text not null,
    name text not null,
    -- False while it is being written.
    whole boolean not null default false,
    bytes bigint not null default 0,
    made timestamptz not null default now(),
    unnamed_since timestamptz,
    -- Of a checkpoint: the last line of the journal in it and, once another checkpoint has followed, the bytes of the
    -- lines between the two. Checkpoints and lines before the current checkpoint are the history of the state.
    last_line bigint,
    followed_by bigint not null default 0
  );
  create unique index documents_name on documents (kind, lower(name)) where whole;
  create table pieces (
    document bigint not null references documents on delete cascade,
    piece integer not null,
    lines text,
    bytes bytea,
    primary key (document, piece),
    check (num_nonnulls(lines, bytes) = 1)
  );
  alter table pieces alter column lines set storage external, alter column bytes set storage external;
  `,
];
