import assert from "node:assert/strict";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { pickStatusAndBody, startTestEmulator } from "../../../support/emulator.ts";
import { mountSmallDisk } from "../../../support/files/small-disk.ts";
import { postgresSkipReason, startPostgresServer } from "../../../support/postgres/server.ts";
import { bulkOperations, createBulkBody } from "../../../support/routed-emulator.ts";
import { getState } from "../../travel/travel.ts";

describe("full disk of the database", { skip: postgresSkipReason }, () => {
  const server = startPostgresServer();

  it("rejects writes and uploads but not reads, until space is available", async (t) => {
    const folder = await mountSmallDisk(t, 24);
    if (folder === undefined) return t.skip("no small disk can be mounted here");
    const database = await server().databaseIn(folder);
    t.after(() => server().stop("SIGQUIT"));
    const emulator = await startTestEmulator(t, { store: server().url({ database }), ephemeral: false });
    const map = async (id: string) =>
      pickStatusAndBody(
        await emulator.router("POST", bulkOperations.emails.path, { body: createBulkBody("emails", "eu-1", [id]) }),
      );
    const files = [{ filename: "msa.pdf", content_type: "application/pdf" }];
    const { body } = await emulator.api("POST", "/api/v2.1/public/workspace/files/uploads/", { body: { files } });
    const [{ upload_url: url }] = (body as { files: [{ upload_url: string }] }).files;
    const upload = () =>
      fetch(url, { method: "PUT", body: Buffer.alloc(100_000), headers: { "content-type": "application/pdf" } });
    assert.equal((await map("before")).status, 200);

    await writeFile(join(folder, "other"), Buffer.alloc(32_000_000)).catch(() => {});
    const response = await upload();
    assert.deepEqual([response.status, /space|disk/.test(await response.text())], [503, false]);
    // The rest of the last page of a table has space for some rows.
    let mapResponse = await map("away-0");
    const acknowledgedIds = ["before"];
    for (let i = 1; mapResponse.status === 200; i += 1) {
      acknowledgedIds.push(`away-${i - 1}`);
      mapResponse = await map(`away-${i}`);
    }
    assert.deepEqual(mapResponse, { status: 503, body: { detail: "The service cannot write its state" } });
    assert.equal((await emulator.router("GET", "/")).status, 200);

    await rm(join(folder, "other"));
    while ((await map("back")).status !== 200);
    assert.equal((await upload()).status, 200);
    const { mappings } = (await getState(emulator)) as { mappings: { cluster_emails: object } };
    const storedIds = Object.keys(mappings.cluster_emails).filter((id) => /^(?:before|away-\d+|back)$/.test(id));
    assert.deepEqual(storedIds.sort(), [...acknowledgedIds, "back"].sort());
  });
});
