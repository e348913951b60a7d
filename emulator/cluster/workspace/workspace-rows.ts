import { toAddressKey } from "../../../src/schemes/email-hash.ts";
import {
  type ContractType,
  contractTypes,
  type Entity,
  entities,
  type Template,
  templates,
  type User,
  users,
  type Workspace,
} from "../../domain/workspaces.ts";
import type { View } from "../../store/port.ts";
import type { Problems } from "../response.ts";
import { formatRowNotFound } from "./users.ts";

/**
 * Rows of the workspace that a body names. An unknown or foreign one is reported for its field (DECISIONS.md, C1) and
 * is undefined.
 */
export async function findContractType(
  view: View,
  workspace: Workspace,
  id: number | string,
  problems: Problems,
): Promise<ContractType | undefined> {
  const type = await view.get(contractTypes, Number(id));
  if (type?.workspace_id === workspace.id) return type;
  problems.add(["contract_type_id"], formatRowNotFound(id));
  return undefined;
}

/** A template that the workspace can use; undefined if it is unknown, foreign or archived. */
export async function findTemplate(view: View, workspace: Workspace, id: number): Promise<Template | undefined> {
  const template = await view.get(templates, id);
  return template?.workspace_id === workspace.id && !template.archived ? template : undefined;
}

export async function findEntity(
  view: View,
  workspace: Workspace,
  id: number | string,
  field: string,
  problems: Problems,
): Promise<Entity | undefined> {
  const entity = await view.get(entities, Number(id));
  if (entity?.workspace_id === workspace.id) return entity;
  problems.add([field], formatRowNotFound(id));
  return undefined;
}

export async function findPrimaryEntity(view: View, workspace: Workspace): Promise<Entity | undefined> {
  const workspaceEntities = await view.list(entities, { by: "workspace", equals: workspace.id });
  return workspaceEntities.find((entity) => entity.is_primary);
}

/** An active user of the workspace by address. */
export async function findUser(view: View, workspace: Workspace, email: string): Promise<User | undefined> {
  const named = await view.list(users, { by: "email", equals: toAddressKey(email) });
  return named.find((user) => user.workspace_id === workspace.id && user.is_active);
}

/** The error message for an unknown user in a body. */
export const formatUserNotFound = (email: string): string => `Object with email=${email} does not exist.`;
