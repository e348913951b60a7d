import { lookupTable } from "../../../src/base/lookup-table.ts";
import { addressKey } from "../../../src/schemes/email-hash.ts";
import { type Html, html } from "../../http/page.ts";
import type { Contract } from "../contracts/rows.ts";
import type { Person } from "./opened.ts";
import { time } from "./time.ts";

/** What a form did that led to the page: its address says so. */
const words = lookupTable<string>({
  sign: "You signed this contract.",
  decline: "You declined to sign this contract.",
  "complete-review": "You completed the review.",
  approve: "You approved this contract.",
  comment: "Your comment was added.",
});

/** The address of the page once a form of it was carried out. */
export function doneAt(target: string, act: string): string {
  const [path = "", query = ""] = target.split("?", 2);
  const parameters = new URLSearchParams(query);
  parameters.set("done", act);
  return `${path}?${parameters}`;
}

/** What a person has just done; where nothing is asked of them any more, the last that they did to a signature. */
export function doneBy(contract: Contract, { email }: Person, hasTurn: boolean, act: string | null): Html | undefined {
  const [last] = contract.signatories
    .filter((each) => addressKey(each.email) === addressKey(email))
    .flatMap(({ action }) => action ?? [])
    .toSorted((a, b) => b.at - a.at);
  if (hasTurn || !last) return act === null || words[act] === undefined ? undefined : html`${words[act]}`;
  if (last.is_success) return html`You signed this contract on ${time(last.at)}.`;
  const reason = last.notes === null ? undefined : html` Your reason: <q class="as-typed">${last.notes}</q>`;
  return html`You declined to sign this contract on ${time(last.at)}.${reason}`;
}
