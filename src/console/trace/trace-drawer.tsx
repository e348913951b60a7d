import { useEffect, useRef } from "preact/hooks";
import { call } from "../api/call.ts";
import type { Answer } from "../api/operations.ts";
import { standingOf } from "../deliveries/standing.ts";
import { wordsOf } from "../format.ts";
import { Command } from "../parts/command-popover.tsx";
import { Icon } from "../parts/icon.tsx";
import { Empty, Trouble } from "../parts/messages.tsx";
import { State } from "../parts/state.tsx";
import { VirtualTime } from "../parts/time.tsx";
import { toneOf } from "../parts/tone.ts";
import { commandOf } from "../state/act.ts";
import { deliveries } from "../state/deliveries.ts";
import { useLoaded } from "../state/loaded.ts";
import { go, route, withTrace } from "../state/route.ts";
import { hrefOf } from "./reference.ts";
import { depths, withPlanned } from "./tree.ts";
import { endOf, isBad, plain, wordsOfNode, wordsOfReference } from "./words.ts";

type Trace = Answer<"traces.show">;
type Node = Trace["nodes"][number];

/** Why something happened, and what followed: lies over any view, and in its address. */
export function TraceDrawer() {
  const ref = route.value.query.get("trace");
  return ref === null ? null : <Drawer key={ref} about={ref} />;
}

function Drawer({ about }: { readonly about: string }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const { value, problem } = useLoaded(about, ["requests", "deliveries", "contracts"], () =>
    call("traces.show", { params: { ref: about } }),
  );
  useEffect(() => {
    const opened = dialog.current;
    if (opened && !opened.open) opened.showModal();
  }, []);
  const close = () => go(withTrace(undefined));
  const trace = value.value;
  return (
    <dialog class="drawer" ref={dialog} aria-labelledby="trace" onClose={close}>
      <header class="head">
        <div>
          <h2 id="trace">Why {wordsOfReference(about)}</h2>
          <p class="muted">What led to it, and what followed. Times are virtual.</p>
        </div>
        <button type="button" class="quiet" aria-label="Close" onClick={close}>
          <Icon name="close" />
        </button>
      </header>
      {problem.value && <Trouble problem={problem.value} />}
      {trace && <Tree trace={trace} />}
      <Command text={commandOf("traces.show", { params: { ref: about } })} />
    </dialog>
  );
}

function Tree({ trace }: { readonly trace: Trace }) {
  const depth = depths(trace.nodes);
  if (trace.nodes.length === 0) return <Empty title="Nothing is kept of it" />;
  return (
    <>
      <ol class="tree">
        {withPlanned(trace.nodes, trace.planned).map((entry) =>
          "node" in entry ? (
            <Happened key={entry.node.id} node={entry.node} depth={depth.get(entry.node.id) ?? 0} />
          ) : (
            <ToCome
              key={`${entry.planned.parent} ${entry.planned.due} ${entry.planned.what}`}
              entry={entry.planned}
              depth={(depth.get(entry.planned.parent) ?? 0) + 1}
            />
          ),
        )}
      </ol>
      {trace.more && <p class="muted">There is more than is shown.</p>}
    </>
  );
}

/** Deeper than this is told by the order alone: the drawer is narrow. */
const indented = (depth: number) => ({ "--depth": String(Math.min(depth, 6)) });

const Happened = ({ node, depth }: { readonly node: Node; readonly depth: number }) => (
  <li class={toneOfNode(node)} style={indented(depth)}>
    <p>
      <strong>{wordsOfNode(node)}</strong> {node.outcome !== null && <Outcome node={node} />}
    </p>
    <p class="muted">
      <VirtualTime at={node.at} /> · {plain(node.because)}
      {endOf(node.outcome) && `; ${endOf(node.outcome)}`}
      {node.fault && ` · ${plain(node.fault)}`} · <a href={hrefOf(node.id) ?? withTrace(node.id)}>{node.id}</a>
    </p>
  </li>
);

const ToCome = ({ entry, depth }: { readonly entry: Trace["planned"][number]; readonly depth: number }) => (
  <li class="open" style={indented(depth)}>
    <p>
      <em>to come:</em> <strong>{plain(entry.what)}</strong>
    </p>
    <p class="muted">
      <VirtualTime at={entry.due} /> · {plain(entry.because)}
    </p>
  </li>
);

/** How a delivery stands, as lists say it. */
function Outcome({ node: { id, outcome } }: { readonly node: Node }) {
  const known = deliveries.value.get(Number(id.slice("delivery:".length)));
  const { tone, words } = known ? standingOf(known) : { tone: toneOf(outcome!), words: wordsOf(outcome!) };
  return <State tone={tone}>{words}</State>;
}

const toneOfNode = (node: Node): string => (isBad(node) ? "bad" : node.kind === "attempt" ? "good" : "none");
