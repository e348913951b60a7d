import { svcVersion } from "../../../src/base/version.ts";
import { StateAccessError, StateFormatError } from "../port.ts";
import type { Database, Sql, Tx } from "./database.ts";
import { migrations } from "./migrations.ts";

/** The first PostgreSQL that the store works on: what it needs is there in all that are still supported. */
const oldestServer = 13;

/**
 * Makes the schema where it is missing, and its tables those of today. Fails with StateAccessError or StateFormatError where that
 * cannot be; nothing is changed then.
 */
export async function prepareSchema(database: Database): Promise<void> {
  await requireServer(database);
  if ((await versionIn(database.pool, database.schema)) === migrations.length) return;
  await database.pool.begin(async (tx) => {
    // Those who start at the same time wait for each other.
    await tx`select pg_advisory_xact_lock(hashtextextended(${`svc-migrations ${database.schema}`}, 0))`;
    await migrate(database, tx);
  });
}

async function requireServer({ pool, shown }: Database): Promise<void> {
  const [server] = await pool<[Server]>`
    select current_setting('server_version_num')::int as version, current_setting('server_encoding') as encoding,
      current_setting('server_version') as called`;
  const problem = serverProblem(server);
  if (problem !== undefined)
    throw new StateAccessError(`The store ${shown} cannot be used: ${problem}. Nothing was written.`);
}

interface Server {
  readonly version: number;
  readonly called: string;
  readonly encoding: string;
}

/** Why a store cannot be on such a server; undefined where it can. */
export function serverProblem({ version, called, encoding }: Server): string | undefined {
  if (version < oldestServer * 10_000)
    return `PostgreSQL ${oldestServer} or later is required, but the server is ${called}`;
  if (encoding === "UTF8") return undefined;
  return `the database encoding is ${encoding}, but UTF8 is required (createdb -E UTF8 -T template0)`;
}

/** The version of the tables; 0 where there are none; undefined where others have put something into the schema. */
async function versionIn(sql: Sql | Tx, schema: string): Promise<number | undefined> {
  const [found] = await sql`
    select count(*) filter (where relname = 'svc_store') > 0 as ours, count(*) > 0 as used
    from pg_class join pg_namespace on pg_namespace.oid = relnamespace where nspname = ${schema}`;
  if (found!.ours === true) {
    const [row] = await sql`select version from svc_store`;
    return row!.version as number;
  }
  return found!.used === true ? undefined : 0;
}

async function migrate({ shown, schema }: Database, tx: Tx): Promise<void> {
  const version = await versionIn(tx, schema);
  const refuse = (why: string): never => {
    throw new StateFormatError(`${why}. Nothing was changed.`, { repairable: false });
  };
  if (version === undefined) {
    return refuse(
      `The schema of the store ${shown} has tables of another program. Use another schema with the option schema`,
    );
  }
  if (version > migrations.length) {
    const [{ written_by } = { written_by: "" }] = await tx`select written_by from svc_store`;
    return refuse(
      `The store ${shown} has tables of version ${version}, written by svc ${written_by}. This version reads up to ${migrations.length}. Use that version`,
    );
  }
  if (version === 0) {
    // Who may not make one may be given one.
    const [given] = await tx`select from pg_namespace where nspname = ${schema}`;
    if (!given) await tx.unsafe(`create schema "${schema}"`);
    await tx.unsafe(`create table svc_store (one boolean primary key default true check (one),
      version integer not null, written_by text not null)`);
    await tx`insert into svc_store (version, written_by) values (0, ${svcVersion})`;
  }
  for (const step of migrations.slice(version)) await tx.unsafe(step);
  await tx`update svc_store set version = ${migrations.length}, written_by = ${svcVersion}`;
}
