/** Elements that can have the focus. */
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
  let place: HTMLElement[] = [];
  const isGone = (element: HTMLElement) => !element.isConnected || element.matches(":disabled");

  root.addEventListener("focusin", ({ target }) => {
    if (target !== findHeading()) isFocusPending = false;
    place = [];
    for (let element = target as HTMLElement | null; element && element !== root; element = element.parentElement) {
      place.push(element);
    }
  });
  root.addEventListener("focusout", () => {
    // The user clicked on something that takes no focus, so there is nothing to restore.
    const [left] = place;
    queueMicrotask(() => {
      if (left === place[0] && left && !isGone(left) && document.activeElement === document.body) place = [];
    });
  });
  new MutationObserver(() => {
    focusHeading();
    const [last, ...around] = place;
    if (!last || !isGone(last) || document.activeElement !== document.body) return;
    place = [];
    const part = around.find(
      (element) => element.isConnected && element.tagName !== "MAIN" && element.querySelector(focusableSelector),
    );
    if (part) part.querySelector<HTMLElement>(focusableSelector)!.focus({ preventScroll: true });
    else focusView();
  }).observe(root, { childList: true, subtree: true, attributeFilter: ["disabled"] });
}
