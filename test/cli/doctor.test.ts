import assert from "node:assert/strict";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { systemWallClock } from "../../src/base/clock.ts";
import { createTestFolder, startCliEmulator } from "../support/cli/cli-emulator.ts";
import { type RunResult, runCli } from "../support/cli/run-cli.ts";
import { startTestEmulator } from "../support/emulator.ts";
import { startReceiver } from "../support/receiver.ts";

interface Row {
  readonly check: string;
  readonly status: string;
  readonly detail: string;
  readonly hint: string | null;
}
const parseRows = ({ stdout }: RunResult): Row[] => JSON.parse(stdout);
const getStatuses = (result: RunResult) =>
  Object.fromEntries(parseRows(result).map(({ check, status }) => [check, status]));
const findRow = (result: RunResult, name: string) => parseRows(result).find(({ check }) => check === name)!;

describe("svc doctor", () => {
  it("finds no problems with an emulator and changes nothing", async (t) => {
    const { svc, emulator } = await startCliEmulator(t);
    const before = (await emulator.control("GET", "state")).body;
    const result = await svc("doctor --json");
    assert.equal(result.exit, 0);
    assert.deepEqual(getStatuses(result), {
      versions: "ok",
      files: "ok",
      profile: "skipped",
      proxy: "skipped",
      services: "ok",
      router: "ok",
      "contract API": "ok",
      clock: "ok",
      "sign-in": "skipped",
      emulator: "ok",
    });
    assert.deepEqual((await emulator.control("GET", "state")).body, before);
    assert.equal(result.stdout.includes(String(emulator.clusters[0]!.clientSecret)), false);
  });

  it("reports when commands use a target other than the emulator of this folder", async (t) => {
    const cwd = await createTestFolder(t);
    const folderEmulator = await startTestEmulator(t, { file: join(cwd, ".svc/emulator.json") });
    const { svc, emulator: otherEmulator } = await startCliEmulator(t);
    const { pid } = process;
    const found = findRow(await svc("doctor --json", { cwd }), "emulator");
    assert.deepEqual(found, {
      check: "emulator",
      status: "warning",
      detail: `${folderEmulator.routerUrl} (pid ${pid}) runs in this folder, but SVC_EMULATOR_URL is ${otherEmulator.routerUrl}`,
      hint: 'To use the emulator of this folder: eval "$(svc emulator env)" again.',
    });
    const env = { SVC_EMULATOR_URL: folderEmulator.controlUrl };
    const { status, detail } = findRow(await svc("doctor --json", { cwd, env }), "emulator");
    assert.deepEqual([status, detail], ["ok", `${folderEmulator.routerUrl} (pid ${pid})`]);
  });

  it("recognizes the emulator of this folder behind a path of a proxy", async (t) => {
    const cwd = await createTestFolder(t);
    const { routerUrl } = await startTestEmulator(t, { file: join(cwd, ".svc/emulator.json") });
    const proxy = await startReceiver(t);
    proxy.respond(async ({ url }, response) => {
      const [, path] = url!.split("/twin");
      if (path === undefined) return response.writeHead(404).end();
      const forwarded = await fetch(routerUrl + path);
      response.writeHead(forwarded.status, { "content-type": "application/json" }).end(await forwarded.text());
    });
    const env = { SVC_EMULATOR_URL: `${new URL(proxy.url).origin}/twin/_emulator` };
    assert.equal(findRow(await runCli("doctor --json", { cwd, env }), "emulator").status, "ok");
  });

  it("says why a webhook gets no deliveries: its status, or an address that is not allowed", async (t) => {
    const { svc, json } = await startCliEmulator(t);
    for (const title of ["active", "disabled"]) {
      const url = "https://receiver.invalid/hooks";
      await json(["webhooks", "create", "--title", title, "--url", url, "--only-for-activities", "CONTRACT_CREATED"]);
    }
    await json("emulator webhooks disable 2");
    assert.deepEqual(findRow(await svc("doctor --json"), "webhooks"), {
      check: "webhooks",
      status: "warning",
      detail: "Webhooks that receive nothing: 1 (address not allowed), 2 (DISABLED_BY_USER)",
      hint: "To see why: svc webhooks why",
    });
  });

  it("exits with 4 for rejected credentials", async (t) => {
    const { svc } = await startCliEmulator(t);
    const result = await svc("doctor --json", { env: { SVC_CLIENT_SECRET: "wrong" } });
    assert.deepEqual([result.exit, findRow(result, "contract API").status], [4, "failed"]);
    assert.match(
      String(findRow(result, "contract API").hint),
      /^The variables of this shell may belong to an emulator/,
    );
    const service = { env: { SVC_CLIENT_SECRET: "wrong", SVC_EMULATOR_URL: "" } };
    const { hint } = findRow(await svc("doctor --json", service), "contract API");
    assert.match(String(hint), /SVC_CLIENT_ID and SVC_CLIENT_SECRET/);
  });

  it("does not report a suspended emulator of this folder as running", async (t) => {
    const cwd = await createTestFolder(t);
    const file = join(cwd, ".svc/emulator.json");
    await startTestEmulator(t, { file });
    const silent = await startReceiver(t);
    silent.respond((_, response) => void response.destroy());
    const content = JSON.parse(await readFile(`${file}.run`, "utf8"));
    await writeFile(`${file}.run`, JSON.stringify({ ...content, router_url: silent.url }));
    const detail = `The emulator of this folder does not respond at ${silent.url}.`;
    const { controlUrl } = await startTestEmulator(t);
    for (const url of [undefined, `${silent.url}/_emulator`, controlUrl]) {
      const env = url === undefined ? {} : { SVC_EMULATOR_URL: url };
      const result = await runCli("doctor --json", { cwd, env: { SVC_CONFIG_DIR: cwd, ...env } });
      const { status, detail: shown, hint } = findRow(result, "emulator");
      assert.deepEqual([result.exit, status, shown], [75, "failed", detail]);
      assert.match(String(hint), /If it is suspended, resume it with fg/);
    }
  });

  it("checks the control plane of SVC_EMULATOR_URL", async (t) => {
    const { svc, emulator } = await startCliEmulator(t);
    const url = new URL(emulator.controlUrl).origin;
    const found = findRow(await svc("doctor --json"), "emulator");
    assert.deepEqual([found.status, found.detail], ["ok", `${url} (SVC_EMULATOR_URL)`]);
    await emulator.close();
    const result = findRow(await svc("doctor --json"), "emulator");
    assert.deepEqual([result.status, result.detail], ["failed", `No emulator responds at ${url} (SVC_EMULATOR_URL)`]);
  });

  it("exits with 75 for an unreachable service", async () => {
    const result = await runCli("doctor --json --base-url http://127.0.0.1:1");
    assert.equal(result.exit, 75);
    assert.match(findRow(result, "router").detail, /connection refused/);
    assert.equal(findRow(result, "contract API").status, "skipped");
  });

  it("exits with 1 for another server at the address", async (t) => {
    const page = await startReceiver(t);
    page.respond((_, response) => response.writeHead(200, { "content-type": "text/html" }).end("<html>"));
    const result = await runCli(["doctor", "--json", "--base-url", page.url]);
    assert.equal(result.exit, 1);
    assert.match(findRow(result, "router").detail, /HTML/);
  });

  it("reports the virtual time of an emulator, which can differ from the machine's", async (t) => {
    const { svc, emulator } = await startCliEmulator(t);
    const wall = { ...systemWallClock, now: () => Date.parse("2031-01-02T03:04:05Z") };
    const readClock = async () => {
      const { status, detail } = findRow(await svc("doctor --json", { wall }), "clock");
      return `${status}: ${detail}`;
    };
    const virtual = "ok: Virtual time of the emulator";
    assert.equal(await readClock(), `${virtual}: 2031-01-02T03:04:05Z, as on this machine`);
    await emulator.clock.advance({ by: "P10DT15M" });
    assert.equal(await readClock(), `${virtual}: 2031-01-12T03:19:05Z, 10 days 15 min ahead of this machine`);
  });

  it("reports clock skew", async (t) => {
    const service = await startReceiver(t);
    service.respond((_, response) =>
      response.writeHead(200, { date: new Date(Date.now() - 120_000).toUTCString() }).end('{"database":true}'),
    );
    const result = await runCli(["doctor", "--json", "--base-url", service.url]);
    assert.match(findRow(result, "clock").detail, /^1(19|20|21) s ahead of the service$/);
    assert.equal(findRow(result, "clock").status, "warning");
  });

  it("exits with 2 without a configuration and suggests one", async () => {
    const result = await runCli("doctor");
    assert.equal(result.exit, 2);
    assert.match(result.stderr, /^services: To start an emulator, run svc emulator start --detach\./m);
  });

  it("reports readable secrets and a damaged file", async (t) => {
    const folder = join(await createTestFolder(t), "svc");
    await mkdir(folder, { mode: 0o700 });
    await writeFile(join(folder, "profiles.json"), "{ very-secret");
    await chmod(join(folder, "profiles.json"), 0o644);
    const result = await runCli("doctor --json", { env: { SVC_CONFIG_DIR: folder } });
    assert.equal(findRow(result, "files").hint, `chmod go= ${join(folder, "profiles.json")}`);
    assert.deepEqual([findRow(result, "profile").status, result.stdout.includes("very-secret")], ["failed", false]);
  });
});
