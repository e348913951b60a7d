import assert from "node:assert/strict";
import { symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { it } from "node:test";
import { fileURLToPath } from "node:url";
import { startTestEmulator } from "../../support/emulator.ts";
import { installNpmPackages } from "../../support/foreign/installation.ts";
import { createClientFolder, expectedJourney, getEmulatorEnvironment } from "../../support/foreign/journey.ts";
import { runForJson, runProgram } from "../../support/foreign/program.ts";

const version = "8.20.0";
const installation = await installNpmPackages(`orval@${version}`);
const modules = fileURLToPath(new URL("../../../node_modules", import.meta.url));
const strict = ["--strict", "--noEmit", "--skipLibCheck", "--allowImportingTsExtensions"];

it(`orval ${version} generates a working TypeScript client`, { skip: installation.missing }, async (t) => {
  if (installation.missing !== undefined) return;
  const emulator = await startTestEmulator(t);
  const cwd = await createClientFolder(t, emulator, import.meta.url, "orval/journey.mts");
  const target = (name: string) => ({
    input: `${name}.json`,
    output: { target: `${name}.ts`, client: "fetch", baseUrl: { getBaseUrlFromSpecification: true } },
  });
  const config = { router: target("router"), contracts: target("contracts") };
  await writeFile(join(cwd, "orval.config.mjs"), `export default ${JSON.stringify(config)};`);
  await runProgram(join(installation.folder, "node_modules/.bin/orval"), ["--config", "orval.config.mjs"], { cwd });
  await symlink(modules, join(cwd, "node_modules"));
  await writeFile(join(cwd, "package.json"), '{"type":"module"}');
  const tsc = join(modules, "typescript/bin/tsc");
  const target2023 = ["--module", "nodenext", "--target", "es2023", "--types", "node"];
  assert.equal(await runProgram(process.execPath, [tsc, ...strict, ...target2023, "journey.mts"], { cwd }), "");
  const env = getEmulatorEnvironment(emulator);
  assert.deepEqual(
    await runForJson(process.execPath, ["--import", "tsx", "journey.mts"], { cwd, env }),
    expectedJourney,
  );
});
