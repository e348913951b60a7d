import type { Activity } from "../activities.ts";
import type { FailureCode } from "../failures.ts";

/** Triggers of a contract, with the verb of the error message: "A contract in status VOIDED cannot be <verb>." */
export const triggers = {
  "create-from-template": "created",
  "upload-for-review": "created",
  "upload-for-signature": "created",
  "import-executed": "created",
  send: "sent to counterparties",
  "request-review": "sent for review",
  "complete-review": "reviewed",
  "request-approval": "sent for approval",
  approve: "approved",
  "mark-for-execution": "marked for execution",
  "unmark-for-execution": "unmarked for execution",
  sign: "signed",
  decline: "declined",
  "all-signed": "executed",
  "upload-version": "given a new version",
  "upload-executed-version": "given an executed version",
  "executed-outside": "executed",
  void: "voided",
  hold: "put on hold",
  resume: "resumed",
  delete: "deleted",
} as const;
export type Trigger = keyof typeof triggers;

/** The activity that follows each e-mail of a kind, one virtual minute after it is sent (DECISIONS.md, C11, R27). */
export const emailDeliveryActivities = {
  signing: ["MAILER_EMAIL_EVENT", "SIGNING_EMAIL_DELIVERED"],
  redlining: ["MAILER_EMAIL_EVENT", "REDLINING_EMAIL_DELIVERED"],
} as const satisfies Record<string, readonly Activity[]>;

/** Conditions that select one of the moves of a trigger. The first move whose condition is true applies. */
export const conditions = {
  "template-asks-for-review": "the template requires a review by the counterparty first",
  "internal-review-open": "an internal review is open",
  "approvals-pending": "the counterparty's review is open and approvals are pending",
  "counterparty-review-open": "the counterparty's review is open and no approval is pending",
  "approval-was-last": "all reviews are complete, including the counterparty's, and this is the last pending approval",
  "from-template": "created from a template",
} as const;
export type Condition = keyof typeof conditions;

/** Conditions that a move requires, with the failure if one is not met. */
export const requirements = {
  "has-signatories": "no-signatories",
  "reviews-complete": "review-open",
  "approvals-complete": "approvals-pending",
  "review-open": "no-open-review",
  "approval-pending": "no-pending-approval",
} as const satisfies Record<string, FailureCode>;
export type Requirement = keyof typeof requirements;

/** A transition of a contract. `(new)` and `(deleted)` are the ends of the diagram, not statuses. */
export interface Move {
  readonly trigger: Trigger;
  readonly from: readonly (ContractStatus | "(new)")[];
  readonly when?: Condition;
  readonly requires?: readonly Requirement[];
  /** `=` keeps the status; `held` returns to the status before the hold. */
  readonly to: ContractStatus | "=" | "held" | "(deleted)";
  /** Activities that the transition emits. Notifications and requested approvals are emitted as their turn begins. */
  readonly emits: readonly Activity[];
  /**
   * E-mails that the transition sends. One virtual minute later, each is reported as delivered unless the status of the
   * contract has changed.
   */
  readonly sends?: "signing" | "redlining";
  /** The service applies the move automatically. */
  readonly by?: "SYSTEM";
}

/** A transition that is rejected with a publicly documented message. */
export interface ForbiddenMove {
  readonly trigger: Trigger;
  readonly from: readonly ContractStatus[];
  readonly refusedAs: FailureCode;
}

const open = ["DRAFT", "REDLINING", "SIGN"] as const;
const editable = ["DRAFT", "REDLINING"] as const;
const all = [...open, "ON_HOLD", "EXECUTED", "VOIDED"] as const;
const invitation = ["CONTRACT_SIGNATURE_REQUESTED", "CONTRACT_SIGNATURE_REQUESTED_NOTIFICATION_SENT"] as const;

