import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";

/** Where Debian installs the servers, each version in its folder; else on the path. */
const debian = "/usr/lib/postgresql";

/** Who runs the server: it refuses root. Undefined: whoever runs the tests. */
function serverUser(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const idOf = (kind: string) => Number(execFileSync("id", [kind, "postgres"], { stdio: "pipe" }).toString());
  return { uid: idOf("-u"), gid: idOf("-g") };
}

function binaries(): string | undefined {
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : [];
  const found = versions.map((version) => join(debian, version, "bin")).find((bin) => existsSync(join(bin, "initdb")));
  if (found) return found;
  try {
    return execFileSync("pg_config", ["--bindir"], { stdio: "pipe" }).toString().trim();
  } catch {
    return undefined;
  }
}

const bin = binaries();

/** Why tests that need PostgreSQL are skipped; false where they are not. */
export const noPostgres: string | false =
  bin === undefined ? "PostgreSQL is not installed here (Debian: apt-get install postgresql)" : false;

type User = ReturnType<typeof serverUser>;

let fresh: string | undefined;

/** The data of a server that was never started; made once in a process, since a copy takes a twentieth of the time. */
function freshData(user: User): string {
  if (fresh !== undefined) return fresh;
  const folder = mkdtempSync(join(tmpdir(), "svc-pg-fresh-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  if (user) chownSync(folder, user.uid, user.gid);
  const data = join(folder, "data");
  const words = ["-D", data, "-U", "svc", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"];
  execFileSync(join(bin!, "initdb"), words, { ...user, cwd: folder, stdio: "pipe" });
  fresh = data;
  return fresh;
}

/** A server of the tests' own, in a temporary folder, on a Unix socket alone. */
export class PostgresServer {
  readonly folder = mkdtempSync(join(tmpdir(), "svc-pg-"));
  readonly #user = serverUser();
  readonly #settings: readonly string[];
  #process: ChildProcess | undefined;
  #schemas = 0;

  /** `settings`: as `postgres -c` takes them. The default gives up what a crash of the machine alone would need. */
  constructor(settings: readonly string[] = ["fsync=off"]) {
    this.#settings = settings;
    if (this.#user) chownSync(this.folder, this.#user.uid, this.#user.gid);
    execFileSync("cp", ["-a", freshData(this.#user), this.#data], { ...this.#user, cwd: this.folder });
  }

  get #data(): string {
    return join(this.folder, "data");
  }

  get pid(): number {
    return this.#process!.pid!;
  }

  /** The URL of a database on it, and of who goes there. */
  url({ user = "svc", database = "postgres" } = {}): string {
    return `postgres://${user}@/${database}?host=${this.folder}`;
  }

  /** The name of a schema that is not there yet. */
  freshSchema(): string {
    this.#schemas += 1;
    return `svc_${this.#schemas}`;
  }

  /** Statements as the one who may do everything. */
  async sql<T>(work: (sql: postgres.Sql) => Promise<T>, database = "postgres"): Promise<T> {
    const sql = postgres({
      path: `${this.folder}/.s.PGSQL.5432`,
      user: "svc",
      database,
      max: 1,
      onnotice() {},
    });
    try {
      return await work(sql);
    } finally {
      await sql.end({ timeout: 1 });
    }
  }

  /** A database whose tables lie in a folder, such as one of a small disk; the rest of the server lies where it was. */
  async databaseIn(folder: string): Promise<string> {
    if (this.#user) chownSync(folder, this.#user.uid, this.#user.gid);
    await this.sql((sql) => sql.unsafe(`create tablespace elsewhere location '${folder}'`));
    await this.sql((sql) => sql`create database elsewhere tablespace elsewhere`);
    return "elsewhere";
  }

  /** What `pg_dump` writes of a schema. */
  dump(schema: string): string {
    return this.#run("pg_dump", ["-h", this.folder, "-U", "svc", "--schema", schema, "postgres"]);
  }

  /** Puts back what `dump` has written, into a database of this server. */
  restore(dump: string, database = "postgres"): void {
    this.#run("psql", ["-h", this.folder, "-U", "svc", "-q", "-v", "ON_ERROR_STOP=1", database], dump);
  }

  /** A server with a copy of all data of this one, which goes on meanwhile. */
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

  /** Lines before those of pg_hba.conf. */
  letIn(lines: string): void {
    writeFileSync(join(this.#data, "pg_hba.conf"), `${lines}\nlocal all all trust\nhost all all all trust\n`);
  }

  async start(more: readonly string[] = []): Promise<void> {
    const settings = ["listen_addresses=", `unix_socket_directories=${this.folder}`, ...this.#settings, ...more];
    const words = ["-D", this.#data, ...settings.flatMap((setting) => ["-c", setting])];
    this.#process = spawn(join(bin!, "postgres"), words, { ...this.#user, cwd: this.folder, stdio: "ignore" });
    const ended = once(this.#process, "exit").then(() => {
      throw new Error(`postgres ended: ${words.join(" ")}`);
    });
    ended.catch(() => {});
    for (;;) {
      const isUp = await Promise.race([
        ended,
        this.sql((sql) => sql`select 1`).then(
          () => true,
          () => false,
        ),
      ]);
      if (isUp) return;
      await sleep(20);
    }
  }

  /** SIGINT ends it as an administrator does, SIGQUIT as a crash would. */
  async stop(signal: "SIGINT" | "SIGQUIT" = "SIGINT"): Promise<void> {
    if (!this.#process || this.#process.exitCode !== null) return;
    const ended = once(this.#process, "exit");
    this.#process.kill(signal);
    await ended;
    this.#process = undefined;
  }

  async remove(): Promise<void> {
    await this.stop("SIGQUIT");
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A server for the tests of this block. */
export function postgresServer(settings?: readonly string[]): () => PostgresServer {
  let server: PostgresServer | undefined;
  before(async () => {
    server = new PostgresServer(settings);
    await server.start();
  });
  after(() => server?.remove());
  return () => server!;
}
