import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { groupBy, toFields, tryParseJson } from "../../base/object.ts";
import { isSignatureHeader } from "../../schemes/webhook-schemes.ts";
import type { CorpusExchange } from "../corpus.ts";
import { getHeader, type HttpMessage, pairHeaders, parseJsonBody, type RecordedRequest } from "../exchange.ts";
import { editJson } from "../json-edit.ts";
import {
  type ComparisonContext,
  compareHeaders,
  compareValues,
  createDifference,
  type FoundDifference,
} from "./compare.ts";
import { getRequestTarget, ReplayLinks } from "./links.ts";

type Delivery = ReturnType<typeof readEvent>;

/** A delivery in a corpus: attempts with the same body to the same receiver. */
interface RecordedDelivery extends Delivery {
  readonly attempts: readonly CorpusExchange[];
}

interface ReceivedDelivery extends Delivery, HttpMessage {
  /** Virtual times. */
  readonly attempts: number[];
  /** The recorded delivery whose responses it gets. */
  readonly match: RecordedDelivery | undefined;
}

interface ComparedDelivery {
  readonly activity: string;
  readonly file: string | undefined;
  readonly differences: readonly FoundDifference[];
  readonly incomparable?: string;
}

/** Opens a receiver for the webhooks of a replay, which responds as the recorded receiver did. */
export async function openReplayReceiver(exchanges: readonly CorpusExchange[], links: ReplayLinks, now: () => number) {
  const recorded = groupDeliveries(exchanges);
  const maxCompared = Math.max(minCompared, Math.floor(maxComparisons / recorded.length));
  const olderWebhooks = findOlderWebhooks(exchanges, recorded);
  const receivedByKey = new Map<string, ReceivedDelivery>();
  /** Recorded deliveries whose responses no received one gets. */
  const unanswered = new Set(recorded);
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const message = { headers: pairHeaders(request.rawHeaders), body: Buffer.concat(chunks) };
      response.writeHead(receive(request.url ?? "/", message)).end();
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Webhooks that a replay must create first. */
    olderWebhooks,
    compare,
    close: () => new Promise<void>((resolve) => void server.close(() => resolve()).closeAllConnections()),
  };

  /** Records an attempt. Returns the status with which the recorded receiver responded to it. */
  function receive(target: string, message: HttpMessage): number {
    const key = createDeliveryKey({ target, ...message });
    let delivery = receivedByKey.get(key);
    if (!delivery) {
      const own = { ...message, ...readEvent({ target, ...message }), attempts: [] };
      const match = findEqual(own, unanswered) ?? rankMatches(own, unanswered)[0]?.item;
      if (match) unanswered.delete(match);
      delivery = { ...own, match };
      receivedByKey.set(key, delivery);
    }
    delivery.attempts.push(now());
    const attempts = delivery.match?.attempts ?? [];
    return (attempts[delivery.attempts.length - 1] ?? attempts.at(-1))?.response.status ?? 200;
  }

  /** Lists the recorded deliveries that a received one can correspond to, in their order. */
  function* listCandidates({ subject, contractId }: Delivery, open: Set<RecordedDelivery>) {
    const isKnown = links.findRecordedContract(Number(contractId)) !== undefined;
    const isSameContract = (item: RecordedDelivery) => {
      if (item.contractId === undefined || contractId === undefined) return true;
      const linked = findLinkedContract(item);
      return linked === undefined ? !isKnown : linked === Number(contractId);
    };
    for (const item of open) if (item.subject === subject && isSameContract(item)) yield item;
  }

  function findEqual(delivery: Delivery, open: Set<RecordedDelivery>): RecordedDelivery | undefined {
    let count = 0;
    for (const item of listCandidates(delivery, open)) {
      if (countDifferences(item.payload, delivery.payload) === 0) return item;
      count += 1;
      if (count === maxCompared) break;
    }
    return undefined;
  }

  /**
   * Lists candidates, those with the fewest differences first. Of many, compares those near the position of the
   * delivery among the received ones.
   */
  function rankMatches(delivery: Delivery, open: Set<RecordedDelivery>, position = 0) {
    const candidates = [...listCandidates(delivery, open)];
    const from = Math.max(0, Math.min(position - maxCompared / 2, candidates.length - maxCompared));
    return candidates
      .slice(from, from + maxCompared)
      .map((item) => ({ item, differences: countDifferences(item.payload, delivery.payload) }))
      .sort((a, b) => a.differences - b.differences);
  }

  function findLinkedContract({ contractId }: RecordedDelivery): number | undefined {
    return links.findRelatedNumber("contract", Number(contractId));
  }

  /** Matches the deliveries with the fewest differences first, so that one without a counterpart remains. */
  function matchDeliveries() {
    const matches = new Map<ReceivedDelivery, RecordedDelivery>();
    const open = new Set(recorded);
    const received = [...receivedByKey.values()];
    for (const delivery of received) {
      const item = findEqual(delivery, open);
      if (item && open.delete(item)) matches.set(delivery, item);
    }
    for (let previousSize = -1; matches.size > previousSize; ) {
      previousSize = matches.size;
      const rest = groupBy(
        received.filter((delivery) => !matches.has(delivery)),
        ({ subject }) => subject,
      );
      const ranked = [...rest.values()].flatMap((deliveries) =>
        deliveries.flatMap((delivery, position) =>
          rankMatches(delivery, open, position).map((match) => ({ ...match, delivery })),
        ),
      );
      for (const { delivery, item } of ranked.sort((a, b) => a.differences - b.differences))
        if (!matches.has(delivery) && open.delete(item)) matches.set(delivery, item);
    }
    return matches;
  }

  /** Compares the deliveries one by one. The recording can lack deliveries after `until`. */
  function compare(context: ComparisonContext, until: number): ComparedDelivery[] {
    if (recorded.length === 0) return [];
    const matches = matchDeliveries();
    const matched = new Set(matches.values());
    /** Reports whether the recording must contain an attempt of this time. */
    const isRecorded = ({ target }: Delivery, at: number) =>
      at < until && olderWebhooks.find((item) => getPath(item.target) === getPath(target))?.isRecorded(at) !== false;
    const compared = [...receivedByKey.values()].map((delivery): ComparedDelivery => {
      const { activity, attempts, contractId } = delivery;
      const match = matches.get(delivery);
      if (match) {
        const differences = compareDelivery(match, delivery, (at) => isRecorded(delivery, at), context);
        return { activity, file: match.attempts[0]!.file, differences };
      }
      if (!isRecorded(delivery, attempts[0]!))
        return { activity, file: undefined, differences: [], incomparable: unrecordedTime };
      const id = links.findRecordedContract(Number(contractId)) ?? contractId;
      const difference = createDifference("missing-activity", activity, undefined, describeActivity(activity, id));
      return { activity, file: undefined, differences: [difference] };
    });
    const lost = recorded
      .filter((item) => !matched.has(item))
      .map((item): ComparedDelivery => {
        const { activity, attempts, contractId } = item;
        const { file } = attempts[0]!;
        if (contractId !== undefined && findLinkedContract(item) === undefined)
          return { activity, file, differences: [], incomparable: unknownContract };
        const recordedText = describeActivity(activity, contractId);
        return { activity, file, differences: [createDifference("other-activity", activity, recordedText, undefined)] };
      });
    return [...compared, ...lost];
  }
}

