import { CorpusError } from "../../src/verify/corpus.ts";
import { ObservationApplier } from "../../src/verify/observed/apply.ts";
import { loadObservations } from "../../src/verify/observed/observations.ts";
import type { StartReplayEmulator } from "../../src/verify/replay/replay.ts";
import { InvalidOptionsError } from "./options.ts";

/** Reads the corpus of a recorded service. Describes the differences that are not applied. */
export async function openObserver(
  folder: string,
  startReplay: StartReplayEmulator,
  log: (line: string) => void,
): Promise<ObservationApplier> {
  const observations = await loadObservations(folder, startReplay).catch((cause: unknown) => {
    throw cause instanceof CorpusError ? new InvalidOptionsError(`observed: ${cause.message}`, { cause }) : cause;
  });
  for (const { id, reason } of observations.rejected) log(`Observation ${id} is not applied: ${reason}.`);
  return new ObservationApplier(observations);
}
