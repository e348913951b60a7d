import * as z from "zod";
import { addressKey } from "../../../src/schemes/email-hash.ts";
import { rows, type Transaction, type View } from "../../store/port.ts";
import { type User, users } from "../../world/workspaces.ts";
import { freeId } from "./free-id.ts";

/** Somebody who is no member of the workspace, but whom one of its contracts names. */
const Outsider = z.strictObject({
  id: z.int(),
  workspace_id: z.int(),
  /** In lower case. */
  email: z.string(),
});

export const outsiders = rows<z.infer<typeof Outsider>, never, string>({
  name: "outsiders",
  schema: Outsider,
  key: (row) => outsiderKey(row.workspace_id, row.email),
  indexes: {},
});

const outsiderKey = (workspaceId: number, email: string): string => `${workspaceId} ${addressKey(email)}`;

/** The next id of a person: no member has it, whom seeds number as they like, and no outsider (DECISIONS.md, C13). */
export const nextPersonId = (tx: Transaction): Promise<number> => freeId(tx, users, "person");

/** The member of a workspace with that address, active or not. */
export async function memberNamed(view: View, workspaceId: number, email: string): Promise<User | undefined> {
  const named = await view.list(users, { by: "email", equals: addressKey(email) });
  return named.find((user) => user.workspace_id === workspaceId);
}

/** The id of a person, member or outsider; undefined for one who was given none so far. */
export async function personId(view: View, workspaceId: number, email: string): Promise<number | undefined> {
  const member = await memberNamed(view, workspaceId, email);
  return member?.id ?? (await view.get(outsiders, outsiderKey(workspaceId, email)))?.id;
}

/** Gives those an id who are neither members nor have one. */
export async function numberPeople(tx: Transaction, workspaceId: number, emails: Iterable<string>): Promise<void> {
  for (const email of emails) {
    if ((await personId(tx, workspaceId, email)) !== undefined) continue;
    tx.put(outsiders, { id: await nextPersonId(tx), workspace_id: workspaceId, email: addressKey(email) });
  }
}

/** Above the ids of all others, and within 32 bits. */
const unnumbered = 1_000_000_000;

/** The id of an outsider. Signatories of states in which outsiders were not numbered have one made of their row's. */
export async function outsiderId(view: View, workspaceId: number, email: string, signatoryId: number): Promise<number> {
  const row = await view.get(outsiders, outsiderKey(workspaceId, email));
  return row?.id ?? unnumbered + signatoryId;
}
