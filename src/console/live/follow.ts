import { systemWallClock } from "../../base/clock.ts";
import { type Connection, connection, failedCallCount } from "../api/call.ts";
import { session } from "../api/session.ts";
import { readAll } from "../state/act.ts";
import { setClock } from "../state/clock.ts";
import { type Delivery, deliveries, faults, mergeDeliveries } from "../state/deliveries.ts";
import { mergeRequests } from "../state/requests.ts";
import { markChanged } from "../state/route.ts";
import { type EmulatorEvent, streamEvents } from "./stream.ts";

/** Messages between tabs: a browser has few connections for one origin, and one stream is enough for all tabs. */
type FollowMessage =
  | { readonly events: readonly EmulatorEvent[] }
  | { readonly connection: Connection }
  | { readonly ask: true }
  /** A call of that tab reached nothing. */
  | { readonly doubt: true };

const name = "svc-console";
/** How long until it is tried again, the more often it failed. */
const delaysMs = [250, 500, 1_000, 2_000, 5_000];

let after: string | undefined;
let tabs: BroadcastChannel | undefined;
let isLeading = false;
/** Ends the open stream, or the pause before the next one. */
let onward = new AbortController();

/** Follows the emulator from now on: as the tab that has the stream, or by what that one tells. */
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
  // The browser knows first that the network is gone, which need not be the way to the emulator, and that it is back.
  addEventListener("offline", reportDoubt);
  addEventListener("online", () => {
    if (connection.value === "lost") onward.abort();
  });
  let before = connection.value;
  connection.subscribe((now) => {
    // Requests meanwhile have not been answered.
    if (now === "live" && before === "lost") readAll();
    before = now;
  });
  // The lock goes to the next tab when this one is closed. A page that is not of this machine may have no locks.
  if (navigator.locks) void navigator.locks.request(name, followAsLeader);
  else void followAsLeader();
}

/** Nothing answered a call, or may answer the next one: the tab that has the stream begins another one, by which it is seen whether anything does. */
function reportDoubt(): void {
  if (!isLeading) broadcast({ doubt: true });
  else if (connection.value === "live") onward.abort();
}

const broadcast = (message: FollowMessage): void => tabs?.postMessage(message);

function receive(events: readonly EmulatorEvent[]): void {
  after = events.at(-1)?.id ?? after;
  applyEvents(events);
}

async function followAsLeader(): Promise<never> {
  isLeading = true;
  for (let failures = 0; ; failures += 1) {
    await waitForSignIn();
    onward = new AbortController();
    try {
      for await (const events of streamEvents(after, onward.signal)) {
        failures = 0;
        setConnection("live");
        if (events.length === 0) continue;
        receive(events);
        broadcast({ events });
      }
    } catch {
      // The reason is not known; the page only says that it is tried again.
    }
    setConnection("lost");
    onward = new AbortController();
    await systemWallClock.sleep(delaysMs[Math.min(failures, delaysMs.length - 1)]!, onward.signal);
  }
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

/** Changes the view by an event. */
function applyEvents(events: readonly EmulatorEvent[]): void {
  const changed: Delivery[] = [];
  for (const event of events) {
    switch (event.event) {
      case "begin":
        break;
      case "resync":
      case "state":
        readAll();
        break;
      case "clock":
        setClock(event.clock);
        break;
      case "delivery":
        changed.push(...withAttempt(event.delivery, changed));
        markChanged("deliveries");
        break;
      case "request":
        mergeRequests([event.request]);
        markChanged("requests");
        break;
      case "contract":
        markChanged("contracts");
        break;
      case "email":
        markChanged("emails");
        break;
      case "device":
        markChanged("devices");
        break;
      case "faults":
        faults.value = event.faults;
        markChanged("faults");
        break;
      case "snapshots":
        markChanged("snapshots");
        break;
    }
  }
  if (changed.length > 0) mergeDeliveries(changed);
}

type DeliveryEvent = Extract<EmulatorEvent, { event: "delivery" }>["delivery"];

/** The delivery with the new attempt; an existing attempt is not added twice. */
function withAttempt({ attempt, ...record }: DeliveryEvent, earlier: readonly Delivery[]): Delivery[] {
  const known = earlier.findLast(({ id }) => id === record.id) ?? deliveries.value.get(record.id);
  const attempts = known?.attempts ?? [];
  const isNew = attempt !== null && attempts.every(({ number }) => number !== attempt.number);
  return [{ ...record, attempts: isNew ? [...attempts, attempt] : attempts }];
}
