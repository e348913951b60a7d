import type { Tab } from "../support/browser.ts";

/**
 * Lists the unreadable parts of a page. The page is wider than the window, or a text is cut off without an alternative,
 * overflows the window or covers another text. Content of scrolling elements can be out of sight, and marks of the
 * timeline are pictures.
 */
export const findIllegibleParts = (page: Tab): Promise<string[]> => page.evaluate(find);

const find = `(async () => {
  // The script renders the page again after the width of the window changes.
  for (let frame = 0; frame < 3; frame += 1) await new Promise(requestAnimationFrame);
  const out = new Set();
  if (document.documentElement.scrollWidth > innerWidth) out.add("the page is " + document.documentElement.scrollWidth + " px wide");
  const scene = document.querySelector("dialog[open]") ?? document.body;
  const scrolls = (element) => element !== null && (/auto|scroll/.test(getComputedStyle(element).overflowX) || scrolls(element.parentElement));
  const words = (element) => element.textContent.trim().slice(0, 60);
  const texts = [];
  const walker = document.createTreeWalker(scene, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (node.textContent.trim() === "" || element.closest("svg, style, script, select, .unseen, .skip, .foot, .marks, details:not([open]) > :not(summary)")) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const { left, right, top, bottom } of range.getClientRects()) {
      let box = { left, right, top, bottom };
      for (let around = element; around && around !== document.documentElement; around = around.parentElement) {
        const { overflowX } = getComputedStyle(around);
        if (overflowX === "visible") continue;
        const edge = around.getBoundingClientRect();
        const isCut = box.right > edge.right + 1 || box.left < edge.left - 1 || box.bottom > edge.bottom + 2;
        if (isCut && /hidden|clip/.test(overflowX) && !element.closest("[title]")) out.add("cut: " + words(around));
        box = { left: Math.max(box.left, edge.left), right: Math.min(box.right, edge.right), top: Math.max(box.top, edge.top), bottom: Math.min(box.bottom, edge.bottom) };
      }
      if (box.right - box.left < 1 || box.bottom - box.top < 1) continue;
      if (box.right > innerWidth + 1 && !scrolls(element)) out.add("outside: " + words(element));
      texts.push({ ...box, element });
    }
  }
  for (const [at, one] of texts.entries()) {
    for (const other of texts.slice(at + 1)) {
      const wide = Math.min(one.right, other.right) - Math.max(one.left, other.left);
      const high = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
      if (wide > 2 && high > 6 && one.element !== other.element) out.add("over each other: " + words(one.element) + " | " + words(other.element));
    }
  }
  return [...out];
})()`;
