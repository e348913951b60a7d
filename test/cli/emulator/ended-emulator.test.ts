import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { runCli } from "../../support/cli/run-cli.ts";
import { startTestEmulator } from "../../support/emulator.ts";

const state = ".svc/emulator.json";
/** A port without a listener. */
const endedUrl = "http://127.0.0.1:9";

const staleHint =
  'The variables of this shell may belong to an emulator that has ended. Run eval "$(svc emulator env)" again in the folder of a running one.';

/** A folder with a running emulator, and a shell with the variables of the previous one. */
async function startEmulatorAndCli(t: TestContext) {
  const cwd = await createTestFolder(t);
  const emulator = await startTestEmulator(t, { file: join(cwd, state) });
  const env = {
    SVC_BASE_URL: endedUrl,
    SVC_CONTRACTS_URL: endedUrl,
    SVC_CLIENT_ID: "earlier",
    SVC_CLIENT_SECRET: "earlier",
    SVC_EMULATOR_URL: `${endedUrl}/_emulator`,
    SVC_EMULATOR_TOKEN: "earlier",
  };
  const svc = (argv: string, extraHeaders: Readonly<Record<string, string>> = {}, folder = cwd) =>
    runCli(argv, { cwd: folder, env: { ...env, ...extraHeaders } });
  return { svc, twin: emulator, folder: cwd, elsewhere: await createTestFolder(t) };
}

describe("shell with variables of an ended emulator", () => {
  it("receives a hint to set them again from failing commands and from doctor", async (t) => {
    const { svc } = await startEmulatorAndCli(t);
    for (const line of ["contracts templates list --retries 0", "router clusters --retries 0"]) {
      const { exit, stderr } = await svc(line);
      assert.deepEqual([exit, stderr.split("\n").slice(1)], [75, [`  ${staleHint}`, ""]], stderr);
    }
    const control = await svc("emulator clock --retries 0", { SVC_BASE_URL: "", SVC_CONTRACTS_URL: "" });
    assert.deepEqual([control.exit, control.stderr.split("\n").slice(1)], [75, [`  ${staleHint}`, ""]]);
    const { error } = JSON.parse((await svc("router clusters --retries 0 --json")).stderr);
    assert.deepEqual([error.retryable, error.exitCode], [true, 75]);
    const { stderr } = await svc("doctor --format table");
    assert.ok(stderr.includes(`router: ${staleHint}`), stderr);
  });

  it("receives a hint that another emulator may use the same address", async (t) => {
    const { svc, twin: emulator } = await startEmulatorAndCli(t);
    const env = {
      SVC_BASE_URL: emulator.routerUrl,
      SVC_CONTRACTS_URL: "",
      SVC_EMULATOR_URL: `${emulator.routerUrl}/_emulator`,
    };
    for (const line of ["contracts templates list", "emulator clock"]) {
      const { exit, stderr } = await svc(line, env);
      assert.deepEqual([exit, stderr.split("\n").slice(1)], [4, [`  ${staleHint}`, ""]], `${line}: ${stderr}`);
    }
    const elsewhere = await svc("contracts templates list", { ...env, SVC_EMULATOR_URL: "" });
    assert.match(elsewhere.stderr, /\n {2}Check SVC_CLIENT_ID and SVC_CLIENT_SECRET, /);
    // The variables of an emulator contain no access token.
    const signIn = await svc("oidc userinfo", { ...env, SVC_TOKEN: "stale" });
    const signInHint = "  Sign in again with svc auth device-login, or set SVC_TOKEN to a valid access token.";
    assert.deepEqual([signIn.exit, signIn.stderr.split("\n").slice(1)], [4, [signInHint, ""]]);
  });

  it("receives no hint for a remote address or without a trace of an emulator", async (t) => {
    const { svc, elsewhere } = await startEmulatorAndCli(t);
    const usual = "  Check the address, and that the service is running.\n";
    for (const { stderr } of [
      await svc(`contracts templates list --retries 0 --base-url ${endedUrl}`),
      await svc("contracts templates list --retries 0", { SVC_EMULATOR_URL: "" }, elsewhere),
    ])
      assert.ok(stderr.endsWith(usual), stderr);
  });

  it("is not stopped instead", async (t) => {
    const { svc, twin: emulator } = await startEmulatorAndCli(t);
    const { exit, stdout, stderr } = await svc("emulator stop");
    assert.deepEqual(
      [exit, stdout, stderr.split("\n")],
      [5, "", ["error: The emulator has already ended.", `  ${staleHint}`, "  try: svc emulator status", ""]],
    );
    const status = await svc("emulator status");
    assert.deepEqual([status.exit, status.stdout, status.stderr], [5, "not running\n", `${staleHint}\n`]);
    assert.equal((await emulator.router("GET", "/")).status, 200);
  });

  it("reports the emulator of a parent folder once", async (t) => {
    const { svc, folder } = await startEmulatorAndCli(t);
    const below = join(folder, "below");
    await mkdir(below);
    const { stderr } = await svc("emulator status", { SVC_EMULATOR_URL: "" }, below);
    assert.equal(stderr, "Using the emulator's state in ../.svc/emulator.json\n");
  });
});
