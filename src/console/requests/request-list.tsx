import { formatCount, getStatusTone, revealInvisible } from "../format.ts";
import { Action, Command } from "../parts/action.tsx";
import { Head, State, VirtualTime } from "../parts/messages.tsx";
import { type Filter, FilteredRows, Line, TruncationNote } from "../parts/rows.tsx";
import { isInWorkspace, WorkspaceFilter } from "../parts/workspace-filter.tsx";
import {
  areRequestsRead,
  isOfService,
  maxHeldRequests,
  newestRequests,
  type Request,
  readRequests,
  totalRequests,
} from "../state/requests.ts";
import { buildHref, route } from "../state/route.ts";

const filters: readonly Filter<Request>[] = [
  {
    name: "Services",
    includes: isOfService,
    emptyText: "No requests yet",
    otherwise: (
      <>
        <p>Connect a program to the emulator:</p>
        <Command text={'eval "$(svc emulator env)"'} />
      </>
    ),
  },
  {
    name: "Control plane",
    includes: (request) => !isOfService(request),
    emptyText: "No changes through the control plane",
  },
  { name: "Failed", includes: ({ status }) => status === 0 || status >= 400, emptyText: "No failed requests" },
  { name: "With findings", includes: ({ findings }) => findings.length > 0, emptyText: "No requests with findings" },
  {
    name: "Unknown paths",
    includes: ({ nearest, operation, status, findings }) =>
      nearest !== null || findings.some(({ code }) => code === "unknown-path") || (operation === null && status >= 400),
    emptyText: "No requests to unknown paths",
  },
];

/**
 * Lists requests of programs to the services, and requests to the control plane that may have changed something, newest
 * first.
 */
export function RequestList() {
  const all = newestRequests.value;
  const isPart = route.value.query.has("workspace");
  return (
    <>
      <Head
        title="Requests"
        about="Requests to the services and the control plane, newest first. Reads of the control plane are hidden."
      >
        <WorkspaceFilter />
        <Action
          op="requests.clear"
          input={{}}
          disabled={all.length === 0}
          question={{
            title: "Clear the request log?",
            consequence: "All requests and their findings will be deleted. Contracts, webhooks and the clock are kept.",
            confirmLabel: "Clear log",
          }}
          describe={() => "Log cleared"}
          onDone={readRequests}
        >
          Clear log
        </Action>
      </Head>
      <FilteredRows
        label="Requests"
        rows={all.filter(({ workspace_id }) => isInWorkspace(workspace_id ?? null))}
        filters={filters}
        areRead={areRequestsRead.value}
        total={isPart ? undefined : totalRequests.value}
        isWhole={all.filter(isOfService).length >= totalRequests.value}
        headings={["Request", "Target", "Listener, operation", "Status", "Time"]}
        getKey={({ id }) => id}
        draw={(row) => <Row {...row} />}
      />
      <TruncationNote
        shown={all.filter(isOfService).length}
        of={totalRequests.value}
        what="request"
        more={`This page shows ${formatCount(maxHeldRequests)} of each service. To list the others: svc emulator requests`}
      />
    </>
  );
}

function Row(request: Request) {
  const { id, method, target, status, operation, nearest, findings, listener, at } = request;
  const operationLabel =
    nearest === null ? (operation ?? "not an operation") : `unknown; did you mean ${nearest.split(" ")[0]}?`;
  const findingCodes = findings.map(({ code }) => code).join(", ");
  return (
    <a class="row" href={buildHref("requests", id)}>
      <span class="number id">{id}</span>
      <span class="main">
        <Line of="title as-is" title={`${method} ${revealInvisible(target)}`}>
          <code>
            <strong>{method}</strong> {revealInvisible(target)}
          </code>
        </Line>
        <Line of="muted sub">{`${listener} · ${operationLabel}${findingCodes && ` · ${findingCodes}`}`}</Line>
      </span>
      <span class="end">
        <State tone={getStatusTone(status)}>{status === 0 ? "no response" : String(status)}</State>
        <span class="muted sub">
          <VirtualTime at={at} />
        </span>
      </span>
    </a>
  );
}
