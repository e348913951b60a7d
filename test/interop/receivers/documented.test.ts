import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFile, mkdtemp, readdir, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { installPythonPackages } from "../../support/foreign/installation.ts";
import { canRun, runProgram } from "../../support/foreign/program.ts";
import { type BuiltReceiver, buildGoReceiver, buildJavaReceiver, getReceiverCommand } from "./built.ts";
import { certifyReceiver } from "./certified.ts";

const folder = fileURLToPath(new URL("../../../docs/receivers/", import.meta.url));
const maxLines = 40;

/** The receivers of docs/receivers with the commands in their first lines. */
const documentedReceivers: Readonly<Record<string, BuiltReceiver>> = Object.freeze({
  "receiver.mjs": { command: `exec '${process.execPath}' '${join(folder, "receiver.mjs")}'` },
  "receiver.py": await installPythonReceiver(),
  "receiver.go": await buildGoReceiver(folder, "receiver.go"),
  "Receiver.java": await buildJavaReceiver(folder, "Receiver"),
  "Receiver.cs": await buildCsharpReceiver(),
});

describe("folder docs/receivers", () => {
  for (const [name, receiver] of Object.entries(documentedReceivers)) {
    it(`passes svc webhooks certify with ${name}`, { skip: receiver.missing }, async (t) => {
      const { exit, mistakes, report } = await certifyReceiver(t, getReceiverCommand(receiver), {
        probe: "cat events.jsonl",
      });
      const wrong = report.checks.filter(({ result }) => result !== "passed");
      assert.deepEqual([exit, mistakes, wrong], [0, [], []]);
    });
  }

  it("has a receiver for Node.js that asks for a missing key in one line", () => {
    const { SVC_WEBHOOK_HMAC_KEY: _, ...env } = process.env;
    const { status, stderr } = spawnSync(process.execPath, [join(folder, "receiver.mjs")], { env, encoding: "utf8" });
    const message = "SVC_WEBHOOK_HMAC_KEY is required: the output of svc webhooks hmac-key\n";
    assert.deepEqual([status, stderr], [2, message]);
  });

  it("has a receiver for Go that does not start without a key", {
    skip: documentedReceivers["receiver.go"]?.missing,
  }, () => {
    const { SVC_WEBHOOK_HMAC_KEY: _, ...env } = process.env;
    const command = getReceiverCommand(documentedReceivers["receiver.go"]!);
    const { status, stderr } = spawnSync("sh", ["-c", command], { env, encoding: "utf8", timeout: 30_000 });
    assert.equal(status, 1);
    assert.match(stderr, /SVC_WEBHOOK_HMAC_KEY is required: the output of svc webhooks hmac-key\n$/);
  });

  it("has no receiver that accepts an event without storing it", async (t) => {
    const built = Object.values(documentedReceivers).filter(({ missing }) => missing === undefined);
    for (const command of built.map(getReceiverCommand)) {
      const onFullDisk = `ln -s /dev/full events.jsonl; ${command}`;
      const { report } = await certifyReceiver(t, onFullDisk, { checks: ["genuine", "duplicate"] });
      const accepted = report.checks.filter(({ result }) => result === "passed");
      assert.deepEqual(accepted, [], command);
    }
  });

  it("contains only documented receivers of at most 40 lines", async () => {
    const names = await readdir(folder);
    assert.deepEqual(names.sort(), Object.keys(documentedReceivers).sort());
    for (const name of names) {
      const lines = (await readFile(join(folder, name), "utf8")).trimEnd().split("\n").length;
      assert.ok(lines <= maxLines, `${name} has ${lines} lines`);
    }
  });
});

async function installPythonReceiver(): Promise<BuiltReceiver> {
  const installation = await installPythonPackages("flask==3.1.3", "fastapi==0.165.0", "uvicorn==0.54.0");
  if (installation.missing !== undefined) return installation;
  return { command: `exec '${join(installation.folder, "bin/python")}' -B '${join(folder, "receiver.py")}'` };
}

/** Runs with .NET, or with Mono, which accepts the same source. */
async function buildCsharpReceiver(): Promise<BuiltReceiver> {
  const project = await mkdtemp(join(tmpdir(), "svc-receiver-cs-"));
  if (await canRun("dotnet", "--version")) {
    await runProgram("dotnet", ["new", "console", "--name", "receiver", "--output", project], { cwd: project });
    await copyFile(join(folder, "Receiver.cs"), join(project, "Program.cs"));
    await runProgram("dotnet", ["build", "--configuration", "Release", "--output", join(project, "out")], {
      cwd: project,
    });
    return { command: `exec dotnet '${join(project, "out", "receiver.dll")}'` };
  }
  if (!(await canRun("mcs", "--version"))) return { missing: "Neither .NET nor Mono is installed." };
  await runProgram("mcs", [`-out:${join(project, "receiver.exe")}`, join(folder, "Receiver.cs")], { cwd: project });
  return { command: `exec mono '${join(project, "receiver.exe")}'` };
}
