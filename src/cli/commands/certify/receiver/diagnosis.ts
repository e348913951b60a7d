import { writeJson } from "../../../../base/json.ts";
import { getDefaultScheme } from "../../../../schemes/webhook-schemes.ts";
import { type DeliveryFactory, type ForgeryOptions, otherDigest, otherEncoding, sortJsonKeys } from "./deliveries.ts";
import type { ReceiverCheckResult } from "./run.ts";
import { hasSucceeded, isAccepted, type RawDelivery, type ReceiverResponse } from "./sender.ts";

export interface Diagnosis {
  readonly mistake: string;
  readonly checks: readonly string[];
}

/** Checks of wrong signatures, each of which a receiver with one mistake accepts. */
const wrongSignatureCheckIds = ["undecoded-key", otherDigest, otherEncoding, "upper-case"].map(
  (name) => `signature.${name}`,
);

/** Checks of JSON formats, which differ between serializers. */
const jsonFormCheckIds = ["genuine", "raw-body.spaced", "raw-body.escaped", "raw-body.key-order", "raw-body.numbers"];

/**
 * Finds the likely mistakes by the pattern over all checks, because one mistake usually fails several checks.
 * `accepted` lists the signature mistakes that the receiver accepted although it rejected all genuine deliveries.
 */
export function diagnoseMistakes(
  items: readonly ReceiverCheckResult[],
  acceptedMistakes: readonly string[] = [],
): readonly Diagnosis[] {
  const open = new Map(items.filter(hasProblem).map((item) => [item.check.id, item]));
  const diagnoses: Diagnosis[] = [];

  const addDiagnosis = (mistake: string, matches: (item: ReceiverCheckResult) => boolean) => {
    const checks = [...open.values()].filter(matches).map(({ check }) => check.id);
    for (const id of checks) open.delete(id);
    if (checks.length > 0) diagnoses.push({ mistake, checks });
  };
  const isOpen = (id: string) => open.has(id);
  const isGenuine = ({ check }: ReceiverCheckResult) => check.expects === "accept";
  const isSignature = ({ check }: ReceiverCheckResult) => check.id.startsWith("signature.");

  // A receiver that has ended hides all other mistakes.
  addDiagnosis("receiver-ended", (item) => item.receiverEnd !== undefined && !isCrash(item));
  if (isOpen("signature.tampered") && isOpen("signature.other-key")) addDiagnosis("signature-unchecked", isSignature);

  const genuine = open.get("genuine");
  const response = genuine?.exchanges[0]?.response;
  if (response) {
    const { error, status = 0 } = response;
    const accepting = wrongSignatureCheckIds.find((id) => isOpen(id) && wasAccepted(open.get(id)!));
    if (error) addDiagnosis("broken-response", isGenuine);
    else if (status < 400) addDiagnosis("redirect", isGenuine);
    else if (status === 404 || status === 405) addDiagnosis("wrong-address", isGenuine);
    else if (accepting !== undefined) {
      const mistake = accepting === "signature.upper-case" ? "wrong-encoding" : open.get(accepting)!.check.mistake;
      addDiagnosis(mistake, (item) => isGenuine(item) || item.check.id === accepting);
    } else if (acceptedMistakes.length > 0) {
      const [first, ...otherMistakes] = acceptedMistakes as [string, ...string[]];
      addDiagnosis(first, isGenuine);
      for (const mistake of otherMistakes) diagnoses.push({ mistake, checks: diagnoses.at(-1)!.checks });
    } else if (items.some((item) => isGenuine(item) && item.result === "passed"))
      addDiagnosis("reserialized-json", hasSameRejection(genuine!));
    else addDiagnosis("header-case", isGenuine);
  } else {
    const rewritten = jsonFormCheckIds.filter(isOpen);
    if (rewritten.length > 1) addDiagnosis("reserialized-json", hasSameRejection(open.get(rewritten[0]!)!));
  }

  for (const mistake of new Set([...open.values()].map(describeMistake)))
    addDiagnosis(mistake, (item) => describeMistake(item) === mistake);
  return diagnoses;
}

/** Reports whether a check with a known mistake ends the receiver each time. */
const isCrash = (item: ReceiverCheckResult): boolean =>
  item.endsReceiver === true &&
  ["unknown-activity", "unknown-fields", "interrupted", "signature-crash"].includes(describeMistake(item));

const hasProblem = ({ result }: ReceiverCheckResult): boolean => result === "failed" || result === "warning";

const wasAccepted = ({ exchanges }: ReceiverCheckResult): boolean =>
  exchanges.some(({ response }) => hasSucceeded(response));

/** Reports whether two checks have the same rejection status, and therefore the same cause. */
const hasSameRejection =
  (reference: ReceiverCheckResult) =>
  (item: ReceiverCheckResult): boolean =>
    item.check.expects === "accept" && getRejection(item) === getRejection(reference);

const getRejection = ({ exchanges }: ReceiverCheckResult): number | undefined =>
  exchanges.find(({ response }) => !isAccepted(response) && response.error?.code !== "hung-up")?.response.status;

/** Returns the mistake of a single check. A warning for a rejected forgery means that an exception rejected it. */
const describeMistake = (item: ReceiverCheckResult): string =>
  item.check.expects === "reject" && item.result === "warning" && !wasAccepted(item)
    ? "signature-crash"
    : item.check.mistake;

/** Signature rules of a receiver with these mistakes. */
interface SignatureCandidate {
  readonly mistakes: readonly string[];
  readonly forge: (body: string, deliveries: DeliveryFactory) => ForgeryOptions;
}

const toSpacedAscii = (body: string): string => writeJson(writeJson(body, "escaped"), "spaced");

const { digest } = getDefaultScheme().format;
const weakDigests = (["sha1", "sha384"] as const).filter((weak) => weak !== digest);

const signatureCandidates: readonly SignatureCandidate[] = [
  { mistakes: ["wrong-digest", "key-not-decoded"], forge: (_, { key }) => ({ digest: otherDigest, key }) },
  { mistakes: ["wrong-encoding", "key-not-decoded"], forge: (_, { key }) => ({ encoding: otherEncoding, key }) },
  { mistakes: ["wrong-digest", "wrong-encoding"], forge: () => ({ digest: otherDigest, encoding: otherEncoding }) },
  ...weakDigests.map((weak) => ({ mistakes: ["wrong-digest"], forge: () => ({ digest: weak }) })),
  { mistakes: ["wrong-encoding"], forge: () => ({ edit: (signature) => `${digest}=${signature}` }) },
  { mistakes: ["reserialized-json"], forge: (body) => ({ body: toSpacedAscii(sortJsonKeys(body)) }) },
  {
    mistakes: ["reserialized-json", "key-not-decoded"],
    forge: (body, { key }) => ({ body: toSpacedAscii(body), key }),
  },
  {
    mistakes: ["reserialized-json", "wrong-digest"],
    forge: (body) => ({ body: toSpacedAscii(body), digest: otherDigest }),
  },
];

/** First of the event numbers that no check uses. */
const minCandidateEventNumber = 9_900;

/** Sends an event with the signature of each candidate. Returns the mistakes of the first accepted candidate. */
export async function findAcceptedMistakes(
  deliveries: DeliveryFactory,
  send: (delivery: RawDelivery) => Promise<ReceiverResponse>,
): Promise<readonly string[]> {
  for (const [i, { mistakes, forge }] of signatureCandidates.entries()) {
    const body = deliveries.createEvent(minCandidateEventNumber + i);
    if (isAccepted(await send(deliveries.forgeDelivery(body, forge(body, deliveries))))) return mistakes;
  }
  return [];
}
