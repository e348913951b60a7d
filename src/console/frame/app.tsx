import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { CallError, connection, role, signInError } from "../api/call.ts";
import { ClockBar } from "../clock/clock-bar.tsx";
import { ContractList } from "../contracts/contract-list.tsx";
import { ContractPage } from "../contracts/contract-page.tsx";
import { DeliveryList } from "../deliveries/delivery-list.tsx";
import { DeliveryPage } from "../deliveries/delivery-page.tsx";
import { Devices } from "../devices/devices.tsx";
import { Emails } from "../emails/emails.tsx";
import { Faults } from "../faults/faults.tsx";
import { pluralize } from "../format.ts";
import { Command, CommandPopover, Confirm } from "../parts/action.tsx";
import { Empty, Head, Icon, ProblemMessage, State, withCode } from "../parts/messages.tsx";
import { RequestList } from "../requests/request-list.tsx";
import { RequestPage } from "../requests/request-page.tsx";
import { Routing } from "../routing/routing.tsx";
import { Snapshots } from "../snapshots/snapshots.tsx";
import { lastAction, type PerformedAction } from "../state/act.ts";
import { readiness } from "../state/clock.ts";
import { attentionCount, formatDeliveryCount, isOverdue, newestDeliveries } from "../state/deliveries.ts";
import { buildHref, route } from "../state/route.ts";
import { Timeline } from "../timeline/timeline.tsx";
import { TraceDrawer } from "../trace/trace-drawer.tsx";
import { Webhooks } from "../webhooks/webhooks.tsx";
import { Workspaces } from "../workspaces/workspaces.tsx";
import { Search, SearchResults } from "./search.tsx";

/** Renders the whole page: the clock at the top, the navigation and the view, and the last action at the bottom. */
export function App() {
  const { view, id } = route.value;
  const { title, draw } = findView(view);
  // Runs before the view is rendered, because a page and its title change together.
  useLayoutEffect(() => {
    document.title = `${title}${id === undefined ? "" : ` ${id}`} · svc console`;
    scrollTo(0, 0);
    document.querySelector("main .chosen")?.scrollIntoView({ block: "nearest" });
  }, [title, id]);
  return (
    <>
      <button type="button" class="skip" onClick={() => document.getElementById("view")?.focus()}>
        Skip to content
      </button>
      <header class="top">
        <div class="brand">
          <a href="#/">svc</a>
          <Search />
          <StoreRole />
          <Role />
        </div>
        <ClockBar />
      </header>
      <Navigation />
      <main key={`${view}/${id ?? ""}`}>{draw(id)}</main>
      <Foot />
      <CommandPopover />
      <Confirm />
      <TraceDrawer />
    </>
  );
}

/** Shows the leader and the process of this page, if several share a store. */
function StoreRole() {
  const read = readiness.value;
  if (read?.role === undefined) return null;
  return (
    <p class="standing muted">
      {read.role === "leader" ? "Leader" : "Standby"}
      {read.role === "standby" && (read.leader ? ` for ${read.leader}` : " (no leader now)")}
    </p>
  );
}

/** Explains disabled buttons to users who are not admins. */
function Role() {
  if (role.value === undefined || role.value === "admin") return null;
  return <p class="standing muted">Signed in with role {role.value}. Actions that need another role are disabled.</p>;
}

/** Lists all views, with the number of items that need attention. */
function Navigation() {
  const current = findView(route.value.view);
  const failed = newestDeliveries.value.filter(isOverdue).length;
  const hooks = attentionCount.value;
  const counts = new Map([
    ["timeline", hooks > 0 ? { count: hooks, words: pluralize(hooks, "failing webhook") } : undefined],
    ["deliveries", failed > 0 ? { count: failed, words: formatDeliveryCount(`${failed} undelivered`) } : undefined],
  ]);
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => {
    // On a narrow page the list scrolls, so that the current view is visible.
    const link = list.current?.querySelector<HTMLElement>("[aria-current]");
    if (link) list.current!.scrollLeft = link.offsetLeft - (list.current!.clientWidth - link.offsetWidth) / 2;
  }, [current.path]);
  return (
    <nav aria-label="Views">
      <ul ref={list}>
        {views.map(({ path, title }) => {
          const more = counts.get(path);
          return (
            <li key={path}>
              <a href={buildHref(path)} aria-current={current.path === path ? "page" : undefined}>
                {title}
                {more && (
                  <span class="count" title={more.words}>
                    <span aria-hidden="true">{more.count > 999 ? "999+" : more.count}</span>
                    <span class="unseen">: {more.words}</span>
                  </span>
                )}
              </a>
            </li>
          );
        })}
      </ul>
    </nav>
  );
}