/** The whole lifecycle of a contract (DECISIONS.md, F9, C8, C9, C11, C22). Unlisted moves are forbidden. */
export const lifecycle = [
  { trigger: "create-from-template", from: ["(new)"], to: "DRAFT", emits: ["CONTRACT_CREATED"] },
  {
    trigger: "upload-for-review",
    from: ["(new)"],
    to: "REDLINING",
    emits: ["CONTRACT_CREATED", "CONTRACT_REVIEW_REQUESTED"],
  },
  {
    trigger: "upload-for-signature",
    from: ["(new)"],
    to: "SIGN",
    emits: ["CONTRACT_CREATED", ...invitation],
    sends: "signing",
  },
  { trigger: "import-executed", from: ["(new)"], to: "EXECUTED", emits: ["CONTRACT_CREATED"] },
  {
    trigger: "send",
    from: ["DRAFT"],
    when: "template-asks-for-review",
    requires: ["reviews-complete", "approvals-complete"],
    to: "REDLINING",
    emits: ["CONTRACT_SENT_TO_COUNTERPARTY"],
    sends: "redlining",
  },
  {
    trigger: "send",
    from: ["DRAFT"],
    requires: ["reviews-complete", "approvals-complete", "has-signatories"],
    to: "SIGN",
    emits: invitation,
    sends: "signing",
  },
  { trigger: "request-review", from: editable, to: "=", emits: ["CONTRACT_REVIEW_REQUESTED"] },
  {
    trigger: "complete-review",
    from: editable,
    when: "internal-review-open",
    to: "=",
    emits: ["CONTRACT_REVIEW_COMPLETED"],
  },
  { trigger: "complete-review", from: ["REDLINING"], when: "approvals-pending", to: "=", emits: [] },
  {
    trigger: "complete-review",
    from: ["REDLINING"],
    when: "counterparty-review-open",
    requires: ["has-signatories"],
    to: "SIGN",
    emits: invitation,
    sends: "signing",
  },
  { trigger: "complete-review", from: editable, requires: ["review-open"], to: "=", emits: [] },
  { trigger: "request-approval", from: editable, to: "=", emits: ["CONTRACT_APPROVAL_REQUESTED"] },
  {
    trigger: "approve",
    from: ["REDLINING"],
    when: "approval-was-last",
    to: "SIGN",
    emits: ["CONTRACT_APPROVAL_COMPLETED", ...invitation],
    sends: "signing",
  },
  {
    trigger: "approve",
    from: editable,
    requires: ["approval-pending"],
    to: "=",
    emits: ["CONTRACT_APPROVAL_COMPLETED", "CONTRACT_APPROVAL_REQUESTED"],
  },
  {
    trigger: "mark-for-execution",
    from: editable,
    requires: ["reviews-complete", "approvals-complete", "has-signatories"],
    to: "SIGN",
    emits: ["CONTRACT_MARK_FOR_EXECUTION", ...invitation],
    sends: "signing",
  },
  { trigger: "unmark-for-execution", from: ["SIGN"], to: "REDLINING", emits: ["CONTRACT_UNMARK_FOR_EXECUTION"] },
  { trigger: "unmark-for-execution", from: [...editable, "ON_HOLD", "EXECUTED", "VOIDED"], refusedAs: "cannot-unmark" },
  {
    trigger: "sign",
    from: ["SIGN"],
    to: "=",
    emits: ["CONTRACT_SIGNED", "CONTRACT_SIGNATURE_REQUESTED_NOTIFICATION_SENT"],
    sends: "signing",
  },
  { trigger: "all-signed", from: ["SIGN"], to: "EXECUTED", emits: ["CONTRACT_EXECUTED"], by: "SYSTEM" },
  { trigger: "decline", from: ["SIGN"], when: "from-template", to: "DRAFT", emits: ["CONTRACT_SIGNATURE_DECLINED"] },
  { trigger: "decline", from: ["SIGN"], to: "REDLINING", emits: ["CONTRACT_SIGNATURE_DECLINED"] },
  { trigger: "upload-version", from: editable, to: "=", emits: ["CONTRACT_VERSION_UPLOADED"] },
  { trigger: "upload-executed-version", from: open, to: "=", emits: ["CONTRACT_VERSION_UPLOADED"] },
  { trigger: "executed-outside", from: open, to: "EXECUTED", emits: ["CONTRACT_EXECUTED"], by: "SYSTEM" },
  { trigger: "void", from: [...open, "ON_HOLD"], to: "VOIDED", emits: ["CONTRACT_VOIDED"] },
  { trigger: "void", from: ["EXECUTED"], refusedAs: "cannot-void-executed" },
  { trigger: "hold", from: open, to: "ON_HOLD", emits: [] },
  { trigger: "resume", from: ["ON_HOLD"], to: "held", emits: [] },
  { trigger: "delete", from: all, to: "(deleted)", emits: ["CONTRACT_DELETED"] },
] as const satisfies readonly (Move | ForbiddenMove)[];

type RowOf<T extends Trigger> = Extract<(typeof lifecycle)[number], { readonly trigger: T }>;
type RequirementOf<Row> = Row extends { readonly requires: readonly (infer R extends Requirement)[] } ? R : never;
type OwnRejectionCode<Row> = Row extends { readonly refusedAs: infer Code extends FailureCode } ? Code : never;

type UnconditionalRow<Row> = Row extends { readonly when: Condition } ? never : Row;
type SourceStatus<Row> = Row extends { readonly from: readonly (infer From)[] } ? From : never;
/**
 * The failure of a forbidden move, only if no row of the trigger covers some status. A deleted contract is not found at
 * all.
 */
type ForbiddenCode<Row> = [Exclude<ContractStatus, SourceStatus<UnconditionalRow<Row>>>] extends [never]
  ? never
  : "forbidden-move";

/** The failures of a trigger. An operation that applies the trigger must declare them. */
export type RejectionCode<T extends Trigger> =
  | ForbiddenCode<RowOf<T>>
  | (typeof requirements)[RequirementOf<RowOf<T>>]
  | OwnRejectionCode<RowOf<T>>;

/** The lifecycle, if the literal types of its rows are not needed. */
export const lifecycleRows: readonly (Move | ForbiddenMove)[] = lifecycle;

/**
 * Returns all activities that triggers can cause: first the immediate ones, then those of the e-mails. Metrics change
 * with the status and with each signature (DECISIONS.md, C23).
 */
export function activitiesCausedBy(...triggers: readonly Trigger[]): readonly Activity[] {
  const moves = triggers.flatMap((trigger) =>
    lifecycleRows.flatMap((row) => (row.trigger === trigger && "emits" in row ? [row] : [])),
  );
  const activities = moves.flatMap(({ trigger, from, to, emits, sends }): Activity[] => {
    const changes = !from.includes("(new)") && ((to !== "=" && to !== "(deleted)") || trigger === "sign");
    return [
      ...emits,
      ...(changes ? ["CONTRACT_PROCESS_METRIC_UPDATED" as const] : []),
      ...(sends ? emailDeliveryActivities[sends] : []),
    ];
  });
  return [...new Set(activities)];
}

/** DECISIONS.md, F9, C22. */
export const contractStatuses = ["DRAFT", "REDLINING", "SIGN", "EXECUTED", "ON_HOLD", "VOIDED"] as const;
export type ContractStatus = (typeof contractStatuses)[number];
