import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { toFields, tryParseJson } from "../../base/object.ts";
import type { CorpusExchange } from "../corpus.ts";
import { headerOf, type Message, pairHeaders, parseBody } from "../exchange.ts";
import { editJson } from "../json-edit.ts";
import { type CompareContext, compareHeaders, compareValues, type FoundDifference } from "./compare.ts";
import { type Links, targetOf } from "./links.ts";

/** One delivery as a corpus holds it: the same bytes to the same receiver, attempt by attempt. */
interface RecordedDelivery {
  readonly activity: string;
  readonly target: string;
  readonly contractId: unknown;
  readonly attempts: readonly CorpusExchange[];
}

interface ReceivedDelivery extends Message {
  readonly activity: string;
  readonly target: string;
  readonly contractId: unknown;
  /** Virtual times. */
  readonly attempts: number[];
  /** The operation after which it came. */
  readonly operation: string | undefined;
  match?: RecordedDelivery;
}

/** A webhook that was created before the recording, or past it: what its deliveries show of it. */
interface OlderWebhook {
  readonly target: string;
  readonly activities: readonly string[];
  /** Whether an activity of this time was in the recording for sure. */
  readonly isRecorded: (at: number) => boolean;
}

interface ComparedDelivery {
  readonly activity: string;
  readonly file: string | undefined;
  readonly operation: string | undefined;
  readonly differences: readonly FoundDifference[];
}

/** How JSON is spelled: `compact`, `spaced` as Python writes it, `indented`; `escaped` where it has only ASCII. */
function detectSpelling(text: string): string {
  const bare = editJson(text, { string: () => "", number: () => "0" });
  const spacing = /[{[]\n/.test(bare) ? "indented" : /[:,] /.test(bare) ? "spaced" : "compact";
  return /\\u[0-9a-f]{4}/i.test(text) && !/[\u0080-\uffff]/.test(text) ? `${spacing}, escaped` : spacing;
}

/** A retry may wait for the next minute of a worker. */
const retryToleranceMs = 61_000;

/** Receives the webhooks of a replay, and answers as the recorded receiver did. */
export class ReplayReceiver {
  readonly #recorded: readonly RecordedDelivery[];
  /** Webhooks that a replay has to create first. */
  readonly olderWebhooks: readonly OlderWebhook[];
  readonly #links: Links;
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
  /** The operation that was called last. */
  operation: string | undefined;
  url = "";

  constructor(exchanges: readonly CorpusExchange[], links: Links, now: () => number) {
    this.#recorded = groupDeliveries(exchanges);
    this.olderWebhooks = findOlderWebhooks(exchanges, this.#recorded);
    this.#links = links;
    this.#now = now;
  }

  async open(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(0, "127.0.0.1", resolve);
    });
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  /** The status that the recorded receiver had for the same attempt. */
  #receive(target: string, message: Message): number {
    const known = this.#received.find((one) => one.target === target && one.body.equals(message.body));
    const { activity, contract_id: contractId } = toFields(parseBody(message));
    const received: ReceivedDelivery = known ?? {
      ...message,
      activity: String(activity),
      target,
      contractId,
      attempts: [],
      operation: this.operation,
    };
    received.attempts.push(this.#now());
    if (!known) {
      this.#received.push(received);
      const match = this.#match(received);
      if (match) received.match = match;
    }
    return (
      received.match?.attempts[received.attempts.length - 1]?.response.status ??
      received.match?.attempts.at(-1)?.response.status ??
      200
    );
  }

  #match({ activity, target, contractId }: ReceivedDelivery): RecordedDelivery | undefined {
    const taken = new Set(this.#received.map(({ match }) => match));
    const open = this.#recorded.filter(
      (one) => !taken.has(one) && one.activity === activity && pathOf(one.target) === pathOf(target),
    );
    const idOf = (one: RecordedDelivery) =>
      typeof one.contractId === "number" ? this.#links.number("contract", one.contractId) : undefined;
    return open.find((one) => idOf(one) === contractId) ?? open.find((one) => idOf(one) === undefined);
  }

  /** The differences, delivery by delivery. `until`: later ones may be missing in the recording. */
  compare(context: CompareContext, until: number): ComparedDelivery[] {
    if (this.#recorded.length === 0) return [];
    const compared = this.#received.map((received): ComparedDelivery | undefined => {
      const { activity, match, operation, attempts } = received;
      if (match)
        return {
          activity,
          operation,
          file: match.attempts[0]!.file,
          differences: this.#differences(match, received, context),
        };
      const older = this.olderWebhooks.find((one) => pathOf(one.target) === pathOf(received.target));
      if (attempts[0]! >= until || older?.isRecorded(attempts[0]!) === false) return undefined;
      const difference = { kind: "missing-activity", path: activity, recorded: undefined, replayed: activity } as const;
      return { activity, operation, file: undefined, differences: [difference] };
    });
    const matched = new Set(this.#received.map(({ match }) => match));
    const unmatched = this.#recorded.filter((one) => !matched.has(one));
    return [
      ...compared.filter((one) => one !== undefined),
      ...unmatched.map(
        ({ activity, attempts }): ComparedDelivery => ({
          activity,
          operation: undefined,
          file: attempts[0]!.file,
          differences: [{ kind: "other-activity", path: activity, recorded: activity, replayed: undefined }],
        }),
      ),
    ];
  }

  #differences(recorded: RecordedDelivery, received: ReceivedDelivery, context: CompareContext): FoundDifference[] {
    const [first] = recorded.attempts;
    const [was, is] = [first!.request.body.toString("utf8"), received.body.toString("utf8")];
    const found = compareValues(tryParseJson(was), tryParseJson(is), "", context);
    // A string without letters beyond ASCII shows nothing of how they are spelled.
    const [wasSpelled, isSpelled] = [detectSpelling(was), detectSpelling(is)];
    if (wasSpelled !== isSpelled) found.push({ kind: "spelling", path: "", recorded: wasSpelled, replayed: isSpelled });
    const custom = new Set(
      first!.request.headers.map(([name]) => name.toLowerCase()).filter((name) => name.startsWith("x-")),
    );
    const sent = new Set(received.headers.map(([name]) => name.toLowerCase()).filter((name) => name.startsWith("x-")));
    const isSignature = (name: string) => /signature|content-hash/.test(name);
    found.push(
      ...compareHeaders(
        (name) => headerOf(first!.request, name),
        (name) => headerOf(received, name),
        context,
        ["content-type", ...[...custom].filter((name) => !isSignature(name))],
      ),
      ...[...new Set([...custom, ...sent])]
        .filter((name) => custom.has(name) !== sent.has(name))
        .map(
          (name): FoundDifference => ({
            kind: "header",
            path: `header ${name}`,
            recorded: headerOf(first!.request, name),
            replayed: headerOf(received, name),
          }),
        ),
    );
    return [...found, ...this.#retries(recorded, received)];
  }

  #retries({ attempts }: RecordedDelivery, received: ReceivedDelivery): FoundDifference[] {
    const was = computeDelays(attempts.map(({ at }) => at));
    const is = computeDelays(received.attempts);
    const at = was.findIndex(
      (delay, place) => is[place] !== undefined && Math.abs(delay - is[place]) > retryToleranceMs,
    );
    if (at >= 0)
      return [
        {
          kind: "retry-time",
          path: `retry ${at + 1}`,
          recorded: formatMinutes(was[at]!),
          replayed: formatMinutes(is[at]!),
        },
      ];
    return was.length > is.length
      ? [{ kind: "attempts", path: "attempts", recorded: attempts.length, replayed: received.attempts.length }]
      : [];
  }
}

