import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { contract, runStory } from "../cli/run/story.ts";
import { createTestFolder } from "../support/cli/cli-emulator.ts";
import { type Installation, installNpmPackages, installPythonPackages } from "../support/foreign/installation.ts";

const python = await installPythonPackages("junitparser==5.0.3");
const node = await installNpmPackages("junit2json@4.0.0");

const getFolder = (installation: Installation): string =>
  installation.missing === undefined ? installation.folder : "";

/** Creates the report of one story that fails with text that XML cannot represent directly. */
async function report(t: TestContext): Promise<string> {
  const story = `
name: 'Ümläut & "契約" <b>'
steps:
  - { call: contracts.create, body: ${contract} }
  - { svc: contracts status T-1 --json, expect: { json: { contract_status: "]]> \\u0007 <>&" } } }
`;
  const { readFile } = await runStory(t, story, ["--report", "junit.xml"]);
  return readFile("junit.xml");
}

const expected = ['Ümläut & "契約" <b>', "story.yaml", "story.yaml:4 step 2 (svc contracts status T-1 --json)"];

describe("JUnit XML of svc run", () => {
  it("is parsed by junitparser", { skip: python.missing ?? false }, async (t) => {
    const path = join(await createTestFolder(t), "junit.xml");
    await writeFile(path, await report(t));
    const program = `
import json, sys
from junitparser import JUnitXml
[suite] = JUnitXml.fromfile(sys.argv[1])
[case] = suite
[failure] = case.result
print(json.dumps([suite.tests, suite.failures, suite.errors, suite.skipped, case.name, case.classname, failure.message, failure.text]))
`;
    const stdout = execFileSync(join(getFolder(python), "bin/python"), ["-c", program, path], { encoding: "utf8" });
    const [tests, failures, errors, skipped, name, className, message, text] = JSON.parse(stdout);
    assert.deepEqual(
      [tests, failures, errors, skipped, name, className, message.split(":").slice(0, 2).join(":")],
      [1, 1, 0, 0, ...expected],
    );
    assert.match(text, /trace of T-1/);
  });

  it("is parsed by junit2json", { skip: node.missing ?? false }, async (t) => {
    const { parse } = createRequire(join(getFolder(node), "package.json"))("junit2json");
    const { testsuite } = await parse(await report(t));
    const [{ tests, failures, errors, skipped, testcase }] = testsuite;
    const [{ name, classname, failure }] = testcase;
    assert.deepEqual(
      [tests, failures, errors, skipped, name, classname, failure[0].message.split(":").slice(0, 2).join(":")],
      [1, 1, 0, 0, ...expected],
    );
    assert.match(failure[0].inner, /trace of T-1/);
  });
});
