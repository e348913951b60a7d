import type { ContractStatus } from "../../../src/api/contracts/lifecycle.ts";
import { pluralize } from "../../../src/base/text.ts";
import type { FindingReporter } from "../../http/handler.ts";
import {
  allowFraming,
  createPage,
  Html,
  html,
  renderDefinitionList,
  renderErrorBanner,
  renderHiddenFields,
} from "../../http/page.ts";
import { createAttachmentHeader, createInlineHeader, Passthrough } from "../../http/reply.ts";
import type { ClusterContext } from "../context.ts";
import { type Contract, type ContractSignatory, formatCompositeId, formatReferenceId } from "../contracts/rows.ts";
import {
  createContractSheet,
  getContentLength,
  getLatestDocument,
  pdfMediaType,
  readDocument,
} from "../documents/contract-pdf.ts";
import { createPageResponse, type OAuthParameters } from "../response.ts";
import { describeCompletedAction, formActions, maxFormTextLength, type RecipientFormProblem } from "./form-actions.ts";
import {
  type ContractView,
  dropDuplicatePeople,
  type PendingAction,
  type RecipientView,
  renderTime,
} from "./page-model.ts";

export function renderContractPage(view: ContractView) {
  const content = html`${renderFacts(view, describePendingActions(view))}
${renderSignatories(view)}`;
  return createPageResponse(200, createPage(view.contract.name, content, allowFraming));
}

/** Renders the page of a person with their past and open actions. `done` is the action of the last form. */
export function renderPersonPage(
  view: ContractView,
  recipient: RecipientView,
  problem: RecipientFormProblem | undefined,
  input: OAuthParameters | undefined,
  completedAction: string | null,
): Passthrough {
  const hasTurn = recipient.actions.length > 0;
  const confirmation = problem
    ? undefined
    : describeCompletedAction(view.contract, recipient.person, hasTurn, completedAction);
  const works = [...new Set(recipient.actions.map(({ work }) => work))].map((work) => html`${work}`);
  const turn = hasTurn ? html`It is your turn to ${joinAsList(works, "and")}` : "It is not your turn";
  const comments = recipient.comments.map((text) => html`<li class="as-typed">${text}</li>`);
  const content = html`<p>You are <strong>${isolateName(recipient.person.name)}</strong>.</p>
${renderErrorBanner(problem?.message)}${confirmation && html`<p role="status">${confirmation}</p>`}
${renderFacts(view, hasTurn || confirmation ? describePendingActions(view) : undefined)}
${hasTurn || !confirmation ? html`<h2>${turn}</h2>` : undefined}
${hasTurn || confirmation ? undefined : html`<p>${describePendingActions(view)}</p>`}
${renderForms(recipient, input)}
${comments.length === 0 ? undefined : html`<h2>Your comments</h2><ul>${comments}</ul>`}
${renderSignatories(view)}`;
  return createPageResponse(problem?.status ?? 200, createPage(view.contract.name, content, allowFraming));
}

export function renderProblemPage(status: number, title: string, message: string, headers: readonly string[] = []) {
  const { rawHeaders, body } = createPageResponse(status, createPage(title, html`<p>${message}</p>`, allowFraming));
  return new Passthrough(status, [...rawHeaders, ...headers], body);
}

const renderFacts = ({ contract, parties, document }: ContractView, next: Html | undefined): Html =>
  renderDefinitionList({
    Contract: `${formatCompositeId(contract)} (${formatReferenceId(contract)})`,
    Between: parties.length === 0 ? "None yet" : joinAsList(parties.map(isolateName), "and"),
    Status: `${statusWords[contract.status]} (${contract.status})`,
    Next: next,
    Document: document ? renderDocumentLink(document) : "None",
  });

const renderDocumentLink = ({ path, format }: NonNullable<ContractView["document"]>): Html =>
  format === "PDF"
    ? html`<a href="${path}" target="_blank" rel="noopener">Read the PDF (opens in a new tab)</a>`
    : html`<a href="${path}">Download the DOCX</a>`;

const renderSignatories = ({ contract }: ContractView): Html => html`<h2>Signatories</h2>
${
  contract.signatories.length === 0
    ? html`<p>No signatories yet.</p>`
    : html`<ul>${contract.signatories
        .toSorted((a, b) => (a.sign_order ?? 0) - (b.sign_order ?? 0))
        .map((each) => renderSignatory(each, contract))}</ul>`
}`;

const renderSignatory = (signatory: ContractSignatory, contract: Contract): Html => {
  const { title, counterparty_name: party, email } = signatory;
  const facts = [title, party, email].flatMap((text) => (text ? [isolateName(text)] : []));
  return html`<li>${isolateName(signatory.name)}<br><small>${joinHtml(facts, ", ")}</small><br>${renderState(signatory, contract)}</li>`;
};