/** A comparison takes about 20 microseconds, so comparing thousands of deliveries with each other takes minutes. */
const maxComparisons = 20_000;
/** Number of recorded deliveries that a received one is compared with, also if there are many. */
const minCompared = 50;

const unknownContract = "no response of the replay contains the contract of the webhook";

const unrecordedTime = "webhooks of this time may be missing in the recording";

const describeActivity = (activity: string, contractId: unknown): string =>
  contractId === undefined ? activity : `${activity} of contract ${String(contractId)}`;

/** Counts the differences of two payloads, apart from identifiers. */
const countDifferences = (recorded: unknown, actual: unknown): number =>
  compareValues(recorded, actual, "", {
    links: new ReplayLinks(),
    resource: "contracts",
    isFailure: false,
    onIncomparable: () => {},
    isService: false,
    isOlder: () => false,
  }).length;

function compareDelivery(
  { attempts }: RecordedDelivery,
  received: ReceivedDelivery,
  isRecorded: (at: number) => boolean,
  context: ComparisonContext,
): FoundDifference[] {
  const { request } = attempts[0]!;
  const [was, is] = [request.body.toString("utf8"), received.body.toString("utf8")];
  const found = compareValues(tryParseJson(was), tryParseJson(is), "", context);
  // Escapes are only detectable in a string with non-ASCII characters.
  const [wasSpelled, isSpelled] = [detectJsonFormatting(was), detectJsonFormatting(is)];
  if (wasSpelled !== isSpelled) found.push(createDifference("spelling", "", wasSpelled, isSpelled));
  const custom = [...request.headers, ...received.headers]
    .map(([name]) => name.toLowerCase())
    .filter((name) => name.startsWith("x-"));
  // Two signatures always differ, because the keys and the times differ. Their forms are comparable.
  const isSignature = (name: string) =>
    (isSignatureHeader(name) || name.includes("signature")) &&
    [request, received].every((message) => getHeader(message, name) !== undefined);
  const names = ["content-type", ...new Set(custom)];
  const forms = names.filter(isSignature).flatMap((name) => {
    const [wasForm, isForm] = [request, received].map((message) => describeSignatureForm(getHeader(message, name)!));
    return wasForm === isForm ? [] : [createDifference("signature-form", `header ${name}`, wasForm, isForm)];
  });
  const others = names.filter((name) => !isSignature(name));
  // The retries follow the responses of the delivery that it was matched with on its arrival.
  const retries = received.match?.attempts === attempts ? compareRetries(attempts, received, isRecorded) : [];
  return [...found, ...forms, ...compareHeaders(request, received, context, others), ...retries];
}

