import { writeJson } from "../../../../base/json.ts";
import { describeResponse } from "./check.ts";
import {
  type DeliveryFactory,
  digest,
  type ForgeryOptions,
  isAccepted,
  otherDigest,
  otherEncoding,
  type RawDelivery,
  type ReceiverResponse,
} from "./delivery.ts";
import { sortJsonKeys } from "./delivery-checks.ts";
import type { MistakeName } from "./mistakes.ts";
import { type ReceiverCheckResult, wasAccepted } from "./run.ts";

export interface ReceiverDiagnosis {
  readonly mistake: MistakeName;
  readonly checks: readonly string[];
}

type SendDelivery = (delivery: RawDelivery) => Promise<ReceiverResponse>;

/**
 * Finds the likely mistakes. If the receiver accepts no delivery, this searches for signatures that it accepts, and the
 * checks of rejections become `not_checked`, because they prove nothing.
 */
export async function diagnoseReceiver(
  items: readonly ReceiverCheckResult[],
  deliveries: DeliveryFactory,
  send: SendDelivery,
): Promise<{ readonly items: readonly ReceiverCheckResult[]; readonly diagnoses: readonly ReceiverDiagnosis[] }> {
  if (items.some(acceptsDelivery)) return { items, diagnoses: findMistakes(items, []) };
  const first = items[0]?.exchanges[0]?.response;
  const isRejection = first?.error === undefined && first?.status !== undefined && first.status >= 400;
  const acceptedMistakes = isRejection ? await findAcceptedMistakes(deliveries, send) : [];
  const detail = `no genuine event is accepted (${first ? describeResponse(first) : "nothing was sent"})`;
  const provenItems = items.map((item) =>
    item.check.expects === "reject" ? { ...item, result: "not_checked" as const, detail } : item,
  );
  return { items: provenItems, diagnoses: findMistakes(provenItems, acceptedMistakes) };
}

const acceptsDelivery = (item: ReceiverCheckResult): boolean =>
  item.check.expects === "reject" ? wasAccepted(item) : item.check.expects === "accept" && item.result === "passed";

/** Checks of wrong signatures, each of which a receiver with one mistake accepts. */
const wrongSignatureCheckIds = ["undecoded-key", otherDigest, otherEncoding, "upper-case"].map(
  (name) => `signature.${name}`,
);

/** Checks of JSON formats, which differ between serializers. */
const jsonFormCheckIds = ["genuine", "raw-body.spaced", "raw-body.escaped", "raw-body.key-order", "raw-body.numbers"];

/** Checks of events with fields that no event of the service has. */
const unknownFieldCheckIds = ["event.unknown-fields", "raw-body.numbers", "raw-body.long"];

const partialBodyCheckIds = ["raw-body.split-character", "raw-body.long", "transfer.chunked"];

/**
 * Finds the likely mistakes by the pattern over all checks, because one mistake usually fails several checks.
 * `acceptedMistakes` lists the signature mistakes that the receiver accepted although it rejected all genuine
 * deliveries.
 */
