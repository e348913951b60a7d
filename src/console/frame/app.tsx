import { useLayoutEffect } from "preact/hooks";
import { ClockBar } from "../clock/clock-bar.tsx";
import { CommandPopover } from "../parts/command-popover.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { route } from "../state/route.ts";
import { TraceDrawer } from "../trace/trace-drawer.tsx";
import { Foot } from "./foot.tsx";
import { Navigation } from "./navigation.tsx";
import { Search } from "./search.tsx";
import { Role, Standing } from "./standing.tsx";
import { viewOf } from "./views.tsx";

/** The whole page: clock above, views beside each other, what was done last below. */
export function App() {
  const { view, id } = route.value;
  const { title, draw } = viewOf(view);
  // Before anybody sees the view: a page and its title change together.
  useLayoutEffect(() => {
    document.title = `${title}${id === undefined ? "" : ` ${id}`} · svc console`;
    scrollTo(0, 0);
  }, [title, id]);
  return (
    <>
      <button type="button" class="skip" onClick={() => document.getElementById("view")?.focus()}>
        Skip to the view
      </button>
      <header class="top">
        <div class="brand">
          <a href="#/">svc</a>
          <Search />
          <Standing />
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
