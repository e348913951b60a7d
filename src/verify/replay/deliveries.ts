import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { toFields, tryParseJson } from "../../base/object.ts";
import { isSignatureHeader } from "../../schemes/webhook-schemes.ts";
import type { CorpusExchange } from "../corpus.ts";
import { getHeader, type HttpMessage, pairHeaders, parseJsonBody } from "../exchange.ts";
import { editJson } from "../json-edit.ts";
import {
  type ComparisonContext,
  compareHeaders,
  compareValues,
  createDifference,
  type FoundDifference,
} from "./compare.ts";
import { getRequestTarget, type ReplayLinks } from "./links.ts";

/** A delivery in a corpus: attempts with the same body to the same receiver. */
interface RecordedDelivery {
  readonly activity: string;
  readonly target: string;
  readonly contractId: unknown;
  readonly attempts: readonly CorpusExchange[];
}

interface ReceivedDelivery extends HttpMessage {
  readonly activity: string;
  readonly target: string;
  /** Virtual times. */
  readonly attempts: number[];
  readonly match: RecordedDelivery | undefined;
}

interface ComparedDelivery {
  readonly activity: string;
  readonly file: string | undefined;
  readonly differences: readonly FoundDifference[];
}

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

/** Receives the webhooks of a replay and responds as the recorded receiver did. */
export class ReplayReceiver {
  readonly #recorded: readonly RecordedDelivery[];
  /** Webhooks that a replay must create first. */
  readonly olderWebhooks: ReturnType<typeof findOlderWebhooks>;
  readonly #links: ReplayLinks;
  readonly #received: ReceivedDelivery[] = [];
  readonly #now: () => number;
  readonly #server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const message = { headers: pairHeaders(request.rawHeaders), body: Buffer.concat(chunks) };
      response.writeHead(this.#receive(request.url ?? "/", message)).end();
    });
  });
  url = "";

  constructor(exchanges: readonly CorpusExchange[], links: ReplayLinks, now: () => number) {
    this.#recorded = groupDeliveries(exchanges);
    this.olderWebhooks = findOlderWebhooks(exchanges, this.#recorded);
    this.#links = links;
    this.#now = now;
  }

  async open(): Promise<void> {
    await once(this.#server.listen(0, "127.0.0.1"), "listening");
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close().closeAllConnections();
    await closed;
  }

  /** Records an attempt. Returns the status with which the recorded receiver responded to it. */
  #receive(target: string, message: HttpMessage): number {
    const isSame = (item: ReceivedDelivery) => item.target === target && item.body.equals(message.body);
    const received = this.#received.find(isSame) ?? this.#addDelivery(target, message);
    received.attempts.push(this.#now());
    const recorded = received.match?.attempts ?? [];
    return (recorded[received.attempts.length - 1] ?? recorded.at(-1))?.response.status ?? 200;
  }

  #addDelivery(target: string, message: HttpMessage): ReceivedDelivery {
    const { activity: given, contract_id: contractId } = toFields(parseJsonBody(message));
    const activity = String(given);
    const match = this.#findMatch(activity, target, contractId);
    const delivery = { ...message, activity, target, attempts: [], match };
    this.#received.push(delivery);
    return delivery;
  }

  #findMatch(activity: string, target: string, contractId: unknown): RecordedDelivery | undefined {
    const taken = new Set(this.#received.map(({ match }) => match));
    const open = this.#recorded.filter(
      (item) => !taken.has(item) && item.activity === activity && getPath(item.target) === getPath(target),
    );
    const getContractId = (item: RecordedDelivery) =>
      typeof item.contractId === "number" ? this.#links.findNumber("contract", item.contractId) : undefined;
    return (
      open.find((item) => getContractId(item) === contractId) ?? open.find((item) => getContractId(item) === undefined)
    );
  }

  /** Compares the deliveries one by one. The recording can lack deliveries after `until`. */
  compare(context: ComparisonContext, until: number): ComparedDelivery[] {
    if (this.#recorded.length === 0) return [];
    const compared = this.#received.flatMap(({ match, ...received }): ComparedDelivery[] => {
      const { activity, attempts } = received;
      if (match)
        return [
          { activity, file: match.attempts[0]!.file, differences: this.#findDifferences(match, received, context) },
        ];
      const older = this.olderWebhooks.find((item) => getPath(item.target) === getPath(received.target));
      if (attempts[0]! >= until || older?.isRecorded(attempts[0]!) === false) return [];
      const differences = [createDifference("missing-activity", activity, undefined, activity)];
      return [{ activity, file: undefined, differences }];
    });
    const matched = new Set(this.#received.map(({ match }) => match));
    const unmatched = this.#recorded.filter((item) => !matched.has(item));
    const lost = unmatched.map(({ activity, attempts }) => {
      const differences = [createDifference("other-activity", activity, activity, undefined)];
      return { activity, file: attempts[0]!.file, differences };
    });
    return [...compared, ...lost];
  }

  #findDifferences(
    recorded: RecordedDelivery,
    received: Omit<ReceivedDelivery, "match">,
    context: ComparisonContext,
  ): FoundDifference[] {
    const { request } = recorded.attempts[0]!;
    const [was, is] = [request.body.toString("utf8"), received.body.toString("utf8")];
    const found = compareValues(tryParseJson(was), tryParseJson(is), "", context);
    // Escapes are only detectable in a string with non-ASCII characters.
    const [wasSpelled, isSpelled] = [detectJsonFormatting(was), detectJsonFormatting(is)];
    if (wasSpelled !== isSpelled) found.push(createDifference("spelling", "", wasSpelled, isSpelled));
    const listCustomNames = ({ headers }: HttpMessage) =>
      new Set(headers.map(([name]) => name.toLowerCase()).filter((name) => name.startsWith("x-")));
    const [custom, sent] = [listCustomNames(request), listCustomNames(received)];
    const isSignature = (name: string) => isSignatureHeader(name) || name.includes("signature");
    const getRecordedHeader = (name: string) => getHeader(request, name);
    const getReceivedHeader = (name: string) => getHeader(received, name);
    const names = ["content-type", ...[...custom].filter((name) => !isSignature(name))];
    found.push(...compareHeaders(getRecordedHeader, getReceivedHeader, context, names));
    for (const name of new Set([...custom, ...sent]))
      if (custom.has(name) !== sent.has(name))
        found.push(createDifference("header", `header ${name}`, getRecordedHeader(name), getReceivedHeader(name)));
    return [...found, ...this.#compareRetries(recorded, received)];
  }

  #compareRetries({ attempts }: RecordedDelivery, received: Pick<ReceivedDelivery, "attempts">): FoundDifference[] {
    const was = computeDelays(attempts.map(({ at }) => at));
    const is = computeDelays(received.attempts);
    const at = was.findIndex(
      (delay, position) => is[position] !== undefined && Math.abs(delay - is[position]) > maxRetryDeviationMs,
    );
    if (at >= 0)
      return [createDifference("retry-time", `retry ${at + 1}`, formatMinutes(was[at]!), formatMinutes(is[at]!))];
    return was.length > is.length
      ? [createDifference("attempts", "attempts", attempts.length, received.attempts.length)]
      : [];
  }
}

