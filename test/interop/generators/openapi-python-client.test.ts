import assert from "node:assert/strict";
import { join } from "node:path";
import { it } from "node:test";
import { startTestEmulator } from "../../support/emulator.ts";
import { installPythonPackages } from "../../support/foreign/installation.ts";
import { createClientFolder, expectedJourney, getEmulatorEnvironment } from "../../support/foreign/journey.ts";
import { runForJson, runProgram } from "../../support/foreign/program.ts";

const version = "0.29.1";
const installation = await installPythonPackages(`openapi-python-client==${version}`);

const importEachModule = `import importlib, pkgutil, sys
for module in pkgutil.walk_packages([sys.argv[1]], sys.argv[1] + "."):
    importlib.import_module(module.name)`;

it(`openapi-python-client ${version} generates a working client`, { skip: installation.missing }, async (t) => {
  if (installation.missing !== undefined) return;
  const emulator = await startTestEmulator(t);
  const cwd = await createClientFolder(t, emulator, import.meta.url, "openapi-python-client/journey.py");
  const bin = join(installation.folder, "bin");
  for (const name of ["router", "contracts", "emulator"]) {
    const argv = ["generate", "--meta", "none", "--path", `${name}.json`, "--output-path", name];
    await runProgram(join(bin, "openapi-python-client"), argv, { cwd });
    await runProgram(join(bin, "python"), ["-c", importEachModule, name], { cwd });
  }
  assert.deepEqual(
    await runForJson(join(bin, "python"), ["journey.py"], { cwd, env: getEmulatorEnvironment(emulator) }),
    { ...expectedJourney },
  );
});
