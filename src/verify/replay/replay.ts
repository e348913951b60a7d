import demo from "../../../fixtures/seeds/demo.json" with { type: "json" };
import type { Operation } from "../../api/operation.ts";
import { toFields, tryParseJson } from "../../base/object.ts";
import { toOutputSchema } from "../../derive/fields.ts";
import type { CorpusExchange, TrafficCorpus } from "../corpus.ts";
import { getHeader, parseJsonBody, type RecordedResponse, type RecordedServer } from "../exchange.ts";
import { editJson } from "../json-edit.ts";
import {
  compareShapes,
  explainIncomparable,
  explainUnsent,
  isUnavailable,
  toServiceChange,
} from "./against-service.ts";
import { createWebhookClaim, type EmulatorClaim, findClaim, findOperationById } from "./claims.ts";
import {
  type ComparisonContext,
  compareHeaders,
  compareValues,
  createDifference,
  type FoundDifference,
} from "./compare.ts";
import { openReplayReceiver } from "./deliveries.ts";
import { isIdKey, ReplayLinks } from "./links.ts";
import { buildReplaySeed, findCallers, replaceMistypedValues } from "./seed.ts";
import { createRequestSender } from "./send.ts";

/** Target of a replay: an emulator with a state created from the corpus, or a service. */
interface ReplayTarget {
  readonly resolveUrl: (callee: RecordedServer) => string | undefined;
  /** Clock of an emulator. Undefined for a service. */
  readonly clock?: ReplayEmulator["clock"];
  /** Settings of a service, which receives only read requests. Its data is not compared. */
  readonly service?: {
    /** Returns headers that replace the headers of the corpus. */
    readonly getCredentials: (operation: Operation) => Readonly<Record<string, string>>;
    readonly requestsPerSecond: number;
  };
  readonly signal?: AbortSignal;
}

/** Result of one exchange or delivery, for one claim. */
export interface ReplayedExchange {
  readonly claim: EmulatorClaim;
  readonly file: string | undefined;
  /** Status of the replayed response. 0 for a webhook. */
  readonly status: number;
  readonly at: number;
  readonly differences: readonly FoundDifference[];
  /** Reason why the response was not or only partly compared. Undefined if it was compared completely. */
  readonly incomparable: string | undefined;
}

/** Operations whose resources are in the seed. A replay has all their listed rows. */
const seededOperationPattern =
  /^(?:templates|contract-types|organizations|users|clusters|cluster-emails|cluster-clients)\.|^key-pointers\.definitions$/;

/** Fields that depend on the number of items of a list. */
const countFieldPattern = /^(?:total|total_results|count|total_count|page|pages|total_pages|has_more|next|previous)$/;

/** Returns the number of requests in a corpus without a declared operation, which are not replayed. */
export const countUndeclared = ({ exchanges }: TrafficCorpus): number =>
  exchanges.filter(({ callee, operation }) => callee !== "receiver" && !findOperationById(operation)).length;

/** The parts of an emulator that a replay uses. */
interface ReplayEmulator {
  readonly routerUrl: string;
  readonly clusters: readonly { readonly id: string; readonly url: string }[];
  readonly clock: { now(): number; advance(target: { readonly to: number }): Promise<unknown> };
  close(): Promise<void>;
}

/** Starts an emulator. Callers pass this function, because this layer must not import the emulator. */
export type StartReplayEmulator = (options: {
  readonly ephemeral: true;
  readonly seed: object;
  readonly clock: { readonly mode: "manual"; readonly start: string };
  readonly log: (line: string) => void;
}) => Promise<ReplayEmulator>;

