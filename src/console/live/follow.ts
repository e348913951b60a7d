import { systemWall } from "../../base/clock.ts";
import { session } from "../api/session.ts";
import { apply } from "./apply.ts";
import { type Connection, connection } from "./connection.ts";
import { type EmulatorEvent, stream } from "./stream.ts";

/** What tabs tell each other: a browser has few connections for one origin, and one stream is enough for all tabs. */
type Message =
  | { readonly events: readonly EmulatorEvent[] }
  | { readonly connection: Connection }
  | { readonly ask: true };

const name = "svc-console";
/** How long until it is tried again, the more often it failed. */
const delaysMs = [250, 500, 1_000, 2_000, 5_000];

let after: string | undefined;
let tabs: BroadcastChannel | undefined;
let isLeading = false;

/** Follows the emulator from now on: as the tab that has the stream, or by what that one tells. */
export function follow(): void {
  if (tabs) return;
  tabs = new BroadcastChannel(name);
  tabs.addEventListener("message", ({ data }: MessageEvent<Message>) => {
    if ("events" in data) take(data.events);
    else if ("connection" in data) connection.value = data.connection;
    else if (isLeading) tell({ connection: connection.value });
  });
  tell({ ask: true });
  // The lock goes to the next tab when this one is closed. A page that is not of this machine may have no locks.
  if (navigator.locks) void navigator.locks.request(name, lead);
  else void lead();
}

const tell = (message: Message): void => tabs?.postMessage(message);

function take(events: readonly EmulatorEvent[]): void {
  after = events.at(-1)?.id ?? after;
  apply(events);
}

async function lead(): Promise<never> {
  isLeading = true;
  for (let failures = 0; ; failures += 1) {
    await signedIn();
    try {
      for await (const events of stream(after)) {
        failures = 0;
        becomes("live");
        if (events.length === 0) continue;
        take(events);
        tell({ events });
      }
    } catch {
      // What it was, the page says no more than that it is tried again.
    }
    becomes("lost");
    await systemWall.sleep(delaysMs[Math.min(failures, delaysMs.length - 1)]!);
  }
}

function becomes(state: Connection): void {
  if (connection.value === state) return;
  connection.value = state;
  tell({ connection: state });
}

const signedIn = (): Promise<void> =>
  new Promise((resolve) => {
    const stop = session.subscribe((token) => {
      if (token !== undefined) resolve();
    });
    if (session.value !== undefined) stop();
  });
