import { Action } from "../parts/action.tsx";
import { Command } from "../parts/command-popover.tsx";
import { type Filter, FilteredRows } from "../parts/filtered-rows.tsx";
import { Empty, Head } from "../parts/messages.tsx";
import { State, toneOfStatus } from "../parts/state.tsx";
import { VirtualTime } from "../parts/time.tsx";
import { areRead, clearRequests, newestRequests, type Request } from "../state/requests.ts";
import { href } from "../state/route.ts";

const filters: readonly Filter<Request>[] = [
  { name: "All", holds: () => true, none: "Nobody has asked for anything" },
  { name: "Refused", holds: ({ status }) => status === 0 || status >= 400, none: "None was refused" },
  { name: "With findings", holds: ({ findings }) => findings.length > 0, none: "The real service would take them all" },
  {
    name: "Unknown paths",
    holds: ({ nearest, operation }) => nearest !== null || operation === null,
    none: "Every path is declared",
  },
];

/** What programs asked of the services, newest first. */
export function RequestList() {
  const all = newestRequests.value;
  return (
    <>
      <Head title="Requests" about="What programs asked of the services. What this page reads itself is left out.">
        <Action op="requests.clear" input={{}} message={() => "The log is empty"} done={clearRequests}>
          Clear the log
        </Action>
      </Head>
      {areRead.value && all.length === 0 ? (
        <Empty title="Nobody has asked for anything yet">
          <p>Point a program at the emulator:</p>
          <Command text={'eval "$(svc emulator env)"'} />
        </Empty>
      ) : (
        <FilteredRows
          label="Requests"
          rows={all}
          filters={filters}
          areRead={areRead.value}
          keyOf={({ id }) => id}
          draw={(row) => <Row {...row} />}
        />
      )}
    </>
  );
}

function Row(request: Request) {
  const { id, method, target, status, operation, nearest, findings, listener, at } = request;
  return (
    <a class="row" href={href("requests", id)}>
      <span class="number id">{id}</span>
      <span class="main">
        <span class="title as-is">
          <code>
            <strong>{method}</strong> {target}
          </code>
        </span>
        <span class="muted sub">
          {listener} · {nearest === null ? (operation ?? "no operation") : `unknown; meant ${nearest.split(" ")[0]}?`}
          {findings.length > 0 && ` · ${findings.map(({ code }) => code).join(", ")}`}
        </span>
      </span>
      <span class="end">
        <State tone={toneOfStatus(status)}>{status === 0 ? "no answer" : String(status)}</State>
        <span class="muted sub">
          <VirtualTime at={at} />
        </span>
      </span>
    </a>
  );
}
