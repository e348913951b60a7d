import { useEffect, useRef } from "preact/hooks";
import { groupBy } from "../../base/object.ts";
import { callOperation } from "../api/call.ts";
import type { OperationResult } from "../api/operations.ts";
import { describeResponseCode, endReasons, toStatusLabel } from "../deliveries/explain.ts";
import { getTone, toWords } from "../format.ts";
import { Command } from "../parts/action.tsx";
import { Empty, Icon, ProblemMessage, State, VirtualTime } from "../parts/messages.tsx";
import { formatCommand, useLoaded } from "../state/act.ts";
import { deliveries } from "../state/deliveries.ts";
import { formatReferenceHref, navigate, replaceTrace, route } from "../state/route.ts";

type Trace = OperationResult<"traces.show">;
type Node = Trace["nodes"][number];

/** Shows why an event happened and what followed. It opens over any view, and is part of the address. */
export function TraceDrawer() {
  const ref = route.value.query.get("trace");
  return ref === null ? null : <Drawer key={ref} about={ref} />;
}

function Drawer({ about }: { readonly about: string }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const { value: trace, problem } = useLoaded(about, ["requests", "deliveries", "contracts"], () =>
    callOperation("traces.show", { params: { ref: about } }),
  );
  useEffect(() => {
    const element = dialog.current;
    if (element && !element.open) element.showModal();
  }, []);
  const close = () => navigate(replaceTrace(undefined));
  return (
    <dialog class="drawer" ref={dialog} aria-labelledby="trace" onClose={close}>
      <header class="head">
        <div>
          <h2 id="trace">Why {formatReference(about)}</h2>
          <p class="muted">Causes and effects. Times are virtual.</p>
        </div>
        <button type="button" class="quiet" aria-label="Close" onClick={() => dialog.current?.close()}>
          <Icon name="close" />
        </button>
      </header>
      {problem && <ProblemMessage problem={problem} />}
      {trace && !problem && <Tree trace={trace} />}
      <Command text={formatCommand("traces.show", { params: { ref: about } })} />
    </dialog>
  );
}

function Tree({ trace }: { readonly trace: Trace }) {
  if (trace.nodes.length === 0) return <Empty title="No trace found" />;
  return (
    <>
      <ol class="tree">
        {listTree(trace.nodes, trace.planned).map(({ node, planned, depth }) =>
          node ? (
            <PastNode key={node.id} node={node} depth={depth} />
          ) : (
            <PlannedNode key={`${planned.parent} ${planned.due} ${planned.what}`} entry={planned} depth={depth} />
          ),
        )}
      </ol>
      {trace.more && <p class="muted">The trace is truncated.</p>}
    </>
  );
}

/** Deeper levels are not indented further, because the drawer is narrow. */
const getIndentStyle = (depth: number) => ({ "--depth": String(Math.min(depth, 6)) });

const PastNode = ({ node, depth }: { readonly node: Node; readonly depth: number }) => (
  <li class={getNodeTone(node)} style={getIndentStyle(depth)}>
    <p>
      <strong>{describeNode(node)}</strong> {node.outcome !== null && <Outcome node={node} />}
    </p>
    <p class="muted">
      <VirtualTime at={node.at} /> · {replaceCodes(node.because)}
      {endReasons.has(node.outcome) && `; ${endReasons.get(node.outcome)}`}
      {node.fault && ` · ${replaceCodes(node.fault)}`} ·{" "}
      <a href={formatReferenceHref(node.id) ?? replaceTrace(node.id)}>{node.id}</a>
    </p>
  </li>
);

const PlannedNode = ({ entry, depth }: { readonly entry: Trace["planned"][number]; readonly depth: number }) => (
  <li class="open" style={getIndentStyle(depth)}>
    <p>
      <em>scheduled:</em> <strong>{replaceCodes(entry.what)}</strong>
    </p>
    <p class="muted">
      <VirtualTime at={entry.due} /> · {replaceCodes(entry.because)}
    </p>
  </li>
);

/** Shows the status of a delivery, as lists do. */
function Outcome({ node: { id, outcome } }: { readonly node: Node }) {
  const known = deliveries.value.get(Number(id.slice("delivery:".length)));
  const { tone, words } = known ? toStatusLabel(known) : { tone: getTone(outcome!), words: toWords(outcome!) };
  return <State tone={tone}>{words}</State>;
}

const getNodeTone = (node: Node): string => (isFailedNode(node) ? "bad" : node.kind === "attempt" ? "good" : "none");

type TreeEntry<Node, Planned> = { readonly depth: number } & (
  | { readonly node: Node; readonly planned?: undefined }
  | { readonly node?: undefined; readonly planned: Planned }
);

/** Lists all events with their depth in the tree, the planned ones after the last effect of the same cause. */
export function listTree<
  Node extends { readonly id: string; readonly parent: string | null },
  Planned extends { readonly parent: string | null },
>(nodes: readonly Node[], planned: readonly Planned[]) {
  const nodesByParent = groupBy(nodes, ({ parent }) => parent);
  const plannedByParent = groupBy(planned, ({ parent }) => parent);
  const listChildren = (parent: string | null, depth: number): TreeEntry<Node, Planned>[] => [
    ...(nodesByParent.get(parent) ?? []).map((node) => ({ node, depth })),
    ...(plannedByParent.get(parent) ?? []).map((planned) => ({ planned, depth })),
  ];
  const entries: TreeEntry<Node, Planned>[] = [];
  // A chain of causes, such as that of a program that causes its own webhooks, is too long for recursion.
  const stack = listChildren(null, 0).reverse();
  for (let entry = stack.pop(); entry; entry = stack.pop()) {
    entries.push(entry);
    if (entry.node) stack.push(...listChildren(entry.node.id, entry.depth + 1).reverse());
  }
  return entries;
}

type Described = Pick<Node, "what" | "status" | "error">;

/** Names an event as all views do: `contract created`, `attempt 1: connection refused`. */
export function describeNode({ kind, what, status, error }: Described & { readonly kind: string }): string {
  if (kind === "request") return `${what.split(" ", 1)[0]} was called`;
  if (kind !== "attempt") return replaceCodes(what);
  const [name] = what.split(":", 1);
  return `${name}: ${describeResponseCode(status, error)}`;
}

/** Replaces codes in a message of the emulator by words: `webhook 1 is subscribed to contract created`. */
export const replaceCodes = (sentence: string): string =>
  sentence.replace(/\b[a-z]+(?:_[a-z]+)+\b|\bE[A-Z]{4,}\b|\b[A-Z]+(?:_[A-Z]+)+\b/g, (code) =>
    code === code.toUpperCase() && !code.startsWith("E") ? toWords(code) : describeResponseCode(null, code),
  );

/** Reports whether an event is bad news: a failed attempt or request, or a delivery that never arrived. */
export const isFailedNode = ({
  status,
  error,
  outcome,
}: Omit<Described, "what"> & { readonly outcome: string | null }): boolean =>
  error !== null ||
  (status !== null && (status < 200 || status > 299)) ||
  outcome === "failed" ||
  outcome?.startsWith("skipped") === true;

/** Formats a reference: `delivery 3` for `delivery:3`. Contracts and traces keep their reference. */
export const formatReference = (ref: string): string => ref.replace(/^([a-z]+):(?=\d)/, "$1 ");
