import { alarm, framedByAnybody, type Html, html, listOf, page } from "../../http/page.ts";
import { Passthrough } from "../../http/reply.ts";
import { pageAnswer } from "../answer.ts";
import { type Contract, compositeId, referenceId, type Signatory } from "../contracts/rows.ts";
import type { Parameters } from "../parameters.ts";
import type { Problem } from "./acts.ts";
import { doneBy } from "./done.ts";
import { forms } from "./forms.ts";
import type { ShownContract, ShownToPerson } from "./shown.ts";
import { time } from "./time.ts";
import { joined, listed, name, statusWords, waiting } from "./waiting.ts";

/** The page of `contract_link`: it acts for nobody. */
export function contractPage(about: ShownContract, problem: string | undefined): Passthrough {
  const content = html`${alarm(problem)}
${facts(about, waiting(about))}
${signatories(about)}`;
  return pageAnswer(200, page(about.contract.name, content, framedByAnybody));
}

/** The page of a person, with what they did and what is theirs to do; `done`: by which form. */
export function personPage(
  about: ShownContract,
  to: ShownToPerson,
  problem: Problem | undefined,
  typed: Parameters | undefined,
  done: string | null,
): Passthrough {
  const hasTurn = to.mine.length > 0;
  const did = problem ? undefined : doneBy(about.contract, to.person, hasTurn, done);
  const turn = hasTurn ? html`It is your turn to ${listed(works(to), "and")}` : "It is not your turn";
  const content = html`<p>You are <strong>${name(to.person.name)}</strong>.</p>
${alarm(problem?.words)}${did && html`<p role="status">${did}</p>`}
${facts(about, hasTurn || did ? waiting(about) : undefined)}
${hasTurn || !did ? html`<h2>${turn}</h2>` : undefined}
${hasTurn || did ? undefined : html`<p>${waiting(about)}</p>`}
${forms(to, typed)}
${to.comments.length === 0 ? undefined : html`<h2>Your comments</h2><ul>${to.comments.map(comment)}</ul>`}
${signatories(about)}`;
  return pageAnswer(problem?.status ?? 200, page(about.contract.name, content, framedByAnybody));
}

const works = ({ mine }: ShownToPerson): Html[] =>
  [...new Set(mine.map(({ work }) => work))].map((work) => html`${work}`);

/** A page that says why there is nothing else to see. */
export function problemPage(status: number, title: string, words: string, headers: readonly string[] = []) {
  const { rawHeaders, body } = pageAnswer(status, page(title, html`<p>${words}</p>`, framedByAnybody));
  return new Passthrough(status, [...rawHeaders, ...headers], body);
}

const facts = ({ contract, parties, document }: ShownContract, next: Html | undefined): Html =>
  listOf({
    Contract: `${compositeId(contract)} (${referenceId(contract)})`,
    Between: parties.length === 0 ? "Nobody yet" : listed(parties.map(name), "and"),
    Status: `${statusWords[contract.status]} (${contract.status})`,
    Next: next,
    Document: document ? documentLink(document) : "None",
  });

const documentLink = ({ path, format }: NonNullable<ShownContract["document"]>): Html =>
  format === "PDF"
    ? html`<a href="${path}" target="_blank" rel="noopener">Read the PDF (opens in a new tab)</a>`
    : html`<a href="${path}">Download the DOCX</a>`;

const comment = (text: string): Html => html`<li class="as-typed">${text}</li>`;

/** In the order in which they sign. */
const signatories = ({ contract }: ShownContract): Html => html`<h2>Signatories</h2>
${
  contract.signatories.length === 0
    ? html`<p>Nobody has been named to sign yet.</p>`
    : html`<ul>${contract.signatories
        .toSorted((a, b) => (a.sign_order ?? 0) - (b.sign_order ?? 0))
        .map((each) => signatory(each, contract))}</ul>`
}`;

const signatory = (each: Signatory, contract: Contract): Html => {
  const { title, counterparty_name: party, email } = each;
  const about = [title, party, email].flatMap((text) => (text ? [name(text)] : []));
  return html`<li>${name(each.name)}<br><small>${joined(about, ", ")}</small><br>${stateOf(each, contract)}</li>`;
};

/** The action that was last asked for; a declined contract keeps it until signature begins again. */
function stateOf({ action, sent_at }: Signatory, { status }: Contract): Html {
  if (action) return html`${action.is_success ? "Signed" : "Declined"} ${time(action.at)}`;
  if (sent_at !== null && status === "SIGN") return html`Asked to sign ${time(sent_at)}`;
  return html`${status === "SIGN" ? "Signs after others" : "Has not signed"}`;
}
