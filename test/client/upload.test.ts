import assert from "node:assert/strict";
import { it, type TestContext } from "node:test";
import { createClient } from "../../src/client/index.ts";
import { readBodyText } from "../../src/client/response.ts";
import { startTestEmulator } from "../support/emulator.ts";

async function upload(t: TestContext, body: Buffer) {
  const { url, clientId, clientSecret } = (await startTestEmulator(t)).clusters[0]!;
  const client = createClient({ baseUrls: { contracts: url }, credentials: { clientId, clientSecret } });
  t.after(() => client.close());

  const file = { filename: "note.txt", content_type: "text/plain" };
  const { files } = await client.call("files.initialize", { body: { files: [file] } });
  const [{ file_id, upload_url }] = files as [(typeof files)[number]];
  await client.call("storage.put", { body }, { url: upload_url, contentType: file.content_type });
  const { signed_url } = await client.call("files.show", { params: { file_id } });
  return { client, signed_url };
}

it("client uploads a file to its signed URL and downloads it", async (t) => {
  const body = Buffer.from("some words");
  const { client, signed_url } = await upload(t, body);
  const bytes = await client.call("storage.get", {}, { url: signed_url });
  assert.equal(await readBodyText(bytes as AsyncIterable<Uint8Array>), "some words");

  const lost = client.call("storage.put", { body });
  await assert.rejects(lost, { message: "storage.put requires the option url: the signed URL" });
});

it("client sends requests while many downloads are unread", { timeout: 20_000 }, async (t) => {
  const { client, signed_url } = await upload(t, Buffer.alloc(300_000));
  for (let i = 0; i < 20; i += 1) await client.call("storage.get", {}, { url: signed_url });
  assert.equal((await client.call("contracts.list")).total_results, 0);
});
