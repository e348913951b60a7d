import { writeJson } from "../../../../base/json.ts";
import { lookupTable } from "../../../../base/object.ts";
import { getDefaultScheme } from "../../../../schemes/webhook-schemes.ts";
import { type DeliveryFactory, type ForgeryOptions, otherDigest, otherEncoding, sortKeys } from "./deliveries.ts";
import type { ReceiverCheckResult } from "./run.ts";
import { createSender, hasSucceeded, isAccepted } from "./sender.ts";

export interface Diagnosis {
  readonly mistake: string;
  readonly checks: readonly string[];
}

/** Mistakes by failed check. They apply if no pattern over several checks explains the failure. */
const mistakesByCheck = lookupTable<string>({
  "raw-body.spaced": "reserialized-json",
  "raw-body.escaped": "reserialized-json",
  "raw-body.key-order": "reserialized-json",
  "raw-body.numbers": "reserialized-json",
  "raw-body.non-ascii": "decoded-text",
  "raw-body.split-character": "decoded-text",
  "raw-body.indented": "decoded-text",
  "raw-body.long": "body-limit",
  "transfer.chunked": "content-length",
  "transfer.interrupted": "interrupted",
  "header.lower-case": "header-case",
  "header.title-case": "header-case",
  "header.charset": "content-type",
  "event.unknown-fields": "unknown-fields",
  "event.unknown-activity": "unknown-activity",
  "signature.tampered": "signature-unchecked",
  "signature.other-key": "signature-unchecked",
  "signature.missing": "missing-accepted",
  "signature.empty": "missing-accepted",
  "signature.truncated": "prefix-comparison",
  "signature.extended": "prefix-comparison",
  "signature.non-ascii": "prefix-comparison",
  "signature.upper-case": "case-insensitive",
  "signature.undecoded-key": "key-not-decoded",
  "signature.sha256": "wrong-digest",
  "signature.sha512": "wrong-digest",
  "signature.base64": "wrong-encoding",
  "signature.hex": "wrong-encoding",
  "signature.not-processed": "processed-unchecked",
  "response.time": "slow-work",
  duplicate: "duplicate-refused",
  "duplicate.after-hang-up": "duplicate-refused",
  "duplicate.processed-once": "no-dedupe",
  order: "order-refused",
  "order.newest-wins": "stale-overwrite",
  parallel: "parallel",
  outage: "late-rejected",
  probe: "probe",
  "store.before-response": "answered-before-stored",
});

/** Checks of wrong signatures, each of which a receiver with one mistake accepts. */
const wrongSignatureCheckIds = [
  "signature.undecoded-key",
  "signature.sha256",
  "signature.sha512",
  "signature.base64",
  "signature.hex",
  "signature.upper-case",
];

/** Checks of JSON formats, which differ between serializers. */
const jsonFormCheckIds = ["genuine", "raw-body.spaced", "raw-body.escaped", "raw-body.key-order", "raw-body.numbers"];

/**
 * Finds the likely mistakes by the pattern over all checks, because one mistake usually fails several checks.
 * `accepted` lists the signature mistakes that the receiver accepted although it rejected all genuine deliveries.
 */
