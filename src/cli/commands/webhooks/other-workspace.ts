import { decodeBase64 } from "../../../base/base64.ts";
import type { Context } from "../../command.ts";

/** A workspace of the emulator whose key made a signature. */
export interface Signer {
  readonly id: number;
  readonly name: string;
  readonly cluster_id: string;
}

const once = { retries: 0, timeoutMs: 3_000 };

/**
 * The workspace of the running emulator whose key leads to the signature. Undefined also where no emulator runs, or it
 * does not tell its keys to whoever asks: the signature can be explained without one.
 */
export async function findSigner(
  { body, signature }: { readonly body: Uint8Array; readonly signature: string },
  { globals, client, signal }: Context,
): Promise<Signer | undefined> {
  // That would start an emulator, which has signed nothing.
  if (globals.emulator) return undefined;
  const [{ listWorkspaces }, { contentHash }] = await Promise.all([
    import("../../../api/emulator/state/state.ts"),
    import("../../../schemes/webhook.ts"),
  ]);
  const workspaces = await client("emulator")
    .then((asked) => asked.call(listWorkspaces, {}, { ...once, signal }))
    .catch(() => []);
  const found = workspaces.find(
    ({ hmac_key: key }) => decodeBase64(key) !== undefined && contentHash(key, body) === signature.trim(),
  );
  return found && { id: found.id, name: found.name, cluster_id: found.cluster_id };
}
