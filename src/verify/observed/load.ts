import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fieldsOf, tryParseJson } from "../../base/object.ts";
import { writeFileAtomic } from "../../files/atomic-write.ts";
import { type Corpus, readCorpus } from "../corpus.ts";
import { replayOnEmulator, type StartReplayEmulator } from "../replay/on-emulator.ts";
import { buildReport } from "../report.ts";
import { type Observations, observationsFrom, readObservations } from "./rules.ts";

/** Where a replay stores what it has derived from a corpus. */
export const observationsName = "observations.json";
const version = 2;

/** Reads a corpus, and what follows from it: as the last replay stored it, else by a replay now. */
export async function loadObservations(
  folder: string,
  startEmulator: StartReplayEmulator,
  signal?: AbortSignal,
): Promise<Observations> {
  const corpus = await readCorpus(folder);
  const text = await readFile(join(folder, observationsName), "utf8").catch(() => "");
  const stored = fieldsOf(tryParseJson(text));
  const observations =
    stored.version === version && stored.corpus === corpus.digest ? readObservations(stored) : undefined;
  return (
    observations ?? observationsFrom(buildReport(await replayOnEmulator(corpus, startEmulator, signal), {}), corpus)
  );
}

export const storeObservations = ({ folder, digest }: Corpus, observations: Observations): Promise<void> =>
  writeFileAtomic(
    join(folder, observationsName),
    `${JSON.stringify({ version, corpus: digest, ...observations }, undefined, 2)}\n`,
  );
