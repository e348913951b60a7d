import { isCrossSite } from "../../http/guard.ts";
import type { ReceivedRequest } from "../../http/handler.ts";
import { Passthrough } from "../../http/reply.ts";
import type { ClusterContext, ForwardedHandler } from "../context.ts";
import { recordLinkClick } from "../emails.ts";
import { type OAuthParameters, readOAuthParameters } from "../response.ts";
import { createDocumentResponse, renderContractPage, renderPersonPage, renderProblemPage } from "./contract-page.ts";
import {
  buildCompletedPath,
  performFormAction,
  type RecipientFormProblem,
  toFormProblem,
  validateForm,
} from "./form-actions.ts";
import {
  type ContractLink,
  type ContractLinkProblem,
  createContractView,
  createRecipientView,
  openContractLink,
} from "./page-model.ts";

const contractPath = /^\/contracts\/([TH]-\d{1,15})(\/document)?$/;

/** Returns undefined for a request to another page (DECISIONS.md, C25). */
export const handleRecipientPage: ForwardedHandler = async (request, context, finding) => {
  const { method, parsedTarget } = request;
  const [, composite, document] = contractPath.exec(parsedTarget.path) ?? [];
  if (composite === undefined) return undefined;
  const link = { cluster: context.cluster.id, composite, query: new URLSearchParams(parsedTarget.search) };
  const result = openContractLink(context.store, link);
  if (typeof result === "string") return renderLinkProblem(result, link);

  const { contract, person } = result;
  const isRead = method === "GET" || method === "HEAD";
  if (document !== undefined && isRead) {
    const response = await createDocumentResponse(contract, context, finding);
    return response ?? renderProblemPage(404, "No document", `${composite} has no document.`);
  }
  if (isRead) {
    if (person && method === "GET") await recordLinkClick(context, contract, person.email);
    return showPage(context, link);
  }
  if (method === "POST" && document === undefined && person) return submitForm(request, context, link);
  return renderProblemPage(405, "Method not allowed", "This page is read-only.", ["allow", "GET, HEAD"]);
};

const renderLinkProblem = (problem: ContractLinkProblem, { composite }: ContractLink): Passthrough =>
  problem === "no-contract"
    ? renderProblemPage(404, "Contract not found", `Contract ${composite} not found.`)
    : renderProblemPage(404, "Invalid link", invalidLinkMessage);

const invalidLinkMessage = "This link is incomplete, or was issued for another person or contract. Ask for a new one.";

function showPage(
  { store }: ClusterContext,
  link: ContractLink,
  problem?: RecipientFormProblem,
  input?: OAuthParameters,
): Passthrough {
  const result = openContractLink(store, link);
  if (typeof result === "string") return renderLinkProblem(result, link);
  const contractView = createContractView(store, result);
  if (!result.person) return renderContractPage(contractView);
  const recipientView = createRecipientView(store, result.person, contractView);
  return renderPersonPage(contractView, recipientView, problem, input, link.query.get("done"));
}

/** Performs the action of a form and redirects to the page, so that reloading it does not submit the form again. */
async function submitForm(request: ReceivedRequest, context: ClusterContext, link: ContractLink): Promise<Passthrough> {
  if (isCrossSite(request, false, [context.cluster.url]))
    return renderProblemPage(403, "Request blocked", foreignFormMessage);
  const form = readOAuthParameters(request);
  const problem = validateForm(form) ?? (await performForm(form, context, link));
  if (typeof problem === "string") return renderLinkProblem(problem, link);
  if (problem) return showPage(context, link, problem, form);
  const location = buildCompletedPath(request.target, form.act ?? "");
  return new Passthrough(303, ["location", location, "cache-control", "no-store"], Buffer.alloc(0));
}

const performForm = (
  form: OAuthParameters,
  context: ClusterContext,
  link: ContractLink,
): Promise<RecipientFormProblem | ContractLinkProblem | undefined> =>
  context.store
    .transaction("recipient-page.submit", (tx) => {
      const result = openContractLink(tx, link);
      if (typeof result === "string") return result;
      return result.person ? performFormAction(tx, context, result.contract, result.person, form) : "not-theirs";
    })
    .catch(toFormProblem);

const foreignFormMessage =
  "This form was not submitted from its own page. A sandboxed frame requires allow-same-origin and allow-forms.";
