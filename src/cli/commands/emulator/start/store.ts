import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import {
  defaultSchema,
  isSchemaName,
  type PostgresUrl,
  parsePostgresUrl,
  schemaNameForm,
} from "../../../../base/urls.ts";
import { UsageError } from "../../../process/failure.ts";
import type { Host } from "../../../process/host.ts";

interface StoreFlags {
  readonly store?: string | undefined;
  readonly file?: string | undefined;
  readonly ephemeral?: boolean | undefined;
}

const storeVariable = "SVC_STORE";
const schemaVariable = "SVC_STORE_SCHEMA";

/** Resolves the store with its password, if the state has one. Throws UsageError without showing the URL. */
export function resolveStore(flags: StoreFlags, host: Host) {
  const { file, ephemeral } = flags;
  if (file !== undefined && ephemeral) throw new UsageError("--file cannot be used with --ephemeral");
  const schema = host.env[schemaVariable] || defaultSchema;
  const store = flags.store ?? (file === undefined && !ephemeral ? host.env[storeVariable] || undefined : undefined);
  if (store === undefined) return undefined;
  if (file !== undefined || ephemeral)
    throw new UsageError(`--store cannot be used with ${ephemeral ? "--ephemeral" : "--file"}`);
  if (!isSchemaName(schema)) throw new UsageError(`${schemaVariable} must be ${schemaNameForm}, got "${schema}"`);
  const origin = flags.store === undefined ? storeVariable : "--store";
  const parsed = parseUrl(store, origin);
  if (flags.store !== undefined && parsed.password !== undefined) {
    throw new UsageError(
      "--store must not contain a password, because other users can read the arguments of a process.",
      { hint: `Use PGPASSWORD, a password file (PGPASSFILE, ~/.pgpass), or put the whole URL into ${storeVariable}.` },
    );
  }
  const password =
    parsed.password ?? readUrlPassword(parsed, host) ?? (host.env.PGPASSWORD || findPassword(parsed, host));
  return { store: password === undefined ? store : withPassword(store, parsed, password), schema };
}

/** Returns the password of the URL in the environment if both URLs name the same database and user. */
function readUrlPassword(database: PostgresUrl, { env }: Host): string | undefined {
  if (!env[storeVariable]) return undefined;
  const { password, ...ownDatabase } = parseUrl(env[storeVariable], storeVariable);
  const isSame = (["host", "port", "user", "database"] as const).every((part) => ownDatabase[part] === database[part]);
  return isSame ? password : undefined;
}

function parseUrl(store: string, origin: string): PostgresUrl {
  try {
    return parsePostgresUrl(store);
  } catch (cause) {
    throw new UsageError(`${origin} ${(cause as Error).message}.`, { cause });
  }
}

/** Adds the password, which only this process uses. The password is never shown or forwarded. */
function withPassword(store: string, { user }: PostgresUrl, password: string): string {
  const [, scheme = "", rest = ""] = /^(postgres(?:ql)?:\/\/)(?:[^/?#@]*@)?(.*)$/s.exec(store) ?? [];
  return `${scheme}${encodeURIComponent(user ?? "")}:${encodeURIComponent(password)}@${rest}`;
}

/** Finds the password in a file that other users cannot read. The first matching line counts, as in libpq. */
function findPassword({ host: server, port, user, database }: PostgresUrl, { env }: Host): string | undefined {
  const path = env.PGPASSFILE || (env.HOME ? join(env.HOME, ".pgpass") : undefined);
  if (path === undefined) return undefined;
  const stats = statSync(path, { throwIfNoEntry: false });
  if (!stats?.isFile() || (process.platform !== "win32" && (stats.mode & 0o077) !== 0)) return undefined;
  const as = user ?? "";
  const entryFields = [
    server.startsWith("/") ? ["localhost", server] : [server],
    [String(port)],
    [database ?? as],
    [as],
  ];
  for (const line of readFileSync(path, "utf8").split(/\r?\n/)) {
    if (line.startsWith("#")) continue;
    const fields = splitFields(line);
    const isMatch = entryFields.every((values, i) => fields[i] === "*" || values.includes(fields[i] ?? ""));
    if (isMatch && fields[4]) return fields[4];
  }
  return undefined;
}

function splitFields(line: string): string[] {
  const fields = [""];
  for (let at = 0; at < line.length; at += 1) {
    const letter = line[at]!;
    if (letter === ":") fields.push("");
    else fields[fields.length - 1] += letter === "\\" ? (line[++at] ?? "") : letter;
  }
  return fields;
}
