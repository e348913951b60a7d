import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdir, readFile, rename, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { promisify } from "node:util";
import { svcVersion } from "../../../src/base/version.ts";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { type RunResult, runCli } from "../../support/cli/run-cli.ts";
import { createContractRequest, createDraftContract, getContractStatus } from "../../support/contracts.ts";
import { startTestEmulator } from "../../support/emulator.ts";
import { getSvcPath } from "../../support/shipped.ts";

const run = promisify(execFile);

/** A folder whose state has a contract, a snapshot `prepared` of it, and a second, later contract. */
async function createSnapshotFolder(t: TestContext) {
  const cwd = await createTestFolder(t);
  const file = join(cwd, ".svc/emulator.json");
  const emulator = await startTestEmulator(t, { file });
  const contract = await createDraftContract(emulator.api);
  await emulator.snapshot("prepared");
  await createDraftContract(emulator.api);
  const svc = (argv: string, child: readonly string[] = []) => runCli([...argv.split(" "), ...child], { cwd });
  return { cwd, file, emulator, contract, svc };
}

/** A child process that reports which of the first two contracts exist and creates another. */
const child = [
  "--",
  process.execPath,
  "--input-type=module",
  "-e",
  `
import { request } from "node:http";
const { SVC_BASE_URL: base, SVC_CLIENT_ID, SVC_CLIENT_SECRET } = process.env;
const headers = { "client-id": SVC_CLIENT_ID, "client-secret": SVC_CLIENT_SECRET, "content-type": "application/json" };
const ask = (path, method = "GET", body = undefined) => new Promise((resolve, reject) =>
  request(base + "/api/v2.1/public/contracts/" + path, { method, headers }, async (response) =>
    resolve({ status: response.statusCode, text: (await response.toArray()).join("") }),
  ).on("error", reject).end(body));
const found = [(await ask("T-1/status")).status, (await ask("T-2/status")).status];
const made = await ask("", "POST", ${JSON.stringify(JSON.stringify(createContractRequest()))});
console.log(JSON.stringify({ base, found, made: JSON.parse(made.text).id }));
`,
];

const readFiles = async (folder: string): Promise<Record<string, string>> => {
  const names = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((one) => one.isFile());
  return Object.fromEntries(
    await Promise.all(
      names.map(async ({ parentPath, name }) => [name, await readFile(join(parentPath, name), "latin1")] as const),
    ),
  );
};

