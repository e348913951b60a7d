import { useEffect, useRef } from "preact/hooks";
import { counted } from "../format.ts";
import { newestFirst } from "../state/deliveries.ts";
import { route } from "../state/route.ts";
import { asking } from "../state/webhook-health.ts";
import { viewOf, views } from "./views.tsx";

/** Every view; beside one, how much of it asks for attention. */
export function Navigation() {
  const current = viewOf(route.value.view);
  const failed = newestFirst.value.filter(({ outcome }) => outcome !== "delivered" && outcome !== "waiting").length;
  const hooks = asking.value;
  const counts = new Map([
    [
      "timeline",
      hooks > 0
        ? { count: hooks, words: counted(hooks, "webhook needs attention", "webhooks need attention") }
        : undefined,
    ],
    ["deliveries", failed > 0 ? { count: failed, words: `${failed} have not arrived` } : undefined],
  ]);
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => {
    // Where the page is narrow the list scrolls: the view that is shown stands in it.
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
              <a href={`#/${path}`} aria-current={current.path === path ? "page" : undefined}>
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
