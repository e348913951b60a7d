import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import demo from "../../fixtures/seeds/demo.json" with { type: "json" };
import { contractRequest } from "./support/draft.ts";
import { type Load, sendLoad } from "./support/load.ts";
import { computeMedian, computeRatios, reportFigure, runAlternately, writeNote } from "./support/measure.ts";
import { type BenchProcess, ProcessGroup, type RunningEmulator } from "./support/processes.ts";

/**
 * Compares deliveries with a bare undici sender of the same bytes, at a concurrency of 64. The emulator with a file
 * store, the sender and the receivers are separate processes.
 */
const atOnce = 64;
const subscriptions = 1_000;
const attempts = 6;
const fast = { subscriptions: 64, events: 400 } as const;

const headers = { "content-type": "application/json" };
const key = { client_id: "app", client_secret: "of the first workspace" };
/** A fixed key, because a reset would generate other keys. */
const seed = { ...demo, workspaces: demo.workspaces.map((row) => (row.id === 1 ? { ...row, ...key } : row)) };
interface Receiver extends BenchProcess {
  request<T = number>(question: "count" | "first" | "until", parameters?: object): Promise<T>;
}

const folder = await mkdtemp(join(tmpdir(), "svc-bench-"));
try {
  await using parties = new ProcessGroup();
  const dead: Receiver = await parties.start("answering", { status: 500 });
  const healthy: Receiver = await parties.start("answering");
  const bare = await parties.start<object>("sender");
  const emulator = await parties.emulator({ file: join(folder, "emulator.json"), clock: { mode: "manual" }, seed });
  const { post, fire, control } = createRequesters(emulator.ready);

  /** Creates a workspace with one contract and only these subscriptions. */
  const subscribed = async (count: number, url: string) => {
    await control("reset");
    await post("contracts/", contractRequest, 1);
    await post("webhooks/", { title: "A receiver", url, only_for_activities: ["CONTRACT_SIGNED"] }, count);
  };
  /** Sends the same number of POSTs with the body that the emulator sent to the receiver. */
  const bareMs = (receiver: Receiver, count: number, status: number) => async () => {
    const brought = await receiver.request<Pick<Load, "headers" | "body">>("first");
    const { url } = receiver.ready;
    return bare.request<number>("send", {
      url,
      path: "/",
      method: "POST",
      connections: atOnce,
      count,
      status,
      ...brought,
    } satisfies Load);
  };

  const wholeSchedule = async () => {
    await subscribed(subscriptions, dead.ready.url);
    const before = await dead.request("count");
    await control("activities", { activity: "CONTRACT_SIGNED" });
    const begin = performance.now();
    const { ran } = (await control("clock/advance", { by: "PT2H35M" })) as { ran: readonly { at: string }[] };
    const took = performance.now() - begin;
    const posts = (await dead.request("count")) - before;
    if (posts !== subscriptions * attempts) throw new Error(`${posts} POSTs came`);
    if (ran.some(({ at }, i) => i > 0 && at < ran[i - 1]!.at)) throw new Error("out of order");
    return took;
  };
  const [schedule, posts] = await runAlternately(3, [wholeSchedule, bareMs(dead, subscriptions * attempts, 500)]);
  reportFigure(
    "1,000 dead webhooks through the whole schedule, against 6,000 bare POSTs",
    computeRatios(posts, schedule),
    ">= 0.3",
  );
  reportFigure(
    "1,000 dead webhooks through the whole schedule, seconds",
    schedule.map((ms) => ms / 1_000),
    "< 5",
  );

  /** CPU milliseconds of both senders by round. */
  const cpu = { delivered: [] as number[], sent: [] as number[] };
  const fastReceiver = async () => {
    await subscribed(fast.subscriptions, healthy.ready.url);
    const all = (await healthy.request("count")) + fast.subscriptions * fast.events;
    const cpuBefore = await emulator.cpuMs();
    const begin = performance.now();
    const delivered = healthy.request("until", { count: all });
    await fire("CONTRACT_SIGNED", fast.events);
    await delivered;
    const took = performance.now() - begin;
    cpu.delivered.push((await emulator.cpuMs()) - cpuBefore);
    await control("clock/advance", { by: "PT1S" });
    if ((await healthy.request("count")) !== all) throw new Error("Something was sent twice");
    return took;
  };
  const posted = bareMs(healthy, fast.subscriptions * fast.events, 200);
  const bareSender = async () => {
    const cpuBefore = await bare.cpuMs();
    const took = await posted();
    cpu.sent.push((await bare.cpuMs()) - cpuBefore);
    return took;
  };
  const warming = 3;
  const [delivered, sent] = await runAlternately(7, [fastReceiver, bareSender], warming);
  reportFigure(
    `${fast.events} events to ${fast.subscriptions} webhooks on a fast receiver, against bare POSTs`,
    computeRatios(sent, delivered),
    ">= 0.6",
  );
  writeNote(
    `by CPU time of the senders ${computeMedian(computeRatios(cpu.sent, cpu.delivered).slice(warming)).toFixed(2)}`,
  );
  writeNote(
    `${Math.round((fast.subscriptions * fast.events) / (computeMedian(delivered) / 1_000))} deliveries a second`,
  );
} finally {
  await rm(folder, { recursive: true });
}

/** Returns clients of the contract API of the first cluster and of the control plane. */
function createRequesters({ url, token, clusters: [first] }: RunningEmulator) {
  return {
    post: (path: string, document: object, count: number) =>
      sendLoad({
        url: first!.url,
        path: `/api/v2.1/public/${path}`,
        method: "POST",
        headers: { ...headers, "client-id": key.client_id, "client-secret": key.client_secret },
        body: JSON.stringify(document),
        connections: 8,
        count,
        status: 201,
      }),
    /** Triggers events of the first contract in parallel. */
    fire: (activity: string, count: number) =>
      sendLoad({
        url,
        path: "/_emulator/activities",
        method: "POST",
        headers: { ...headers, authorization: `Bearer ${token}` },
        body: JSON.stringify({ activity }),
        connections: 8,
        count,
      }),
    async control(path: string, document?: object): Promise<unknown> {
      const response = await fetch(`${url}/_emulator/${path}`, {
        method: "POST",
        headers: { ...headers, authorization: `Bearer ${token}` },
        ...(document && { body: JSON.stringify(document) }),
      });
      if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
      return response.status === 204 ? undefined : response.json();
    },
  };
}
