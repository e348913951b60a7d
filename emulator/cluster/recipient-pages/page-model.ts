import { entities, users } from "../../domain/workspaces.ts";
import type { View } from "../../store/port.ts";
import { listComments } from "../contracts/comments.ts";
import { buildContractPath, buildPersonQuery, createRecipientCsrfToken } from "../contracts/links.ts";
import type { Contract } from "../contracts/rows.ts";
import { pdfType } from "../documents/inline-file.ts";
import { findPersonId } from "../workspace/users.ts";
import type { OpenedContract, Recipient } from "./open-link.ts";
import { filterActionsFor, listPendingActions, type PendingAction } from "./pending-actions.ts";

/** Public contents of the page of a contract. */
export interface ContractView {
  readonly contract: Contract;
  /** Names of the entity and of the counterparties. */
  readonly parties: readonly string[];
  readonly owner: string;
  readonly turns: readonly PendingAction[];
  /** Undefined if there is none. */
  readonly document: { readonly path: string; readonly format: "PDF" | "DOCX" } | undefined;
}

/** Additional contents for the person whose link was opened. */
export interface RecipientView {
  readonly person: Recipient;
  readonly actions: readonly PendingAction[];
  readonly comments: readonly string[];
  /** The token in the forms, which is valid while the contract is as the page showed it. */
  readonly token: string;
}

export async function createContractView(view: View, { contract, person }: OpenedContract): Promise<ContractView> {
  const entity = contract.entity_id === null ? undefined : await view.get(entities, contract.entity_id);
  const owner = await view.get(users, contract.business_user_id);
  const path = `${buildContractPath(contract)}/document`;
  const newest = contract.versions.at(-1)?.content_type ?? (contract.template_id === null ? undefined : pdfType);
  return {
    contract,
    parties: [...(entity ? [entity.name] : []), ...contract.counterparties.map(({ name }) => name)],
    owner: owner?.name ?? "",
    turns: await listPendingActions(view, contract),
    document:
      newest === undefined
        ? undefined
        : {
            path: person ? `${path}?${await buildPersonQuery(view, contract, person.email)}` : path,
            format: newest === pdfType ? "PDF" : "DOCX",
          },
  };
}

export async function createRecipientView(
  view: View,
  person: Recipient,
  { contract, turns }: ContractView,
): Promise<RecipientView> {
  const all = await listComments(view, contract);
  const id = await findPersonId(view, contract.workspace_id, person.email);
  return {
    person,
    actions: filterActionsFor(turns, person.email),
    comments: all.filter(({ created_by }) => created_by === id).map(({ comment }) => comment),
    token: await createRecipientCsrfToken(view, contract, person.email, JSON.stringify([contract, all.length])),
  };
}
