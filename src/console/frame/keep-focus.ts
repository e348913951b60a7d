const focusableSelector = "button:not(:disabled),a[href],input:not(:disabled),select:not(:disabled),summary";

const findHeading = (): HTMLElement | null => document.getElementById("view");

let isFocusPending = false;

/** Focuses the heading of the view as soon as it exists. */
export function focusView(): void {
  isFocusPending = true;
  focusHeading();
}

function focusHeading(): void {
  const heading = findHeading();
  if (!isFocusPending || !heading) return;
  isFocusPending = false;
  heading.focus({ preventScroll: true });
}

/**
 * Keeps the focus of keyboard users: if the focused button or row disappears, the next one in the same part gets the
 * focus, or the heading of the view.
 */
export function keepFocus(root: HTMLElement): void {
  /** The focused element and its ancestors, innermost first. */
  let path: HTMLElement[] = [];
  const isGone = (element: HTMLElement) => !element.isConnected || element.matches(":disabled");

  root.addEventListener("focusin", ({ target }) => {
    if (target !== findHeading()) isFocusPending = false;
    path = [];
    for (let element = target as HTMLElement | null; element && element !== root; element = element.parentElement) {
      path.push(element);
    }
  });
  root.addEventListener("focusout", () => {
    // The user clicked on something that takes no focus, so there is nothing to restore.
    const [left] = path;
    queueMicrotask(() => {
      if (left === path[0] && left && !isGone(left) && document.activeElement === document.body) path = [];
    });
  });
  // A held key must not press the button that gets the focus.
  root.addEventListener("keydown", (event) => {
    if (event.repeat && event.key === "Enter") event.preventDefault();
  });
  new MutationObserver((records) => {
    focusHeading();
    const [last, ...around] = path;
    const active = document.activeElement;
    if (!last || !isGone(last) || (active !== document.body && active !== last)) return;
    path = [];
    const part = around.find(
      (element) => element.isConnected && element.tagName !== "MAIN" && element.querySelector(focusableSelector),
    );
    if (!part) return focusView();
    const removal = records.find(({ removedNodes }) => [...removedNodes].some((node) => node.contains(last)));
    const before = last.isConnected ? last : removal?.previousSibling;
    const isNext = (element: HTMLElement): boolean =>
      !before ||
      // Elements that it contains have another flag, too.
      before.compareDocumentPosition(element) === Node.DOCUMENT_POSITION_FOLLOWING;
    const left = [...part.querySelectorAll<HTMLElement>(focusableSelector)];
    (left.find(isNext) ?? left.at(-1)!).focus({ preventScroll: true });
  }).observe(root, { childList: true, subtree: true, attributeFilter: ["disabled"] });
}
