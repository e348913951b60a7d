import assert from "node:assert/strict";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { resolveStore } from "../../../src/cli/commands/emulator/start/store.ts";
import type { Host } from "../../../src/cli/process/host.ts";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { runCli } from "../../support/cli/run-cli.ts";

const createHost = (env: Readonly<Record<string, string>>) => ({ env }) as unknown as Host;

describe("svc emulator start --store", () => {
  it("rejects invalid combinations and never prints a password", async (t) => {
    const cwd = await createTestFolder(t);
    const started = async (flags: string, env: Readonly<Record<string, string>> = {}) => {
      const { exit, stdout, stderr } = await runCli(`emulator start --port 0 ${flags}`, { cwd, env });
      return `${exit} ${stdout}${stderr.split("\n")[0]}`;
    };
    const form =
      "must be a URL (postgres://USER@HOST:PORT/DATABASE, or postgres://USER@/DATABASE?host=/FOLDER for a Unix socket)";
    assert.deepEqual(
      [
        await started("--store mysql://h/db"),
        await started("--store postgres://a:s3cret@h/db"),
        await started("--store postgres://a@h/db --file x.json"),
        await started("--store postgres://a@h/db --ephemeral"),
        await started("--file x.json --ephemeral"),
        await started("--store postgres://a@h/db", { SVC_STORE_SCHEMA: "Mine" }),
        await started("", { SVC_STORE: "redis://a:s3cret@h" }),
        await started("", { SVC_STORE: "postgres://a:s3cret@127.0.0.1:9/db" }),
      ],
      [
        `2 error: --store ${form}.`,
        "2 error: --store must not contain a password, because other users can read the arguments of a process.",
        "2 error: --store cannot be used with --file",
        "2 error: --store cannot be used with --ephemeral",
        "2 error: --file cannot be used with --ephemeral",
        '2 error: SVC_STORE_SCHEMA must be up to 63 lower-case letters, digits and underscores, and begin with neither a digit nor pg_, got "Mine"',
        `2 error: SVC_STORE ${form}.`,
        "75 error: The store postgres://a@127.0.0.1:9/db (schema svc) cannot be used: connection refused. Nothing was written. Start PostgreSQL, or correct host and port.",
      ],
    );
  });

  it("finds the password in the URL, in PGPASSWORD or in a private password file", async (t) => {
    const path = join(await createTestFolder(t), "passwords");
    await writeFile(path, "# ours\nother:5432:*:*:wrong\nh:*:db:me:of\\:the\\\\file\nlocalhost:5432:*:me:local\n", {
      mode: 0o600,
    });
    const store = (url: string, env: Readonly<Record<string, string>>) =>
      resolveStore({ store: url }, createHost(env))?.store;
    const file = { PGPASSFILE: path };
    assert.deepEqual(
      [
        resolveStore({}, createHost({ SVC_STORE: "postgres://me:own@h/db", PGPASSWORD: "other" })),
        store("postgres://me@h/db", { SVC_STORE: "postgres://me:own@h/db", PGPASSWORD: "other" }),
        store("postgres://you@h/db", { SVC_STORE: "postgres://me:own@h/db" }),
        resolveStore({ file: "x.json" }, createHost({ SVC_STORE: "postgres://me:own@h/db" })),
        store("postgres://me@h/db", { PGPASSWORD: "p/w", ...file }),
        store("postgres://me@h/db", file),
        store("postgres://me@/any?host=/run", file),
        store("postgres://you@h/db", file),
      ],
      [
        { store: "postgres://me:own@h/db", schema: "svc" },
        "postgres://me:own@h/db",
        "postgres://you@h/db",
        undefined,
        "postgres://me:p%2Fw@h/db",
        "postgres://me:of%3Athe%5Cfile@h/db",
        "postgres://me:local@/any?host=/run",
        "postgres://you@h/db",
      ],
    );
    await chmod(path, 0o644);
    assert.equal(store("postgres://me@h/db", file), "postgres://me@h/db");
  });
});
