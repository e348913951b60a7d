import { callOperation } from "../api/call.ts";
import { getTone, revealInvisible } from "../format.ts";
import { Command } from "../parts/action.tsx";
import { Empty, Head, Name, ProblemMessage, State, VirtualTime } from "../parts/messages.tsx";
import { TruncationNote, WindowedRows } from "../parts/rows.tsx";
import { isInWorkspace, useWorkspaceNames, WorkspaceFilter } from "../parts/workspace-filter.tsx";
import { useLoaded } from "../state/act.ts";
import { buildHref, replaceTrace } from "../state/route.ts";

const maxShown = 500;

/** Every contract, newest first. */
export function ContractList() {
  const { value: page, problem } = useLoaded("contracts", ["contracts"], () =>
    callOperation("emulator-contracts.list", { query: { limit: maxShown } }),
  );
  const nameWorkspace = useWorkspaceNames();
  const rows = page?.items.filter(({ workspace_id }) => isInWorkspace(workspace_id)) ?? [];
  return (
    <>
      <Head title="Contracts" about="Newest first. Times are virtual.">
        <WorkspaceFilter />
      </Head>
      {problem && <ProblemMessage problem={problem} />}
      {page?.total === 0 && (
        <Empty title="No contracts yet">
          <p>Create one from a template:</p>
          <Command
            text={`svc contracts create --contract-template-id 101 --set 'contract_data={}' --set 'counter_party_details=[{"is_individual":true,"poc_details":{"first_name":"Jo","email":"jo@acme.example"}}]'`}
          />
        </Empty>
      )}
      {page !== undefined && page.total > 0 && rows.length === 0 && (
        <Empty title={page.total > maxShown ? "None of the newest contracts" : "No contracts in this workspace"} />
      )}
      {page && (
        <WindowedRows
          rows={rows}
          headings={["Contract", "Name", "Cluster, workspace", "Status", "Last change"]}
          label="Contracts"
          getKey={({ contract_id }) => contract_id}
          draw={(row) => (
            // A deleted contract has no page, but its trace is stored.
            <a
              class="row"
              href={row.deleted_at === null ? buildHref("contracts", row.composite_id) : replaceTrace(row.composite_id)}
            >
              <span class="number id">{row.composite_id}</span>
              <span class="main">
                <span class="title as-is" title={revealInvisible(row.contract_name)} dir="auto">
                  {revealInvisible(row.contract_name)}
                </span>
                <span class="muted sub" title={revealInvisible(nameWorkspace(row.workspace_id))}>
                  {row.cluster_id} · <Name>{nameWorkspace(row.workspace_id)}</Name>
                </span>
              </span>
              <span class="end">
                {row.deleted_at === null ? (
                  <State tone={getTone(row.contract_status)}>{row.contract_status.replace("_", " ")}</State>
                ) : (
                  <State tone="none">deleted</State>
                )}
                <span class="muted sub">
                  <VirtualTime at={row.updated_at} />
                </span>
              </span>
            </a>
          )}
        />
      )}
      <TruncationNote
        shown={maxShown}
        of={page?.total}
        what="contract"
        more="To open another one, search for its ID (T-1)."
      />
    </>
  );
}
