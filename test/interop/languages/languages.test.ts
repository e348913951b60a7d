import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { cp, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, before, describe, it, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { extractCodeBlocks } from "../../support/cli/pages.ts";
import { installPrograms, installPythonPackages } from "../../support/foreign/installation.ts";
import { canRun, runProgram } from "../../support/foreign/program.ts";
import { getSvcPath } from "../../support/shipped.ts";

const languages = fileURLToPath(new URL("../../../fixtures/languages/", import.meta.url));

const python = await installPythonPackages("pytest==8.4.2");
const pythonProgram = python.missing === undefined ? join(python.folder, "bin/python") : "";
const goSkipReason = (await canRun("go", "version")) ? undefined : "There is no Go to compile the package with.";
const javaFolder = join(languages, "java");
const pom = createHash("sha256")
  .update(readFileSync(join(javaFolder, "pom.xml")))
  .digest("hex")
  .slice(0, 12);
const maven = ["mvn", "--batch-mode", "--quiet"] as const;
const emptyTest = "class EmptyTest { @org.junit.jupiter.api.Test void passes() {} }";
/** The project's dependencies in the local repository. Maven downloads the test engine only when a test runs. */
const java = await installPrograms({
  name: `junit-engine-${pom}`,
  needs: ["mvn", "--version"],
  steps: [
    ["cp", "-r", `${javaFolder}/.`, "."],
    ["rm", "-r", "src/test/java/example"],
    ["sh", "-c", 'echo "$1" > src/test/java/EmptyTest.java', "sh", emptyTest],
    [...maven, "test"],
  ],
});

const gson = join(homedir(), ".m2/repository/com/google/code/gson/gson/2.11.0/gson-2.11.0.jar");

/** The path of the example from docs/languages.md in the fixtures of its language. */
const documentedExamples = {
  python: "example/test_docs.py",
  go: "example/docs_test.go",
  java: "src/test/java/example/DeliveryTest.java",
} as const;

const folder = await mkdtemp(join(tmpdir(), "svc-languages-"));
after(() => rm(folder, { recursive: true, force: true }));

/** A copy of a language's fixtures with its documented example, and the environment for `svc`. */
async function createExampleFolder(language: keyof typeof documentedExamples) {
  const cwd = await mkdtemp(join(folder, `${language}-`));
  await cp(join(languages, language), cwd, { recursive: true });
  const [example = ""] = extractCodeBlocks("docs/languages.md", language);
  await writeFile(join(cwd, documentedExamples[language]), example);
  return { cwd, env: { SVC: `${process.execPath} ${getSvcPath()}` } };
}

type ExampleFolder = Awaited<ReturnType<typeof createExampleFolder>>;

/** Starts a program that waits forever with two emulators, kills it, and waits until both have exited. */
async function runAndKill(
  t: TestContext,
  program: string,
  argv: readonly string[],
  { cwd, env }: ExampleFolder,
): Promise<void> {
  const child = spawn(program, argv, { cwd, env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "ignore"] });
  t.after(() => child.kill("SIGKILL"));
  let output = "";
  for await (const piece of child.stdout) {
    output += piece;
    if (output.includes("stuck")) break;
  }
  assert.match(output, /stuck/);
  const tasks = await readdir(`/proc/${child.pid}/task`);
  const emulators = tasks.flatMap(
    (task) => readFileSync(`/proc/${child.pid}/task/${task}/children`, "utf8").match(/\d+/g) ?? [],
  );
  assert.equal(emulators.length, 2);
  child.kill("SIGKILL");
  // tail exits after that process has ended.
  for (const pid of emulators) await runProgram("tail", ["--pid", pid, "-f", "/dev/null"], { cwd });
}

