import { computed, signal } from "@preact/signals";

/** Where the page is: `#/deliveries/7?trace=delivery:7`. */
export interface Route {
  /** `deliveries`; empty at the beginning. */
  readonly view: string;
  readonly id: string | undefined;
  readonly query: URLSearchParams;
}

export function parseRoute(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [view = "", ...rest] = path.split("/");
  const id = rest.join("/");
  return { view, id: id === "" ? undefined : decoded(id), query: new URLSearchParams(query) };
}

/** The address of a view, of one thing in it, and of the trace that lies open beside it. */
export function href(view: string, id?: string | number, trace?: string): string {
  const path = id === undefined ? view : `${view}/${encodeURIComponent(String(id))}`;
  return `#/${path}${trace === undefined ? "" : `?${new URLSearchParams({ trace })}`}`;
}

const hash = signal("");
export const route = computed(() => parseRoute(hash.value));

/** The address of the same view with another trace beside it, or with none. */
export const withTrace = (trace: string | undefined): string => href(route.value.view, route.value.id, trace);

export const go = (to: string): void => {
  location.hash = to;
};

/** Follows the address: links, back and forward. */
export function followAddress(): void {
  const read = () => {
    hash.value = location.hash;
  };
  addEventListener("hashchange", read);
  read();
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
