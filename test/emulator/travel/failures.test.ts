import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdir, readFile, rename, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { svcVersion } from "../../../src/base/version.ts";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { createDraftContract } from "../../support/contracts.ts";
import { pickStatusAndBody, startTestEmulator, type TestResponse } from "../../support/emulator.ts";
import { assertRejected } from "../../support/rejections.ts";
import { save } from "./travel.ts";

const createErrorResponse = (status: number, code: string, message: string, hint?: string) => ({
  status,
  body: { error: { code, message, ...(hint !== undefined && { hint }) } },
});
const createUnusableSnapshotResponse = (name: string, reason: string) =>
  createErrorResponse(
    409,
    "unusable_snapshot",
    `Cannot use snapshot ${name}: ${reason}. Nothing was changed.`,
    `\`svc emulator snapshot list\` shows the others and their files. \`svc emulator snapshot remove ${name}\` removes this one.`,
  );

/** The line number depends on the demo seed. */
async function maskLineNumber(pendingResponse: Promise<TestResponse>): Promise<TestResponse> {
  const { body, ...rest } = await pendingResponse;
  return { ...rest, body: JSON.parse(JSON.stringify(body).replace(/line \d+/, "line N")) };
}

describe("missing snapshot", () => {
  it("returns no-such-snapshot when shown, restored, compared or removed", async (t) => {
    const emulator = await startTestEmulator(t);
    const createNotFound = (knownNames: string) =>
      createErrorResponse(
        404,
        "no_such_snapshot",
        `Snapshot gone not found. Known: ${knownNames}.`,
        "List them with `svc emulator snapshot list`.",
      );
    assert.deepEqual(pickStatusAndBody(await emulator.control("GET", "snapshots/gone")), createNotFound("none"));
    await save(emulator, "a");
    await save(emulator, "b");
    await assertRejected(emulator, () => emulator.control("POST", "snapshots/gone/restore"), createNotFound("a, b"));
    assert.deepEqual(pickStatusAndBody(await emulator.control("GET", "snapshots/gone/diff")), createNotFound("a, b"));
    assert.deepEqual(
      pickStatusAndBody(await emulator.control("GET", "snapshots/a/diff?to=gone")),
      createNotFound("a, b"),
    );
    assert.deepEqual(pickStatusAndBody(await emulator.control("DELETE", "snapshots/gone")), createNotFound("a, b"));
  });
});

describe("special file next to snapshots", () => {
  const skip = process.platform === "win32" ? "there are no named pipes in folders" : false;
  it("is ignored under any name", { skip }, async (t) => {
    const file = join(await createTestFolder(t), "emulator.json");
    const emulator = await startTestEmulator(t, { file });
    await save(emulator, "good");
    await mkdir(`${file}.snapshots/dir.json`);
    execFileSync("mkfifo", [`${file}.snapshots/fifo.json`]);
    const { body } = await emulator.control("GET", "snapshots");
    assert.deepEqual(
      (body as { name: string }[]).map(({ name }) => name),
      ["good"],
    );
    for (const name of ["dir", "fifo"]) {
      const hint = "List them with `svc emulator snapshot list`.";
      const missing = createErrorResponse(404, "no_such_snapshot", `Snapshot ${name} not found. Known: good.`, hint);
      await assertRejected(emulator, () => emulator.control("POST", `snapshots/${name}/restore`), missing);
      assert.deepEqual(pickStatusAndBody(await emulator.control("DELETE", `snapshots/${name}`)), missing);
    }
    assert.equal((await emulator.control("POST", "snapshots/good/restore")).status, 200);
  });
});

describe("snapshot name", () => {
  it("is unique regardless of case, unless replacement is requested (snapshot-exists)", async (t) => {
    const emulator = await startTestEmulator(t, { file: join(await createTestFolder(t), "emulator.json") });
    await save(emulator, "Prepared");
    const hint = "Choose another name, or use --replace.";
    const response = createErrorResponse(409, "snapshot_exists", "Snapshot Prepared already exists.", hint);
    assert.deepEqual(pickStatusAndBody(await emulator.control("PUT", "snapshots/prepared")), response);
    assert.equal((await emulator.control("PUT", "snapshots/prepared?replace=true")).status, 201);
    const { body } = await emulator.control("GET", "snapshots");
    assert.deepEqual(
      (body as { name: string }[]).map(({ name }) => name),
      ["prepared"],
    );
  });

  for (const name of ["..", ".hidden", "a%2Fb", "..%2Femulator", "a b", "a".repeat(65), "before-1", "BEFORE-2"]) {
    it(`rejects ${name}`, async (t) => {
      const { control } = await startTestEmulator(t);
      const { status } = await control("PUT", `snapshots/${name}`);
      assert.ok(status === 400 || status === 404 || status === 405, String(status));
      assert.deepEqual((await control("GET", "snapshots")).body, []);
    });
  }
});

