import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { call } from "../api/call.ts";
import { counted } from "../format.ts";
import { State } from "../parts/state.tsx";
import { useLoaded } from "../state/loaded.ts";
import { canSign, contentHash } from "./signature.ts";

/** Signs the bytes here, with the key of the workspace, and compares what comes out with what was sent. */
export function SignatureCheck(props: {
  readonly body: string;
  readonly workspace: number;
  /** The header as it was sent. */
  readonly sent: string | undefined;
}) {
  const { body, workspace, sent } = props;
  const { value } = useLoaded("workspaces", [], () => call("emulator.workspaces"));
  const computed = useSignal<string | undefined>(undefined);
  const bytes = new TextEncoder().encode(body);
  const key = value.value?.find(({ id }) => id === workspace)?.hmac_key;
  useEffect(() => {
    if (key === undefined || !canSign()) return;
    void contentHash(key, new TextEncoder().encode(body)).then((hash) => {
      computed.value = hash;
    });
  }, [key, body, computed]);
  if (!canSign())
    return <p class="muted">This browser signs nothing here: the page is neither of this machine nor encrypted.</p>;
  if (computed.value === undefined) return <p class="muted">Signing…</p>;
  return (
    <div class="signature">
      {sent !== undefined &&
        (sent === computed.value ? (
          <State tone="good">the signature fits these bytes</State>
        ) : (
          <State tone="bad">the signature is of other bytes or another key</State>
        ))}
      <p class="muted">
        HMAC-SHA512 of {counted(bytes.length, "byte")}, computed in this page with the key of workspace {workspace}:
      </p>
      <code class="hash">{computed.value}</code>
    </div>
  );
}