/** Shown without a session: explains how to open one. */
export const SignedOut = () => (
  <main class="signed-out">
    <h1>svc console</h1>
    {signInError.value && <ProblemMessage problem={signInError.value} />}
    <p>
      You are not signed in. A session ends with its emulator, with its token, and after twelve hours. To open a new
      session, run this command in the folder of the emulator, or with a profile that has its address and a token:
    </p>
    <Command text="svc emulator open" />
    <p class="muted">This page then continues automatically.</p>
  </main>
);

/** Shows the last action with its result and command. Without a connection, it shows only that. */
function Foot() {
  const last = lastAction.value;
  const now = connection.value;
  return (
    <footer class={`foot ${now === "live" && !last ? "" : "news"}`}>
      <div role="status" class="outcome">
        {now === "lost" && (
          <>
            <State tone="warn">The emulator does not respond. Retrying…</State>
            <span class="muted">{CallError.createUnreachable().hint}</span>
          </>
        )}
        {now === "connecting" && <State tone="warn">Connecting…</State>}
        {now === "reconnecting" && <State tone="warn">Reconnecting…</State>}
        {now === "polling" && (
          <>
            <State tone="warn">No live updates. Reloading every 5 seconds</State>
            {!last && <span class="muted">A proxy may buffer the stream of events.</span>}
          </>
        )}
        {now !== "lost" && last && !last.problem?.isUnreachable && <LastAction {...last} />}
      </div>
      {now === "lost" ? null : last ? (
        last.command && <Command text={last.command} />
      ) : (
        <p class="muted">
          Every button has an equivalent command. Click <Icon name="command" /> to see it.
        </p>
      )}
    </footer>
  );
}

function LastAction({ state, outcome, problem }: PerformedAction) {
  switch (state) {
    case "running":
      return <span class="muted">Running…</span>;
    case "done":
      return typeof outcome === "object" ? (
        <State tone={outcome.tone}>{outcome.words}</State>
      ) : (
        <State tone="good">{outcome ?? "Done"}</State>
      );
    case "failed":
      return (
        <>
          <State tone="bad">{problem!.message}</State>
          {problem!.hint && <span class="muted">{withCode(problem!.hint)}</span>}
        </>
      );
  }
}

interface View {
  /** The first segment of the view's address. */
  readonly path: string;
  readonly title: string;
  readonly draw: (id: string | undefined) => ComponentChildren;
}

/** The views in the order of the navigation. */
export const views: readonly View[] = [
  { path: "timeline", title: "Timeline", draw: (id) => <Timeline only={id} /> },
  { path: "webhooks", title: "Webhooks", draw: (id) => <Webhooks id={id} /> },
  {
    path: "contracts",
    title: "Contracts",
    draw: (id) => (id === undefined ? <ContractList /> : <ContractPage id={id} />),
  },
  {
    path: "deliveries",
    title: "Deliveries",
    draw: (id) => (id === undefined ? <DeliveryList /> : <DeliveryPage id={id} />),
  },
  { path: "requests", title: "Requests", draw: (id) => (id === undefined ? <RequestList /> : <RequestPage id={id} />) },
  { path: "emails", title: "E-mails", draw: (id) => <Emails about={id} /> },
  { path: "workspaces", title: "Workspaces", draw: (id) => <Workspaces id={id} /> },
  { path: "routing", title: "Routing", draw: (id) => <Routing identifier={id} /> },
  { path: "devices", title: "Devices", draw: (id) => <Devices code={id} /> },
  { path: "faults", title: "Faults", draw: (id) => <Faults id={id} /> },
  { path: "snapshots", title: "Snapshots", draw: (id) => <Snapshots name={id} /> },
];

const missingView: View = {
  path: "",
  title: "Not found",
  draw: () => (
    <>
      <Head title="Not found" />
      <Empty title="This page does not exist">
        <a href="#/">Go to the timeline</a>
      </Empty>
    </>
  ),
};

const searchView: View = { path: "search", title: "Search", draw: (text) => <SearchResults text={text ?? ""} /> };

const findView = (path: string): View =>
  path === "" ? views[0]! : ([...views, searchView].find((view) => view.path === path) ?? missingView);
