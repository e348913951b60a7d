import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { describe, it } from "node:test";
import { createUploadRequest, requireContract } from "../../../support/contracts.ts";
import { createSender, startTestEmulator, type TestEmulator } from "../../../support/emulator.ts";
import { postgresSkipReason, startPostgresServer } from "../../../support/postgres/server.ts";
import { getState, restore, save } from "../../travel/travel.ts";

const createTokenHeader = (token: string) => ({ authorization: `Bearer ${token}` });

/** The checksum of a contract's document. */
async function hashDownload({ clusters: [first] }: TestEmulator, id: string): Promise<string> {
  const headers = { "client-id": first!.clientId!, "client-secret": first!.clientSecret! };
  const response = await fetch(`${first!.url}/api/v2.1/public/contracts/${id}/download`, { method: "POST", headers });
  assert.equal(response.status, 200);
  return createHash("sha256")
    .update(Buffer.from(await response.arrayBuffer()))
    .digest("hex");
}

/** Whether an old token is still accepted. */
const getClockStatus = async ({ routerUrl }: TestEmulator, token: string): Promise<number> =>
  (await createSender(`${routerUrl}/_emulator`, createTokenHeader(token))("GET", "clock")).status;

describe("backup of a PostgreSQL sandbox", { skip: postgresSkipReason }, () => {
  const server = startPostgresServer();

  it("restores contracts, uploads, snapshots, tokens and keys from pg_dump", async (t) => {
    const schema = server().freshSchema();
    const first = await startTestEmulator(t, { store: server().url(), schema, ephemeral: false });
    const { id } = await requireContract(
      first.api("POST", "/api/v2.1/public/contracts/upload_review_contracts/", { body: await createUploadRequest() }),
    );
    const { body } = await first.control("POST", "tokens/ci", { body: { role: "operate" } });
    const { token } = body as { token: string };
    assert.equal(await getClockStatus(first, token), 200);
    await save(first, "before");
    const document = await hashDownload(first, id);
    const state = await getState(first);

    const dump = execFileSync("pg_dump", ["--schema", schema, "--no-owner", server().url()], { maxBuffer: 1 << 28 });
    await server().sql((sql) => sql`create database restored`);
    const restored = server().url({ database: "restored" });
    execFileSync("psql", ["-q", "-v", "ON_ERROR_STOP=1", "-d", restored], {
      input: dump,
      stdio: ["pipe", "ignore", "pipe"],
    });

    const second = await startTestEmulator(t, { store: restored, schema, ephemeral: false });
    assert.deepEqual(
      [second.token, second.clusters.map(({ clientSecret }) => clientSecret), await getClockStatus(second, token)],
      [first.token, first.clusters.map(({ clientSecret }) => clientSecret), 200],
    );
    assert.deepEqual([await hashDownload(second, id), await getState(second)], [document, state]);
    await second.control("POST", "reset");
    await restore(second, "before");
    assert.equal(await hashDownload(second, id), document);
    // The original continues and has not changed.
    assert.deepEqual(await getState(first), state);
  });
});
