import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { it } from "node:test";
import { startTestEmulator } from "../../support/emulator.ts";
import { installGoProgram } from "../../support/foreign/installation.ts";
import { createClientFolder, expectedJourney, getEmulatorEnvironment } from "../../support/foreign/journey.ts";
import { runForJson, runProgram } from "../../support/foreign/program.ts";

const version = "2.8.2";
const installation = await installGoProgram(
  `oapi-codegen-${version}`,
  `github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v${version}`,
);

it(`oapi-codegen ${version} generates a working Go client`, { skip: installation.missing }, async (t) => {
  if (installation.missing !== undefined) return;
  const emulator = await startTestEmulator(t);
  const cwd = await createClientFolder(t, emulator, import.meta.url, "oapi-codegen/main.go");
  await runProgram("go", ["mod", "init", "example.test/journey"], { cwd });
  for (const name of ["router", "contracts"]) {
    await mkdir(join(cwd, name));
    // The generator would omit webhook types that it uses.
    const options = { "skip-prune": true };
    const config = { package: name, output: `${name}/client.go`, generate: { models: true, client: true } };
    await writeFile(join(cwd, `${name}.yaml`), JSON.stringify({ ...config, "output-options": options }));
    await runProgram(join(installation.folder, "bin/oapi-codegen"), ["--config", `${name}.yaml`, `${name}.json`], {
      cwd,
    });
  }
  await runProgram("go", ["mod", "tidy"], { cwd });
  assert.deepEqual(
    await runForJson("go", ["run", "."], { cwd, env: getEmulatorEnvironment(emulator) }),
    expectedJourney,
  );
});
