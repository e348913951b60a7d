import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { bundled } from "./support/bundled.ts";
import { send } from "./support/load.ts";
import { figure } from "./support/measure.ts";
import { Parties } from "./support/processes.ts";

/** What an emulator holds when it does nothing, and after as many requests as a busy hour has. */
const requests = 60_000;

figure("memory of an idle emulator, MB", await idle(), "< 110");

await using parties = new Parties();
const emulator = await parties.emulator({ ephemeral: true });
const ask = (count: number) =>
  send({ url: emulator.ready.url, path: `/router/v1/clusters?filler=${"x".repeat(500)}`, connections: 16, count });
await ask(requests / 3);
const before = (await emulator.usage()).heapMb;
await ask(requests);
figure("heap after 60,000 further requests, against before", (await emulator.usage()).heapMb / before, "<= 1.1");

/** As the system counts it, of the command as it ships: a loader of ours would count too. Linux alone tells. */
async function idle(): Promise<number> {
  const { folder, remove } = await bundled();
  const args = [join(folder, "bin", "svc.js"), "emulator", "start", "--port", "0", "--ephemeral", "--json"];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  try {
    await once(createInterface({ input: child.stdout }), "line");
    const status = readFileSync(`/proc/${child.pid}/status`, "utf8");
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1_024;
  } finally {
    child.kill();
    await once(child, "exit");
    await remove();
  }
}
