import assert from "node:assert/strict";
import { copyFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { it } from "node:test";
import { startCliEmulator } from "../../support/cli/cli-emulator.ts";
import { installNpmPackages } from "../../support/foreign/installation.ts";
import { runForJson } from "../../support/foreign/program.ts";
import { createTemporaryFolder } from "../../support/store.ts";
import { triggerAllTraceKinds } from "../../support/trace-kinds.ts";

const installation = await installNpmPackages("mermaid@11.12.0", "jsdom@26.1.0");

it("Mermaid parses the diagram of any trace", { skip: installation.missing }, async (t) => {
  if (installation.missing !== undefined) return;
  const { svc, emulator } = await startCliEmulator(t, { autoSignMs: 600_000 });
  const url = 'http://127.0.0.1:9/a"];click%20n0;end?x=<b>&y=#1';
  const webhook = { title: "odd", url, only_for_activities: ["CONTRACT_CREATED"] };
  await emulator.api("POST", "/api/v2.1/public/webhooks/", { body: webhook });
  await triggerAllTraceKinds(t, emulator);
  const cwd = await createTemporaryFolder(t);
  await symlink(join(installation.folder, "node_modules"), join(cwd, "node_modules"));
  await copyFile(new URL("./mermaid/parse.mjs", import.meta.url), join(cwd, "parse.mjs"));
  for (const ref of ["T-1", "T-2", "webhook:1", "webhook:2"]) {
    const { exit, stdout } = await svc(`emulator trace ${ref} --format mermaid`);
    assert.equal(exit, 0);
    await writeFile(join(cwd, "drawing"), stdout);
    assert.deepEqual(await runForJson(process.execPath, ["parse.mjs", "drawing"], { cwd }), {
      diagramType: "flowchart-v2",
    });
  }
  await writeFile(join(cwd, "drawing"), 'flowchart TD\n  n0["a"\n');
  await assert.rejects(runForJson(process.execPath, ["parse.mjs", "drawing"], { cwd }));
});
