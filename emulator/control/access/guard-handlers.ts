import { formatHiddenValue } from "../../../src/api/control-plane.ts";
import { fail } from "../../../src/api/failures.ts";
import { redactText, redactUrl } from "../../../src/api/secrets.ts";
import { DroppedEventsNotice } from "../../http/event-stream.ts";
import type { HandlerCall, UntypedHandler } from "../../http/handler.ts";
import { EventFrames, HandlerReply } from "../../http/reply.ts";
import { redactHeaderLine, redactReceiverUrl, redactTarget } from "../../http/request-log/redact.ts";
import type { ControlCaller } from "../console/sessions.ts";
import type { ControlContext } from "../context.ts";
import { scopeStore } from "./workspace-store.ts";

/**
 * Operations that a token bound to a workspace can use, with a store that only contains that workspace. All other
 * operations concern the whole sandbox: its clock, faults, snapshots, console and tokens.
 */
const workspaceOperations: ReadonlySet<string> = new Set([
  "emulator.clusters",
  "emulator.workspaces",
  "emulator.wait",
  "clock.show",
  "requests.list",
  "requests.watch",
  "traces.show",
  "traces.watch",
  "activities.list",
  "activities.fire",
  "deliveries.list",
  "deliveries.watch",
  "deliveries.show",
  "deliveries.record",
  "deliveries.resend",
  "emails.list",
  "invitations.list",
  "invitations.accept",
  "installations.list",
  "installations.begin",
  "user-tasks.list",
  "device-grants.approve",
  "sessions.end",
]);

const isWorkspaceOperation = (id: string): boolean =>
  workspaceOperations.has(id) || /^emulator-(?:contracts|webhooks)\./.test(id);

type ControlCall = ControlContext & HandlerCall<never, ControlCaller | undefined>;

/**
 * Applies the restrictions of a token beyond its role to the handlers of the control plane. A read-only token gets no
 * secrets, and a token bound to a workspace cannot see other workspaces (DECISIONS.md, E16). No other module applies
 * them.
 */
export const guardHandlers = <Handlers extends object>(handlers: Handlers): Handlers =>
  Object.fromEntries(
    Object.entries(handlers).map(([id, handler]) => [id, guard(id, handler as UntypedHandler)]),
  ) as Handlers;

function guard(id: string, handler: UntypedHandler) {
  return (input: never, call: ControlCall): unknown => {
    // Pages and probes have no authenticated caller.
    if (call.caller === undefined) return handler(input, call as never);
    const { name: token, role, workspace } = call.caller.token;
    if (workspace !== undefined && !isWorkspaceOperation(id))
      return fail("workspace-token-not-allowed", { token, workspace: workspace.name, isConsole: isAboutCaller(id) });
    const result = handler(input, (workspace === undefined ? call : scopeCall(call, workspace.id)) as never);
    if (role !== "read" || isAboutCaller(id)) return result;
    return result instanceof Promise ? result.then((value) => maskResult(id, value)) : maskResult(id, result);
  };
}

/** A code or a session belongs to the caller. */
const isAboutCaller = (id: string): boolean => id.startsWith("sessions.");

const scopeCall = (call: ControlCall, workspace: number): ControlCall =>
  Object.create(call, { store: { value: scopeStore(call, workspace) } });

const hiddenSecret = formatHiddenValue("the role operate");

/** Reports whether a field of the control plane holds secrets: keys, tokens, codes, and links that act as a person. */
const isSecret = (name: string): boolean =>
  /^(?:token|link|user_codes?|hmac_key|cluster_key|authorization_url|redirect_url)$|_(?:secret|token|tokens|password|signature)$/.test(
    name,
  );

const isRaw = (operation: string): boolean => operation === "clusters.inbox" || operation === "emails.blackhole";

function maskResult(operation: string, result: unknown): unknown {
  if (result instanceof HandlerReply)
    return new HandlerReply(result.status, mask(result.body, "", operation), result.headers);
  if (isStream(result)) return maskItems(operation, result);
  return mask(result, "", operation);
}

const isStream = (result: unknown): result is AsyncIterable<unknown> =>
  typeof result === "object" && result !== null && Symbol.asyncIterator in result;

async function* maskItems(operation: string, items: AsyncIterable<unknown>): AsyncGenerator<unknown, void> {
  for await (const item of items) {
    if (item instanceof DroppedEventsNotice) yield item;
    else yield item instanceof EventFrames ? maskFrames(operation, item) : mask(item, "", operation);
  }
}

const maskFrames = (operation: string, { text }: EventFrames): EventFrames =>
  new EventFrames(
    text.replace(
      /^data: ?(.*)$/gm,
      (_, json: string) => `data: ${JSON.stringify(mask(JSON.parse(json), "", operation))}`,
    ),
  );

function mask(value: unknown, name: string, operation: string): unknown {
  if (typeof value === "string") {
    if (isSecret(name) || (isRaw(operation) && (name === "body" || name === "headers"))) return hiddenSecret;
    if (name === "header") return redactHeaderLine(value);
    if (name === "ref" && value.startsWith("device:")) return `device:${hiddenSecret}`;
    if (isRaw(operation) && name === "target") return redactTarget(value, undefined);
    return name === "url" ? redactReceiverUrl(value) : redactText(redactUrl(value));
  }
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
  if (Array.isArray(value)) return value.map((item) => mask(item, name, operation));
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => {
      // A difference between two states has the name of the field, with both values below it.
      const hasSecretName = isSecret(name) && !Array.isArray(value);
      return [key, mask(member, hasSecretName ? name : key, operation)];
    }),
  );
}