/** Replays a corpus on a new emulator whose state is created from the corpus. */
export async function replayOnEmulator(
  corpus: TrafficCorpus,
  startEmulator: StartReplayEmulator,
  signal?: AbortSignal,
): Promise<ReplayedExchange[]> {
  const { exchanges } = corpus;
  const seed = buildReplaySeed(exchanges, demo);
  const start = new Date((exchanges[0]?.at ?? Date.parse(demo.time)) - 1).toISOString();
  const settings = { ephemeral: true, clock: { mode: "manual", start }, log: () => {} } as const;
  const emulator = await startEmulator({ ...settings, seed }).catch((error: Error) => {
    if (error.name !== "InvalidOptionsError") throw error;
    return startEmulator({ ...settings, seed: replaceMistypedValues(seed, demo) as object });
  });
  try {
    return await replayCorpus(corpus, {
      resolveUrl: (callee) => (callee === "router" ? emulator.routerUrl : emulator.clusters[0]?.url),
      clock: emulator.clock,
      ...(signal && { signal }),
    });
  } finally {
    await emulator.close();
  }
}

/** Sends the requests of a corpus again and compares the responses. */
export async function replayCorpus(
  { exchanges }: TrafficCorpus,
  { resolveUrl, clock, service, signal }: ReplayTarget,
): Promise<ReplayedExchange[]> {
  const links = new ReplayLinks();
  const sender = createRequestSender(service?.requestsPerSecond);
  const receiver = clock && (await openReplayReceiver(exchanges, links, () => clock.now()));
  try {
    await subscribe();
    return [...(await replayRequests()), ...(await compareDeliveries())];
  } finally {
    sender.close();
    await receiver?.close();
  }

  async function replayRequests(): Promise<ReplayedExchange[]> {
    const replayed: ReplayedExchange[] = [];
    for (const exchange of exchanges) {
      signal?.throwIfAborted();
      if (clock && exchange.at > clock.now()) await clock.advance({ to: exchange.at });
      const item = exchange.callee === "receiver" ? undefined : await replayExchange(exchange);
      if (item) replayed.push(item);
    }
    return replayed;
  }

  async function compareDeliveries(): Promise<ReplayedExchange[]> {
    if (!clock || !receiver) return [];
    const last = exchanges.at(-1)?.at ?? 0;
    // The clock advance delivers the webhooks of the last request.
    await clock.advance({ to: Math.max(last, clock.now()) + 1_000 });
    const context = createContext("contracts", false, () => {});
    return receiver.compare(context, last).map(({ activity, file, differences, incomparable }) => {
      return { claim: createWebhookClaim(activity), file, status: 0, at: last, differences, incomparable };
    });
  }

  /** Creates the webhooks without a recorded creation, such as those of `svc webhooks listen`. */
  async function subscribe(): Promise<void> {
    if (!receiver) return;
    const { method, path } = findOperationById("webhooks.create")!;
    const url = resolveUrl("contracts") + path;
    for (const { target, activities } of receiver.olderWebhooks)
      for (const { clientId, clientSecret } of findCallers(exchanges)) {
        const webhook = { title: "replay", url: receiver.url + target, only_for_activities: activities };
        const body = Buffer.from(JSON.stringify(webhook));
        const headers = { "content-type": "application/json", "client-id": clientId, "client-secret": clientSecret };
        const request = { method: [method].flat()[0]!, url, headers: Object.entries(headers), body };
        await sender.send(request, signal);
      }
  }

  async function replayExchange(exchange: CorpusExchange): Promise<ReplayedExchange | undefined> {
    const { request, response: recorded, file, at } = exchange;
    const operation = findOperationById(exchange.operation);
    if (!operation) return undefined;
    const resource = operation.id.split(".")[0]!;
    const createResult = (
      response: RecordedResponse,
      differences: readonly FoundDifference[],
      incomparable?: string,
    ): ReplayedExchange => {
      const { status } = response;
      const claim = findClaim(operation, status, parseJsonBody(response));
      return { claim, file, status, at, differences, incomparable };
    };
    const skip = (reason: string) => createResult(recorded, [], reason);
    if (isUnavailable(recorded)) return skip(`the service was not available (${recorded.status})`);
    const unlinked = findUnlinked(exchange, operation.path, resource, links, service !== undefined);
    const credentials = service?.getCredentials(operation) ?? {};
    const unsent = service && explainUnsent(exchange, credentials, unlinked);
    if (unsent !== undefined) return skip(unsent);
    const url = resolveExchangeUrl(exchange, operation.path, resource);
    if (url === undefined) return skip("the signed URL comes from a response that was not recorded");

    const headers = createHeaders(exchange, credentials, links);
    const body = createBody(exchange, resource, links, receiver?.url);
    const actual = await sender.send({ method: request.method, url, headers, body }, signal);
    const isSeeded = seededOperationPattern.test(operation.id);
    const reason = service
      ? explainIncomparable(recorded, actual, unlinked)
      : explainMissing(exchange, actual, isSeeded ? undefined : unlinked, links);
    if (reason !== undefined) return skip(reason);
    let partly: string | undefined;
    const isList = !service && request.method === "GET" && !isSeeded;
    const context = createContext(resource, recorded.status >= 400, (why) => (partly = why), isList);
    const differences = compareResponses(recorded, actual, context, operation);
    const isWhole = !isList || (partly === undefined && isCompletePage(parseJsonBody(recorded)));
    const comparable = isWhole ? differences : differences.filter(({ path }) => !countFieldPattern.test(path));
    // Claims describe the emulator. A service is compared with its own recorded responses.
    return service
      ? createResult(recorded, comparable.map(toServiceChange), partly)
      : createResult(actual, comparable, partly);
  }

  function createContext(
    resource: string,
    isFailure: boolean,
    onIncomparable: (reason: string) => void,
    isList = false,
  ): ComparisonContext {
    return {
      links,
      resource,
      isFailure,
      onIncomparable,
      isService: service !== undefined,
      isOlder: (id) => isList && id !== "" && !links.has("id", id, resource),
    };
  }

  function resolveExchangeUrl({ callee, request }: CorpusExchange, path: string, resource: string): string | undefined {
    if (callee === "storage") return links.findUrl(request.target);
    const base = resolveUrl(callee);
    return base && base + links.translateTarget(request.target, listPathNames(path), resource);
  }
}

