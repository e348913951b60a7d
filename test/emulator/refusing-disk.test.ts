import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import type { Operation } from "../../src/api/operation.ts";
import { registry } from "../../src/api/registry.ts";
import { type DiskFile, systemDisk } from "../../src/files/disk.ts";
import { emulator } from "../support/emulator.ts";
import { temporaryFolder } from "../support/store.ts";
import { operationCall } from "./operation-call.ts";

/** What all files of this process are written to. Returns the function that fills it. */
function fillableDisk(t: TestContext): () => void {
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

describe("while the disk is full", () => {
  const refusals = {
    router: { detail: "The service cannot write its state" },
    contracts: { detail: "The service cannot write its state." },
    emulator: {
      error: {
        code: "store_failed",
        message: "The emulator cannot write its state.",
        hint: "See `svc emulator status`; changes fail until it can write again, which it tries by itself.",
      },
    },
  };
  for (const [service, refusal] of Object.entries(refusals)) {
    it(`each operation of ${service} is refused as declared, or changes nothing`, async (t) => {
      const fill = fillableDisk(t);
      const world = await emulator(t, { file: join(await temporaryFolder(t), "emulator.json") });
      const call = operationCall(world);
      const before = (await world.ask("GET", "state")).body;
      fill();
      let refused = 0;
      for (const operation of registry as readonly Operation[]) {
        const { id, method, examples } = operation;
        const [example] = examples;
        if (operation.service.name !== service || method === "GET" || !example || id === "emulator.stop") continue;
        const { status, body } = await call(id, example.params as Readonly<Record<string, string>>, example.body);
        assert.ok(status < 500 || status === 503, `${id}: ${status}`);
        if (status !== 503) continue;
        // What is handed on is refused by the cluster, in its words.
        const isHandedOn = JSON.stringify(body) === JSON.stringify(refusals.contracts);
        if (!isHandedOn) assert.deepEqual(body, refusal, id);
        refused += 1;
      }
      assert.ok(refused > 10);
      assert.deepEqual((await world.ask("GET", "state")).body, before);
    });
  }
});
