import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { bundlePackage } from "./support/bundled.ts";
import { sendLoad } from "./support/load.ts";
import { reportFigure } from "./support/measure.ts";
import { ProcessGroup } from "./support/processes.ts";

/** Measures the memory of an idle emulator, and after as many requests as in a busy hour. */
const requests = 60_000;
const broadcastSeconds = 60;

{
  await using process = await startShipped();
  reportFigure("memory of an idle emulator, MB", process.rssMb(), "< 110");
  const body = JSON.stringify({ event: "x".repeat(1_000) });
  const end = performance.now() + broadcastSeconds * 1_000;
  while (performance.now() < end) {
    await sendLoad({ url: process.url, path: "/some/hook", method: "POST", body, connections: 64, count: 1_000 });
  }
  reportFigure("memory after a minute of broadcasts over 64 connections, MB", process.rssMb(), "<= 200");
}

await using parties = new ProcessGroup();
const emulator = await parties.emulator({ ephemeral: true });
const sendRequests = (count: number) =>
  sendLoad({ url: emulator.ready.url, path: `/router/v1/clusters?filler=${"x".repeat(500)}`, connections: 16, count });
await sendRequests(requests / 3);
const before = (await emulator.usage()).heapMb;
await sendRequests(requests);
reportFigure("heap after 60,000 further requests, against before", (await emulator.usage()).heapMb / before, "<= 1.1");

/**
 * Starts the packaged command and reads its memory from the system, because a loader of the sources would count too.
 * Linux only.
 */
async function startShipped() {
  const { folder, remove } = await bundlePackage();
  const args = [join(folder, "bin", "svc.js"), "emulator", "start", "--port", "0", "--ephemeral", "--json"];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = await once(createInterface({ input: child.stdout }), "line");
  return {
    url: JSON.parse(line).router_url as string,
    rssMb: () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1]) / 1_024,
    async [Symbol.asyncDispose]() {
      child.kill();
      await once(child, "exit");
      await remove();
    },
  };
}
