import type { followEvents } from "../../api/emulator/console.ts";
import type { ResultOf } from "../../api/operation.ts";
import { systemWallClock } from "../../base/clock.ts";
import {
  CallError,
  type Connection,
  connection,
  failedCallCount,
  forgetSession,
  getSessionHeaders,
  ProxyError,
  session,
} from "../api/call.ts";
import { getOutline } from "../api/operations.ts";
import { formatQuery } from "../format.ts";
import { readAll, replacedStates } from "../state/act.ts";
import { loadReadiness, setClock } from "../state/clock.ts";
import { type DeliveryChange, mergeDeliveries, setFaults } from "../state/deliveries.ts";
import { mergeRequests } from "../state/requests.ts";
import { markChanged } from "../state/route.ts";

/** Messages between tabs. A browser allows few connections to one origin, so all tabs share one stream. */
type FollowMessage =
  | { readonly events: readonly EmulatorEvent[] }
  | { readonly connection: Connection }
  | { readonly ask: true }
  /** A request of that tab failed without a connection. */
  | { readonly doubt: true };

const name = "svc-console";
/** Delays before each reconnection, which grow with the number of failures. */
const delaysMs = [250, 500, 1_000, 2_000, 5_000];
/** Maximum time until the stream delivers. Then the page checks whether the emulator responds, at this interval. */
const maxOpeningMs = 5_000;
/** Maximum time between two chunks of the stream, which has a heartbeat every 15 seconds. */
const maxSilenceMs = 40_000;

let after: string | undefined;
let tabs: BroadcastChannel | undefined;
let isLeading = false;
/** Ends the open stream, or the pause before the next one. */
let onward = new AbortController();

/** Follows the emulator: by the stream if this tab has it, otherwise by messages of the tab that does. */
export function followEmulator(): void {
  if (tabs) return;
  tabs = new BroadcastChannel(name);
  tabs.addEventListener("message", ({ data }: MessageEvent<FollowMessage>) => {
    if ("events" in data) receive(data.events);
    else if ("connection" in data) connection.value = data.connection;
    else if ("doubt" in data) reportDoubt();
    else if (isLeading) broadcast({ connection: connection.value });
  });
  broadcast({ ask: true });
  failedCallCount.subscribe((count) => {
    if (count > 0) reportDoubt();
  });
  // The browser notices first that the network is down or up again, although the emulator may not depend on it.
  addEventListener("offline", () => {
    if (connection.value === "live") reportDoubt();
  });
  addEventListener("online", () => {
    if (connection.value === "lost") onward.abort();
  });
  let before = connection.value;
  connection.subscribe((now) => {
    // Requests sent in the meantime have no response.
    if (now === "live" && before !== "connecting") void readAll();
    if (now === "polling") void readRepeatedly();
    before = now;
  });
  let token = session.value;
  session.subscribe((now) => {
    // The stream has the permissions of the session that opened it.
    if (now !== undefined && token !== undefined && now !== token) onward.abort();
    token = now ?? token;
  });
  // When this tab is closed, the lock passes to the next one. A page on another machine may have no locks.
  if (navigator.locks) void navigator.locks.request(name, followAsLeader);
  else void followAsLeader();
}

/**
 * After a request without a connection, the tab with the stream opens a new one to check the connection. Without a
 * stream, the next check follows within seconds.
 */
function reportDoubt(): void {
  if (!isLeading) broadcast({ doubt: true });
  else if (connection.value === "live") onward.abort();
  else if (connection.value === "polling") setConnection("lost");
}

const broadcast = (message: FollowMessage): void => tabs?.postMessage(message);

function receive(events: readonly EmulatorEvent[]): void {
  after = events.at(-1)?.id ?? after;
  applyEvents(events);
}

async function followAsLeader(): Promise<never> {
  isLeading = true;
  let silence: AbortController | undefined;
  for (let failures = 0; ; failures += 1) {
    await waitForSignIn();
    onward = new AbortController();
    silence ??= startTimer(maxOpeningMs, checkRepeatedly);
    try {
      for await (const events of streamEvents(after, onward.signal)) {
        silence.abort();
        silence = startTimer(maxSilenceMs, () => onward.abort());
        failures = 0;
        setConnection("live");
        if (events.length === 0) continue;
        receive(events);
        broadcast({ events });
      }
    } catch {
      // The reason is unknown. The page only shows that it reconnects.
    }
    if (connection.value === "live") {
      silence?.abort();
      silence = undefined;
      // A proxy may cut a stream of an emulator that still responds.
      setConnection("reconnecting");
    } else if (connection.value !== "polling") setConnection("lost");
    onward = new AbortController();
    await systemWallClock.sleep(delaysMs[Math.min(failures, delaysMs.length - 1)]!, onward.signal);
  }
}