/** Finds an identifier of a request that no response of the replay contains. */
function findUnlinked(
  { request }: CorpusExchange,
  path: string,
  resource: string,
  links: ReplayLinks,
  isService: boolean,
): string | undefined {
  const [plain = "", query = ""] = request.target.split("?");
  const names = listPathNames(path);
  const parameters = plain.split("/").flatMap((segment, at) => {
    const name = names[at];
    // The seed of an emulator contains the mentioned clients, clusters and users.
    const isOpen = name !== undefined && (isService || !/hash|email|token|cluster|client/.test(name));
    return isOpen ? [[name, segment] as const] : [];
  });
  const inQuery = isService ? [...new URLSearchParams(query)].filter(([name]) => isIdKey(name)) : [];
  const [name, value] = [...parameters, ...inQuery].find(([item, id]) => !links.has(item, id, resource)) ?? [];
  return value !== undefined && /^\d+$/.test(value) ? `${name} ${value}` : value;
}

/** Explains a response of the emulator that lacks the state before the recording. */
function explainMissing(
  { request, response }: CorpusExchange,
  actual: RecordedResponse,
  unlinked: string | undefined,
  links: ReplayLinks,
): string | undefined {
  const isMissing = response.status === 404 || response.status === 410;
  if (unlinked !== undefined && !isMissing && actual.status !== response.status && [403, 404].includes(actual.status))
    return `${unlinked} was there before the recording`;
  const bearer = getHeader(request, "authorization");
  const isRejected = actual.status === 401 && response.status !== 401;
  if (bearer !== undefined && isRejected && links.translateText(bearer) === bearer)
    return "its credentials come from outside the corpus";
  if (getHeader(request, "x-cluster-key") !== undefined && actual.status === 401 && response.status < 400)
    return "its cluster key comes from outside the corpus";
  return undefined;
}

