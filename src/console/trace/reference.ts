import { href } from "../state/route.ts";

const forms = [
  { form: /^delivery:(\d+)$/, to: (id: string) => href("deliveries", id) },
  { form: /^attempt:(\d+)\.\d+$/, to: (id: string) => href("deliveries", id) },
  { form: /^request:(\d+)$/, to: (id: string) => href("requests", id) },
  { form: /^webhook:(\d+)$/, to: (id: string) => href("timeline", id) },
  { form: /^([TH]-\d+)$/i, to: (id: string) => href("contracts", id.toUpperCase()) },
  { form: /^((?:event|timer|advance):\d+|[0-9a-f]{32})$/, to: (id: string) => href("timeline", undefined, id) },
  // A `traceparent`, as a caller's own program writes it down.
  {
    form: /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$/,
    to: (id: string) => href("timeline", undefined, id),
  },
  { form: /^([^\s@]+@[^\s@]+)$/, to: (id: string) => href("routing", id) },
] as const;

/** Where a reference leads: `T-1`, `delivery:7`, `request:12`, `webhook:1`, a trace, an address; undefined: none is known. */
export function formatReferenceHref(ref: string): string | undefined {
  const text = ref.trim();
  for (const { form, to } of forms) {
    const id = form.exec(text)?.[1];
    if (id !== undefined) return to(id);
  }
  return undefined;
}
