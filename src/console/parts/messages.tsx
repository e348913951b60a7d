import type { ComponentChildren } from "preact";
import type { CallError } from "../api/problem.ts";
import { Icon } from "./labels.tsx";

/** Shows why a view is empty, and how to fill it. */
export const Empty = ({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) => (
  <div class="empty">
    <h2>{title}</h2>
    {children}
  </div>
);

/** Shows a failure and what to do about it. */
export const ProblemMessage = ({ problem }: { readonly problem: CallError }) => (
  <div class="trouble" role="alert">
    <Icon name="warn" />
    <div>
      <strong>{problem.message}</strong>
      {problem.hint && <p>{withCode(problem.hint)}</p>}
    </div>
  </div>
);

/** Renders a message of the emulator. Parts in backticks are code. */
export const withCode = (text: string): ComponentChildren =>
  text.split("`").map((part, at) => (at % 2 === 0 ? part : <code key={part}>{part}</code>));

/** Renders the view of an object that does not exist, or cannot be loaded now. */
export const Missing = (props: { readonly title: string; readonly problem: CallError; readonly all: string }) => (
  <>
    <Head title={props.title}>
      <a class="button" href={`#/${props.all}`}>
        Show all
      </a>
    </Head>
    <ProblemMessage problem={props.problem} />
  </>
);

/** Shown above a list if its address names an object that the list does not have. */
export const NotListedMessage = ({ subject, all }: { readonly subject: string; readonly all: string }) => (
  <Empty title={`Not found: ${subject}`}>
    <a href={`#/${all}`}>Show all</a>
  </Empty>
);

/** Renders the head of a view: its name, a one-sentence description, and its actions. */
export const Head = (props: {
  readonly title: ComponentChildren;
  readonly about?: ComponentChildren;
  readonly children?: ComponentChildren;
}) => (
  <header class="head">
    <div>
      <h1 id="view" tabIndex={-1}>
        {props.title}
      </h1>
      {props.about && <p class="muted">{props.about}</p>}
    </div>
    {props.children && <div class="actions">{props.children}</div>}
  </header>
);

/** Renders names and values, one per row. */
export const Facts = ({
  rows,
}: {
  readonly rows: readonly (readonly [string, ComponentChildren] | false | null)[];
}) => (
  <dl class="facts">
    {rows.map(
      (row) =>
        row && (
          <div key={row[0]}>
            <dt>{row[0]}</dt>
            <dd>{row[1]}</dd>
          </div>
        ),
    )}
  </dl>
);
