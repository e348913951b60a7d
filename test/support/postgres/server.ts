import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { after, before } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";

/** Debian installs each version in a folder here. Elsewhere, the programs are on the path. */
const debian = "/usr/lib/postgresql";

/** Returns the user that runs the server, because the server rejects root. Undefined means the current user. */
function getServerUser(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const idOf = (kind: string) => Number(execFileSync("id", [kind, "postgres"], { stdio: "pipe" }).toString());
  return { uid: idOf("-u"), gid: idOf("-g") };
}

function findBinaries(): string | undefined {
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : [];
  const found = versions.map((version) => join(debian, version, "bin")).find((bin) => existsSync(join(bin, "initdb")));
  if (found) return found;
  try {
    return execFileSync("pg_config", ["--bindir"], { stdio: "pipe" }).toString().trim();
  } catch {
    return undefined;
  }
}

const bin = findBinaries();

/** Reason to skip the tests that need PostgreSQL, or false. */
export const postgresSkipReason: string | false =
  bin === undefined ? "PostgreSQL is not installed here (Debian: apt-get install postgresql)" : false;

type User = ReturnType<typeof getServerUser>;

const compiled = process.env.SVC_TEST_COMPILED;
/** The files of a server that was never started. All processes of a run of `test/run.ts` share them. */
const freshFolder = join(tmpdir(), `svc-pg-fresh-${compiled === undefined ? process.pid : basename(compiled)}`);

/**
 * Returns the data folder of a server that was never started. It is initialized once per run, because a copy takes a
 * twentieth of the time. If several processes need it at the same time, the first one that is ready provides it.
 */
function createFreshData(user: User): string {
  if (!existsSync(freshFolder)) {
    // The folder for temporary files of a run is removed at its end.
    if (compiled === undefined) process.once("exit", () => rmSync(freshFolder, { recursive: true, force: true }));
    const folder = mkdtempSync(`${freshFolder}-`);
    if (user) chownSync(folder, user.uid, user.gid);
    const words = ["-D", join(folder, "data"), "-U", "svc", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"];
    execFileSync(join(bin!, "initdb"), words, { ...user, cwd: folder, stdio: "pipe" });
    try {
      renameSync(folder, freshFolder);
    } catch {
      rmSync(folder, { recursive: true });
    }
  }
  return join(freshFolder, "data");
}

/** A PostgreSQL server of the tests, in a temporary folder, on a Unix socket only. */
export class PostgresServer {
  readonly folder = mkdtempSync(join(tmpdir(), "svc-pg-"));
  readonly #user = getServerUser();
  readonly #settings: readonly string[];
  #process: ChildProcess | undefined;
  #schemas = 0;

  /**
   * Starts the server. `settings` have the format of `postgres -c`. The default disables durability that only a crash
   * of the machine requires.
   */
  constructor(settings: readonly string[] = ["fsync=off"]) {
    this.#settings = settings;
    if (this.#user) chownSync(this.folder, this.#user.uid, this.#user.gid);
    execFileSync("cp", ["-a", createFreshData(this.#user), this.#data], { ...this.#user, cwd: this.folder });
  }

  get #data(): string {
    return join(this.folder, "data");
  }

  get pid(): number {
    return this.#process!.pid!;
  }

  /** Returns the URL of a database on the server for a user. */
  url({ user = "svc", database = "postgres" } = {}): string {
    return `postgres://${user}@/${database}?host=${this.folder}`;
  }

  /** Returns an unused schema name. */
  freshSchema(): string {
    this.#schemas += 1;
    return `svc_${this.#schemas}`;
  }

  /** Runs statements as the superuser. */
  async sql<T>(work: (sql: postgres.Sql) => Promise<T>, database = "postgres"): Promise<T> {
    const sql = postgres({ path: `${this.folder}/.s.PGSQL.5432`, user: "svc", database, max: 1, onnotice() {} });
    try {
      return await work(sql);
    } finally {
      await sql.end({ timeout: 1 });
    }
  }

  /**
   * Creates a database whose tables are stored in a folder, such as one on a small disk. The rest of the server is
   * unchanged.
   */
  async databaseIn(folder: string): Promise<string> {
    if (this.#user) chownSync(folder, this.#user.uid, this.#user.gid);
    await this.sql((sql) => sql.unsafe(`create tablespace elsewhere location '${folder}'`));
    await this.sql((sql) => sql`create database elsewhere tablespace elsewhere`);
    return "elsewhere";
  }

  /** Returns the output of `pg_dump` for a schema. */
  dump(schema: string): string {
    return this.#run("pg_dump", ["-h", this.folder, "-U", "svc", "--schema", schema, "postgres"]);
  }

  /** Restores the output of `dump` into a database of this server. */
  restore(dump: string, database = "postgres"): void {
    this.#run("psql", ["-h", this.folder, "-U", "svc", "-q", "-v", "ON_ERROR_STOP=1", database], dump);
  }

  /** Creates a server with a copy of all data. This server keeps running. */
  async copy(): Promise<PostgresServer> {
    const copy = new PostgresServer(this.#settings);
    rmSync(copy.#data, { recursive: true });
    this.#run("pg_basebackup", ["-h", this.folder, "-U", "svc", "-D", copy.#data, "-c", "fast", "--no-sync"]);
    await copy.start();
    return copy;
  }

  #run(program: string, words: readonly string[], input = ""): string {
    const options = { ...this.#user, cwd: this.folder, input, maxBuffer: 64 << 20, stdio: "pipe" } as const;
    return execFileSync(join(bin!, program), words, options).toString();
  }

  /** Prepends lines to pg_hba.conf. */
  letIn(lines: string): void {
    writeFileSync(join(this.#data, "pg_hba.conf"), `${lines}\nlocal all all trust\nhost all all all trust\n`);
  }

  async start(extraArgs: readonly string[] = []): Promise<void> {
    const settings = ["listen_addresses=", `unix_socket_directories=${this.folder}`, ...this.#settings, ...extraArgs];
    const words = ["-D", this.#data, ...settings.flatMap((setting) => ["-c", setting])];
    this.#process = spawn(join(bin!, "postgres"), words, { ...this.#user, cwd: this.folder, stdio: "ignore" });
    const exited = once(this.#process, "exit").then(() => {
      throw new Error(`postgres ended: ${words.join(" ")}`);
    });
    exited.catch(() => {});
    for (;;) {
      const isUp = await Promise.race([
        exited,
        this.sql((sql) => sql`select 1`).then(
          () => true,
          () => false,
        ),
      ]);
      if (isUp) return;
      await sleep(20);
    }
  }

  /** Stops the server. SIGINT is a fast shutdown, and SIGQUIT is like a crash. */
  async stop(signal: "SIGINT" | "SIGQUIT" = "SIGINT"): Promise<void> {
    if (!this.#process || this.#process.exitCode !== null) return;
    const exited = once(this.#process, "exit");
    this.#process.kill(signal);
    await exited;
    this.#process = undefined;
  }

  async remove(): Promise<void> {
    await this.stop("SIGQUIT");
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Starts a server for the tests of this block. */
export function startPostgresServer(settings?: readonly string[]): () => PostgresServer {
  let server: PostgresServer | undefined;
  before(async () => {
    server = new PostgresServer(settings);
    await server.start();
  });
  after(() => server?.remove());
  return () => server!;
}