/** Describes what the stand-in of a signature preserves. */
const describeSignatureForm = (signature: string): string =>
  `${signature.length} ${/^[0-9a-f]*$/i.test(signature) ? "hexadecimal digits" : "characters"}`;

/**
 * Detects the formatting of JSON: `compact`, `spaced` as by Python, or `indented`. Adds `escaped` if non-ASCII
 * characters are escaped.
 */
function detectJsonFormatting(text: string): string {
  const bare = editJson(text, { editString: () => "", editNumber: () => "0" });
  const spacing = /[{[]\n/.test(bare) ? "indented" : /[:,] /.test(bare) ? "spaced" : "compact";
  return /\\u[0-9a-f]{4}/i.test(text) && !/[\u0080-\uffff]/.test(text) ? `${spacing}, escaped` : spacing;
}

/** A worker can delay a retry to the next minute. */
const maxRetryDeviationMs = 61_000;

/** Compares the attempts of a delivery. `isRecorded` reports whether the recording must contain one of this time. */
function compareRetries(
  recorded: readonly CorpusExchange[],
  { attempts }: ReceivedDelivery,
  isRecorded: (at: number) => boolean,
): FoundDifference[] {
  const computeDelays = (times: readonly number[]) => times.slice(1).map((time, at) => time - times[at]!);
  const formatMinutes = (ms: number) => `${Math.round(ms / 6_000) / 10} min`;
  const [was, is] = [computeDelays(recorded.map(({ at }) => at)), computeDelays(attempts)];
  const at = was.findIndex((delay, position) => Math.abs(delay - is[position]!) > maxRetryDeviationMs);
  if (at >= 0)
    return [createDifference("retry-time", `retry ${at + 1}`, formatMinutes(was[at]!), formatMinutes(is[at]!))];
  const [last, nextAt] = [recorded.length - 1, attempts[recorded.length]];
  // The next attempt is counted from the last recorded one, so that deviations do not add up.
  const isNextDue =
    nextAt !== undefined && isRecorded(recorded[last]!.at + nextAt - attempts[last]! + maxRetryDeviationMs);
  const isOther = isNextDue || recorded.length > attempts.length;
  return isOther ? [createDifference("attempts", "attempts", recorded.length, attempts.length)] : [];
}

const getPath = (target: string): string => target.split("?")[0]!;

/** Finds webhooks without a recorded creation by their deliveries. */
function findOlderWebhooks(exchanges: readonly CorpusExchange[], recorded: readonly RecordedDelivery[]) {
  const created = exchanges
    .filter(({ operation, response }) => operation === "webhooks.create" && response.status < 300)
    .map(({ request }) => getPath(getRequestTarget(String(toFields(parseJsonBody(request)).url))));
  return [...groupBy(recorded, ({ target }) => getPath(target))].flatMap(([path, own]) => {
    if (created.includes(path)) return [];
    const times = own.flatMap(({ attempts }) => attempts.map(({ at }) => at));
    const [from, to] = [Math.min(...times), Math.max(...times)];
    const activities = [...new Set(own.map(({ activity }) => activity))];
    /** Reports whether the recording must contain an activity of this time. */
    const isRecorded = (at: number) => at >= from && at <= to;
    return [{ target: own.at(-1)!.target, activities, isRecorded }];
  });
}

function readEvent({ target, body }: Pick<RecordedRequest, "target" | "body">) {
  const payload = parseJsonBody({ body });
  const { activity, contract_id: contractId } = toFields(payload);
  return { target, activity: String(activity), contractId, payload, subject: `${activity} ${getPath(target)}` };
}

const createDeliveryKey = ({ target, body }: Pick<RecordedRequest, "target" | "body">): string =>
  `${target} ${body.toString("base64")}`;

function groupDeliveries(exchanges: readonly CorpusExchange[]): RecordedDelivery[] {
  const received = exchanges.filter(({ callee }) => callee === "receiver");
  const groups = groupBy(received, ({ request }) => createDeliveryKey(request));
  return [...groups.values()].map((attempts) => ({ ...readEvent(attempts[0]!.request), attempts }));
}
