import type { ComponentChildren } from "preact";

/** A line of a row, which is cut where it is too long for the window: pointing at it shows the whole. */
export function Line(props: {
  /** How it looks: `title`, `muted sub`. */
  readonly of: string;
  /** The whole, where that is not the text itself. */
  readonly title?: string;
  readonly children: ComponentChildren;
}) {
  const { of, children } = props;
  return (
    <span class={of} title={props.title ?? (typeof children === "string" ? children : undefined)}>
      {children}
    </span>
  );
}
