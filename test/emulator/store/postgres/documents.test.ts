import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { describe, it, type TestContext } from "node:test";
import { addCleanup } from "../../../support/cleanup.ts";
import { postgresSkipReason, startPostgresServer } from "../../../support/postgres/server.ts";
import { openStore } from "./opened.ts";

const hashSha256 = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");

async function* streamPieces(...pieces: (string | Buffer)[]): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) yield Buffer.from(piece);
}

async function* streamBroken(): AsyncGenerator<Uint8Array> {
  yield Buffer.from("half\n");
  throw new Error("no more");
}

async function readWhole(bytes: AsyncIterable<Uint8Array> | undefined): Promise<Buffer | undefined> {
  if (bytes === undefined) return undefined;
  const pieces: Uint8Array[] = [];
  for await (const piece of bytes) pieces.push(piece);
  return Buffer.concat(pieces);
}

describe("document storage in PostgreSQL", { skip: postgresSkipReason }, () => {
  const server = startPostgresServer();

  async function openTestStore(t: TestContext) {
    const schema = server().freshSchema();
    const { store, ...rest } = await openStore({ url: server().url(), schema });
    addCleanup(t, () => store.close());
    const sql = (text: string) => server().sql((sql) => sql.unsafe(text.replaceAll("SCHEMA", schema)));
    return { ...rest, sql };
  }

  it("stores uploaded bytes of any content and size by their hash", async (t) => {
    const { blobs, sql } = await openTestStore(t);
    const long = randomBytes(2_500_000);
    const contents = [Buffer.alloc(0), Buffer.from("one"), Buffer.from([0, 255, 10, 13, 0]), long];
    for (const bytes of [...contents, long]) {
      const { sha256, size } = await blobs.put(
        streamPieces(bytes.subarray(0, 700_000), bytes.subarray(700_000)),
        2_500_000,
      );
      assert.deepEqual([sha256, size], [hashSha256(bytes), bytes.length]);
    }
    for (const bytes of contents) assert.deepEqual(await readWhole(await blobs.open(hashSha256(bytes))), bytes);
    await assert.rejects(blobs.put(streamPieces("four"), 3), { name: "BlobTooLargeError" });
    await assert.rejects(blobs.put(streamBroken(), 100), { message: "no more" });
    assert.equal(await blobs.open(hashSha256(Buffer.from("four"))), undefined);
    const [row] = await sql("select count(*)::int from SCHEMA.documents where kind = 'blob' and whole");
    assert.equal(row!.count, contents.length);
  });

  it("is readable after the server has closed all connections", async (t) => {
    const { blobs, snapshotStore, sql } = await openTestStore(t);
    const { sha256 } = await blobs.put(streamPieces("one"), 3);
    await snapshotStore.put("two", streamPieces("two\n"));
    const readAll = async () => [
      String(await readWhole(await blobs.open(sha256))),
      String(await readWhole(await snapshotStore.open("two"))),
    ];
    assert.deepEqual(await readAll(), ["one", "two\n"]);
    await sql("select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name = 'svc'");
    const texts = await readAll().catch(readAll).catch(readAll);
    assert.deepEqual(texts, ["one", "two\n"]);
  });

  it("retains unreferenced uploads for 30 days", async (t) => {
    const { blobs, sql } = await openTestStore(t);
    const [referenced, unnamed] = [
      await blobs.put(streamPieces("named"), 9),
      await blobs.put(streamPieces("unnamed"), 9),
    ];
    const collect = () =>
      blobs.collect(
        async () => new Set([referenced.sha256]),
        async () => new Set(),
      );
    const later = (days: number) =>
      sql(`update SCHEMA.documents set made = made - interval '${days} days',
        unnamed_since = unnamed_since - interval '${days} days' where kind = 'blob'`);
    const checkOpen = async () => [
      Boolean(await blobs.open(referenced.sha256)),
      Boolean(await blobs.open(unnamed.sha256)),
    ];
    await later(31);
    assert.deepEqual([await collect(), await checkOpen()], [0, [true, true]]);
    await later(29);
    assert.deepEqual([await collect(), await checkOpen()], [0, [true, true]]);
    await blobs.extendUnreferencedRetention();
    await later(2);
    assert.deepEqual([await collect(), await checkOpen()], [0, [true, true]]);
    await later(31);
    assert.deepEqual([await collect(), await checkOpen()], [1, [true, false]]);
  });

  it("stores the last snapshot of each name completely or not at all", async (t) => {
    const { snapshotStore } = await openTestStore(t);
    const read = async (name: string) => (await readWhole(await snapshotStore.open(name)))?.toString();
    const long = `${"ä".repeat(300_000)}\n`.repeat(3);
    await snapshotStore.put("a", streamPieces("one\ntw", "o\n"));
    await snapshotStore.put("a10", streamPieces(long));
    await snapshotStore.put("a9", streamPieces("nine"));
    await snapshotStore.put("A", streamPieces("three\n"));
    await assert.rejects(snapshotStore.put("a9", streamBroken()), { message: "no more" });
    await assert.rejects(snapshotStore.put("b", streamBroken()), { message: "no more" });
    assert.deepEqual(
      (await snapshotStore.list()).map(({ name, bytes, file }) => [name, bytes, file]),
      [
        ["A", 6, undefined],
        ["a9", 4, undefined],
        ["a10", Buffer.byteLength(long), undefined],
      ],
    );
    assert.deepEqual(
      [await read("A"), await read("a9"), await read("b"), await read("../a")],
      ["three\n", "nine", undefined, undefined],
    );
    assert.equal(await read("a10"), long);
    assert.deepEqual(
      [await snapshotStore.remove("A"), await snapshotStore.remove("A"), await read("A")],
      [true, false, undefined],
    );
  });
});