function findMistakes(
  items: readonly ReceiverCheckResult[],
  acceptedMistakes: readonly MistakeName[],
): ReceiverDiagnosis[] {
  const problems = items.filter(({ result }) => result === "failed" || result === "warning");
  const open = new Map(problems.map((item) => [item.check.id, item]));
  const diagnoses: ReceiverDiagnosis[] = [];
  const rejections = new Set(items.filter(isSignature).flatMap((item) => getRejection(item) ?? []));
  /** A receiver that rejects signatures with another status has accepted the signature of the event. */
  const canBeSignature = (item: ReceiverCheckResult) =>
    rejections.size === 0 || rejections.has(getRejection(item) ?? 0);

  const addDiagnosis = ([mistakes, matches]: Explanation) => {
    const checks = [...open.values()].filter(matches).map(({ check }) => check.id);
    for (const id of checks) open.delete(id);
    if (checks.length > 0) diagnoses.push(...[mistakes].flat().map((mistake) => ({ mistake, checks })));
  };

  // A receiver that has ended hides all other mistakes.
  addDiagnosis(["receiver-ended", (item) => item.receiverEnd !== undefined && !isCrash(item)]);
  if (items.some((item) => item.check.id === "signature.other-key" && wasAccepted(item))) {
    const isIgnored = items.some(({ check, result }) => check.id === "signature.not-processed" && result === "passed");
    const isReported = (item: ReceiverCheckResult) =>
      isSignature(item) && (!isIgnored || item.check.expects === "reject");
    addDiagnosis([isIgnored ? "rejection-unreported" : "signature-unchecked", isReported]);
  }
  // The receiver accepted these events, so they show nothing else.
  addDiagnosis(["broken-response", (item) => isGenuine(item) && item.result === "warning"]);

  const genuine = open.get("genuine");
  if (genuine?.exchanges[0]) addDiagnosis(explainRejectedEvent(genuine, items, open, acceptedMistakes, canBeSignature));
  else {
    const rewritten = jsonFormCheckIds.flatMap((id) => open.get(id) ?? []).filter(canBeSignature);
    if (rewritten.length > 1) {
      const isSame = hasSameRejection(rewritten[0]!);
      const isRewritable = ({ check }: ReceiverCheckResult) =>
        isJsonForm(check.id) || check.id === "event.unknown-fields";
      addDiagnosis(["reserialized-json", (item) => isRewritable(item) && isSame(item)]);
    }
    const [split, long] = partialBodyCheckIds.map((id) => open.get(id));
    if (split && long && getRejection(split) === getRejection(long) && !open.has("raw-body.non-ascii")) {
      const isPartial = (item: ReceiverCheckResult) => partialBodyCheckIds.includes(item.check.id);
      addDiagnosis(["partial-body", (item) => isPartial(item) && hasSameRejection(split)(item)]);
    }
  }

  const unknownFields = open.get("event.unknown-fields");
  if (unknownFields) {
    const isSame = hasSameRejection(unknownFields);
    addDiagnosis(["unknown-fields", (item) => unknownFieldCheckIds.includes(item.check.id) && isSame(item)]);
  }
  const getMistake = (item: ReceiverCheckResult) => {
    const mistake = getOwnMistake(item);
    return signatureMistakes.includes(mistake) && !canBeSignature(item) ? "unexplained" : mistake;
  };
  for (const mistake of new Set([...open.values()].map(getMistake)))
    addDiagnosis([mistake, (item) => getMistake(item) === mistake]);
  return diagnoses;
}

/** Mistakes with which a receiver computes or finds the wrong signature of an event. */
const signatureMistakes: readonly MistakeName[] = ["reserialized-json", "decoded-text", "header-name"];

const isJsonForm = (id: string): boolean => id.startsWith("raw-body.");
const isGenuine = ({ check }: ReceiverCheckResult): boolean => check.expects === "accept";
const isSignature = ({ check }: ReceiverCheckResult): boolean => check.id.startsWith("signature.");

type Explanation = readonly [
  mistakes: MistakeName | readonly MistakeName[],
  matches: (item: ReceiverCheckResult) => boolean,
];

/** Explains the rejection of the genuine event by its response, and by what the receiver accepts instead. */
function explainRejectedEvent(
  genuine: ReceiverCheckResult,
  items: readonly ReceiverCheckResult[],
  open: ReadonlyMap<string, ReceiverCheckResult>,
  acceptedMistakes: readonly MistakeName[],
  canBeSignature: (item: ReceiverCheckResult) => boolean,
): Explanation {
  const { error, status = 0 } = genuine.exchanges[0]!.response;
  if (error) return [error.code === "certificate" ? "certificate" : "broken-response", isGenuine];
  if (status < 400) return ["redirect", isGenuine];
  if (status === 404 || status === 405) return ["wrong-address", isGenuine];
  const accepting = wrongSignatureCheckIds.flatMap((id) => open.get(id) ?? []).find(wasAccepted)?.check;
  if (accepting) {
    const mistake = accepting.id === "signature.upper-case" ? "wrong-encoding" : accepting.mistake;
    return [mistake, (item) => isGenuine(item) || item.check === accepting];
  }
  if (acceptedMistakes.length > 0) return [acceptedMistakes, isGenuine];
  const accepted = items.filter((item) => isGenuine(item) && item.result === "passed");
  if (canBeSignature(genuine) && accepted.some(({ check }) => isJsonForm(check.id)))
    return ["reserialized-json", hasSameRejection(genuine)];
  if (status === 500 && accepted.length === 0) return ["internal-error", isGenuine];
  // A proxy reports with a status above 500 that the receiver is down.
  const isRejected = accepted.length === 0 && status <= 500 && canBeSignature(genuine);
  return [isRejected ? "header-case" : "unexplained", isGenuine];
}

