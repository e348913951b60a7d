import type { ContractStatus } from "../../../src/api/contract-statuses.ts";
import { pluralize } from "../../../src/base/pluralize.ts";
import { Html, html } from "../../http/page.ts";
import type { ContractView } from "./page-model.ts";
import { type PendingAction, uniquePeople } from "./pending-actions.ts";

/** A status as people say it. */
export const statusWords: Readonly<Record<ContractStatus, string>> = {
  DRAFT: "Draft",
  REDLINING: "Under review",
  SIGN: "Out for signature",
  EXECUTED: "Executed",
  ON_HOLD: "On hold",
  VOIDED: "Void",
};

/** A name keeps its own direction of writing, and so does the sentence around it. */
export const isolateName = (text: string): Html => html`<bdi>${text}</bdi>`;

/** Whose turn it is, as a sentence. */
export function describePendingActions({ contract, turns, owner }: ContractView): Html {
  if (turns.length > 0) return html`Waiting for ${joinHtml(groups(turns).map(inWords), ", and for ")}.`;
  const again = contract.signatories.some(({ action }) => action?.is_success === false) ? " again" : "";
  switch (contract.status) {
    case "DRAFT":
      return html`Waiting for ${isolateName(owner)} to send it${again}.`;
    case "REDLINING":
      return html`Waiting for ${isolateName(owner)} to send it for signature${again}.`;
    case "ON_HOLD":
      return html`On hold. No action is possible until the contract is resumed.`;
    default:
      return html`No pending actions.`;
  }
}

/** More names than these are counted. */
const named = 5;

/** Turns that belong together: every approval waits by itself. */
function groups(turns: readonly PendingAction[]): PendingAction[][] {
  const found = new Map<string, PendingAction[]>();
  for (const turn of turns) {
    const group = turn.work === "approve" ? `approve ${turn.approval}` : turn.work;
    found.set(group, [...(found.get(group) ?? []), turn]);
  }
  return [...found.values()];
}

/** Of those who are asked to sign all must; of those who may review or approve one is enough. */
function inWords(turns: readonly PendingAction[]): Html {
  const { work } = turns[0]!;
  const people = uniquePeople(turns);
  const shown = people.slice(0, named).map((each) => isolateName(each.name));
  const more = people.length - shown.length;
  const all = more > 0 ? [...shown, html`${pluralize(more, "other")}`] : shown;
  return html`${joinAsList(all, work === "sign" ? "and" : "or")} to ${work}`;
}

export const joinAsList = (items: readonly Html[], word: "and" | "or"): Html =>
  items.length < 2 ? joinHtml(items, "") : html`${joinHtml(items.slice(0, -1), ", ")} ${word} ${items.at(-1)}`;

export const joinHtml = (items: readonly Html[], between: string): Html =>
  new Html(items.map(({ text }) => text).join(between));
