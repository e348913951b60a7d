import { openFileStore } from "../../../../emulator/store/file/file-store.ts";
import { systemWallClock } from "../../../../src/base/clock.ts";
import { collections, createPerson, owners, people } from "../../../support/store.ts";

/**
 * Writes numbers to a store without end, starting at a given one, and prints each one when its transaction is
 * acknowledged. The process is meant to be killed.
 */
const [path = "", from = "1"] = process.argv.slice(2);
const store = await openFileStore({ path, collections, wall: systemWallClock, compactAfterBytes: 4_000 });
let next = Number(from);
const write = async (): Promise<void> => {
  for (;;) {
    const id = next;
    next += 1;
    await store.transaction("write", (tx) => {
      tx.put(people, createPerson(id, { age: id % 7 }));
      tx.map(owners, "eu-1", [`a${id}`, `b${id}`]);
      tx.next("numbers");
    });
    process.stdout.write(`${id}\n`);
  }
};
await Promise.all(Array.from({ length: 16 }, write));
