import { useSignal } from "@preact/signals";
import { grouped } from "../format.ts";
import { Action } from "../parts/action.tsx";
import { Command } from "../parts/command-popover.tsx";
import { Empty, Head } from "../parts/messages.tsx";
import { State, toneOfStatus } from "../parts/state.tsx";
import { VirtualTime } from "../parts/time.tsx";
import { Windowed } from "../parts/windowed.tsx";
import { areRead, clearRequests, newestRequests, type Request } from "../state/requests.ts";
import { href } from "../state/route.ts";

const filters = [
  { name: "All", holds: () => true },
  { name: "Refused", holds: ({ status }: Request) => status === 0 || status >= 400 },
  { name: "With findings", holds: ({ findings }: Request) => findings.length > 0 },
  { name: "Unknown paths", holds: ({ nearest, operation }: Request) => nearest !== null || operation === null },
] as const;

/** What programs asked of the services, newest first. */
export function RequestList() {
  const chosen = useSignal(0);
  const all = newestRequests.value;
  const rows = all.filter(filters[chosen.value]!.holds);
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
        <>
          <fieldset class="filters" aria-label="Which requests">
            {filters.map(({ name, holds }, at) => (
              <button
                key={name}
                type="button"
                class="chip"
                aria-pressed={chosen.value === at}
                onClick={() => {
                  chosen.value = at;
                }}
              >
                {name} <span class="number">{grouped(all.filter(holds).length)}</span>
              </button>
            ))}
          </fieldset>
          {rows.length === 0 && areRead.value && <Empty title="None of these" />}
          <Windowed
            rows={rows}
            height={57}
            narrowHeight={80}
            label="Requests"
            keyOf={({ id }) => id}
            draw={(row) => <Row {...row} />}
          />
        </>
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
