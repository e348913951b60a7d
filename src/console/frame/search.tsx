import { Icon } from "../parts/icon.tsx";
import { go, href } from "../state/route.ts";
import { hrefOf } from "../trace/reference.ts";

/** Takes any reference: a contract, a delivery, a request, a webhook, an address, a token. */
export function Search() {
  return (
    <search>
      <form
        class="search"
        onSubmit={(event) => {
          event.preventDefault();
          const field = event.currentTarget.elements.namedItem("ref") as HTMLInputElement;
          const ref = field.value.trim();
          if (ref === "") return;
          go(hrefOf(ref) ?? href("search", ref));
          field.blur();
        }}
      >
        <Icon name="search" />
        <input
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
