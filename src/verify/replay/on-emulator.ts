import demo from "../../../fixtures/seeds/demo.json" with { type: "json" };
import type { Corpus } from "../corpus.ts";
import { type ReplayedExchange, replayCorpus } from "./replay.ts";
import { seedFromCorpus } from "./seed.ts";

/** The parts of an emulator that a replay uses. */
interface ReplayEmulator {
  readonly routerUrl: string;
  readonly clusters: readonly { readonly id: string; readonly url: string }[];
  readonly clock: { now(): number; advance(target: { readonly to: number }): Promise<unknown> };
  close(): Promise<void>;
}

/** The door of the emulator: this layer is below it. */
export type StartReplayEmulator = (options: {
  readonly ephemeral: true;
  readonly seed: object;
  readonly clock: { readonly mode: "manual"; readonly start: string };
  readonly log: (line: string) => void;
}) => Promise<ReplayEmulator>;

/** Replays a corpus on a fresh emulator whose state is made from it. */
export async function replayOnEmulator(
  corpus: Corpus,
  startEmulator: StartReplayEmulator,
  signal?: AbortSignal,
): Promise<ReplayedExchange[]> {
  const { exchanges } = corpus;
  const seed = seedFromCorpus(exchanges, demo);
  const start = new Date((exchanges[0]?.at ?? Date.parse(demo.time)) - 1).toISOString();
  const emulator = await startEmulator({ ephemeral: true, seed, clock: { mode: "manual", start }, log: () => {} });
  try {
    return await replayCorpus(corpus, {
      url: (callee) => (callee === "router" ? emulator.routerUrl : emulator.clusters[0]?.url),
      clock: { now: () => emulator.clock.now(), advance: (to) => emulator.clock.advance({ to }) },
      readsOnly: false,
      ...(signal && { signal }),
    });
  } finally {
    await emulator.close();
  }
}
