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
    if (!(cause instanceof CorpusError)) throw cause;
    const problems = [{ path: ["observed"], message: `: ${cause.message}` }];
    throw new InvalidOptionsError(`observed: ${cause.message}`, { cause, problems });
  });
  for (const { id, reason } of observations.rejected) log(`Observation ${id} is not applied: ${reason}.`);
  return new ObservationApplier(observations);
}
