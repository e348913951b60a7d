import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, it } from "node:test";
import { createTestFolder, startCliEmulator } from "../support/cli/cli-emulator.ts";
import { ndaContractJson } from "../support/cli/nda.ts";
import { runCli } from "../support/cli/run-cli.ts";
import { ctrlC, enterKey, simulateUser } from "../support/cli/simulated-user.ts";

describe("user who types values at a terminal", () => {
  it("enters values that cannot be listed and sees validation errors immediately", async (t) => {
    const { svc } = await startCliEmulator(t);
    const ada = simulateUser(
      ["Template id", enterKey],
      ["A value is required", `one${enterKey}`],
      ["must be a whole number", `\u007f\u007f\u007f101${enterKey}`],
    );
    // The service is unreachable, so the templates cannot be listed.
    const { exit, stderr } = await svc("contracts templates show --base-url http://127.0.0.1:1 --retries 0", ada);
    assert.deepEqual([exit, ada.waiting()], [75, []], stderr);
  });

  it("sees invalid input instead of a question", async (t) => {
    const { svc } = await startCliEmulator(t);
    const mistakes = [
      ["contracts create --fields nope", 'Unknown field "nope".'],
      ["contracts send --data none.json", "--data: cannot read none.json: no such file"],
      ["contracts import-executed --contract-name=", "--contract-name must not be empty"],
      ["contracts user-tasks create", "Missing required fields:\n  - --title (or in --data)\n  - assignees (--set "],
      ["contracts download", "--output is required: the response is binary"],
      ["contracts download --output none/a", "--output: cannot write to the folder none: it does not exist (ENOENT)"],
    ] as const;
    for (const [line, problem] of mistakes) {
      const { exit, stderr } = await svc(line, simulateUser([":", ctrlC]));
      assert.deepEqual([exit, stderr.slice(7, 7 + problem.length)], [2, problem]);
    }
  });

  it("pipes in the body and is prompted for the rest", async (t) => {
    const { svc, json, cwd } = await startCliEmulator(t);
    await json("contracts create --data -", { stdin: ndaContractJson });
    execFileSync("mkfifo", [join(cwd, "pipe")]);
    const ada = simulateUser(["Composite id", enterKey]);
    const [{ exit, stderr }] = await Promise.all([
      svc("contracts void --data pipe --dry-run", ada),
      writeFile(join(cwd, "pipe"), '{"note":"Replaced"}'),
    ]);
    assert.deepEqual([exit, ada.waiting()], [0, []], stderr);
  });

  it("types a name without waiting for retries if an emulator cannot list its snapshots", async (t) => {
    const requests: string[] = [];
    const server = createServer(({ method, url }, response) => {
      requests.push(`${method} ${url}`);
      response.writeHead(503, { "retry-after": "1" }).end();
    });
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    t.after(() => server.close().closeAllConnections());
    const SVC_EMULATOR_URL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const ada = simulateUser(["Name", `before${enterKey}`]);
    const env = { SVC_CONFIG_DIR: await createTestFolder(t), SVC_EMULATOR_URL, SVC_EMULATOR_TOKEN: "token" };
    const { exit, stderr } = await runCli("emulator snapshot restore", { ...ada, env });
    const lists = requests.filter((line) => /^GET .*snapshots$/.test(line));
    assert.deepEqual([exit, ada.waiting(), lists.length], [1, [], 1], `${requests.join("\n")}\n${stderr}`);
  });

  it("names a file instead of typing its bytes", async (t) => {
    const { svc, json, cwd } = await startCliEmulator(t);
    await json("contracts create --data -", { stdin: ndaContractJson });
    await writeFile(join(cwd, "terms.txt"), "terms");
    const ada = simulateUser(
      ["Name", `Terms${enterKey}`],
      ["File name", `t.txt${enterKey}`],
      ["@FILE", `@terms.txt${enterKey}`],
    );
    const { exit, stderr } = await svc("contracts add-document T-1", ada);
    assert.deepEqual([exit, ada.waiting()], [0, []], stderr);
  });

  it("types a secret without echo", async (t) => {
    const cwd = await createTestFolder(t);
    const ada = simulateUser(["client_secret", `very-secret${enterKey}`]);
    const { exit, stdout, stderr } = await runCli("config set client_secret", { ...ada, env: { SVC_CONFIG_DIR: cwd } });
    assert.deepEqual([exit, `${stdout}${stderr}`.includes("very-secret")], [0, false]);
    assert.match(await readFile(join(cwd, "profiles.json"), "utf8"), /"very-secret"/);
  });

  it("types a device code without echo and without a warning about the command line", async (t) => {
    const { svc } = await startCliEmulator(t);
    const ada = simulateUser(
      ["Device code", `very-secret${enterKey}`],
      ["Client id", `demo-cli${enterKey}`],
      ["Grant type", enterKey],
    );
    const { exit, stdout, stderr } = await svc("auth device-token", ada);
    assert.deepEqual([exit, `${stdout}${stderr}`.match(/very-secret|warning/), ada.waiting()], [1, null, []], stderr);
  });

  it("cannot set an empty secret", async (t) => {
    const env = { SVC_CONFIG_DIR: await createTestFolder(t) };
    const { exit, stderr } = await runCli("config set client_secret", {
      ...simulateUser(["client_secret", enterKey]),
      env,
    });
    assert.deepEqual([exit, stderr.includes("error: client_secret is empty, expected a secret")], [2, true], stderr);
  });

  it("types several values with blanks between them", async (t) => {
    const cwd = await createTestFolder(t);
    for (const name of ["msa.txt", "annex.txt"]) await writeFile(join(cwd, name), name);
    const ada = simulateUser(["Path", `msa.txt  annex.txt${enterKey}`]);
    const { stdout, stderr } = await runCli("files upload --dry-run --json=filename,bytes", { ...ada, cwd });
    const files = JSON.parse(stdout) as { filename: string; bytes: number }[];
    const sizes = files.map(({ filename, bytes }) => `${filename} ${bytes}`);
    assert.deepEqual(sizes, ["msa.txt 7", "annex.txt 9"], stderr);
  });
});
