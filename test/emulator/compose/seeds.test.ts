import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { seedSchema, startEmulator } from "../../../emulator/index.ts";
import { addCleanup } from "../../support/cleanup.ts";
import { runCli } from "../../support/cli/run-cli.ts";
import { startTestEmulator } from "../../support/emulator.ts";
import { assertGolden } from "../../support/golden.ts";

const seed = (name: string) =>
  JSON.parse(readFileSync(new URL(`../../../fixtures/seeds/${name}.json`, import.meta.url), "utf8"));

describe("emulator seed", () => {
  it("matches the JSON Schema that emulator seed-schema prints", async () => {
    const text = `${JSON.stringify(seedSchema(), null, 2)}\n`;
    assertGolden("seed.schema.json", text);
    assert.deepEqual(await runCli(["emulator", "seed-schema"]), { exit: 0, stdout: text, stderr: "" });
  });

  it("contains the documented numbers in the seed demo", () => {
    const { clusters, workspaces, templates, contract_types: types, workflows } = seed("demo");
    const ids = (rows: readonly { id: unknown }[]) => rows.map(({ id }) => id);
    assert.deepEqual(ids(clusters), ["eu-1", "us-1"]);
    assert.equal(workspaces.length, 3);
    const owned = (rows: readonly { id: number; workspace_id: number }[]) =>
      rows.map(({ id, workspace_id }) => `${id} of ${workspace_id}`);
    assert.deepEqual(owned(templates).slice(0, 3), ["101 of 1", "102 of 1", "103 of 2"]);
    assert.deepEqual(templates[0].attributes ?? [], []);
    assert.equal(templates[0].creator_slot, undefined);
    assert.deepEqual(templates[1].creator_slot, { required: true });
    assert.deepEqual(
      types.slice(0, 4).map(({ id, workspace_id, routes }: Record<string, unknown>) => [id, workspace_id, routes]),
      [
        [301, 1, ["review", "sign"]],
        [302, 1, ["review"]],
        [303, 1, ["sign"]],
        [304, 2, ["review", "sign"]],
      ],
    );
    assert.deepEqual(
      workflows
        .slice(0, 3)
        .map(({ id, type, frozen_version }: Record<string, unknown>) => [id, type, frozen_version !== null]),
      [
        [201, "INTAKE_WORKFLOW", true],
        [202, "INTAKE_WORKFLOW", false],
        [203, "UPLOAD_WORKFLOW", true],
      ],
    );
  });

  it("contains two clusters and no users in the seed empty", async (t) => {
    const { control, clusters } = await startTestEmulator(t, { seed: "empty" });
    assert.deepEqual(
      clusters.map(({ id, clientId }) => [id, clientId]),
      [
        ["eu-1", undefined],
        ["us-1", undefined],
      ],
    );
    assert.deepEqual((await control("GET", "workspaces")).body, []);
  });

  it("maps the teams and tenants of its workspaces", async (t) => {
    const [cluster, workspace] = [{ id: "own-1", label: "own" }, seed("demo").workspaces[0]];
    const { control } = await startTestEmulator(t, {
      seed: { clusters: [cluster], workspaces: [{ ...workspace, cluster_id: "own-1" }] },
    });
    const { body } = await control("GET", "workspaces/1/routing");
    const { chat_a_teams, external_integrations } = body as Record<string, string[]>;
    assert.deepEqual(
      { chat_a_teams, external_integrations },
      { chat_a_teams: ["T-NORTHWIND"], external_integrations: ["CHAT_B:tenant-northwind"] },
    );
  });

  it("can come from a file with a $schema", async (t) => {
    const folder = await mkdtemp(join(tmpdir(), "svc-seed-"));
    addCleanup(t, () => rm(folder, { recursive: true, force: true }));
    const ownSeed = { $schema: "./seed.schema.json", clusters: [{ id: "own-1", label: "own", key: "k" }] };
    await writeFile(join(folder, "own.json"), JSON.stringify(ownSeed));
    const argv = ["emulator", "exec", "--seed", "own.json", "--", process.execPath, "-p", "process.env.SVC_CLUSTERS"];
    const { exit, stdout } = await runCli(argv, { cwd: folder, env: { PATH: process.env.PATH } });
    assert.equal(exit, 0);
    const [cluster] = JSON.parse(stdout) as { id: string; cluster_key: string }[];
    assert.deepEqual([cluster?.id, cluster?.cluster_key], ["own-1", "k"]);
  });

  it("reports every invalid field", async () => {
    const apps = { answers: [{ path: "/x", headers: { "x-a": "\n" }, body: 1 }] };
    const wrong = { clusters: [{ id: "", label: "x" }], user: [], workspaces: [{ id: "1" }], apps };
    await assert.rejects(startEmulator({ ephemeral: true, seed: wrong }), (error: Error) => {
      for (const words of [
        "clusters[0].id",
        '"user"',
        "workspaces[0].id",
        "workspaces[0].name",
        'apps.answers[0].headers["x-a"]',
      ]) {
        assert.ok(error.message.includes(words), error.message);
      }
      return true;
    });
  });
});
