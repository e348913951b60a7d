import type { TraceNode } from "../../src/api/trace-span.ts";
import { createSentContract } from "./contracts.ts";
import type { TestEmulator } from "./emulator.ts";
import { startReceiver } from "./receiver.ts";

/** Trace of the caller, with its header. */
export const callerTrace = { trace: "4bf92f3577b34da6a3ce929d0e0e4736", span: "00f067aa0ba902b7" } as const;
export const traceparent = `00-${callerTrace.trace}-${callerTrace.span}-01`;

/** Triggers every kind of trace node: requests, retries, a resend, timers, scripted faults and clock advances. */
export async function triggerAllTraceKinds(
  t: Parameters<typeof startReceiver>[0],
  emulator: Pick<TestEmulator, "api" | "control">,
) {
  const sink = await startReceiver(t);
  for (const url of ["http://127.0.0.1:9/", `${sink.url}/hook?token=s3cret`]) {
    const webhook = { title: "a", url, only_for_activities: ["CONTRACT_CREATED", "CONTRACT_SIGNED"] };
    await emulator.api("POST", "/api/v2.1/public/webhooks/", { body: webhook });
  }
  await emulator.control("POST", "faults", { body: { direction: "outgoing", effect: "delay", count: 1 } });
  await createSentContract(emulator.api);
  await createSentContract(emulator.api);
  await emulator.control("POST", "contracts/T-1/sign", { body: {}, headers: { traceparent } });
  await emulator.control("POST", "clock/advance", { body: { by: "PT6M" } });
  await emulator.control("POST", "deliveries/1/resend", { body: {} });
  await emulator.control("POST", "clock/advance", { body: { by: "PT3H" } });
}

/** Lists all nodes of all retained traces, each once. */
export async function listTraceNodes({ control }: Pick<TestEmulator, "control">): Promise<TraceNode[]> {
  const { rows } = (await control("GET", "state")).body as {
    rows: Record<"causes" | "webhook_events", readonly { readonly id: string | number }[]>;
  };
  const refs = [...rows.causes.map(({ id }) => id), ...rows.webhook_events.map(({ id }) => `event:${id}`)];
  const nodes = new Map<string, TraceNode>();
  for (const ref of refs) {
    const { body } = await control("GET", `traces/${ref}`);
    for (const node of (body as { nodes: readonly TraceNode[] }).nodes) nodes.set(node.id, node);
  }
  return [...nodes.values()];
}