export function diagnoseMistakes(
  items: readonly ReceiverCheckResult[],
  accepted: readonly string[] = [],
): readonly Diagnosis[] {
  const open = new Map(items.filter(isWrong).map((item) => [item.check.id, item]));
  const found: Diagnosis[] = [];

  const addDiagnosis = (mistake: string, matches: (item: ReceiverCheckResult) => boolean) => {
    const checks = [...open.values()].filter(matches).map(({ check }) => check.id);
    for (const id of checks) open.delete(id);
    if (checks.length > 0) found.push({ mistake, checks });
  };
  const isOpen = (id: string) => open.has(id);
  const isGenuine = ({ check }: ReceiverCheckResult) => check.expects === "accept";
  const isSignature = ({ check }: ReceiverCheckResult) => check.id.startsWith("signature.");

  // A receiver without responses shows no other mistake.
  addDiagnosis("receiver-ended", (item) => item.receiverEnd !== undefined && !isCrash(item));
  if (isOpen("signature.tampered") && isOpen("signature.other-key")) addDiagnosis("signature-unchecked", isSignature);

  const genuine = open.get("genuine");
  const response = genuine?.exchanges[0]?.response;
  const passed = items.filter((item) => isGenuine(item) && item.result === "passed");
  if (response) {
    const { error, status = 0 } = response;
    const byCheck = wrongSignatureCheckIds.filter(
      (id) => isOpen(id) && items.some((item) => item.check.id === id && wasAccepted(item)),
    );
    if (error) addDiagnosis("broken-response", isGenuine);
    else if (status < 400) addDiagnosis("redirect", isGenuine);
    else if (status === 404 || status === 405) addDiagnosis("wrong-address", isGenuine);
    else if (byCheck.length > 0) {
      const [first = ""] = byCheck;
      const mistake = first === "signature.upper-case" ? "wrong-encoding" : mistakesByCheck[first]!;
      addDiagnosis(mistake, (item) => isGenuine(item) || item.check.id === first);
    } else if (accepted.length > 0) {
      const [first, ...others] = accepted as [string, ...string[]];
      addDiagnosis(first, isGenuine);
      for (const mistake of others) found.push({ mistake, checks: found.at(-1)!.checks });
    } else if (passed.length > 0) addDiagnosis("reserialized-json", hasSameRejection(genuine!));
    else addDiagnosis("header-case", isGenuine);
  } else {
    const rewritten = jsonFormCheckIds.filter(isOpen);
    if (rewritten.length > 1) addDiagnosis("reserialized-json", hasSameRejection(open.get(rewritten[0]!)!));
  }

  const rest = new Map<string, string[]>();
  for (const [id, item] of open) {
    const mistake = describeMistake(item);
    rest.set(mistake, [...(rest.get(mistake) ?? []), id]);
  }
  return [...found, ...[...rest].map(([mistake, checks]) => ({ mistake, checks }))];
}

/** Reports whether a check with a known mistake ends the receiver each time. */
const isCrash = (item: ReceiverCheckResult): boolean =>
  item.endsReceiver === true &&
  ["unknown-activity", "unknown-fields", "interrupted", "signature-crash"].includes(describeMistake(item));

const isWrong = ({ result }: ReceiverCheckResult): boolean => result === "failed" || result === "warning";

const wasAccepted = ({ exchanges }: ReceiverCheckResult): boolean =>
  exchanges.some(({ response }) => hasSucceeded(response));

/** Reports whether two checks have the same rejection status, and therefore the same cause. */
const hasSameRejection =
  (reference: ReceiverCheckResult) =>
  ({ check, exchanges }: ReceiverCheckResult): boolean => {
    const getRejection = (item: Pick<ReceiverCheckResult, "exchanges">) =>
      item.exchanges
        .map(({ response }) => response)
        .find((response) => !isAccepted(response) && response.error?.code !== "hung-up")?.status;
    return check.expects === "accept" && getRejection({ exchanges }) === getRejection(reference);
  };

function describeMistake(item: ReceiverCheckResult): string {
  const { check } = item;
  // The receiver rejected the delivery by an exception.
  if (check.expects === "reject" && item.result === "warning" && !wasAccepted(item)) return "signature-crash";
  return mistakesByCheck[check.id] ?? "unexplained";
}

/** Signature rules of a receiver with these mistakes. */
interface SignatureCandidate {
  readonly mistakes: readonly string[];
  readonly forge: (body: string, deliveries: DeliveryFactory) => ForgeryOptions;
}

const toSpacedAscii = (body: string): string => writeJson(writeJson(body, "escaped"), "spaced");

const sortJsonKeys = (body: string): string => JSON.stringify(sortKeys(JSON.parse(body)));

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
  options: Parameters<typeof createSender>[0],
): Promise<readonly string[]> {
  const send = createSender(options);
  for (const [i, { mistakes, forge }] of signatureCandidates.entries()) {
    const body = deliveries.createEvent(minCandidateEventNumber + i);
    if (isAccepted(await send(deliveries.forgeDelivery(body, forge(body, deliveries))))) return mistakes;
  }
  return [];
}