/** Calls a function after a time, unless the timer is aborted. */
function startTimer(ms: number, act: (signal: AbortSignal) => unknown): AbortController {
  const timer = new AbortController();
  void systemWallClock.sleep(ms, timer.signal).then(() => timer.signal.aborted || act(timer.signal));
  return timer;
}

/** Checks whether the emulator responds although the stream does not deliver, as behind a proxy that buffers it. */
async function checkRepeatedly(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const hasResponded = loadReadiness().then(
      () => true,
      (error: CallError) => !(error.isUnreachable || error instanceof ProxyError),
    );
    const responds = await Promise.race([hasResponded, systemWallClock.sleep(maxOpeningMs, signal)]);
    if (signal.aborted) return;
    setConnection(responds ? "polling" : "lost");
    await systemWallClock.sleep(maxOpeningMs, signal);
    if (!signal.aborted) onward.abort();
  }
}

let isReading = false;

/** Reads everything at intervals, because the events do not arrive. */
async function readRepeatedly(): Promise<void> {
  if (isReading) return;
  isReading = true;
  while (connection.value === "polling") {
    await readAll();
    await systemWallClock.sleep(maxOpeningMs);
  }
  isReading = false;
}

function setConnection(state: Connection): void {
  if (connection.value === state) return;
  connection.value = state;
  broadcast({ connection: state });
}

const waitForSignIn = (): Promise<void> =>
  new Promise((resolve) => {
    const stop = session.subscribe((token) => {
      if (token !== undefined) resolve();
    });
    if (session.value !== undefined) stop();
  });

/** Topics of the events after which views only reload. */
const changedTopics = { contract: "contracts", email: "emails", device: "devices", snapshots: "snapshots" } as const;

/** Updates the view from an event. */
function applyEvents(events: readonly EmulatorEvent[]): void {
  let changes: DeliveryChange[] = [];
  for (const event of events) {
    switch (event.event) {
      // Changes between the reading of the page and the beginning of its stream have no event.
      case "begin":
        void readAll();
        break;
      case "resync":
      case "state":
        replacedStates.value += 1;
        // Earlier changes can be of another state.
        changes = [];
        void readAll();
        break;
      case "clock":
        setClock(event.clock);
        break;
      case "delivery":
        changes.push(event.delivery);
        markChanged("deliveries");
        break;
      case "request":
        mergeRequests([event.request]);
        markChanged("requests");
        break;
      case "faults":
        setFaults(event.faults);
        markChanged("faults");
        break;
      default:
        markChanged(changedTopics[event.event]);
    }
  }
  if (changes.length > 0) mergeDeliveries(changes);
}

type EmulatorEvent = ResultOf<typeof followEvents> extends AsyncIterable<infer Event> ? Event : never;

/**
 * Yields the events of the emulator after a given one, in batches as they arrive. Ends with the connection or the
 * signal.
 */
async function* streamEvents(after: string | undefined, signal: AbortSignal): AsyncGenerator<readonly EmulatorEvent[]> {
  const path = getOutline("events.watch").path.replace("/_emulator/", "../");
  const sentToken = session.value;
  const response = await fetch(path + formatQuery({ after }), {
    headers: { accept: "text/event-stream", ...getSessionHeaders() },
    signal,
  });
  if (response.status === 401) forgetSession(sentToken);
  if (!response.ok || !response.body) throw CallError.fromResponse(response.status, undefined);
  yield* readEvents(response.body) as AsyncGenerator<EmulatorEvent[]>;
}

/** Reads a stream of server-sent events of the emulator, which ends each with an empty line. */
export async function* readEvents(body: ReadableStream<BufferSource>): AsyncGenerator<unknown[]> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const frames = (rest + value).split("\n\n");
    rest = frames.pop()!;
    // A heartbeat has no data.
    yield frames.flatMap((frame) => /^data: ([^\n]*)/m.exec(frame)?.[1] ?? []).map((data) => JSON.parse(data));
  }
}
