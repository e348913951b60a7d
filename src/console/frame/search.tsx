import { useLayoutEffect, useRef } from "preact/hooks";
import { Icon } from "../parts/icon.tsx";
import { go, href, route } from "../state/route.ts";
import { hrefOf } from "../trace/reference.ts";
import { toView } from "./keep-focus.ts";

/** Takes any reference: a contract, a delivery, a request, a webhook, an address, a token. What was looked for stays as long as it is shown. */
export function Search() {
  const { view, id } = route.value;
  const field = useRef<HTMLInputElement>(null);
  // With what it belongs to: a moment later it would wipe out what somebody types already.
  useLayoutEffect(() => {
    if (field.current) field.current.value = view === "search" ? (id ?? "") : "";
  }, [view, id]);
  return (
    <search>
      <form
        class="search"
        onSubmit={(event) => {
          event.preventDefault();
          const ref = field.current?.value.trim() ?? "";
          if (ref === "") return;
          go(hrefOf(ref) ?? href("search", ref));
          toView();
        }}
      >
        <Icon name="search" />
        <input
          ref={field}
          name="ref"
          type="search"
          autocomplete="off"
          spellcheck={false}
          aria-label="Find a reference"
          placeholder="T-1, delivery:7"
        />
      </form>
    </search>
  );
}