describe("svc emulator exec --from", () => {
  it("runs copies of one snapshot concurrently without changing the original", async (t) => {
    const { cwd, emulator } = await createSnapshotFolder(t);
    await emulator.close();
    const before = await readFiles(cwd);
    const argv = [getSvcPath(), "emulator", "exec", "--from", "prepared", ...child];
    const runs = await Promise.all(
      Array.from({ length: 2 }, () => run(process.execPath, argv, { cwd, env: { PATH: process.env.PATH } })),
    );
    const documents = runs.map(({ stdout }) => JSON.parse(stdout) as { base: string });
    assert.equal(new Set(documents.map(({ base }) => base)).size, 2);
    for (const { base, ...rest } of documents) {
      assert.deepEqual(rest, { found: [200, 404], made: "T-2" });
    }
    assert.deepEqual(await readFiles(cwd), before);
  });

  it("starts at the snapshot's time with the same clock mode", async (t) => {
    const { emulator, svc } = await createSnapshotFolder(t);
    await emulator.clock.advance({ by: "PT5H" });
    const clock = [
      "--",
      process.execPath,
      "-e",
      `fetch(process.env.SVC_EMULATOR_URL + "/clock", { headers: { authorization: "Bearer " + process.env.SVC_EMULATOR_TOKEN } }).then(async (answer) => console.log(await answer.text()))`,
    ];
    const { stdout, stderr } = await svc("emulator exec --from prepared", clock);
    assert.equal(stderr, "");
    const { now, mode } = JSON.parse(stdout);
    assert.deepEqual([now, mode], ["2031-01-02T03:04:05.000Z", "manual"]);
  });

  it("accepts a copied snapshot, the state of a running emulator and an exported state", async (t) => {
    const { cwd, file, svc, contract } = await createSnapshotFolder(t);
    const readFound = async (from: string) => {
      const { exit, stdout, stderr } = await svc(`emulator exec --from ${from}`, child);
      assert.deepEqual([exit, stderr], [0, ""]);
      return (JSON.parse(stdout) as { found: number[] }).found;
    };
    await writeFile(join(cwd, "copied.json"), await readFile(join(`${file}.snapshots`, "prepared.json")));
    assert.deepEqual(await readFound("copied.json"), [200, 404]);
    assert.deepEqual(await readFound(".svc/emulator.json"), [200, 200]);
    assert.equal((await svc("emulator state export -o exported.json")).exit, 0);
    assert.deepEqual(await readFound("exported.json"), [200, 200]);
    const restartedEmulator = await startTestEmulator(t, { from: join(cwd, "copied.json") });
    assert.equal(await getContractStatus(restartedEmulator.api, contract), "DRAFT");
  });

  it("explains how to use a snapshot of an emulator in memory", async (t) => {
    const cwd = await createTestFolder(t);
    const emulator = await startTestEmulator(t, { ephemeral: true, runFile: join(cwd, ".svc/emulator.json.run") });
    await createDraftContract(emulator.api);
    await emulator.snapshot("prepared");
    await createDraftContract(emulator.api);
    const svc = (argv: string, extraArgs: readonly string[] = []) =>
      runCli([...argv.split(" "), ...extraArgs], { cwd });
    const result = await svc("emulator exec --from prepared -- true");
    assert.equal(result.exit, 5);
    assert.match(result.stderr, /for a state in memory or in a --store, restore the snapshot and use the output of /);
    assert.equal((await svc("emulator snapshot restore prepared --yes")).exit, 0);
    assert.equal((await svc("emulator state export --output prepared.json")).exit, 0);
    const { stdout } = await svc("emulator exec --from prepared.json", child);
    assert.deepEqual(JSON.parse(stdout).found, [200, 404]);
  });

  it("stores the copy and its uploads in a named file and continues with that file", async (t) => {
    const cwd = await createTestFolder(t);
    const emulator = await startTestEmulator(t, { file: join(cwd, "one/emulator.json") });
    const form = [{ filename: "msa.pdf", content_type: "application/pdf" }];
    const { body } = await emulator.api("POST", "/api/v2.1/public/workspace/files/uploads/", { body: { files: form } });
    const [{ upload_url: url, file_id }] = (body as { files: [{ upload_url: string; file_id: string }] }).files;
    await fetch(url, { method: "PUT", body: "bytes", headers: { "content-type": "application/pdf" } });
    await emulator.snapshot("uploaded");
    await emulator.close();
    const file = join(cwd, "two/emulator.json");
    const copy = await startTestEmulator(t, { file, from: join(cwd, "one/emulator.json.snapshots/uploaded.json") });
    await createDraftContract(copy.api);
    await copy.close();
    const restartedEmulator = await startTestEmulator(t, { file });
    const response = await restartedEmulator.api("GET", `/api/v2.1/public/workspace/files/${file_id}/`);
    assert.equal(await (await fetch((response.body as { signed_url: string }).signed_url)).text(), "bytes");
    assert.equal((await restartedEmulator.api("GET", "/api/v2.1/public/contracts/T-1/status")).status, 200);
  });

  it("rejects invalid combinations and changes nothing", async (t) => {
    const { cwd, file, emulator, svc } = await createSnapshotFolder(t);
    await emulator.close();
    const snapshots = `${file}.snapshots`;
    const text = await readFile(join(snapshots, "prepared.json"), "utf8");
    const writeSnapshot = (name: string, content: string) => writeFile(join(snapshots, `${name}.json`), content);
    await writeSnapshot("truncated", text);
    await truncate(join(snapshots, "truncated.json"), 3_000);
    await writeSnapshot("changed", text.replace("Ada", "Eve"));
    await writeSnapshot("newer", text.replace(svcVersion, "9.9.9").replace('"contracts":', '"contracts":9'));
    await writeSnapshot("hello", "hello\n");
    await rename(join(snapshots, "prepared.json"), join(snapshots, "renamed.json"));
    const before = await readFiles(cwd);
    const runRejected = async (argv: string): Promise<RunResult> => {
      const result = await svc(`emulator exec ${argv} -- true`);
      return {
        ...result,
        stderr: result.stderr
          .replaceAll(snapshots, "S")
          .replaceAll(cwd, "")
          .replace(/line \d+/, "line N"),
      };
    };
    const failed = (message: string) => ({ exit: 1, stdout: "", stderr: `error: ${message}\n` });
    assert.deepEqual(await runRejected("--from prepared"), {
      exit: 5,
      stdout: "",
      stderr:
        "error: Snapshot or file prepared not found (snapshots: changed, hello, newer, renamed, truncated).\n" +
        "  Save one with `svc emulator snapshot save NAME`, or use a file: for a state of --file STATE, " +
        "STATE.snapshots/NAME.json; for a state in memory or in a --store, restore the snapshot and use the output of `svc emulator state export --output FILE`.\n",
    });
    const changed = "a line above was changed";
    const reasons: Record<string, string> = {
      truncated: "S/truncated.json: line N: the line is damaged. Nothing was changed.",
      changed: `S/changed.json: line N: the checksum does not match: ${changed}. Nothing was changed.`,
      newer:
        "S/newer.json: line N: svc 9.9.9 wrote it, with version 91 of contracts; this version of svc reads versions up to 1. Nothing was changed.",
      hello: "S/hello.json: it is not an emulator state file. Nothing was changed.",
      renamed: "S/renamed.json is the renamed snapshot prepared. Nothing was changed. Rename it back.",
    };
    for (const [name, reason] of Object.entries(reasons)) {
      assert.deepEqual(await runRejected(`--from ${name}`), failed(reason), name);
      assert.deepEqual(await runRejected(`--from ${name} --file new.json`), failed(reason), name);
    }
    await writeSnapshot("prepared", text);
    assert.deepEqual(
      await runRejected("--from prepared --file .svc/emulator.json"),
      failed(
        "/.svc/emulator.json already contains a state. Nothing was changed. Use another file, or continue this state without --from.",
      ),
    );
    assert.deepEqual(await readFiles(cwd), { ...before, "prepared.json": text });
  });
});