const computeDelays = (times: readonly number[]): number[] => times.slice(1).map((time, at) => time - times[at]!);
const formatMinutes = (ms: number): string => `${Math.round(ms / 6_000) / 10} min`;
const getPath = (target: string): string => target.split("?")[0]!;

/** Finds webhooks without a recorded creation by their deliveries. */
function findOlderWebhooks(exchanges: readonly CorpusExchange[], recorded: readonly RecordedDelivery[]) {
  const created = exchanges
    .filter(({ operation, response }) => operation === "webhooks.create" && response.status < 300)
    .map(({ request }) => getPath(getRequestTarget(String(toFields(parseJsonBody(request)).url))));
  const targets = new Map(recorded.map(({ target }) => [getPath(target), target]));
  return [...targets].flatMap(([path, target]) => {
    if (created.includes(path)) return [];
    const own = recorded.filter((item) => getPath(item.target) === path);
    const times = own.flatMap(({ attempts }) => attempts.map(({ at }) => at));
    const [from, to] = [Math.min(...times), Math.max(...times)];
    const activities = [...new Set(own.map(({ activity }) => activity))];
    /** Reports whether the recording must contain an activity of this time. */
    const isRecorded = (at: number) => at >= from && at <= to;
    return [{ target, activities, isRecorded }];
  });
}

function groupDeliveries(exchanges: readonly CorpusExchange[]): RecordedDelivery[] {
  const found = new Map<string, RecordedDelivery & { attempts: CorpusExchange[] }>();
  for (const exchange of exchanges) {
    if (exchange.callee !== "receiver") continue;
    const { target, body } = exchange.request;
    const { activity, contract_id: contractId } = toFields(parseJsonBody(exchange.request));
    const key = `${target} ${body.toString("base64")}`;
    const delivery = found.get(key) ?? { activity: String(activity), target, contractId, attempts: [] };
    delivery.attempts.push(exchange);
    found.set(key, delivery);
  }
  return [...found.values()];
}