describe("modified snapshot file", () => {
  const harm: Record<string, readonly [harm: (file: string) => Promise<unknown>, reason: string]> = {
    truncated: [(file) => truncate(file, 5_000), "line N: the line is damaged"],
    "truncated at the end of a line": [
      async (file) => writeFile(file, (await readFile(file, "utf8")).split("\n").slice(0, -3).join("\n")),
      "line N: the file ends too early",
    ],
    edited: [
      async (file) => writeFile(file, (await readFile(file, "utf8")).replace("Ada", "Eve")),
      "line N: the checksum does not match: a line above was changed",
    ],
    "not a snapshot": [(file) => writeFile(file, "hello\n"), "line N: the line is damaged"],
    empty: [(file) => truncate(file, 0), "line N: the file ends too early"],
    "of another version": [
      async (file) => {
        const text = await readFile(file, "utf8");
        await writeFile(
          file,
          text
            .replace(`"written_by": "${svcVersion}"`, '"written_by": "9.9.9"')
            .replace('"contracts":', '"contracts":9'),
        );
      },
      "line N: svc 9.9.9 wrote it, with version 91 of contracts; this version of svc reads versions up to 1",
    ],
  };
  for (const [label, [change, reason]] of Object.entries(harm)) {
    it(`returns unusable-snapshot for a file that is ${label}`, async (t) => {
      const file = join(await createTestFolder(t), "emulator.json");
      const emulator = await startTestEmulator(t, { file });
      await save(emulator, "harmed");
      await createDraftContract(emulator.api);
      await change(join(`${file}.snapshots`, "harmed.json"));
      await assertRejected(
        emulator,
        () => maskLineNumber(emulator.control("POST", "snapshots/harmed/restore")),
        createUnusableSnapshotResponse("harmed", reason),
      );
      for (const read of ["snapshots/harmed", "snapshots/harmed/diff"]) {
        assert.deepEqual(
          pickStatusAndBody(await maskLineNumber(emulator.control("GET", read))),
          createUnusableSnapshotResponse("harmed", reason),
          read,
        );
      }
      assert.deepEqual(((await emulator.control("GET", "snapshots")).body as { name: string }[]).length, 1);
    });
  }

  it("returns an error for a renamed file", async (t) => {
    const folder = join(await createTestFolder(t), "emulator.json");
    const emulator = await startTestEmulator(t, { file: folder });
    await save(emulator, "one");
    await rename(join(`${folder}.snapshots`, "one.json"), join(`${folder}.snapshots`, "two.json"));
    const reason = "it is the renamed snapshot one; rename it back";
    await assertRejected(
      emulator,
      () => emulator.control("POST", "snapshots/two/restore"),
      createUnusableSnapshotResponse("two", reason),
    );
  });

  it("returns an error for an exported state", async (t) => {
    const file = join(await createTestFolder(t), "emulator.json");
    const emulator = await startTestEmulator(t, { file });
    await save(emulator, "exported");
    const response = await fetch(`${emulator.controlUrl}/state`, {
      headers: { authorization: `Bearer ${emulator.token}` },
    });
    await writeFile(join(`${file}.snapshots`, "exported.json"), await response.text());
    const { status, body } = await emulator.control("POST", "snapshots/exported/restore");
    assert.equal(status, 409);
    assert.match(JSON.stringify(body), /the checksum does not match/);
  });

  it("returns an error for a snapshot of other clusters", async (t) => {
    const [value, two] = [
      join(await createTestFolder(t), "emulator.json"),
      join(await createTestFolder(t), "emulator.json"),
    ];
    const otherEmulator = await startTestEmulator(t, {
      file: value,
      seed: { clusters: [{ id: "in-1", label: "in" }] },
    });
    await save(otherEmulator, "foreign");
    const emulator = await startTestEmulator(t, { file: two });
    await save(emulator, "foreign");
    await rename(join(`${value}.snapshots`, "foreign.json"), join(`${two}.snapshots`, "foreign.json"));
    const reason = "it has the clusters in-1, but this emulator runs eu-1, us-1";
    await assertRejected(
      emulator,
      () => emulator.control("POST", "snapshots/foreign/restore"),
      createUnusableSnapshotResponse("foreign", reason),
    );
  });
});
