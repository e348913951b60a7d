import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createTestFolder, startCliEmulator } from "../../support/cli/cli-emulator.ts";
import { runCli } from "../../support/cli/run-cli.ts";

const parseServers = (stdout: string): unknown => JSON.parse(stdout).servers;

describe("server in the document of svc openapi", () => {
  it("is the server of the environment, or an emulator with default settings", async (t) => {
    const { svc, emulator } = await startCliEmulator(t);
    const description = "From the environment";
    assert.deepEqual(parseServers((await svc("openapi router")).stdout), [{ url: emulator.routerUrl, description }]);
    const base = "https://api.example.com";
    assert.deepEqual(parseServers((await svc(`openapi contracts --base-url ${base}`)).stdout), [
      { url: base, description: "From --base-url" },
    ]);
    const { stdout } = await runCli("openapi contracts", { cwd: await createTestFolder(t) });
    assert.deepEqual(parseServers(stdout), [
      { url: "http://127.0.0.1:4011", description: "An emulator started with its defaults" },
    ]);
  });
});

describe("svc emulator clock show", () => {
  it("is an alias of svc emulator clock", async (t) => {
    const { svc } = await startCliEmulator(t);
    assert.deepEqual(await svc("emulator clock show"), await svc("emulator clock"));
  });
});
