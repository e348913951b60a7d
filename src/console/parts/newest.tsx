import { counted, grouped } from "../format.ts";

/** Said below a list that is cut: how much of it stands there. */
export function Newest(props: {
  readonly shown: number;
  readonly of: number | undefined;
  readonly what: string;
  readonly many?: string;
  readonly more?: string;
}) {
  const { shown, of: total = 0, what, many, more } = props;
  if (total <= shown) return null;
  return (
    <p class="muted">
      The newest {grouped(shown)} of {counted(total, what, many)}.{more && ` ${more}`}
    </p>
  );
}
