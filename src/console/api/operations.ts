import type { ArgumentsOf, ResultOf } from "../../api/operation.ts";
import type { OperationById } from "../../api/registry.ts";
import type { ConsoleOperation } from "../../derive/specs.ts";

/** Arguments of an operation. */
export type OperationInput<Id extends OperationId> = ArgumentsOf<OperationById<Id>>;
/** Result of an operation. */
export type OperationResult<Id extends OperationId> = ResultOf<OperationById<Id>>;

/** Arguments of an operation that is only known at run time. */
export interface UntypedInput {
  readonly params?: object | undefined;
  readonly query?: object | undefined;
  readonly body?: unknown;
}

/** The build's data about an operation. */
export type OperationOutline = ConsoleOperation;

declare const SVC_CONSOLE_OPERATIONS: Readonly<Record<OperationId, OperationOutline>>;

export const getOutline = (id: OperationId): OperationOutline => SVC_CONSOLE_OPERATIONS[id];

/** The operations that the console calls. The build includes their outlines. */
export const usedOperations = [
  "clock.show",
  "clock.set",
  "clock.advance",
  "activities.list",
  "activities.fire",
  "emulator-webhooks.list",
  "emulator-webhooks.enable",
  "emulator-webhooks.disable",
  "emulator-webhooks.resend",
  "deliveries.list",
  "deliveries.show",
  "deliveries.resend",
  "events.watch",
  "traces.show",
  "requests.list",
  "requests.clear",
  "emulator-contracts.list",
  "emulator-contracts.show",
  "emulator-contracts.send",
  "emulator-contracts.mark",
  "emulator-contracts.unmark",
  "emulator-contracts.request-review",
  "emulator-contracts.request-approval",
  "emulator-contracts.sign",
  "emulator-contracts.decline",
  "emulator-contracts.complete-review",
  "emulator-contracts.approve",
  "emulator-contracts.void",
  "emulator-contracts.hold",
  "emulator-contracts.resume",
  "emulator-contracts.delete",
  "emails.list",
  "owners.list",
  "emulator.ready",
  "emulator.clusters",
  "emulator.workspaces",
  "device-grants.list",
  "device-grants.approve",
  "faults.list",
  "faults.add",
  "faults.remove",
  "snapshots.list",
  "snapshots.save",
  "snapshots.diff",
  "snapshots.restore",
  "snapshots.remove",
] as const;

export type OperationId = (typeof usedOperations)[number];
