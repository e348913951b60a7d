import * as z from "zod";
import { installableApps } from "../../../src/api/emulator/installations.ts";
import { rows } from "../../store/port.ts";
import { storedTime } from "../../store/stored-time.ts";

/**
 * The installation of a connected app in a workspace: begun at the cluster, which issues a state, and ended by the
 * redirect that brings the state back (DECISIONS.md, R21, R26).
 */
export const Installation = z.strictObject({
  id: z.int(),
  app: z.enum(installableApps),
  cluster_id: z.string(),
  workspace_id: z.int(),
  /** Good for one redirect. */
  state: z.string(),
  status: z.enum(["PENDING", "INSTALLED", "REFUSED"]),
  /** The team of chat_a, or the account at a provider; null until it is installed. */
  account: z.strictObject({ id: z.string(), name: z.string() }).nullable(),
  /** Virtual milliseconds, as is the next. */
  begun_at: storedTime(z.int()),
  ended_at: storedTime(z.int()).nullable(),
});
export type Installation = z.infer<typeof Installation>;

export const installations = rows<Installation, "state">({
  name: "installations",
  schema: Installation,
  key: (row) => row.id,
  numbers: { installation: (row) => row.id },
  indexes: { state: (row) => row.state },
});
