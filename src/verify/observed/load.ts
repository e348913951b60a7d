import { readFile } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { tryParseJson } from "../../base/object.ts";
import { svcVersion } from "../../base/version.ts";
import { writeFileAtomic } from "../../files/atomic-write.ts";
import { type Corpus, readCorpus } from "../corpus.ts";
import { replayOnEmulator, type StartReplayEmulator } from "../replay/replay.ts";
import { buildReport } from "../report.ts";
import { deriveObservations, Observations } from "./observations.ts";

/** The file of the data that a replay has derived from a corpus. */
const observationsName = "observations.json";
/** Another version of svc may differ from the corpus in other ways. */
const Stored = Observations.extend({ svc: z.literal(svcVersion), corpus: z.string() });

/** Reads the observations of a corpus: the stored ones of the last replay, or those of a new replay. */
export async function loadObservations(
  folder: string,
  startEmulator: StartReplayEmulator,
  signal?: AbortSignal,
): Promise<Observations> {
  const corpus = await readCorpus(folder);
  const text = await readFile(join(folder, observationsName), "utf8").catch(() => "");
  const stored = Stored.safeParse(tryParseJson(text)).data;
  if (stored?.corpus === corpus.digest) return stored;
  return deriveObservations(buildReport(await replayOnEmulator(corpus, startEmulator, signal), {}), corpus);
}

export const storeObservations = ({ folder, digest }: Corpus, observations: Observations): Promise<void> =>
  writeFileAtomic(
    join(folder, observationsName),
    `${JSON.stringify({ svc: svcVersion, corpus: digest, ...observations }, undefined, 2)}\n`,
  );
