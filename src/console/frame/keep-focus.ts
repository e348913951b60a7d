/** The focused element, by the ways to get there. */
const stops = "button:not(:disabled),a[href],input:not(:disabled),select:not(:disabled),summary";

const findHeading = (): HTMLElement | null => document.getElementById("view");

let isWanted = false;

/** Focuses the heading of the view, as soon as it exists. */
export function focusView(): void {
  isWanted = true;
  focusHeading();
}

function focusHeading(): void {
  const heading = findHeading();
  if (!isWanted || !heading) return;
  isWanted = false;
  heading.focus({ preventScroll: true });
}

/**
 * Preserves the place of keyboard users: if the focused button or row disappears, the next one of the same part is
 * focused, or the heading of the view.
 */
export function keepFocus(root: HTMLElement): void {
  /** The focused element and its ancestors, innermost first. */
  let place: HTMLElement[] = [];
  const isGone = (element: HTMLElement) => !element.isConnected || element.matches(":disabled");

  root.addEventListener("focusin", ({ target }) => {
    if (target !== findHeading()) isWanted = false;
    place = [];
    for (let element = target as HTMLElement | null; element && element !== root; element = element.parentElement) {
      place.push(element);
    }
  });
  root.addEventListener("focusout", () => {
    // Left on purpose, for a place that takes no focus: nothing is to be stored.
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
      (element) => element.isConnected && element.tagName !== "MAIN" && element.querySelector(stops),
    );
    if (part) part.querySelector<HTMLElement>(stops)!.focus({ preventScroll: true });
    else focusView();
  }).observe(root, { childList: true, subtree: true, attributeFilter: ["disabled"] });
}
