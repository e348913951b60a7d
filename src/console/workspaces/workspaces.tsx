import { useSignal } from "@preact/signals";
import { callOperation, canReadSecrets } from "../api/call.ts";
import type { OperationResult } from "../api/operations.ts";
import { Command, Copy } from "../parts/action.tsx";
import { Facts, Head, markChosen, Name, NotListedMessage, ProblemMessage, State } from "../parts/messages.tsx";
import { useLoaded } from "../state/act.ts";
import { buildPartHref } from "../state/route.ts";

type Workspace = OperationResult<"emulator.workspaces">[number];

/** Lists all workspaces, with their API keys and webhook keys. */
export function Workspaces({ id }: { readonly id: string | undefined }) {
  const { value: all, problem } = useLoaded("", ["requests"], () => callOperation("emulator.workspaces"));
  const { value: clusters } = useLoaded("clusters", ["clusters"], () => callOperation("emulator.clusters"));
  return (
    <>
      <Head
        title="Workspaces"
        about="Workspaces are isolated from each other. Each has an API key and a signing key."
      />
      {problem && <ProblemMessage problem={problem} />}
      {id !== undefined && all?.every((one) => String(one.id) !== id) && (
        <NotListedMessage subject={`workspace ${id}`} all="workspaces" />
      )}
      <ul class="cards">
        {all?.map((workspace) => (
          <li key={workspace.id} {...markChosen(String(workspace.id) === id)}>
            <WorkspaceCard
              workspace={workspace}
              url={clusters?.find((cluster) => cluster.id === workspace.cluster_id)?.url}
            />
          </li>
        ))}
      </ul>
      <h2>Create a workspace</h2>
      <Command text="svc emulator workspaces create --name 'Team A'" />
    </>
  );
}

function WorkspaceCard({ workspace, url }: { readonly workspace: Workspace; readonly url: string | undefined }) {
  const { id, cluster_id, name, client_id, client_secret, hmac_key, plan, is_suspended } = workspace;
  const part = { workspace: String(id) };
  return (
    <>
      <div class="who">
        <strong>
          <Name>{name}</Name>
        </strong>
        <span class="muted">
          workspace {id} · {cluster_id}
          {plan !== null && ` · plan ${plan}`}
        </span>
        {is_suspended && <State tone="warn">suspended</State>}
      </div>
      <div class="actions">
        <a href={buildPartHref("contracts", part)}>Contracts</a>
        <a href={buildPartHref("webhooks", part)}>Webhooks</a>
        <a href={buildPartHref("deliveries", part)}>Deliveries</a>
        <a href={buildPartHref("emails", part)}>E-mails</a>
      </div>
      <Facts
        rows={[
          is_suspended && [
            "Suspended",
            "The billing provider reported a paused or cancelled subscription. To end this, send its event subscription_resumed with svc billing event.",
          ],
          ["API address", url && <code>{url}</code>],
          [
            "Client ID",
            <span key="id" class="key">
              <code>{client_id}</code>
              <Copy text={client_id} of="client ID" />
            </span>,
          ],
          ["Client secret", <Secret key="secret" value={client_secret} name="client secret" />],
          ["Signing key", <Secret key="key" value={hmac_key} name="signing key" />],
          ["Environment", <Command key="env" text={`eval "$(svc emulator env --workspace ${id})"`} />],
        ]}
      />
    </>
  );
}

/** Shows a secret on request. Shows the reason instead if the token may not read secrets. */
function Secret({ value, name }: { readonly value: string; readonly name: string }) {
  const isShown = useSignal(false);
  if (!canReadSecrets.value) return <span class="muted">Hidden: a token with the role read shows no secrets.</span>;
  return (
    <span class="key">
      {isShown.value ? <code>{value}</code> : <span aria-hidden="true">••••••••••••</span>}
      <button
        type="button"
        class="quiet"
        aria-label={`${isShown.value ? "Hide" : "Show"} ${name}`}
        onClick={() => {
          isShown.value = !isShown.value;
        }}
      >
        {isShown.value ? "Hide" : "Show"}
      </button>
      <Copy text={value} of={name} />
    </span>
  );
}
