import * as z from "zod";
import { parsedJson } from "../../src/base/object.ts";
import { KeptFaults } from "../faults/faults.ts";
import { IdPlace } from "../world/renewable-ids.ts";

/** What the document of a snapshot says of itself. */
const About = z.object({
  /** Its own, so that a file which somebody renamed is known. */
  name: z.string(),
  /** Virtual milliseconds. */
  at: z.int(),
  /** ISO time of the wall; null under --deterministic, where the wall leaves no trace. */
  saved_at: z.string().nullable(),
});
export type About = z.infer<typeof About>;

/** What an emulator has in memory beside the state, and a snapshot keeps with it. */
const Beside = z.object({
  faults: KeptFaults,
  ids: IdPlace.nullable(),
  /** The number of the last request. */
  requests: z.int(),
  /** Which line of the store's history came last, where one is kept. */
  place: z.object({ number: z.int(), checksum: z.int() }).nullish(),
});
export type Beside = z.infer<typeof Beside>;

/** The members at the top of a snapshot's document. */
export const Head = z.object({ snapshot: About, beside: Beside });
export type Head = z.infer<typeof Head>;

/**
 * What the first lines of a document say of it, without reading the rest; undefined where they do not. Its members stand
 * on a line each.
 */
export function aboutIn(firstBlock: string): About | undefined {
  const line = /^"snapshot": (.*),$/m.exec(firstBlock)?.[1];
  return About.safeParse(parsedJson(line ?? "")).data;
}
