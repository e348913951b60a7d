import * as z from "zod";
import { type ControlRole, controlRoles } from "../../src/api/control-plane.ts";
import type { WallClock } from "../../src/base/clock.ts";
import { Mutex } from "../../src/base/concurrency.ts";
import { hash } from "../../src/base/hmac.ts";
import { createRandomIds } from "../../src/base/ids.ts";
import { defineRows, type Store, storedTime, type Transaction, type View } from "../store/port.ts";
import { type Workspace, workspaces } from "./workspaces.ts";

/** A token of the control plane, without its secret. */
const ControlToken = z.strictObject({
  name: z.string(),
  role: z.enum(controlRoles),
  /** SHA-256 in base64. A slow hash is unnecessary, because 256 random bits cannot be guessed. */
  hash: z.string(),
  /** Wall-clock milliseconds, because access does not depend on virtual time. */
  created_at: storedTime(z.int()),
  last_used_at: storedTime(z.int()).nullable(),
  /** Set for a bound token. The name is also stored, because another workspace can have the ID after a reset. */
  workspace_id: z.int().optional(),
  workspace: z.string().optional(),
});
type ControlToken = z.infer<typeof ControlToken>;

export const controlTokens = defineRows({
  name: "control_tokens",
  schema: ControlToken,
  key: (row) => row.name,
  indexes: { hash: (row) => row.hash },
});

/** Name of the run file's token, which is not stored. The emulator creates it at each start with every permission. */
export const localToken = "local";

/** Minimum interval between two writes of a token's last use. */
const minUseWriteIntervalMs = 60_000;

/** Tokens of the operator, which remain when the state is replaced (DECISIONS.md, E16). */
export class ControlTokens {
  readonly #store: Store;
  readonly #wall: WallClock;
  readonly #lastUses = new Map<string, number>();
  /** No token changes while the tokens are copied to another state. */
  readonly #changeMutex = new Mutex();

  constructor(store: Store, wall: WallClock) {
    this.#store = store;
    this.#wall = wall;
  }

  /** Finds the row of a token and records its use. Returns undefined if the token does not exist. */
  use(secret: string): ControlToken | undefined {
    // A client cannot choose any part of a hash, so the response time of the index reveals nothing.
    const equals = hashToken(secret);
    const [token] = this.#store.list(controlTokens, { by: "hash", equals, limit: 1 });
    if (!token || !belongsToWorkspace(this.#store, token)) return undefined;
    this.#recordUse(token);
    return token;
  }

  exists({ name, hash }: Pick<ControlToken, "name" | "hash">): boolean {
    const row = this.#store.get(controlTokens, name);
    return row?.hash === hash && belongsToWorkspace(this.#store, row);
  }

  list(): readonly ControlToken[] {
    const rows = this.#store.list(controlTokens);
    return rows.map((row) => ({ ...row, last_used_at: this.#lastUses.get(row.hash) ?? row.last_used_at }));
  }

  /**
   * Returns the secret, which cannot be read again, or undefined if the name is taken. The workspace is found in the
   * transaction, because it can be removed meanwhile. Changes of tokens have no cause, because no rewind undoes them.
   */
  create(
    name: string,
    role: ControlRole,
    findWorkspace?: (view: View) => Workspace,
  ): Promise<(Pick<ControlToken, "workspace"> & { readonly token: string }) | undefined> {
    const create = (tx: Transaction) => {
      const workspace = findWorkspace?.(tx);
      if (name === localToken || tx.get(controlTokens, name)) return undefined;
      // The token does not use the IDs of --deterministic, because clients can compute these IDs.
      const token = `svc_${createRandomIds().token(32)}`;
      const row = { name, role, hash: hashToken(token), created_at: this.#wall.now(), last_used_at: null };
      tx.put(controlTokens, { ...row, ...(workspace && { workspace_id: workspace.id, workspace: workspace.name }) });
      return { token, ...(workspace && { workspace: workspace.name }) };
    };
    return this.#changeMutex.runExclusive(() => this.#store.transaction("tokens.create", create));
  }

  revoke(name: string): Promise<boolean> {
    return this.#changeMutex.runExclusive(async () => {
      const row = await this.#store.transaction("tokens.revoke", (tx) => {
        const row = tx.get(controlTokens, name);
        if (row) tx.delete(controlTokens, name);
        return row;
      });
      if (row) this.#lastUses.delete(row.hash);
      return row !== undefined;
    });
  }

  /**
   * Copies the tokens to the next state and replaces the current state. No token changes in between. Tokens of a
   * workspace that the next state lacks end, because a later workspace can have its ID and its name.
   */
  carryOver<T>(nextStore: Store, replace: () => Promise<T>): Promise<T> {
    return this.#changeMutex.runExclusive(async () => {
      const tokens = this.#store.list(controlTokens).map((row) => ({ row, client: findClientId(this.#store, row) }));
      await nextStore.transaction("tokens.carry", (tx) => {
        deleteControlTokens(tx);
        for (const { row, client } of tokens)
          if (belongsToWorkspace(tx, row) && client === findClientId(tx, row)) tx.put(controlTokens, row);
      });
      return replace();
    });
  }

  #recordUse({ name, hash, last_used_at }: ControlToken): void {
    const now = this.#wall.now();
    const previousUse = Math.max(last_used_at ?? 0, this.#lastUses.get(hash) ?? 0);
    this.#lastUses.set(hash, now);
    if (now - previousUse < minUseWriteIntervalMs) return;
    // The write is not awaited, so that a disk that rejects writes does not lock out any caller.
    void this.#store
      .transaction("tokens.used", (tx) => {
        const row = tx.get(controlTokens, name);
        if (row?.hash === hash) tx.put(controlTokens, { ...row, last_used_at: now });
      })
      .catch(() => {});
  }
}

/** Returns the client ID of the token's workspace, which no other workspace has. Undefined if there is none. */
function findClientId(view: View, { workspace_id, workspace }: ControlToken): string | undefined {
  const row = view.get(workspaces, workspace_id);
  return row?.name === workspace ? row?.client_id : undefined;
}

const belongsToWorkspace = (view: View, token: ControlToken): boolean =>
  token.workspace_id === undefined || findClientId(view, token) !== undefined;

/** Removes all tokens from a copied state, because the copy has another owner. */
export function deleteControlTokens(tx: Transaction): void {
  for (const { name } of tx.list(controlTokens)) tx.delete(controlTokens, name);
}

const hashToken = (token: string): string => hash("sha256", token).toString("base64");
