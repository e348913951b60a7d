import { quoteShellWord } from "../../base/text.ts";
import { CallError, callOperation } from "../api/call.ts";
import { getStatusTone, revealInvisible } from "../format.ts";
import { Command } from "../parts/action.tsx";
import { Empty, Facts, Head, Missing, Name, State, VirtualTime } from "../parts/messages.tsx";
import { useWorkspaceNames } from "../parts/workspace-filter.tsx";
import { useLoaded } from "../state/act.ts";
import { findRequest, type Request } from "../state/requests.ts";
import { replaceTrace } from "../state/route.ts";

/** Shows one request: its operation, its problems, and a button to repeat it. */
export function RequestPage({ id }: { readonly id: string }) {
  const { value: clusters } = useLoaded("clusters", ["clusters"], () => callOperation("emulator.clusters"));
  const nameWorkspace = useWorkspaceNames();
  const { value, problem } = useLoaded(id, ["requests"], async () => {
    if (!/^[1-9]\d{0,14}$/.test(id)) throw new CallError(404, "Invalid request ID.", "Request IDs are numbers.");
    return { found: await findRequest(Number(id)) };
  });
  if (problem) return <Missing title={`Request ${id}`} problem={problem} all="requests" />;
  if (!value) return <p class="muted">Loading…</p>;
  const request = value.found;
  if (!request) {
    return (
      <>
        <Head title={`Request ${id}`} />
        <Empty title="Request not found">
          <p>
            The log is in memory. The oldest requests are dropped, and all when the log is cleared or the emulator is
            restarted.
          </p>
          <a href={replaceTrace(`request:${id}`)}>Show what followed</a>
        </Empty>
      </>
    );
  }
  const { method, target, status, operation, nearest, failure, caller, findings, listener, headers } = request;
  const base = clusters?.find((cluster) => cluster.id === listener)?.url ?? location.origin;
  return (
    <>
      <Head title={`Request ${request.id}`} about={<code>{`${method} ${revealInvisible(target)}`}</code>}>
        <a class="button" href={replaceTrace(`request:${request.id}`)}>
          Show effects
        </a>
      </Head>
      <div class={`verdict ${getStatusTone(status)}`}>
        <State tone={getStatusTone(status)}>{status === 0 ? "no response" : String(status)}</State>
        <p>
          {operation === null && nearest === null && "No operation is declared for this path."}
          {nearest !== null && (
            <>
              No operation is declared for this path. The closest one is <code>{nearest}</code>.
            </>
          )}
          {operation !== null && nearest === null && failure === null && `${operation}, ${request.duration_ms} ms.`}
          {failure !== null && (
            <>
              {operation} failed: <code>{failure}</code>.
            </>
          )}
          {caller !== null && ` Sent with the token ${caller}.`}
        </p>
      </div>
      {findings.length > 0 && (
        <>
          <h2>Findings</h2>
          <Facts rows={findings.map(({ code, detail }) => [code, detail ?? "–"])} />
        </>
      )}
      <h2>Repeat</h2>
      {target.includes(hidden) ? (
        <p class="muted">The address of this request contains a secret, which the log does not store.</p>
      ) : (
        formatRepeatCommands(request, base).map((command) => <Command key={command} text={command} />)
      )}
      <h2>Details</h2>
      <Facts
        rows={[
          ["At", <VirtualTime key="at" at={request.at} />],
          ["Wall clock", request.wall_at],
          ["Listener", listener],
          ["Service", request.service],
          ["Operation", operation ?? "–"],
          ["Workspace", <Name key="workspace">{nameWorkspace(request.workspace_id)}</Name>],
          ...Object.entries(headers).map(
            ([name, value]) => [name, <code key={name}>{revealInvisible(value)}</code>] as const,
          ),
        ]}
      />
    </>
  );
}

/** Headers that clients add automatically, or that describe a browser's context. */
const omittedHeaders = new Set([
  ...["host", "connection", "content-length", "accept-encoding", "transfer-encoding", "user-agent"],
  ...["origin", "referer", "dnt", "priority", "pragma", "cache-control", "accept-language"],
  "upgrade-insecure-requests",
]);
const isOwn = (name: string): boolean => omittedHeaders.has(name) || /^(?:sec|proxy)-/.test(name);
/** The log's placeholder for a value that may be a secret. */
const hidden = "[redacted]";
const secrets = new Map([
  ["client-id", "$SVC_CLIENT_ID"],
  ["client-secret", "$SVC_CLIENT_SECRET"],
  ["x-cluster-key", "$SVC_CLUSTER_KEY"],
  ["authorization", "$AUTHORIZATION"],
]);

const hasBody = ({ headers }: Request): boolean =>
  headers["content-type"] !== undefined && headers["content-length"] !== "0";

/** Formats the commands that repeat the request, after the one that sets the credentials of its workspace. */
export const formatRepeatCommands = (request: Request, base: string): readonly string[] => [
  ...(request.workspace_id === undefined ? [] : [`eval "$(svc emulator env --workspace ${request.workspace_id})"`]),
  // svc api has no other methods.
  ...(/^(?:GET|POST|PUT|PATCH|DELETE)$/.test(request.method) ? [formatSvcCommand(request)] : []),
  formatCurl(request, base),
];

/**
 * Formats the request for curl. Secrets come from the environment and a body from a file, because the log has neither.
 */
function formatCurl(request: Request, base: string): string {
  const headers = Object.entries(request.headers)
    .filter(([name, value]) => !isOwn(name) && (value !== hidden || secrets.has(name)))
    .map(([name, value]) => {
      const secretName =
        name === "authorization" && request.service === "emulator" ? "Bearer $SVC_EMULATOR_TOKEN" : secrets.get(name);
      return secretName === undefined ? ` -H ${quoteShellWord(`${name}: ${value}`)}` : ` -H "${name}: ${secretName}"`;
    });
  const body = hasBody(request) ? " --data-binary @body.json" : "";
  // With -X HEAD, curl waits for a body.
  const method = request.method === "HEAD" ? "--head" : `-X ${request.method}`;
  return `curl ${method}${headers.join("")}${body} ${quoteShellWord(base + request.target)}`;
}

/** Formats the request as an svc command, which adds the credentials of the service. */
function formatSvcCommand(request: Request): string {
  const { "content-type": type = "" } = request.headers;
  const typeWords = type.startsWith("application/json") ? "" : ` --content-type ${quoteShellWord(type)}`;
  return `svc api ${request.method} ${quoteShellWord(request.target)}${hasBody(request) ? ` --data body.json${typeWords}` : ""}`;
}
