import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { testFolder } from "../support/cli/cli-emulator.ts";
import { nda } from "../support/cli/nda.ts";
import { runCli } from "../support/cli/run-cli.ts";

/** The command lines that a run proposes. */
const proposed = (err: string): string[] =>
  [...err.matchAll(/(?:Next:|try:|approved:|^ {2})\s?(svc [a-z].*)$/gm)].map(([, line]) => line!);

/** A folder, and a profile that says where the services are. */
async function withProfile(t: TestContext, name: string) {
  const cwd = await testFolder(t);
  const profiles = { [name]: { router_url: "http://127.0.0.1:9" } };
  await writeFile(join(cwd, "profiles.json"), JSON.stringify({ profiles }));
  return { cwd, env: { SVC_CONFIG_DIR: cwd } };
}

describe("a command line that goes on from here", () => {
  it("goes where this one went: --emulator", async (t) => {
    const cwd = await testFolder(t);
    const created = await runCli("contracts create --data - --emulator", { cwd, stdin: nda });
    assert.deepEqual(proposed(created.err), ["svc contracts send T-1 --emulator"]);
    const sent = await runCli("contracts send T-1 --emulator", { cwd });
    assert.deepEqual(proposed(sent.err), ["svc contracts status T-1 --emulator"]);
    const alone = await runCli("webhooks trigger CONTRACT_SIGNED --emulator", { cwd });
    assert.deepEqual(proposed(alone.err), ["svc webhooks listen --emulator"]);
  });

  it("begins as a person types it where npx has run this one", async (t) => {
    const cwd = await testFolder(t);
    const by = (script: string) => ({ npm_lifecycle_event: "npx", npm_lifecycle_script: script });
    for (const [env, program] of [
      [by("svc"), "npx svc"],
      [by("'svc-toolkit' 'emulator' 'status'"), "npx svc-toolkit"],
      [by("vitest"), "svc"],
      [{ npm_lifecycle_event: "test", npm_lifecycle_script: "svc" }, "svc"],
    ] as const) {
      const { err } = await runCli("emulator deliveries", { cwd, env });
      assert.equal(err.split("\n").at(-2), `  try: ${program} emulator start`);
    }
  });

  it("goes where this one went: --profile, in errors for people and for programs", async (t) => {
    const { cwd, env } = await withProfile(t, "staging");
    const people = await runCli("--profile staging auth token", { cwd, env });
    assert.deepEqual(proposed(people.err), ["svc auth device-login --profile staging"]);
    const programs = await runCli("--profile=staging auth token --json", { cwd, env });
    assert.deepEqual(JSON.parse(programs.err).error.next, [
      { argv: ["svc", "auth", "device-login", "--profile", "staging"] },
    ]);
  });

  it("names no place where it calls nobody", async (t) => {
    const { err } = await runCli("emulator clock --profile staging", await withProfile(t, "staging"));
    assert.deepEqual(proposed(err), ["svc emulator start"]);
  });
});
