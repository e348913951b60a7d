import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readdirSync } from "node:fs";
import { cp, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { collections } from "../../../emulator/compose/state/collections.ts";
import { startEmulator } from "../../../emulator/index.ts";
import { isBlobName } from "../../../emulator/store/file/file-blobs.ts";
import { openFileStore } from "../../../emulator/store/file/file-store.ts";
import { systemWallClock } from "../../../src/base/clock.ts";
import { pluralize } from "../../../src/base/pluralize.ts";
import { sender } from "../../support/emulator.ts";
import { assertGolden } from "../../support/golden.ts";
import { contentOf, temporaryFolder } from "../../support/store.ts";

/** States that earlier versions wrote, a folder for each format, with what is in them as an export tells it. */
const states = fileURLToPath(new URL("../../../fixtures/states/", import.meta.url));
const all = readdirSync(states).flatMap((format) =>
  readdirSync(join(states, format), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => `${format}/${entry.name}`),
);

/** Opens a copy as a user would, and shows all that is in it. */
async function shown(t: TestContext, folder: string): Promise<{ state: string; uploads: string[] }> {
  const file = join(folder, "emulator.json");
  const emulator = await startEmulator({ file, clock: { mode: "manual" }, token: "control" });
  t.after(() => emulator.close());
  const ask = sender(emulator.controlUrl, { authorization: "Bearer control" });
  const { status, body } = await ask("GET", "state");
  assert.equal(status, 200);
  await emulator.close();
  const sections = body as Sections;
  // Beside the uploads stands a note about them.
  const names = (await readdir(join(folder, "files"))).filter(isBlobName);
  const uploads = await Promise.all(
    names.map(async (name) => {
      const hash = createHash("sha256").update(await readFile(join(folder, "files", name)));
      assert.equal(hash.digest("hex"), name);
      return name;
    }),
  );
  // Every upload that a row refers to is there.
  const referred = [...JSON.stringify(sections.rows).matchAll(/"sha256":"([0-9a-f]{64})"/g)].map(([, hash]) => hash!);
  assert.deepEqual([...new Set(referred)].sort(), uploads.sort());
  return { state: lines(sections), uploads };
}

/** A row a line, so that a difference shows as the row that differs. */
const lines = ({ sequences, rows, mappings }: Sections): string =>
  [
    JSON.stringify(sequences),
    ...Object.entries(rows).flatMap(([name, list]) => list.map((row) => `${name} ${JSON.stringify(row)}`)),
    ...Object.entries(mappings).flatMap(([name, owners]) => Object.entries(owners).map((pair) => `${name} ${pair}`)),
    "",
  ].join("\n");

interface Sections {
  readonly sequences: Readonly<Record<string, number>>;
  readonly rows: Readonly<Record<string, readonly object[]>>;
  readonly mappings: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

describe("states of earlier formats", () => {
  it("are kept, each as a crash and as a close left it", () => {
    for (const format of ["1", "2", "3"])
      assert.ok(all.includes(`${format}/killed`) && all.includes(`${format}/closed`));
  });

  for (const name of all) {
    it(`${name} opens with everything in it, and again in the form of today`, async (t) => {
      const folder = await temporaryFolder(t);
      await cp(join(states, name), folder, { recursive: true });
      const { state, uploads } = await shown(t, folder);
      assertGolden(`fixtures/states/${name}.export.txt`, state);
      const beside = name.startsWith("3/") ? ["emulator.json.snapshots"] : [];
      const names = ["emulator.json", "emulator.json.history", ...beside, "files"];
      assert.deepEqual((await readdir(folder)).sort(), names);
      assert.deepEqual(await shown(t, folder), { state, uploads });
    });
  }
});

describe("what led to a state of the third format", () => {
  /** Opens a copy, and asks what must succeed. */
  async function opened(t: TestContext, name: string) {
    const folder = await temporaryFolder(t);
    await cp(join(states, name), folder, { recursive: true });
    const file = join(folder, "emulator.json");
    const on = await startEmulator({ file, deterministic: true, clock: { mode: "manual" }, token: "control" });
    t.after(() => on.close());
    const ask = sender(on.controlUrl, { authorization: "Bearer control" });
    return async (...call: Parameters<typeof ask>) => {
      const { status, body } = await ask(...call);
      assert.equal(status, 200, JSON.stringify(body));
      return body;
    };
  }

  it("can be gone back to, past a rewind of then, and its snapshot and traces can be read", async (t) => {
    const ask = await opened(t, "3/killed");
    const { nodes } = (await ask("GET", "traces/T-10")) as { nodes: readonly { kind: string }[] };
    assert.deepEqual([...new Set(nodes.map(({ kind }) => kind))].sort(), ["attempt", "delivery", "event", "request"]);

    // The first request after the close that 3/closed is of.
    await ask("POST", "rewind", { body: { before: "request:11" } });
    const now = (await ask("GET", "state")) as Sections;
    const then = (await (await opened(t, "3/closed"))("GET", "state")) as Sections;
    assert.deepEqual([now.rows, now.mappings], [then.rows, then.mappings]);

    // The first move of time, which the rewind of then did not take back, and what came before it.
    await ask("POST", "rewind", { body: { before: "request:8" } });
    await ask("POST", "rewind", { body: { steps: 1 } });
    await ask("POST", "snapshots/before-1/restore");
  });
});

it("a signatory of a state in which nobody from outside had a number has the id of no member, and keeps it", async (t) => {
  const folder = await temporaryFolder(t);
  await cp(join(states, "2/closed"), folder, { recursive: true });
  const on = await startEmulator({ file: join(folder, "emulator.json"), clock: { mode: "manual" } });
  t.after(() => on.close());
  const { url, clientId = "", clientSecret = "" } = on.clusters[0]!;
  const api = sender(url, { "client-id": clientId, "client-secret": clientSecret });
  for (let time = 0; time < 2; time += 1) {
    const { body } = await api("GET", "/api/v2.1/public/contracts/T-1/recipients/");
    const { items } = body as { items: { recipient: { id: number; user: { id: number; email: string } } }[] };
    // Zoe, who has a trial, is user 1.
    assert.deepEqual(
      items.map(({ recipient: { id, user } }) => [id, user.email, user.id]),
      [[1, "jo@acme.example", 1_000_000_001]],
    );
  }
});

describe("a journal of the first format", () => {
  it("whose last line a crash cut short opens with all that was before it, and says what was left out", async (t) => {
    const journal = "emulator.json.journal.3";
    const whole = await readFile(join(states, "1/killed", journal));
    const last = whole.lastIndexOf(10, -2) + 1;
    const openedAt = async (end: number) => {
      const folder = await temporaryFolder(t);
      await cp(join(states, "1/killed"), folder, { recursive: true });
      await writeFile(join(folder, journal), whole.subarray(0, end));
      const reports: string[] = [];
      const path = join(folder, "emulator.json");
      const store = await openFileStore({
        path,
        collections,
        wall: systemWallClock,
        report: (line) => reports.push(line),
      });
      const content = await contentOf(store);
      await store.close();
      return { content, reports };
    };
    const before = await openedAt(last);
    const mails = (content: Sections) => content.rows.blackhole_mails?.length;
    assert.deepEqual([mails(before.content), mails((await openedAt(whole.byteLength)).content)], [2, 1]);
    for (const end of [last + 1, last + 9, last + 20, whole.byteLength - 1]) {
      const { content, reports } = await openedAt(end);
      assert.deepEqual(content, before.content, `cut at byte ${end}`);
      assert.match(reports.join(), new RegExp(`an incomplete write \\(${pluralize(end - last, "byte")}\\)`));
    }
  });
});
