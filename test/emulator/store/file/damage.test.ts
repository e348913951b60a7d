import assert from "node:assert/strict";
import { cp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { openFileStore } from "../../../../emulator/store/file/file-store.ts";
import { repairFile } from "../../../../emulator/store/file/recovery.ts";
import type { Store } from "../../../../emulator/store/port.ts";
import { systemWallClock } from "../../../../src/base/clock.ts";
import { formatLogLine, parseLine } from "../../../../src/files/log-line.ts";
import { addCleanup } from "../../../support/cleanup.ts";
import { collections, createGatedDisk, createPerson, createTemporaryFolder, people } from "../../../support/store.ts";

const open = (folder: string, report?: (text: string) => void): Promise<Store> =>
  openFileStore({
    path: join(folder, "emulator.json"),
    collections,
    wall: systemWallClock,
    compactAfterBytes: 1_000,
    ...(report && { report }),
  });

const putPeople = (store: Store, ...ids: number[]) =>
  Promise.all(
    ids.map((id) => store.transaction("put", (tx) => tx.put(people, createPerson(id, { name: `name ${id}` })))),
  );

async function readIds(folder: string, report?: (text: string) => void): Promise<number[]> {
  const store = await open(folder, report);
  const rows = store.list(people);
  await store.close();
  return rows.map((row) => row.id);
}

/**
 * Returns the files after a crash: a checkpoint with row 1, and a journal with rows 2, 3, 4 to 6 in one group, and 7.
 */
async function createCrashedState(t: TestContext): Promise<{ folder: string; journal: string }> {
  const folder = await createTemporaryFolder(t);
  const first = await open(folder);
  await putPeople(first, 1);
  await first.close();
  const store = await open(folder);
  addCleanup(t, () => store.close());
  await putPeople(store, 2);
  await putPeople(store, 3, 4, 5, 6);
  await putPeople(store, 7);
  const copy = await createTemporaryFolder(t);
  await cp(folder, copy, { recursive: true });
  return { folder: copy, journal: join(copy, "emulator.json.journal.2") };
}

type Change = (lines: string[]) => string[];
const createZeros = (line: string): string => "\0".repeat(Buffer.byteLength(line));

async function changeJournal(journal: string, change: Change): Promise<void> {
  const lines = (await readFile(journal, "latin1")).split("\n");
  await writeFile(journal, change(lines).join("\n"), "latin1");
}

describe("a damaged journal", () => {
  const first = 1;
  const damages: [label: string, damage: Change | "remove" | "empty", message: RegExp, kept: number[]][] = [
    ["is removed", "remove", /journal\.2 is missing or empty, but .*emulator\.json continues in it/, [1]],
    ["is emptied", "empty", /journal\.2 is missing or empty/, [1]],
    ["is cut in its first line", ([head]) => [head!.slice(0, 20)], /journal\.2 is missing or empty/, [1]],
    ["lacks a line", (lines) => lines.toSpliced(first, 1), /line 2: a line before it is missing/, [1]],
    ["lacks two lines", (lines) => lines.toSpliced(first + 1, 2), /line 3: 2 lines before it are missing/, [1, 2]],
    [
      "has two swapped lines",
      (lines) => lines.with(first, lines[first + 1]!).with(first + 1, lines[first]!),
      /line 2: a line before it is missing/,
      [1],
    ],
    ["has a repeated line", (lines) => lines.toSpliced(first, 0, lines[first]!), /line 3: it does not follow/, [1, 2]],
    [
      "has a hole before a later group",
      (lines) => lines.map((line, at) => (at >= 3 && at <= 5 ? createZeros(line) : line)),
      /line 4: the checksum of the line does not match/,
      [1, 2, 3],
    ],
    [
      "has a changed last line",
      (lines) => lines.with(-2, lines.at(-2)!.replace("name 7", "name 8")),
      /line 7: the checksum of the line does not match/,
      [1, 2, 3, 4, 5, 6],
    ],
    [
      "has a changed line in its last group",
      (lines) => [...lines.slice(0, 6).with(3, lines[3]!.replace("name 4", "name 9")), ""],
      /line 4: the checksum of the line does not match/,
      [1, 2, 3],
    ],
    [
      "contains only a changed first line",
      ([head]) => [head!.replace("svc_journal", "SVC_journal"), ""],
      /line 1: the checksum of the line does not match/,
      [1],
    ],
    [
      "has a hole of several lines including newlines",
      (lines) => [...lines.slice(0, 2), createZeros(lines.slice(2, 6).join("\n")) + lines[6], ...lines.slice(6)],
      /line 3: the checksum of the line does not match/,
      [1, 2],
    ],
    [
      "has a line with an invalid structure",
      (lines) => [...lines.slice(0, -1), createNextLine(lines.at(-2)!, '{"put":1}'), ""],
      /line 8: the line does not contain changes/,
      [1, 2, 3, 4, 5, 6, 7],
    ],
    [
      "has an invalid change",
      (lines) => [...lines.slice(0, -1), createNextLine(lines.at(-2)!, '[["map","owners","eu-1",{}]]'), ""],
      /line 8: the line does not contain changes/,
      [1, 2, 3, 4, 5, 6, 7],
    ],
    [
      "has a line that is not JSON",
      (lines) => [...lines.slice(0, -1), createNextLine(lines.at(-2)!, "[["), ""],
      /line 8: the line does not contain changes/,
      [1, 2, 3, 4, 5, 6, 7],
    ],
  ];
  for (const [label, damage, message, retainedIds] of damages) {
    it(`is rejected and repaired if it ${label}`, async (t) => {
      const { folder, journal } = await createCrashedState(t);
      if (damage === "remove") await rm(journal);
      else if (damage === "empty") await writeFile(journal, "");
      else await changeJournal(journal, damage);
      const before = await readdir(folder);
      await assert.rejects(open(folder), (error: Error) => {
        assert.equal(error.name, "StateFormatError");
        assert.match(error.message, message);
        assert.match(error.message, /Nothing was changed\. Run "svc emulator repair/);
        return true;
      });
      assert.deepEqual(await readdir(folder), before);
      const { repaired, damage: foundDamage } = await repairFile({ path: join(folder, "emulator.json"), collections });
      assert.equal(repaired, true);
      assert.match(foundDamage.join(), message);
      assert.deepEqual(await readIds(folder), retainedIds);
    });
  }

  for (const damageKind of ["removed", "emptied"]) {
    it(`is rejected if the next journal is ${damageKind}`, async (t) => {
      const folder = await createTemporaryFolder(t);
      const path = join(folder, "emulator.json");
      const first = await open(folder);
      await first.close();
      // Compactions start and never finish, so their journals follow each other.
      const disk = createGatedDisk((call, at) => {
        if (call === "write" && at.endsWith(".svc-tmp")) throw new Error("not now");
      });
      const store = await openFileStore({ path, collections, wall: systemWallClock, disk, compactAfterBytes: 1 });
      addCleanup(t, () => store.close());
      let next: string | undefined;
      for (let id = 1; next === undefined; id += 1) {
        await putPeople(store, id);
        const text = await readFile(join(folder, "emulator.json.journal.1"), "utf8");
        next = /\{"next":(\d+)\}/.exec(text)?.[1];
      }
      const copy = await createTemporaryFolder(t);
      await cp(folder, copy, { recursive: true });
      const last = join(copy, `emulator.json.journal.${next}`);
      if (damageKind === "removed") await rm(last);
      else await writeFile(last, "");
      // Meanwhile a new journal may have been created, which names the previous one.
      const message =
        /journal\.\d+ is missing or empty, but .*journal\.\d+ continues in it|the previous journal \(generation \d+\) is missing/;
      await assert.rejects(open(copy), message);
    });
  }
});

describe("write interrupted by a machine crash", () => {
  const tails: [label: string, torn: Change, kept: number[]][] = [
    ["only its length was written", (lines) => replaceWithZerosFrom(lines, 6), [1, 2, 3, 4, 5, 6]],
    ["several of its lines were not written", (lines) => replaceWithZerosFrom(lines.slice(0, 6), 2), [1, 2]],
    [
      "its first half was not written",
      (lines) => [...lines.slice(0, 3), ...replaceFirstWithZeros(lines.slice(3, 6)), ""],
      [1, 2, 3],
    ],
    [
      "its middle was not written",
      (lines) => [...lines.slice(0, 4), ...replaceFirstWithZeros(lines.slice(4, 6)), ""],
      [1, 2, 3, 4],
    ],
    ["it ends within a line", (lines) => [...lines.slice(0, 5), lines[5]!.slice(0, 30)], [1, 2, 3, 4, 5]],
  ];
  for (const [label, torn, retainedIds] of tails) {
    it(`is removed and reported if ${label}`, async (t) => {
      const { folder, journal } = await createCrashedState(t);
      await changeJournal(journal, torn);
      const reports: string[] = [];
      assert.deepEqual(await readIds(folder, (text) => reports.push(text)), retainedIds);
      assert.deepEqual(await readdir(folder), ["emulator.json"]);
      assert.deepEqual(reports, [
        `${journal} ends with an incomplete write, which was not acknowledged. It is removed`,
      ]);
    });
  }
});

/** Returns a line that continues another one. */
function createNextLine(line: string, json: string): string {
  const { number, checksum } = parseLine(Buffer.from(line, "latin1"))!;
  const head = { number: number + 1, group: number + 1, before: checksum };
  return formatLogLine(json, head).bytes.toString("latin1").slice(0, -1);
}

const replaceWithZerosFrom = (lines: string[], index: number): string[] => [
  ...lines.slice(0, index),
  createZeros(lines.slice(index).join("\n")),
];

/** Replaces the first line and its newline with zeros. */
const replaceFirstWithZeros = ([lost, next, ...rest]: string[]): string[] => [
  `${createZeros(`${lost}\n`)}${next}`,
  ...rest,
];
