import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import type { Operation } from "../../src/api/operation.ts";
import { registry } from "../../src/api/registry.ts";
import { type CreateOptions, type DiskFile, systemDisk } from "../../src/files/disk.ts";
import { startTestEmulator } from "../support/emulator.ts";
import { createTemporaryFolder } from "../support/store.ts";
import { createOperationCall } from "./operation-call.ts";

/** Simulates the disk of all files of this process. Returns the function that fills it. */
function mockFillableDisk(t: TestContext): () => void {
  let isFull = false;
  const room = async () => {
    if (isFull) throw new Error("no space left on device");
  };
  const { create, open } = systemDisk;
  const filling = (file: DiskFile): DiskFile => ({
    ...file,
    write: async (bytes, position) => {
      await room();
      await file.write(bytes, position);
    },
  });
  t.mock.method(systemDisk, "create", async (path: string) => filling(await create(path)));
  t.mock.method(systemDisk, "open", async (path: string, access: "read" | "write") =>
    filling(await open(path, access)),
  );
  return () => {
    isFull = true;
  };
}

/** Simulates a folder without write permission: every new file and folder fails, but open files remain usable. */
function mockReadOnlyFolder(t: TestContext): () => void {
  let isWalled = false;
  const { create, makeFolder } = systemDisk;
  const createDeniedError = (syscall: string, path: string) =>
    Object.assign(new Error(`EACCES: permission denied, ${syscall} '${path}'`), { code: "EACCES", syscall, path });
  t.mock.method(systemDisk, "create", (path: string, permissions?: CreateOptions) =>
    isWalled ? Promise.reject(createDeniedError("open", path)) : create(path, permissions),
  );
  t.mock.method(systemDisk, "makeFolder", (path: string) =>
    isWalled ? Promise.reject(createDeniedError("mkdir", path)) : makeFolder(path),
  );
  return () => {
    isWalled = true;
  };
}

describe("emulator with a read-only state folder", () => {
  it("rejects only operations that need a new file, with a message", async (t) => {
    const wall = mockReadOnlyFolder(t);
    const file = join(await createTemporaryFolder(t), "emulator.json");
    const emulator = await startTestEmulator(t, { file });
    wall();
    const unchanged = (message: string) => ({
      status: 503,
      body: {
        error: {
          code: "store_failed",
          message,
          hint: "Nothing was changed. Free disk space or fix the permissions, and try again. `svc emulator ready` shows whether the state can be written.",
        },
      },
    });
    const send = async (method: string, path: string) => {
      const { status, body } = await emulator.control(method, path);
      return { status, body: JSON.parse(JSON.stringify(body).replace(/\b[0-9a-f]{12}\.svc-tmp/, "TMP")) };
    };
    assert.deepEqual(
      await send("PUT", "snapshots/y"),
      unchanged(`The snapshot cannot be written: permission is denied (EACCES at ${file}.snapshots).`),
    );
    const { body } = await send("POST", "reset");
    assert.match(
      (body as { error: { message: string } }).error.message,
      /emulator\.json cannot be replaced: permission is denied \(EACCES at .*\)\.$/,
    );
    assert.equal((await emulator.control("GET", "ready")).status, 200);
    assert.equal((await emulator.control("POST", "clock/advance", { body: { by: "PT1S" } })).status, 200);
  });
});

/** Reports whether the message names the file that an operation needs. */
const isOfOneFile = (body: unknown): boolean =>
  /"(The snapshot|The upload|[^"]+\.json) cannot be (written|replaced): no space left on device\."/.test(
    JSON.stringify(body),
  );

describe("emulator with a full disk", () => {
  const rejections = {
    router: { detail: "The service cannot write its state" },
    contracts: { detail: "The service cannot write its state." },
    emulator: {
      error: {
        code: "store_failed",
        message: "The emulator cannot write its state.",
        hint: "Nothing was changed. Free space on its disk, or fix the permissions of its files or database. Its log has the reason. It continues when it can write again.",
      },
    },
  };
  for (const [service, rejection] of Object.entries(rejections)) {
    it(`rejects each operation of ${service} as declared, or changes nothing`, async (t) => {
      const fill = mockFillableDisk(t);
      const emulator = await startTestEmulator(t, { file: join(await createTemporaryFolder(t), "emulator.json") });
      const call = createOperationCall(emulator);
      const before = (await emulator.control("GET", "state")).body;
      fill();
      let rejected = 0;
      for (const operation of registry as readonly Operation[]) {
        const { id, method, examples } = operation;
        const [example] = examples;
        if (operation.service.name !== service || method === "GET" || !example || id === "emulator.stop") continue;
        const { status, body } = await call(id, example.params as Readonly<Record<string, string>>, example.body);
        assert.ok(status < 500 || status === 503, `${id}: ${status}`);
        if (status !== 503) continue;
        // Forwarded requests are rejected by the cluster with its own message.
        const isHandedOn = JSON.stringify(body) === JSON.stringify(rejections.contracts);
        if (!isHandedOn && !isOfOneFile(body)) assert.deepEqual(body, rejection, id);
        rejected += 1;
      }
      assert.ok(rejected > 10);
      assert.deepEqual((await emulator.control("GET", "state")).body, before);
    });
  }
});