/** Describes the last requested action. A declined contract keeps its action until signing starts again. */
function renderState({ action, sent_at }: ContractSignatory, { status }: Contract): Html {
  if (action) return html`${action.is_success ? "Signed" : "Declined"} ${renderTime(action.at)}`;
  if (sent_at !== null && status === "SIGN") return html`Asked to sign ${renderTime(sent_at)}`;
  return html`${status === "SIGN" ? "Signs after others" : "Has not signed"}`;
}

function renderForms({ actions, token }: RecipientView, input: OAuthParameters = {}): readonly Html[] {
  const openWorks = new Set(actions.map(({ work }) => work));
  return Object.entries(formActions)
    .filter(([, { work }]) => (work === undefined ? openWorks.size > 0 : openWorks.has(work)))
    .map(([act, { label, missingText, button, style, disclosure }]) => {
      const isSubmitted = input.act === act;
      const field = label && renderField(label, isSubmitted ? input.text : undefined, missingText && "required");
      const form = html`<form method="post">${renderHiddenFields({ form_token: token })}${field}
<p><button name="act" value="${act}"${style && html` class="${style}"`}>${button}</button></p></form>`;
      if (!disclosure) return form;
      return html`<details${new Html(isSubmitted ? " open" : "")}><summary>${disclosure.summary}</summary>
<p>${disclosure.warning}</p>
${form}</details>`;
    });
}

/** Browsers drop a leading line break in a textarea, so an extra line break is inserted. */
const renderField = (label: string, text: string | undefined, requiredAttribute?: string): Html =>
  html`<p><label>${label}: <textarea name="text" rows="2" maxlength="${maxFormTextLength}" ${requiredAttribute}>
${text}</textarea></label></p>`;

/** PDFs are shown inline. Other types are downloaded. */
export async function createDocumentResponse(
  contract: Contract,
  { store, blobs }: Pick<ClusterContext, "store" | "blobs">,
  finding: FindingReporter,
): Promise<Passthrough | undefined> {
  const sheet = createContractSheet(store, contract);
  const document = await getLatestDocument(contract, sheet, finding);
  if (!document) return undefined;
  const { file_name, content_type } = document;
  const headers = {
    "content-type": content_type,
    ...getContentLength(document),
    ...(content_type === pdfMediaType ? createInlineHeader(file_name) : createAttachmentHeader(file_name)),
    "cache-control": "no-store",
    "referrer-policy": "same-origin",
  };
  return new Passthrough(200, Object.entries(headers).flat(), await readDocument(blobs, document));
}

const statusWords: Readonly<Record<ContractStatus, string>> = {
  DRAFT: "Draft",
  REDLINING: "Under review",
  SIGN: "Out for signature",
  EXECUTED: "Executed",
  ON_HOLD: "On hold",
  VOIDED: "Void",
};

/** Isolates a name, whose writing direction can differ from the sentence around it. */
const isolateName = (text: string): Html => html`<bdi>${text}</bdi>`;

function describePendingActions({ contract, pendingActions, owner }: ContractView): Html {
  if (pendingActions.length > 0)
    return html`Waiting for ${joinHtml(groupActions(pendingActions).map(describeActions), ", and for ")}.`;
  const adverb = contract.signatories.some(({ action }) => action?.is_success === false) ? " again" : "";
  switch (contract.status) {
    case "DRAFT":
      return html`Waiting for ${isolateName(owner)} to send it${adverb}.`;
    case "REDLINING":
      return html`Waiting for ${isolateName(owner)} to send it for signature${adverb}.`;
    case "ON_HOLD":
      return html`On hold. No action is possible until the contract is resumed.`;
    default:
      return html`No pending actions.`;
  }
}

const maxShownNames = 5;

/** Each approval is a separate group. */
function groupActions(turns: readonly PendingAction[]): PendingAction[][] {
  const groups = new Map<string, PendingAction[]>();
  for (const turn of turns) {
    const group = turn.work === "approve" ? `approve ${turn.approval}` : turn.work;
    groups.set(group, [...(groups.get(group) ?? []), turn]);
  }
  return [...groups.values()];
}

/** Describes the pending actions. All invited signatories must sign, while one reviewer or approver is enough. */
function describeActions(turns: readonly PendingAction[]): Html {
  const { work } = turns[0]!;
  const people = dropDuplicatePeople(turns);
  const shownNames = people.slice(0, maxShownNames).map((each) => isolateName(each.name));
  const hiddenCount = people.length - shownNames.length;
  const names = hiddenCount > 0 ? [...shownNames, html`${pluralize(hiddenCount, "other")}`] : shownNames;
  return html`${joinAsList(names, work === "sign" ? "and" : "or")} to ${work}`;
}

const joinAsList = (items: readonly Html[], word: "and" | "or"): Html =>
  items.length < 2 ? joinHtml(items, "") : html`${joinHtml(items.slice(0, -1), ", ")} ${word} ${items.at(-1)}`;

const joinHtml = (items: readonly Html[], separator: string): Html =>
  new Html(items.map(({ text }) => text).join(separator));
