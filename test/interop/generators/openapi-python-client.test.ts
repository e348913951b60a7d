import assert from "node:assert/strict";
import { join } from "node:path";
import { it } from "node:test";
import { emulator } from "../../support/emulator.ts";
import { pythonPackages } from "../../support/foreign/installed.ts";
import { environmentOf, expectedJourney, workshop } from "../../support/foreign/journey.ts";
import { run, told } from "../../support/foreign/program.ts";

const version = "0.29.1";
const made = await pythonPackages(`openapi-python-client==${version}`);

it(`openapi-python-client ${version} generates a working client`, { skip: made.missing }, async (t) => {
  if (made.missing !== undefined) return;
  const world = await emulator(t);
  const cwd = await workshop(t, world, import.meta.url, "openapi-python-client/journey.py");
  const bin = join(made.folder, "bin");
  for (const name of ["router", "contracts", "emulator"]) {
    const argv = ["generate", "--meta", "none", "--path", `${name}.json`, "--output-path", name];
    await run(join(bin, "openapi-python-client"), argv, { cwd });
    await run(join(bin, "python"), ["-m", "compileall", "-q", name], { cwd });
  }
  assert.deepEqual(await told(join(bin, "python"), ["journey.py"], { cwd, env: environmentOf(world) }), {
    ...expectedJourney,
  });
});