describe("fixtures for other languages", () => {
  it("runs the pytest example", { skip: python.missing }, async () => {
    const { cwd, env } = await createExampleFolder("python");
    const rejected = `import pytest


def test_rejected_request(svc):
    with pytest.raises(OSError, match=r"404.* POST http.*/T-9/send_to_counterparties: .*Not found\\."):
        svc.sign_contract("T-9")
`;
    await writeFile(join(cwd, "example/test_rejected.py"), rejected);
    const argv = ["-m", "pytest", "--quiet", "-p", "no:cacheprovider"];
    const stdout = await runProgram(pythonProgram, argv, { cwd: join(cwd, "example"), env });
    assert.match(stdout, /\n6 passed in /);
  });

  it("stops the emulator when pytest is killed", { skip: python.missing }, async (t) => {
    const exampleFolder = await createExampleFolder("python");
    const test = 'import time\n\n\ndef test_waits(svc):\n    print("stuck", flush=True)\n    time.sleep(600)\n';
    await writeFile(join(exampleFolder.cwd, "example/test_waits.py"), test);
    const argv = ["-m", "pytest", "-s", "-p", "no:cacheprovider", "example/test_waits.py"];
    await runAndKill(t, pythonProgram, argv, exampleFolder);
  });

  describe("for Go", { skip: goSkipReason }, () => {
    let exampleFolder: ExampleFolder;
    let stdout: string;

    // One compilation for both tests.
    before(async () => {
      exampleFolder = await createExampleFolder("go");
      const test = `package example

import (
	"fmt"
	"testing"
)

func TestStuck(t *testing.T) {
	prepared.Fork(t)
	fmt.Println("stuck")
	select {}
}
`;
      await writeFile(join(exampleFolder.cwd, "example/stuck_test.go"), test);
      const conflict = `package example

import (
	"fmt"
	"strings"
	"testing"
)

func TestRejectedRequest(t *testing.T) {
	defer func() {
		if failure := fmt.Sprint(recover()); !strings.Contains(failure, "/workspaces: 409 Conflict: ") {
			t.Fatal(failure)
		}
	}()
	prepared.Control("POST", "workspaces", map[string]string{"name": "Northwind Legal"}, nil)
}
`;
      await writeFile(join(exampleFolder.cwd, "example/conflict_test.go"), conflict);
      stdout = await runProgram(
        "go",
        ["test", "-count=1", "-o", "stuck", "-skip", "Stuck", "./example"],
        exampleFolder,
      );
    });

    it("runs the example", () => assert.match(stdout, /^ok\s+svctest\/example/m));

    it("stops the emulator when the tests are killed", (t) =>
      runAndKill(t, join(exampleFolder.cwd, "stuck"), ["-test.run", "Stuck"], exampleFolder));
  });

  describe("for JUnit", { skip: java.missing }, () => {
    let exampleFolder: ExampleFolder;

    // One compilation for both tests.
    before(async () => {
      exampleFolder = await createExampleFolder("java");
      const program = `package example;

class Stuck {
  public static void main(String[] args) throws Exception {
    new svctest.Emulator().fork();
    System.out.println("stuck");
    Thread.sleep(600_000);
  }
}
`;
      await writeFile(join(exampleFolder.cwd, "src/test/java/example/Stuck.java"), program);
      const encoding = `package example;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import svctest.Emulator;
import svctest.SvcExtension;
import svctest.SvcExtension.Receiver;

@ExtendWith(SvcExtension.class)
class EncodingTest {
  @Test
  void umlautsArrive(Emulator svc, Receiver receiver) throws Exception {
    svc.subscribe(receiver.url, "CONTRACT_CREATED");
    var person = Map.of("first_name", "Jürgen", "email", "jo@acme.example");
    var parties = List.of(Map.of("is_individual", true, "poc_details", person));
    var body = Map.of("contract_template_id", 101, "contract_data", Map.of(), "counter_party_details", parties);
    svc.api("POST", "contracts/", body);
    svc.advance("PT1M");
    assertTrue(receiver.received.get(0).contains("Jürgen"), receiver.received.toString());
  }
}
`;
      await writeFile(join(exampleFolder.cwd, "src/test/java/example/EncodingTest.java"), encoding);
      // The optimizing compiler takes longer than it saves here.
      const env = { ...exampleFolder.env, MAVEN_OPTS: "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC" };
      // Java 17 takes its default encoding from the locale, which a container often lacks.
      const argLine = "-DargLine=-XX:TieredStopAtLevel=1 -Dfile.encoding=US-ASCII";
      const argv = ["--offline", "--batch-mode", "--quiet", argLine, "test"];
      await runProgram("mvn", argv, { ...exampleFolder, env });
    });

    it("runs the example", () => {
      const reports = ["ContractsTest", "DeliveryTest", "EncodingTest"].map((name) =>
        readFileSync(join(exampleFolder.cwd, `target/surefire-reports/example.${name}.txt`), "utf8"),
      );
      assert.match(reports[0]!, /Tests run: 4, Failures: 0, Errors: 0, Skipped: 0/);
      assert.match(reports[1]!, /Tests run: 1, Failures: 0, Errors: 0, Skipped: 0/);
      assert.match(reports[2]!, /Tests run: 1, Failures: 0, Errors: 0, Skipped: 0/);
    });

    it("stops the emulator when the tests are killed", (t) => {
      const classes = ["target/classes", "target/test-classes", gson].join(delimiter);
      return runAndKill(t, "java", ["-cp", classes, "example.Stuck"], exampleFolder);
    });
  });
});
