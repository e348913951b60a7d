import assert from "node:assert/strict";
import { copyFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { extractCodeBlocks } from "../../support/cli/pages.ts";
import { installNpmPackages, installPrograms, installPythonPackages } from "../../support/foreign/installation.ts";
import { canRun, runProgram } from "../../support/foreign/program.ts";

const extractRecipe = (language: string): string => extractCodeBlocks("docs/container.md", language)[0] ?? "";

const node = await installNpmPackages("testcontainers@11.0.3", "typescript@5.9.3", "@types/node@20.19.43");
const python = await installPythonPackages("testcontainers==4.15.0", "mypy==1.18.2");
const testcontainersOfGo = "github.com/testcontainers/testcontainers-go@v0.39.0";
const goPackages = "golang.org/x/tools/go/packages@v0.38.0";
const goSkipReason = (await canRun("go", "version")) ? undefined : "There is no Go to compile the recipe with.";
/** Testcontainers and JUnit, whose classes Testcontainers extends. */
const artifacts = ["org.testcontainers:testcontainers:1.21.3", "junit:junit:4.13.2"];
const java = await installPrograms({
  name: artifacts.join("-").replaceAll(":", "-"),
  needs: ["mvn", "--version"],
  steps: artifacts.flatMap((artifact) => [
    ["mvn", "--batch-mode", "--quiet", "dependency:get", `-Dartifact=${artifact}`],
    ["mvn", "--batch-mode", "--quiet", "dependency:copy", `-Dartifact=${artifact}`, "-DoutputDirectory=."],
  ]),
});

async function createGoModule(cwd: string, dependency: string): Promise<void> {
  await runProgram("go", ["mod", "init", "example.test/module"], { cwd });
  await runProgram("go", ["get", dependency], { cwd });
  await runProgram("go", ["mod", "tidy"], { cwd });
}

/** Without a container engine, the libraries' types verify the calls of the recipes. */
describe("Testcontainers recipe", () => {
  it("works with Node.js", { skip: node.missing }, async () => {
    if (node.missing !== undefined) return;
    await writeFile(join(node.folder, "recipe.mts"), extractRecipe("js"));
    const options = ["--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext", "--target", "es2022"];
    await runProgram(join(node.folder, "node_modules/.bin/tsc"), [...options, "recipe.mts"], { cwd: node.folder });
  });

  it("works with Python", { skip: python.missing }, async (t) => {
    if (python.missing !== undefined) return;
    const cwd = await createTestFolder(t);
    await writeFile(join(cwd, "recipe.py"), extractRecipe("python"));
    const stdout = await runProgram(join(python.folder, "bin/mypy"), ["--cache-dir", cwd, "recipe.py"], { cwd });
    assert.match(stdout, /^Success/);
  });

  it("works with Go", { skip: goSkipReason }, async (t) => {
    const cwd = await createTestFolder(t);
    await writeFile(join(cwd, "sandbox_test.go"), extractRecipe("go"));
    await createGoModule(cwd, testcontainersOfGo);
    const checker = await createTestFolder(t);
    await copyFile(join(import.meta.dirname, "type-check/main.go"), join(checker, "main.go"));
    await createGoModule(checker, goPackages);
    await runProgram("go", ["run", ".", cwd], { cwd: checker });
  });

  it("works with Java", { skip: java.missing }, async (t) => {
    if (java.missing !== undefined) return;
    const cwd = await createTestFolder(t);
    await writeFile(join(cwd, "Sandbox.java"), extractRecipe("java"));
    await runProgram("javac", ["-d", ".", "-cp", join(java.folder, "*"), "Sandbox.java"], { cwd });
  });
});
