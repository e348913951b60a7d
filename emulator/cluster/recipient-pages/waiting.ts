import type { ContractStatus } from "../../../src/api/contract-statuses.ts";
import { counted } from "../../../src/base/counted.ts";
import { Html, html } from "../../http/page.ts";
import type { ShownContract } from "./shown.ts";
import { onceEach, type Turn } from "./turns.ts";

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
export const name = (text: string): Html => html`<bdi>${text}</bdi>`;

/** Whose turn it is, as a sentence. */
export function waiting({ contract, turns, owner }: ShownContract): Html {
  if (turns.length > 0) return html`Waits for ${joined(groups(turns).map(inWords), ", and for ")}.`;
  const again = contract.signatories.some(({ action }) => action?.is_success === false) ? " again" : "";
  switch (contract.status) {
    case "DRAFT":
      return html`Waits for ${name(owner)} to send it${again}.`;
    case "REDLINING":
      return html`Waits for ${name(owner)} to put it out for signature${again}.`;
    case "ON_HOLD":
      return html`Waits to be resumed; until then it is nobody's turn.`;
    default:
      return html`Nothing is left to do.`;
  }
}

/** More names than these are counted. */
const named = 5;

/** Turns that belong together: every approval waits by itself. */
function groups(turns: readonly Turn[]): Turn[][] {
  const found = new Map<string, Turn[]>();
  for (const turn of turns) {
    const group = turn.work === "approve" ? `approve ${turn.approval}` : turn.work;
    found.set(group, [...(found.get(group) ?? []), turn]);
  }
  return [...found.values()];
}

/** Of those who are asked to sign all must; of those who may review or approve one is enough. */
function inWords(turns: readonly Turn[]): Html {
  const { work } = turns[0]!;
  const people = onceEach(turns);
  const shown = people.slice(0, named).map((each) => name(each.name));
  const more = people.length - shown.length;
  const all = more > 0 ? [...shown, html`${counted(more, "other")}`] : shown;
  return html`${listed(all, work === "sign" ? "and" : "or")} to ${work}`;
}

export const listed = (items: readonly Html[], word: "and" | "or"): Html =>
  items.length < 2 ? joined(items, "") : html`${joined(items.slice(0, -1), ", ")} ${word} ${items.at(-1)}`;

export const joined = (items: readonly Html[], between: string): Html =>
  new Html(items.map(({ text }) => text).join(between));
