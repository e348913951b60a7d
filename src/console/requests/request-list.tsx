import { formatCount, pluralize } from "../format.ts";
import { Action } from "../parts/action.tsx";
import { Command } from "../parts/copy.tsx";
import { State, VirtualTime } from "../parts/labels.tsx";

import { Head } from "../parts/messages.tsx";
import { revealInvisible, toneOfStatus } from "../parts/names.ts";
import { type Filter, FilteredRows, Line, TruncationNote } from "../parts/rows.tsx";

import {
  areRequestsRead,
  isOfService,
  maxHeldRequests,
  newestRequests,
  type Request,
  readRequests,
  totalRequests,
} from "../state/requests.ts";
import { href } from "../state/route.ts";

const filters: readonly Filter<Request>[] = [
  {
    name: "Services",
    holds: isOfService,
    none: "Nobody has asked for anything yet",
    otherwise: (
      <>
        <p>Point a program at the emulator:</p>
        <Command text={'eval "$(svc emulator env)"'} />
      </>
    ),
  },
  {
    name: "Control plane",
    holds: (request) => !isOfService(request),
    none: "Nobody has changed anything on the control plane",
  },
  { name: "Refused", holds: ({ status }) => status === 0 || status >= 400, none: "None was refused" },
  { name: "With findings", holds: ({ findings }) => findings.length > 0, none: "The real service would take them all" },
  {
    name: "Unknown paths",
    holds: ({ nearest, operation, status, findings }) =>
      nearest !== null || findings.some(({ code }) => code === "unknown-path") || (operation === null && status >= 400),
    none: "Every path is declared",
  },
];

/** What programs asked of the services, and of the control plane what may have changed something; newest first. */
export function RequestList() {
  const all = newestRequests.value;
  return (
    <>
      <Head
        title="Requests"
        about="What programs asked of the services, and of the control plane. What only reads there, as this page does, is left out."
      >
        <Action
          op="requests.clear"
          input={{}}
          disabled={all.length === 0}
          ask={{
            title: "Clear the log?",
            consequence: `${pluralize(totalRequests.value, "request")} and what was found about them are gone then. Contracts, webhooks and time stay.`,
            yes: "Clear the log",
          }}
          message={() => "The log is empty"}
          done={readRequests}
        >
          Clear the log
        </Action>
      </Head>
      <FilteredRows
        label="Requests"
        rows={all}
        filters={filters}
        areRead={areRequestsRead.value}
        total={totalRequests.value}
        isWhole={all.filter(isOfService).length >= totalRequests.value}
        keyOf={({ id }) => id}
        draw={(row) => <Row {...row} />}
      />
      <TruncationNote
        shown={all.filter(isOfService).length}
        of={totalRequests.value}
        what="request"
        more={`A page holds ${formatCount(maxHeldRequests)} of each service; svc emulator requests lists the others.`}
      />
    </>
  );
}

function Row(request: Request) {
  const { id, method, target, status, operation, nearest, findings, listener, at } = request;
  const asked = nearest === null ? (operation ?? "not an operation") : `unknown; meant ${nearest.split(" ")[0]}?`;
  const found = findings.map(({ code }) => code).join(", ");
  return (
    <a class="row" href={href("requests", id)}>
      <span class="number id">{id}</span>
      <span class="main">
        <Line of="title as-is" title={`${method} ${revealInvisible(target)}`}>
          <code>
            <strong>{method}</strong> {revealInvisible(target)}
          </code>
        </Line>
        <Line of="muted sub">{`${listener} · ${asked}${found && ` · ${found}`}`}</Line>
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