describe("svc emulator start --from", () => {
  it("runs in memory next to the emulator of the snapshot", async (t) => {
    const { cwd, emulator, contract } = await createSnapshotFolder(t);
    let end = () => {};
    const lines: Record<string, unknown>[] = [];
    const start = runCli("emulator start --from prepared --json", {
      cwd,
      onStart: ({ signal }) => {
        end = () => signal("SIGTERM");
      },
      onOutput: (stdout) => {
        if (lines.length > 0 || !stdout.includes("\n")) return;
        lines.push(JSON.parse(stdout.slice(0, stdout.indexOf("\n"))));
        end();
      },
    });
    await start;
    assert.equal(lines[0]!.file ?? null, null);
    assert.notEqual(lines[0]!.router_url, emulator.routerUrl);
    assert.equal(await getContractStatus(emulator.api, contract), "DRAFT");
  });
});

describe("completion of snapshots", () => {
  it("lists the snapshots of the folder's state", async (t) => {
    const { cwd, emulator } = await createSnapshotFolder(t);
    await emulator.snapshot("other");
    const complete = async (words: string) => (await runCli(["complete", "--", ...words.split(" ")], { cwd })).stdout;
    assert.equal(await complete("emulator exec --from p"), "prepared\n:0\n");
    assert.equal(await complete("emulator start --from="), "other\nprepared\n:0\n");
    for (const verb of ["restore", "show", "diff", "remove"]) {
      assert.equal(await complete(`emulator snapshot ${verb} o`), "other\n:4\n", verb);
    }
    assert.equal(await complete("emulator snapshot diff other p"), "prepared\n:4\n");
    assert.equal(await complete("emulator snapshot save o"), ":4\n");
  });
});
