import { spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startEmulator } from "../../emulator/index.ts";
import { readCorpus } from "../../src/verify/corpus.ts";
import { createSender, startTestEmulator } from "../support/emulator.ts";
import { readReferenceData, recordSession, runContractJourney, subscribe } from "../support/verify/recorded-session.ts";
import { bundlePackage } from "./support/bundled.ts";
import { computeMedian, computeRatios, reportFigure, runAlternately, writeNote } from "./support/measure.ts";

/**
 * Compares `svc verify replay` of 2,000 exchanges, as a process, with a client that sends the same requests one by one
 * to a new emulator and only reads the responses.
 */
const exchanges = 2_000;
const closers: (() => unknown)[] = [];
const t = { after: (close: () => unknown) => closers.push(close) };
const folder = await mkdtemp(join(tmpdir(), "svc-bench-replay-"));
const { folder: bundle, remove } = await bundlePackage();
try {
  const corpus = join(folder, "corpus");
  const service = await startTestEmulator(t, { clock: { mode: "manual", start: "2026-07-08T09:10:11Z" } });
  const session = await recordSession(t, service, corpus);
  await readReferenceData(session);
  await subscribe(session, session.receiverUrl, "CONTRACT_CREATED");
  // Each journey has 10 requests and a webhook.
  for (let at = 0; at < exchanges / 11; at += 1) await runContractJourney(session, `Qx${at}`);
  await session.end();
  for (const close of closers) await close();
  const recorded = await readCorpus(corpus);
  const requests = recorded.exchanges.filter(({ callee }) => callee !== "receiver");

  const bare = async (): Promise<number> => {
    const emulator = await startEmulator({ ephemeral: true, clock: { mode: "manual" } });
    const { url, clientId, clientSecret } = emulator.clusters[0]!;
    const send = createSender(url, {
      "client-id": clientId!,
      "client-secret": clientSecret!,
      "content-type": "application/json",
    });
    const begin = performance.now();
    for (const { request } of requests)
      await send(request.method, request.target, request.body.length > 0 ? { body: request.body } : {});
    const took = performance.now() - begin;
    await emulator.close();
    return took;
  };
  const measureReplay = (): number => {
    const begin = performance.now();
    const argv = [join(bundle, "bin", "svc.js"), "verify", "replay", corpus];
    const { status, stdout, stderr } = spawnSync(process.execPath, argv, { encoding: "utf8" });
    if (status !== 0) throw new Error(`svc verify replay: ${stdout}${stderr}`);
    return performance.now() - begin;
  };
  const [bareMs, replayMs] = await runAlternately(3, [bare, measureReplay]);
  writeNote(`${recorded.exchanges.length} exchanges, ${requests.length} of them requests`);
  reportFigure(
    "2,000 exchanges replayed, against sending their requests one by one",
    computeRatios(replayMs, bareMs),
    "<= 10",
  );
  reportFigure("2,000 exchanges replayed, seconds", computeMedian(replayMs) / 1_000, "< 10");
} finally {
  await rm(folder, { recursive: true, force: true });
  await remove();
}
