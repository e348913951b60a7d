import type { Activity } from "../../../../src/api/activities.ts";
import type { RejectionCode, Trigger } from "../../../../src/api/contracts/lifecycle.ts";
import type { Fail, FailureCode } from "../../../../src/api/failures.ts";
import type { Clock } from "../../../../src/base/clock.ts";
import { endContractEntries } from "../../../clock/schedule.ts";
import type { EmulatorSettings } from "../../../domain/settings.ts";
import type { Transaction } from "../../../store/port.ts";
import { emitEvent, type Performer, systemPerformer } from "../../../webhooks/emit.ts";
import { endInvitations } from "../../invitations/invite.ts";
import { haveMetricsChanged } from "../details.ts";
import { readContractFacts } from "../records.ts";
import { type Contract, contracts } from "../rows.ts";
import { applyMove, findInvitedSignatories, findRequestedApprovals } from "./lifecycle.ts";
import { type Addressees, listCounterpartyAddresses, startTimers, type TimerOptions } from "./timers.ts";

export interface LifecycleContext {
  readonly clock: Clock;
  readonly settings: EmulatorSettings;
}

export interface TransitionOptions {
  /** This is ignored if the table names the service as the performer. */
  readonly performer: Performer;
  /** Recipients of the e-mail to the counterparty, which replace the configured ones. */
  readonly addressees?: Addressees;
  /** Other changes to the contract, applied if the table allows the transition. */
  readonly patch?: (contract: Contract) => Contract;
}

/** Changes the status by the lifecycle table, stores the contract, renews its timers and notifies the webhooks. */
export function transitionContract<T extends Trigger>(
  tx: Transaction,
  context: LifecycleContext,
  contract: Contract,
  trigger: T,
  options: TransitionOptions,
  fail: Fail<RejectionCode<T>>,
): Contract {
  // The table that `applyTransition` reads only has rejections of RejectionCode<T>.
  const reject = fail as unknown as TransitionRejecter;
  return applyTransition(tx, context, contract, trigger, options, contract.status, reject);
}

/** Applies the first trigger to a new contract, which the table never rejects. */
export function createByTransition(
  tx: Transaction,
  context: LifecycleContext,
  contract: Contract,
  trigger: "create-from-template" | "upload-for-review" | "upload-for-signature" | "import-executed",
  options: TransitionOptions,
): Contract {
  return applyTransition(tx, context, contract, trigger, options, "(new)", (code) => {
    throw new Error(`The lifecycle table does not allow creating a contract: ${code}`);
  });
}

type TransitionRejecter = (code: FailureCode, data: unknown) => never;

function applyTransition(
  tx: Transaction,
  { clock, settings: { autoSignMs } }: LifecycleContext,
  before: Contract,
  trigger: Trigger,
  { performer, addressees, patch }: TransitionOptions,
  from: Contract["status"] | "(new)",
  reject: TransitionRejecter,
): Contract {
  const at = clock.now();
  const outcome = applyMove(before, trigger, at, from);
  if (outcome.rejection !== undefined) return reject(outcome.rejection, outcome.data);

  const { appliedMove } = outcome;
  const after = patch ? patch(outcome.contract) : outcome.contract;
  const hasNewState = after.status !== before.status || after.deleted_at !== null || from === "(new)";
  // All timers of a contract end when it leaves its state (DECISIONS.md, C22).
  if (hasNewState) endContractEntries(tx, after.id);
  const invitees = findInvitedSignatories(appliedMove, before, after);
  startTimers(tx, after, { appliedMove, hasNewState, at, autoSignMs, invitees, addressees });
  tx.put(contracts, after);
  if (hasNewState && isOver(after)) endInvitations(tx, after, at);

  const contract = readContractFacts(tx, after);
  const { workspace_id } = after;
  const performed_by = appliedMove.by === "SYSTEM" ? systemPerformer : performer;
  const emit = (activity: Activity, data?: Readonly<Record<string, unknown>>) =>
    emitEvent(tx, clock, { workspace_id, activity, at, performed_by, contract, data });
  for (const activity of appliedMove.emits) {
    const dataObjects =
      activity === "CONTRACT_APPROVAL_REQUESTED"
        ? findRequestedApprovals(before, after).map(() => ({}))
        : createActivityDataPerPerson(activity, after, { invitees, addressees });
    for (const data of dataObjects) emit(activity, data);
    if (activity === "CONTRACT_CREATED" && after.external_metadata) emit("CONTRACT_EXTERNAL_METADATA_CREATED");
  }
  if (from !== "(new)" && haveMetricsChanged(before, after)) emit("CONTRACT_PROCESS_METRIC_UPDATED");
  return after;
}

const isOver = ({ status, deleted_at }: Contract): boolean =>
  status === "EXECUTED" || status === "VOIDED" || deleted_at !== null;

/** Returns the other keys of `activity_data`, one object for each emission of the activity (DECISIONS.md, F21). */
export function createActivityDataPerPerson(
  activity: Activity,
  contract: Contract,
  { invitees, addressees }: Pick<TimerOptions, "invitees" | "addressees">,
): readonly Readonly<Record<string, unknown>>[] {
  if (activity === "CONTRACT_SIGNATURE_REQUESTED_NOTIFICATION_SENT") {
    return invitees.map(({ name, email }) => ({ signatory: { name, email } }));
  }
  if (activity !== "CONTRACT_SENT_TO_COUNTERPARTY") return [{}];
  const to_recipients = listCounterpartyAddresses(contract, addressees);
  return [{ counterparty_email_recipients: { to_recipients, cc_recipients: addressees?.cc ?? [] } }];
}
