import { call } from "../api/call.ts";
import { Problem } from "../api/problem.ts";
import { Command } from "../parts/command-popover.tsx";
import { Empty, Facts, Head, Missing } from "../parts/messages.tsx";
import { inTheOpen } from "../parts/names.ts";
import { State } from "../parts/state.tsx";
import { VirtualTime } from "../parts/time.tsx";
import { toneOfStatus } from "../parts/tone.ts";
import { useLoaded } from "../state/loaded.ts";
import { findRequest } from "../state/requests.ts";
import { withTrace } from "../state/route.ts";
import { asCommand, asCurl } from "./as-command.ts";

/** One request: what it was taken for, what was wrong with it, and the same once more. */
export function RequestPage({ id }: { readonly id: string }) {
  const { value: clusters } = useLoaded("clusters", [], () => call("emulator.clusters"));
  const { value, problem } = useLoaded(id, ["requests"], async () => {
    if (!/^[1-9]\d{0,14}$/.test(id))
      throw new Problem(404, "no-such-request", "No request is called so.", "Requests are numbers.");
    return { found: await findRequest(Number(id)) };
  });
  if (problem.value) return <Missing title={`Request ${id}`} problem={problem.value} all="requests" />;
  if (!value.value) return <p class="muted">Reading…</p>;
  const request = value.value.found;
  if (!request) {
    return (
      <>
        <Head title={`Request ${id}`} />
        <Empty title="The log does not have it">
          <p>It is kept in memory and drops its oldest; clearing it, or another start of the emulator, empties it.</p>
          <a href={withTrace(`request:${id}`)}>What followed from it is kept for longer</a>
        </Empty>
      </>
    );
  }
  const { method, target, status, operation, nearest, failure, caller, findings, listener, headers } = request;
  const base = clusters.value?.find((cluster) => cluster.id === listener)?.url ?? location.origin;
  return (
    <>
      <Head title={`Request ${request.id}`} about={<code class="break">{`${method} ${inTheOpen(target)}`}</code>}>
        <a class="button" href={withTrace(`request:${request.id}`)}>
          What followed?
        </a>
      </Head>
      <div class={`verdict ${toneOfStatus(status)}`}>
        <State tone={toneOfStatus(status)}>{status === 0 ? "no answer" : String(status)}</State>
        <p>
          {operation === null && nearest === null && "No operation is declared for this path."}
          {nearest !== null && (
            <>
              No operation is declared for this path. The nearest is <code class="break">{nearest}</code>.
            </>
          )}
          {operation !== null &&
            nearest === null &&
            failure === null &&
            `${operation}, answered in ${request.duration_ms} ms.`}
          {failure !== null && (
            <>
              {operation} was refused: <code>{failure}</code>.
            </>
          )}
          {caller !== null && ` Asked with the token ${caller}.`}
        </p>
      </div>
      {findings.length > 0 && (
        <>
          <h2>Accepted here, though the real service may refuse it</h2>
          <Facts rows={findings.map(({ code, detail }) => [code, detail ?? "–"])} />
        </>
      )}
      <h2>Once more</h2>
      <Command text={asCommand(request)} />
      <Command text={asCurl(request, base)} />
      <h2>As it came</h2>
      <Facts
        rows={[
          ["At", <VirtualTime key="at" at={request.at} />],
          ["On your clock", request.wall_at],
          ["Listener", listener],
          ["Service", request.service],
          ["Operation", operation ?? "–"],
          ...Object.entries(headers).map(
            ([name, value]) =>
              [
                name,
                <code key={name} class="break">
                  {inTheOpen(value)}
                </code>,
              ] as const,
          ),
        ]}
      />
    </>
  );
}