/**
 * Returns the mistake of a single check. A forgery that was not accepted fails only if it got no response in time or
 * ended the receiver. A warning for it means that an exception rejected it.
 */
function getOwnMistake(item: ReceiverCheckResult): MistakeName {
  const { check, exchanges } = item;
  if (check.expects === "reject" && !wasAccepted(item))
    return item.result === "warning" || item.endsReceiver ? "signature-crash" : "broken-response";
  if (exchanges.some(({ response }) => response.status === 429)) return "rate-limited";
  // The first of two deliveries was rejected, which is neither repeated nor late.
  const isFirstRejected = ["duplicate", "order"].includes(check.id) && exchanges.length === 1;
  const isEventRejected = check.id === "probe" && exchanges.some(({ response }) => !isAccepted(response));
  return isFirstRejected || isEventRejected ? "unexplained" : check.mistake;
}

/** Reports whether a check with a known mistake ends the receiver each time. */
const isCrash = (item: ReceiverCheckResult): boolean =>
  item.endsReceiver === true &&
  ["unknown-activity", "unknown-fields", "interrupted", "signature-crash"].includes(getOwnMistake(item));

/** Reports whether two checks have the same rejection status, and therefore the same cause. */
const hasSameRejection =
  (reference: ReceiverCheckResult) =>
  (item: ReceiverCheckResult): boolean =>
    item.check.expects === "accept" && getRejection(item) === getRejection(reference);

const getRejection = ({ exchanges }: ReceiverCheckResult): number | undefined =>
  exchanges.find(({ response }) => !isAccepted(response) && response.error?.code !== "hung-up")?.response.status;

/** Signature rule of a receiver with these mistakes. */
type SignatureCandidate = readonly [
  mistakes: readonly MistakeName[],
  forge: (body: string, deliveries: DeliveryFactory) => ForgeryOptions,
];

const toSpacedAscii = (body: string): string => writeJson(writeJson(body, "escaped"), "spaced");

const weakDigests = (["sha1", "sha384"] as const).filter((weak) => weak !== digest);

const signatureCandidates: readonly SignatureCandidate[] = [
  [["wrong-digest", "key-not-decoded"], (_, { key }) => ({ digest: otherDigest, key })],
  [["wrong-encoding", "key-not-decoded"], (_, { key }) => ({ encoding: otherEncoding, key })],
  [["wrong-digest", "wrong-encoding"], () => ({ digest: otherDigest, encoding: otherEncoding })],
  ...weakDigests.map((weak): SignatureCandidate => [["wrong-digest"], () => ({ digest: weak })]),
  [["wrong-encoding"], () => ({ edit: (signature) => `${digest}=${signature}` })],
  // Java's Integer.toHexString omits the leading zero of a byte.
  [["wrong-encoding"], () => ({ edit: (signature) => signature.replace(/../g, (byte) => byte.replace(/^0/, "")) })],
  [["reserialized-json"], (body) => ({ body: toSpacedAscii(sortJsonKeys(body)) })],
  [["reserialized-json", "key-not-decoded"], (body, { key }) => ({ body: toSpacedAscii(body), key })],
  [["reserialized-json", "wrong-digest"], (body) => ({ body: toSpacedAscii(body), digest: otherDigest })],
];

/** First of the event numbers that no check uses. */
const minCandidateEventNumber = 9_900;

/** Sends an event with the signature of each candidate. Returns the mistakes of the first accepted candidate. */
async function findAcceptedMistakes(deliveries: DeliveryFactory, send: SendDelivery): Promise<readonly MistakeName[]> {
  for (const [i, [mistakes, forge]] of signatureCandidates.entries()) {
    const body = deliveries.createEvent(minCandidateEventNumber + i);
    if (isAccepted(await send(deliveries.forge(body, forge(body, deliveries))))) return mistakes;
  }
  return [];
}
