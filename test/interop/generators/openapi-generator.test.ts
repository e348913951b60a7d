import assert from "node:assert/strict";
import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { startTestEmulator } from "../../support/emulator.ts";
import { installPrograms } from "../../support/foreign/installation.ts";
import { createClientFolder, expectedJourney, getEmulatorEnvironment } from "../../support/foreign/journey.ts";
import { canRun, runForJson, runProgram } from "../../support/foreign/program.ts";

const version = "7.17.0";
const artifact = `org.openapitools:openapi-generator-cli:${version}`;
const installation = await installPrograms({
  name: `openapi-generator-${version}`,
  needs: ["mvn", "--version"],
  steps: [
    ["mvn", "-q", "dependency:get", `-Dartifact=${artifact}`],
    ["mvn", "-q", "dependency:copy", `-Dartifact=${artifact}`, "-DoutputDirectory=."],
  ],
});
const goMissing = (await canRun("go", "version")) ? undefined : "There is no Go to compile the client with.";

/** Excludes the client's generated documentation and tests. */
const onlyCode =
  "--global-property=apis,models,supportingFiles,apiDocs=false,modelDocs=false,apiTests=false,modelTests=false";
const services = ["router", "contracts"] as const;

const generate = (folder: string, cwd: string, argv: readonly string[]) =>
  runProgram("java", ["-jar", join(folder, `openapi-generator-cli-${version}.jar`), "generate", onlyCode, ...argv], {
    cwd,
  });

describe(`openapi-generator ${version}`, () => {
  it("generates a working Go client", { skip: installation.missing ?? goMissing }, async (t) => {
    if (installation.missing !== undefined) return;
    const emulator = await startTestEmulator(t);
    const cwd = await createClientFolder(t, emulator, import.meta.url, "openapi-generator/main.go");
    for (const name of services) {
      const options = `packageName=${name},withGoMod=false,isGoSubmodule=true`;
      await generate(installation.folder, cwd, ["-g", "go", "-i", `${name}.json`, "-o", name, "-p", options]);
    }
    await runProgram("go", ["mod", "init", "example.test/journey"], { cwd });
    await runProgram("go", ["mod", "tidy"], { cwd });
    assert.deepEqual(
      await runForJson("go", ["run", "."], { cwd, env: getEmulatorEnvironment(emulator) }),
      expectedJourney,
    );
  });

  const { clusters, unmapped, ...ofContracts } = expectedJourney;
  for (const [name, library, program, expected] of [
    // The library "native" generates invalid Java for a body that is a list or one of its items.
    ["router", "okhttp-gson", "Routing", { clusters, unmapped }],
    ["contracts", "native", "Journey", ofContracts],
  ] as const) {
    it(`generates a working Java client of ${name}`, { skip: installation.missing }, async (t) => {
      if (installation.missing !== undefined) return;
      const emulator = await startTestEmulator(t);
      const cwd = await createClientFolder(t, emulator, import.meta.url, `openapi-generator/${program}.java`);
      const packages = `invokerPackage=${name},apiPackage=${name}.api,modelPackage=${name}.model`;
      const options = ["--library", library, "-p", `${packages},openApiNullable=false`];
      await generate(installation.folder, cwd, ["-g", "java", "-i", `${name}.json`, "-o", ".", ...options]);
      await copyFile(join(cwd, `${program}.java`), join(cwd, `src/main/java/${program}.java`));
      await runProgram("mvn", ["-q", "compile", "dependency:build-classpath", "-Dmdep.outputFile=classpath.txt"], {
        cwd,
      });
      const java = ["-c", `java -cp "target/classes:$(cat classpath.txt)" ${program}`];
      assert.deepEqual(await runForJson("sh", java, { cwd, env: getEmulatorEnvironment(emulator) }), expected);
    });
  }
});
