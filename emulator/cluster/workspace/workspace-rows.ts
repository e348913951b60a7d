import type { Fail } from "../../../src/api/failures.ts";
import { toAddressKey } from "../../../src/base/email-address.ts";
import {
  contractTypes,
  entities,
  type LegalEntity,
  roles,
  templates,
  type User,
  users,
  type Workspace,
} from "../../domain/workspaces.ts";
import type { ProblemCollector } from "../../http/dialects/field-problems.ts";
import type { Rows, Transaction, View } from "../../store/port.ts";
import type { AuthenticatedMember } from "../context.ts";

/** Returns the framework's message for a reference to a row that the workspace does not have (DECISIONS.md, C1). */
export const formatRowNotFound = (id: unknown): string => `Invalid pk "${id}" - object does not exist.`;

/** Returns a row with that number in the workspace, or undefined if it is unknown or in another one. */
function findOwnRow<Row extends { readonly workspace_id: number }>(
  view: View,
  collection: Rows<Row, string, number>,
  { id: workspaceId }: Pick<Workspace, "id">,
  id: number,
): Row | undefined {
  const row = view.get(collection, id);
  return row?.workspace_id === workspaceId ? row : undefined;
}

/** Returns the row that a path names. Rejects with `not-found` if it is unknown or in another workspace. */
export const requireOwnRow = <Row extends { readonly workspace_id: number }>(
  view: View,
  collection: Rows<Row, string, number>,
  { workspace }: AuthenticatedMember,
  id: number,
  fail: Fail<"not-found">,
): Row => findOwnRow(view, collection, workspace, id) ?? fail("not-found");

/** Returns the row that a field names. Reports an unknown or foreign row for the field (DECISIONS.md, C1). */
export function findNamedRow<Row extends { readonly workspace_id: number }>(
  view: View,
  collection: Rows<Row, string, number>,
  workspace: Workspace,
  id: number | string,
  path: readonly string[],
  problems: ProblemCollector,
): Row | undefined {
  const row = findOwnRow(view, collection, workspace, Number(id));
  if (!row) problems.add(path, formatRowNotFound(id));
  return row;
}

/** Returns the contract type that the field `contract_type_id` names. Reports an unknown or foreign type. */
export const findNamedContractType = (
  view: View,
  workspace: Workspace,
  id: number | string,
  problems: ProblemCollector,
) => findNamedRow(view, contractTypes, workspace, id, ["contract_type_id"], problems);

/** Returns a template that the workspace can use, or undefined if it is unknown, foreign or archived. */
export function findTemplate(view: View, workspace: Workspace, id: number) {
  const template = findOwnRow(view, templates, workspace, id);
  return template?.archived === false ? template : undefined;
}

/** Returns the entity with a reference id. Without an id it returns the primary entity. */
export function findEntityByReference(
  view: View,
  workspace: Workspace,
  reference?: string | null,
): LegalEntity | undefined {
  const workspaceEntities = view.list(entities, { by: "workspace", equals: workspace.id });
  return workspaceEntities.find((entity) =>
    reference == null ? entity.is_primary : entity.reference_id === reference,
  );
}

export function findActiveUser(view: View, workspace: Workspace, id: number): User | undefined {
  const user = findOwnRow(view, users, workspace, id);
  return user?.is_active ? user : undefined;
}

/** Returns the member, active or not. */
export function findMemberByEmail(view: View, workspaceId: number, email: string): User | undefined {
  const matches = view.list(users, { by: "email", equals: toAddressKey(email) });
  return matches.find((user) => user.workspace_id === workspaceId);
}

export function findActiveUserByEmail(view: View, { id }: Workspace, email: string): User | undefined {
  const matches = view.list(users, { by: "email", equals: toAddressKey(email) });
  return matches.find((user) => user.workspace_id === id && user.is_active);
}

/** Exactly one field must name a user or a role of the workspace. `conflict` is the message if both are given. */
export function findAssigneeProblem(
  view: View,
  workspace: Workspace,
  fields: Readonly<Record<string, number | undefined>>,
  conflict: string,
): Record<string, string[]> | undefined {
  const [[userField, user] = [""], [roleField, role] = [""]] = Object.entries(fields);
  if (user === undefined && role === undefined) return { [userField]: ["Field required"] };
  if (user !== undefined && role !== undefined) return { [roleField]: [conflict] };
  if (user !== undefined && !findActiveUser(view, workspace, user)) {
    return { [userField]: [formatRowNotFound(user)] };
  }
  if (role !== undefined && !findOwnRow(view, roles, workspace, role)) {
    return { [roleField]: [formatRowNotFound(role)] };
  }
  return undefined;
}

/** Returns the next unused number. Seeds choose their own numbers. */
export function createUnusedId<Row extends object>(
  tx: Transaction,
  collection: Rows<Row, string, number>,
  sequence: string,
): number {
  for (;;) {
    const id = tx.next(sequence);
    if (!tx.get(collection, id)) return id;
  }
}
