import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { copyFile, cp, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { build } from "esbuild";
import { root } from "../structure/repository.ts";
import { readPage } from "../support/cli/pages.ts";
import { getBundleFolder } from "../support/shipped.ts";

const run = promisify(execFile);
const examples = join(root, "test/packaged/examples");
const getModulePath = (path: string) => join(root, "node_modules", path);

describe("program with the installed package", () => {
  let folder: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "svc-programs-"));
    const installed = join(folder, "node_modules/svc-toolkit");
    await mkdir(installed, { recursive: true });
    await copyFile(join(root, "package.json"), join(installed, "package.json"));
    await cp(getBundleFolder(), join(installed, "dist"), { recursive: true });
    await writeFile(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
    await mkdir(join(folder, "node_modules/@types"), { recursive: true });
    await symlink(getModulePath("@types/node"), join(folder, "node_modules/@types/node"));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it("runs in the Node.js test runner", async () => {
    const names = ["disabled.test.js", "signing.test.js"];
    for (const name of names) await copyFile(join(examples, name), join(folder, name));
    const { stdout } = await run(process.execPath, ["--test", "--test-reporter=tap", ...names], {
      cwd: folder,
      env: createEnvironment(),
    });
    assert.match(stdout, /^# pass 2$/m);
  });

  it("ends after a failed assertion", async () => {
    for (const name of ["disabled.test.js", "signing.test.js", "prepared.test.js"]) {
      const text = await readFile(join(examples, name), "utf8");
      await writeFile(join(folder, name), text.replace("assert.equal(", "assert.notEqual("));
      const options = { cwd: folder, env: createEnvironment(), timeout: 30_000 };
      await assert.rejects(run(process.execPath, ["--test", name], options), { code: 1, killed: false }, name);
    }
  });

  it("starts every test from the same prepared state", async () => {
    await copyFile(join(examples, "prepared.test.js"), join(folder, "prepared.test.js"));
    const { stdout } = await run(process.execPath, ["--test", "--test-reporter=tap", "prepared.test.js"], {
      cwd: folder,
      env: createEnvironment(),
    });
    assert.match(stdout, /^# pass 2$/m);
  });

  for (const format of ["esm", "cjs"] as const) {
    it(`bundles the verification of webhooks in a small ${format} file`, async () => {
      const outfile = join(folder, `receiver.${format === "esm" ? "mjs" : "cjs"}`);
      const contents = `import { contentHashHeader } from "svc-toolkit/webhooks"; console.log(contentHashHeader);`;
      const stdin = { contents, resolveDir: folder };
      await build({ stdin, outfile, format, bundle: true, platform: "node", logLevel: "silent" });
      const { stdout } = await run(process.execPath, [outfile]);
      assert.deepEqual([stdout, (await stat(outfile)).size < 50_000], ["X-SVC-WEBHOOK-CONTENT-HASH\n", true]);
    });

    it(`bundles the client without the emulator in a file of the format ${format}`, async () => {
      const outfile = join(folder, `client.${format === "esm" ? "mjs" : "cjs"}`);
      const contents = `import { createClient } from "svc-toolkit/client";
        const client = createClient({ baseUrls: { router: "http://127.0.0.1:1" }, retries: 0 });
        client.call("health.show").catch(({ name }) => console.log(name));`;
      const stdin = { contents, resolveDir: folder };
      await build({ stdin, outfile, format, bundle: true, platform: "node", logLevel: "silent" });
      const { stdout } = await run(process.execPath, [outfile]);
      assert.deepEqual([stdout, (await stat(outfile)).size < 3_000_000], ["NetworkError\n", true]);
    });
  }

  it("shares no settings of schemas with the program", async () => {
    await symlink(getModulePath("zod"), join(folder, "node_modules/zod"));
    const program = [
      'import { z } from "zod";',
      'z.config({ customError: () => "Ungültig" });',
      "const settings = () => Object.entries(z.config()).join();",
      "const before = settings();",
      'const { createClient } = await import("svc-toolkit/client");',
      'const { startEmulator } = await import("svc-toolkit/emulator");',
      "console.log(settings() === before);",
      'const options = { clock: { mode: "auto", speed: "fast" } };',
      "await startEmulator(options).catch(({ message }) => console.log(message));",
      'const client = createClient({ baseUrls: { contracts: "http://127.0.0.1:1" } });',
      'await client.call("webhooks.create", { body: { title: "x" } }).catch(({ message }) => console.log(message));',
      "await client.close();",
    ].join("\n");
    await writeFile(join(folder, "settings.js"), program);
    const { stdout } = await run(process.execPath, ["settings.js"], { cwd: folder, env: createEnvironment() });
    assert.deepEqual(stdout.split("\n"), [
      "true",
      "startEmulator: clock.speed must be a number",
      "webhooks.create: url: is required; only_for_activities: is required",
      "",
    ]);
  });

  it("compiles strictly against the published types, which include every operation", async () => {
    const program = [
      'import { createClient, type OperationId, operationIds, ServiceError } from "svc-toolkit/client";',
      'import { startEmulator } from "svc-toolkit/emulator";',
      'import { type Activity, verifyDelivery, type WebhookPayload } from "svc-toolkit/webhooks";',
      "export async function program(): Promise<string> {",
      '  const emulator = await startEmulator({ seed: "demo" });',
      "  const client = createClient({ baseUrls: { contracts: emulator.routerUrl } });",
      '  const { contract_status } = await client.call("contracts.status", { params: { composite_id: "T-1" } });',
      "  // @ts-expect-error an activity that does not exist",
      '  await client.call("webhooks.create", { body: { title: "x", url: "x", only_for_activities: ["NOTHING"] } });',
      "  // @ts-expect-error the contract is not named",
      '  await client.call("contracts.status");',
      "  // @ts-expect-error no such operation",
      '  await client.call("contracts.guess");',
      "  // @ts-expect-error it takes no body",
      '  await client.call("health.show", { body: 1 });',
      "  // @ts-expect-error there is no such part",
      '  await client.call("health.show", { param: {} });',
      '  const query = { filter__client_name: "Acme", "filter__created_at[$gt]": "2031-01-02" };',
      '  await client.call("contracts.list", { query });',
      "  // @ts-expect-error no such filter",
      '  await client.call("contracts.list", { query: { filter__client_nam: "Acme" } });',
      "  // @ts-expect-error no such filter, whatever the operator",
      '  await client.call("contracts.list", { query: { "filter__create_at[$gt]": "2031-01-02" } });',
      '  await client.call("storage.put", { body: new Uint8Array(1) }, { url: "x" });',
      "  // @ts-expect-error the signed URL is missing",
      '  await client.call("storage.put", { body: new Uint8Array(1) });',
      '  const payload = JSON.parse("{}") as WebhookPayload;',
      '  if (payload.activity === "CONTRACT_SENT_TO_COUNTERPARTY")',
      "    payload.activity_data.counterparty_email_recipients.to_recipients satisfies readonly string[];",
      '  const activity: Activity = ("CONTRACT_SIGNED" satisfies WebhookPayload<"CONTRACT_SIGNED">["activity"]);',
      "  // @ts-expect-error a field that is spelt otherwise",
      "  payload.contract_titel;",
      "  const ids: readonly OperationId[] = operationIds;",
      '  const verdict = verifyDelivery({ body: "", headers: {}, hmacKey: "" });',
      "  if (!verdict.ok) return verdict.reason;",
      "  if (activity !== payload.activity) return payload.activity_data.performed_by.name;",
      "  return contract_status satisfies string && ids.length > 0 ? ServiceError.name : contract_status;",
      "}",
    ].join("\n");
    await writeFile(join(folder, "program.ts"), program);
    await compile("program.ts");
  });

  it("uses the declared types of each operation", async () => {
    const compared = [
      `import type { ArgumentsOf, ResultOf } from "${root}/src/api/operation.ts";`,
      `import type { OperationById, OperationId } from "${root}/src/api/registry.ts";`,
      'import type { Operations } from "svc-toolkit/client";',
      "type Plain<T> = T extends Uint8Array | AsyncIterable<Uint8Array> ? T",
      "  : T extends readonly (infer Item)[] ? Plain<Item>[]",
      "  : T extends object ? { -readonly [Name in keyof T]: Plain<T[Name]> } : T;",
      "type Fits<Actual, Expected> = [Actual] extends [Expected] ? true : false;",
      "type Both = OperationId & keyof Operations;",
      "type Differing<Part> =",
      "  { [Id in keyof Part as Part[Id] extends true ? never : Id]: true };",
      "type Taken = { [Id in Both]: Fits<Plain<Operations[Id]['args']>, Plain<ArgumentsOf<OperationById<Id>>>> };",
      "// These repeat in the answer what has a default in the request: there it is optional, here it always stands.",
      'type Repeating = "faults.add" | "faults.list";',
      "type Results = { [Id in Exclude<Both, Repeating>]: Fits<Plain<ResultOf<OperationById<Id>>>, Plain<Operations[Id]['result']>> };",
      "// The compiler names the operations that differ as properties that are missing.",
      "export const missing: Record<Exclude<OperationId, keyof Operations>, true> = {};",
      "export const invented: Record<Exclude<keyof Operations, OperationId>, true> = {};",
      "export const taken: Differing<Taken> = {};",
      "export const given: Differing<Results> = {};",
    ].join("\n");
    await writeFile(join(folder, "compared.ts"), compared);
    await compile("compared.ts", "--allowImportingTsExtensions", "--skipLibCheck");
  });

  async function compile(file: string, ...extraArgs: string[]): Promise<void> {
    const flags = [
      "--noEmit",
      "--strict",
      "--target",
      "es2023",
      "--module",
      "nodenext",
      "--types",
      "node",
      ...extraArgs,
    ];
    // Several threads would each infer the types of all operations.
    const argv = [getModulePath("typescript/bin/tsc"), "--ignoreConfig", "--singleThreaded", ...flags, file];
    await run(process.execPath, argv, { cwd: folder }).catch((error: { stdout: string }) => assert.fail(error.stdout));
  }
});

describe("documented test example", () => {
  const shownIn = {
    "disabled.test.js": "README.md",
    "signing.test.js": "docs/testing.md",
    "prepared.test.js": "docs/testing.md",
    "retries.test.ts": "docs/testing.md",
  };
  for (const [name, page] of Object.entries(shownIn)) {
    it(`shows ${name} unchanged in ${page}`, async () => {
      const example = await readFile(join(examples, name), "utf8");
      assert.ok(readPage(page).includes(example.trim()), `${page} does not contain ${name}`);
    });
  }
});

/** The environment without variables of the current test runner. */
function createEnvironment(): NodeJS.ProcessEnv {
  const { NODE_TEST_CONTEXT: _, NODE_OPTIONS: __, VITEST: ___, ...rest } = process.env;
  return rest;
}
