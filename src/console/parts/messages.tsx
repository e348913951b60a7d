import type { Signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { CallError } from "../api/call.ts";
import { revealInvisible, type Tone } from "../format.ts";
import { formatMoment } from "../state/clock.ts";

export const toneIcons = new Map<Tone, string>([
  ["good", "check"],
  ["bad", "cross"],
  ["warn", "warn"],
  ["open", "wait"],
  ["none", "dash"],
]);

/** Shows a state as a word and a sign, because color alone is not accessible. */
export const State = ({ tone, children }: { readonly tone: Tone; readonly children: string }) => (
  <span class={`state ${tone}`}>
    <Icon name={toneIcons.get(tone)!} />
    {children}
  </span>
);

export const VirtualTime = ({ at }: { readonly at: string }) => (
  <time class="number" dateTime={at} title={`${at}, virtual time`}>
    {formatMoment(at)}
  </time>
);

/** Shows a user's name in either writing direction, isolated from the surrounding text. */
export const Name = ({ children }: { readonly children: string }) => <bdi>{revealInvisible(children)}</bdi>;

/** Icons drawn on a 16 by 16 grid, in the color of the text. */
const paths = new Map([
  ["check", "M3.5 8.5l3 3 6-7"],
  ["cross", "M4 4l8 8M12 4l-8 8"],
  ["dash", "M4 8h8"],
  ["wait", "M8 4.5V8l2.5 2M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8z"],
  ["copy", "M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z"],
  ["command", "M2.5 4l4 4-4 4M8 12.5h5.5"],
  ["search", "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.3 10.3l3.2 3.2"],
  ["close", "M4 4l8 8M12 4l-8 8"],
  ["next", "M3.5 3.5l6 4.5-6 4.5zM12.5 3.5v9"],
  ["warn", "M8 2.2L14.5 13.5h-13zM8 6.5v3M8 11.4v.3"],
  ["out", "M6.5 3.5h-4v10h10v-4M9 2.5h4.5V7M13.5 2.5L7 9"],
]);

export const Icon = ({ name }: { readonly name: string }) => (
  <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
    <path d={paths.get(name)} />
  </svg>
);

/** Shows why a view is empty, and how to fill it. */
export const Empty = ({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) => (
  <div class="empty">
    <h2>{title}</h2>
    {children}
  </div>
);

/** Shows a failure and what to do about it. */
export const ProblemMessage = ({ problem }: { readonly problem: CallError }) => (
  <div class="trouble bad" role="alert">
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

const scrollToItem = (item: HTMLElement | null): void => item?.scrollIntoView({ block: "nearest" });

/** Marks the item of a list that the address names, and scrolls to it when it is first rendered. */
export const markChosen = (isChosen: boolean) => (isChosen ? { class: "chosen", ref: scrollToItem } : {});

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

export const bindValue = (to: Signal<string>) => ({
  value: to.value,
  onInput: ({ currentTarget }: { readonly currentTarget: { readonly value: string } }) => {
    to.value = currentTarget.value;
  },
});

export const Facts = (props: { readonly rows: readonly (readonly [string, ComponentChildren] | false)[] }) => (
  <dl class="facts">
    {props.rows.map(
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