const computeDelays = (times: readonly number[]): number[] => times.slice(1).map((time, at) => time - times[at]!);
const formatMinutes = (ms: number): string => `${Math.round(ms / 6_000) / 10} min`;
const pathOf = (target: string): string => target.split("?")[0]!;

function findOlderWebhooks(
  exchanges: readonly CorpusExchange[],
  recorded: readonly RecordedDelivery[],
): readonly OlderWebhook[] {
  const created = exchanges
    .filter(({ operation, response }) => operation === "webhooks.create" && response.status < 300)
    .map(({ request }) => pathOf(targetOf(String(toFields(parseBody(request)).url))));
  const targets = new Map(recorded.map(({ target }) => [pathOf(target), target]));
  return [...targets].flatMap(([path, target]) => {
    if (created.includes(path)) return [];
    const own = recorded.filter((one) => pathOf(one.target) === path);
    const times = own.flatMap(({ attempts }) => attempts.map(({ at }) => at));
    const [from, to] = [Math.min(...times), Math.max(...times)];
    const activities = [...new Set(own.map(({ activity }) => activity))];
    return [{ target, activities, isRecorded: (at: number) => at >= from && at <= to }];
  });
}

function groupDeliveries(exchanges: readonly CorpusExchange[]): RecordedDelivery[] {
  const found = new Map<
    string,
    { activity: string; target: string; contractId: unknown; attempts: CorpusExchange[] }
  >();
  for (const exchange of exchanges) {
    if (exchange.callee !== "receiver") continue;
    const { target, body } = exchange.request;
    const { activity, contract_id: contractId } = toFields(parseBody(exchange.request));
    const key = `${target} ${body.toString("base64")}`;
    const delivery = found.get(key) ?? { activity: String(activity), target, contractId, attempts: [] };
    delivery.attempts.push(exchange);
    found.set(key, delivery);
  }
  return [...found.values()];
}
