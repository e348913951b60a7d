import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { type Attempt, sentOtherwise, wasSentSo } from "../../api/webhook-health/attempts.ts";
import { call } from "../api/call.ts";
import { counted } from "../format.ts";
import { State } from "../parts/state.tsx";
import { useLoaded } from "../state/loaded.ts";
import { canSign, contentHash } from "./signature.ts";

/** Signs the bytes here, with the key of the workspace, and compares what comes out with the header. */
export function SignatureCheck(props: {
  readonly body: string;
  readonly workspace: number;
  /** The header as it is sent unless a fault acts. */
  readonly header: string | undefined;
  /** Those that were made: what they sent may be something else. */
  readonly attempts: readonly Attempt[];
}) {
  const { body, workspace, header, attempts } = props;
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
  const otherwise = sentOtherwise(attempts).map((sentence) => (
    <p key={sentence} class="warn">
      {sentence}
    </p>
  ));
  if (!canSign())
    return (
      <>
        {otherwise}
        <p class="muted">This browser signs nothing here: the page is neither of this machine nor encrypted.</p>
      </>
    );
  if (computed.value === undefined) return <p class="muted">Signing…</p>;
  return (
    <div class="signature">
      {header !== undefined && <Fit fits={header === computed.value} isSent={attempts.every(wasSentSo)} />}
      {otherwise}
      <p class="muted">
        HMAC-SHA512 of {counted(bytes.length, "byte")}, computed in this page with the key of workspace {workspace}:
      </p>
      <code class="hash">{computed.value}</code>
    </div>
  );
}

function Fit({ fits, isSent }: { readonly fits: boolean; readonly isSent: boolean }) {
  if (!fits) return <State tone="bad">the signature is of other bytes or another key</State>;
  if (isSent) return <State tone="good">the signature fits these bytes</State>;
  return <State tone="warn">the signature fits these bytes, and not every attempt sent both</State>;
}
