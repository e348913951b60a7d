import { contentHash } from "../../schemes/webhook.ts";
import { type Deliveries, sortKeys } from "./deliveries.ts";
import { spacedAscii } from "./genuine-checks.ts";
import { createSender, type Delivery, isAccepted } from "./sender.ts";

/** A signature as a receiver with these mistakes computes it. */
interface Candidate {
  readonly mistakes: readonly string[];
  readonly hash: (body: string, deliveries: Deliveries) => string;
}

const sortedOf = (body: string): string => JSON.stringify(sortKeys(JSON.parse(body)));

const candidates: readonly Candidate[] = [
  {
    mistakes: ["wrong-digest", "key-not-decoded"],
    hash: (body, deliveries) => deliveries.hash(body, { digest: "sha256", key: deliveries.key }),
  },
  {
    mistakes: ["wrong-encoding", "key-not-decoded"],
    hash: (body, deliveries) => deliveries.hash(body, { encoding: "base64", key: deliveries.key }),
  },
  {
    mistakes: ["wrong-digest", "wrong-encoding"],
    hash: (body, deliveries) => deliveries.hash(body, { digest: "sha256", encoding: "base64" }),
  },
  { mistakes: ["wrong-digest"], hash: (body, deliveries) => deliveries.hash(body, { digest: "sha1" }) },
  { mistakes: ["wrong-digest"], hash: (body, deliveries) => deliveries.hash(body, { digest: "sha384" }) },
  { mistakes: ["wrong-encoding"], hash: (body, { key }) => `sha512=${contentHash(key, body)}` },
  { mistakes: ["reserialized-json"], hash: (body, { key }) => contentHash(key, spacedAscii(sortedOf(body))) },
  {
    mistakes: ["reserialized-json", "key-not-decoded"],
    hash: (body, deliveries) => deliveries.hash(spacedAscii(body), { key: deliveries.key }),
  },
  {
    mistakes: ["reserialized-json", "wrong-digest"],
    hash: (body, deliveries) => deliveries.hash(spacedAscii(body), { digest: "sha256" }),
  },
];

/** Their events have numbers that no check uses. */
const firstNumber = 9_900;

/** Sends an event with each of these signatures, and gives the mistakes of the first that is accepted. */
export async function findAcceptedMistakes(
  deliveries: Deliveries,
  options: Parameters<typeof createSender>[0],
): Promise<readonly string[]> {
  const send = createSender(options);
  for (const [i, { mistakes, hash }] of candidates.entries()) {
    const body = deliveries.event(firstNumber + i);
    const delivery: Delivery = deliveries.signed(body, hash(body, deliveries));
    if (isAccepted(await send(delivery))) return mistakes;
  }
  return [];
}
