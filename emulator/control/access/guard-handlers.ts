import { fail } from "../../../src/api/failures.ts";
import type { Call } from "../../http/handler.ts";
import type { AnyHandler } from "../../http/parts.ts";
import type { ControlContext } from "../context.ts";
import type { ControlCaller } from "./credentials.ts";
import { maskResult } from "./mask.ts";
import { WorkspaceStore } from "./workspace-store.ts";

/**
 * What a token that is bound to a workspace may ask for, with a store in which there is that workspace alone. All else
 * is about the whole sandbox: its clock, faults, snapshots, console and tokens.
 */
const ofWorkspaces: ReadonlySet<string> = new Set([
  "emulator.kept",
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

const isOfWorkspaces = (id: string): boolean => ofWorkspaces.has(id) || /^emulator-(?:contracts|webhooks)\./.test(id);

type ControlCall = ControlContext & Call<never, ControlCaller | undefined>;

/**
 * Handlers of the control plane that heed what else a token says than its role: one that may only read is shown no
 * secrets, and one of a workspace nothing of others (DECISIONS.md, E16). Here, and nowhere else.
 */
export const guardHandlers = <Handlers extends object>(handlers: Handlers): Handlers =>
  Object.fromEntries(
    Object.entries(handlers).map(([id, handler]) => [id, guard(id, handler as AnyHandler)]),
  ) as Handlers;

function guard(id: string, handler: AnyHandler) {
  return (input: never, call: ControlCall): unknown => {
    // Nobody who says who they are: a page, a probe.
    if (call.caller === undefined) return handler(input, call as never);
    const { name: token, role, workspace } = call.caller.token;
    if (workspace !== undefined && !isOfWorkspaces(id))
      return fail("whole-sandbox", { token, workspace: workspace.name });
    const result = handler(input, (workspace === undefined ? call : within(call, workspace.id)) as never);
    if (role !== "read" || isAboutCaller(id)) return result;
    return result instanceof Promise ? result.then((one) => maskResult(id, one)) : maskResult(id, result);
  };
}

/** A code or a session is the caller's own. */
const isAboutCaller = (id: string): boolean => id.startsWith("sessions.");

const within = (call: ControlCall, workspace: number): ControlCall =>
  Object.create(call, { store: { value: new WorkspaceStore(call.store, call.request.cause, workspace) } });
