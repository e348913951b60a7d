import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { it } from "node:test";
import { startTestEmulator } from "../../support/emulator.ts";
import { installNpmPackages } from "../../support/foreign/installation.ts";
import { createClientFolder } from "../../support/foreign/journey.ts";
import { runProgram } from "../../support/foreign/program.ts";

const versions = { newman: "6.2.2", "openapi-to-postmanv2": "6.3.3" };
const installation = await installNpmPackages(
  ...Object.entries(versions).map(([name, version]) => `${name}@${version}`),
);

interface Execution {
  readonly item: { readonly name: string };
  readonly response?: { readonly code: number };
}

/** The import supports one credential per request, so the second one is sent with every request. */
const withSecret = {
  listen: "prerequest",
  script: { exec: ['pm.request.headers.upsert({ key: "client-secret", value: pm.variables.get("clientSecret") });'] },
};

it("Newman runs Postman's collection of the contract API with valid credentials", {
  skip: installation.missing,
}, async (t) => {
  if (installation.missing !== undefined) return;
  const emulator = await startTestEmulator(t);
  const cwd = await createClientFolder(t, emulator, import.meta.url);
  const bin = join(installation.folder, "node_modules/.bin");
  const options = "folderStrategy=Tags,parametersResolution=Example";
  await runProgram(join(bin, "openapi2postmanv2"), ["-s", "contracts.json", "-o", "collection.json", "-O", options], {
    cwd,
  });
  const collection = JSON.parse(await readFile(join(cwd, "collection.json"), "utf8"));
  await writeFile(join(cwd, "collection.json"), JSON.stringify({ ...collection, event: [withSecret] }));

  const { clientId, clientSecret } = emulator.clusters[0]!;
  const variables = ["--env-var", `apiKey=${clientId}`, "--env-var", `clientSecret=${clientSecret}`];
  const report = ["--reporters", "json", "--reporter-json-export", "report.json"];
  await runProgram(join(bin, "newman"), ["run", "collection.json", ...variables, ...report], { cwd });
  const { executions } = JSON.parse(await readFile(join(cwd, "report.json"), "utf8")).run as {
    executions: Execution[];
  };
  // Examples name contracts that the seed does not contain. An unknown intake is a 403 (DECISIONS.md, F3).
  const expected = [200, 201, 204, 400, 404];
  assert.deepEqual(
    executions
      .map(({ item, response }) => `${item.name}: ${response?.code}`)
      .filter((line) => !expected.some((status) => line.endsWith(`: ${status}`)))
      .toSorted(),
    ["Change a legal intake: 403", "Delete a legal intake: 403", "Show a legal intake: 403"],
  );
  assert.ok(executions.filter(({ response }) => (response?.code ?? 500) < 300).length > executions.length / 3);
});