function createHeaders(
  { callee, request, response }: CorpusExchange,
  credentials: Readonly<Record<string, string>>,
  links: ReplayLinks,
): (readonly [string, string])[] {
  const hasOwn = callee === "storage" || response.status === 401;
  return request.headers
    .filter(([name]) => !/^(?:host|content-length)$/i.test(name))
    .map(([name, value]) => {
      const replacement = hasOwn ? undefined : credentials[name.toLowerCase()];
      return [name, replacement ?? links.translateText(value)] as const;
    });
}

/** Creates the body of a request. The replay receives all webhooks itself instead of the recorded receiver. */
function createBody(
  { operation, request }: CorpusExchange,
  resource: string,
  links: ReplayLinks,
  receiverUrl: string | undefined,
): Buffer {
  const body = links.translateBody(request.body, resource);
  if (receiverUrl === undefined || operation !== "webhooks.create" || tryParseJson(body.toString()) === undefined)
    return body;
  const edited = editJson(body.toString(), {
    editString: ({ isKey, path, value }) =>
      !isKey && path.join() === "url" ? value.replace(/^https?:\/\/[^/]+/, receiverUrl) : value,
    editNumber: ({ text }) => text,
  });
  return Buffer.from(edited);
}

/** Compares the responses. Of a service, only the shapes of successful ones. */
function compareResponses(
  recorded: RecordedResponse,
  actual: RecordedResponse,
  context: ComparisonContext,
  operation: Operation,
): FoundDifference[] {
  const status =
    recorded.status === actual.status ? [] : [createDifference("status", "", recorded.status, actual.status)];
  // A success is not comparable with a failure.
  if (recorded.status < 400 !== actual.status < 400) return status;
  const headers = compareHeaders(recorded, actual, context);
  const [was, is] = [parseJsonBody(recorded), parseJsonBody(actual)];
  if (context.isService && was !== undefined && is !== undefined && recorded.status < 400) {
    // Identifiers become links, so that the data of corresponding contracts is compared.
    compareValues(was, is, "", { ...context, onIncomparable: () => {} });
    const declared = operation.responses[recorded.status];
    const schema = declared && "schema" in declared && declared.schema ? toOutputSchema(declared.schema) : undefined;
    const ownHeaders = headers.filter(({ path }) => !/^header (?:link|location|content-disposition)$/.test(path));
    return [...status, ...ownHeaders, ...compareShapes(was, is, schema, context.onIncomparable)];
  }
  if (was !== undefined && is !== undefined) return [...status, ...headers, ...compareValues(was, is, "", context)];
  const [hadBody, hasBody] = [recorded.body.length > 0, actual.body.length > 0];
  const isText = /^(?:text\/plain|application\/xml)/.test(getHeader(recorded, "content-type") ?? "");
  if (isText && hadBody && hasBody)
    return [...status, ...headers, ...compareValues(recorded.body.toString(), actual.body.toString(), "", context)];
  const isSame = hadBody === hasBody && (was === undefined) === (is === undefined);
  const type = createDifference("type", "", was ?? describeBytes(recorded.body), is ?? describeBytes(actual.body));
  return [...status, ...headers, ...(isSame ? [] : [type])];
}

const describeBytes = ({ length }: Buffer): string | undefined =>
  length === 0 ? undefined : `a body of ${length} bytes that is not JSON`;

/** Reports whether a page contains all items of a list. Items of other pages can be older than the recording. */
function isCompletePage(document: unknown): boolean {
  const { total_results: total, results } = toFields(document);
  return typeof total !== "number" || !Array.isArray(results) || total <= results.length;
}

const listPathNames = (path: string): (string | undefined)[] =>
  path.split("/").map((segment) => /^\{(\w+)\}/.exec(segment)?.[1]);
