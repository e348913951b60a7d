import type * as activities from "../../api/emulator/activities.ts";
import type * as clock from "../../api/emulator/clock.ts";
import type * as clusters from "../../api/emulator/clusters.ts";
import type * as contracts from "../../api/emulator/contracts.ts";
import type * as deliveries from "../../api/emulator/deliveries.ts";
import type * as devices from "../../api/emulator/device-grants.ts";
import type * as emails from "../../api/emulator/emails.ts";
import type * as faults from "../../api/emulator/faults.ts";
import type * as lifecycle from "../../api/emulator/lifecycle.ts";
import type * as owners from "../../api/emulator/owners.ts";
import type * as requests from "../../api/emulator/requests.ts";
import type * as snapshots from "../../api/emulator/snapshots.ts";
import type * as state from "../../api/emulator/state.ts";
import type * as traces from "../../api/emulator/traces.ts";
import type * as webhooks from "../../api/emulator/webhooks.ts";
import type { ArgumentsOf, Operation, ResultOf } from "../../api/operation.ts";
import type { ConsoleOperation } from "../../derive/console-operations.ts";

type OperationsIn<Module> = Extract<Module[keyof Module], Operation>;
type DeclaredOperation =
  | OperationsIn<typeof activities>
  | OperationsIn<typeof clock>
  | OperationsIn<typeof clusters>
  | OperationsIn<typeof contracts>
  | OperationsIn<typeof deliveries>
  | OperationsIn<typeof devices>
  | OperationsIn<typeof emails>
  | OperationsIn<typeof faults>
  | OperationsIn<typeof lifecycle>
  | OperationsIn<typeof owners>
  | OperationsIn<typeof requests>
  | OperationsIn<typeof snapshots>
  | OperationsIn<typeof state>
  | OperationsIn<typeof traces>
  | OperationsIn<typeof webhooks>;

type NamedOperation<Id extends OperationId> = Extract<DeclaredOperation, { readonly id: Id }>;

/** Arguments of an operation. */
export type OperationInput<Id extends OperationId> = ArgumentsOf<NamedOperation<Id>>;
/** Result of an operation. */
export type OperationResult<Id extends OperationId> = ResultOf<NamedOperation<Id>>;

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
