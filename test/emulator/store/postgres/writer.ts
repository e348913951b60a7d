import { createPerson, owners, people } from "../../../support/store.ts";
import { openStore } from "./opened.ts";

/**
 * Writes numbers to a store without end as soon as it leads, starting at a given one: prints `leads`, and each number
 * when its transaction is acknowledged; `refused` when another process leads. The process is meant to be killed.
 */
const [url = "", schema = "", from = "1", leaseMs = "600"] = process.argv.slice(2);
const { store, leadership } = await openStore({ url, schema, leaseMs: Number(leaseMs), compactAfterBytes: 20_000 });
process.stdout.write("leads\n");
void leadership.lost.then(async () => {
  process.stdout.write("refused\n");
  await store.close();
});
let next = Number(from);
const write = async (): Promise<void> => {
  while (!leadership.isLost) {
    const id = next;
    next += 1;
    try {
      await store.transaction("write", (tx) => {
        tx.put(people, createPerson(id, { age: id % 7 }));
        tx.map(owners, "eu-1", [`a${id}`, `b${id}`]);
        tx.next("numbers");
      });
      process.stdout.write(`${id}\n`);
    } catch {
      // Nothing of it is stored: only acknowledged writes count.
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
};
await Promise.all(Array.from({ length: 16 }, write));
